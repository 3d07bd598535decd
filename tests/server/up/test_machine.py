"""The parts that run on one machine."""

from __future__ import annotations

from server.up.machine import WEB, Machine
from worker.supervision.process import TELL


def test_the_portal_has_as_many_processes_as_it_takes_by_itself():
    machine = Machine("sqlite://", "redis://", "redis://", None, 3, (), lambda _part: True, {})
    (web,) = (part for part in machine.parts() if part.name == WEB)
    assert web.command[-4:] == ("--descriptor", "3", "--tell", TELL)
