"""A submission as a kernel of an experiment on this machine: which one is asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import pytest

from kernels.experiment.model import OnServer
from worker.client.answers import Assignment, Course, Me, Token
from worker.client.errors import NotDone
from worker.client.experiments import kernel_text
from worker.client.portal import Portal
from worker.contract.answers import Board, Line

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class _Portal:
    """A course with a leaderboard whose first line is someone else's."""

    def __init__(self, role: str, *, own: bool = True) -> None:
        self._role, self._own = role, own

    def source(self, public_id: str) -> str:
        return f"// {public_id}"

    def me(self) -> Me:
        return Me("Ada", "ada@example.edu", Token("t"), (Course("gpu", "GPU", self._role),))

    def assignments(self) -> tuple[Assignment, ...]:
        return (Assignment("gpu/tiled", "Tiled", "h200", open=True, page=""),)

    def board(self, assignment: str, device_class: str) -> Board:
        first, mine = Line(submission="first", reached_at=NOW), Line(submission="mine", you=True, reached_at=NOW)
        hidden = Line(submission="hidden", listed=False, reached_at=NOW)
        lines, own = (hidden, first, mine), mine if self._own else None
        return Board(assignment, device_class, "gflops", lines=lines, own=own)


def text(wanted: OnServer, role: str = "student", *, own: bool = True) -> str:
    return kernel_text(cast("Portal", _Portal(role, own=own)), wanted)


def test_a_student_s_best_is_their_own_and_staff_s_the_first():
    best = OnServer(best="gpu/tiled")
    assert (text(best), text(best, "assistant")) == ("// mine", "// first")
    assert text(OnServer(submission="5d2c")) == "// 5d2c"


@pytest.mark.parametrize("name", ["gpu/tiled", "gpu/none"])
def test_an_assignment_without_a_best_is_refused(name):
    with pytest.raises(NotDone, match=name):
        text(OnServer(best=name), own=False)
