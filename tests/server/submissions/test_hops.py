"""The table of hops in docs/architecture.md, held against one submission on its way through the real code."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from sqlalchemy import Engine

from kernels.exercise import find_exercise
from server.courses.models import Assignment
from server.dispatching.dispatcher import Dispatcher
from server.fleet.worker_keys import register_key
from server.recording.recorder import Recorder
from server.settings import Settings
from server.standings.service import board
from tests.server.course import written
from tests.server.databases import ON_SQLITE
from tests.server.dispatching.redis_stand_in import StandIn
from tests.server.submissions.course_pages import FORM
from tests.server.web.conftest import NOBODY, Portal
from tests.server.web.signed_in import client_of
from tests.services.redis_server import A_WORKER, as_worker
from tests.worker.queue.slots import until
from worker.contract.broker import connect_redis
from worker.contract.credential import seal
from worker.contract.hints import Hints
from worker.contract.messages import CPU_QUEUE, Ticket, encode
from worker.queue.outbox import Outbox
from worker.queue.slot_reporter import SlotReporter
from worker.queue.stop_request import Stop
from worker.queue.tasks import StepTask
from worker.sandbox.child import STEPS
from worker.steps import check_step
from worker.steps.stages import SandboxedStages
from worker.supervision.heartbeat import Heartbeat
from worker.workplaces.cpu import CpuWorkplace

ROOT = Path(__file__).resolve().parents[3]
MOST = 12
_ROW = re.compile(r"^\| (\d+) \| `([\w/]+\.py)` \| `([\w.]+)` \| (?:(\d+) calls it|[^|]+) \|", re.MULTILINE)


@dataclass(frozen=True)
class Hop:
    """caller: the number of the hop that calls it; None where a row or a message leads to it."""

    file: Path
    function: str
    caller: int | None


def hops() -> dict[int, Hop]:
    text = (ROOT / "docs" / "architecture.md").read_text()
    return {
        int(number): Hop(ROOT / file, function, int(caller) if caller else None)
        for number, file, function, caller in _ROW.findall(text)
    }


def test_each_is_a_function_in_a_file_that_exists() -> None:
    found = hops()
    assert list(found) == list(range(1, len(found) + 1))
    assert 2 < len(found) <= MOST
    for hop in found.values():
        assert hop.function in set(_functions(ast.parse(hop.file.read_text()))), hop


def _functions(tree: ast.Module | ast.ClassDef) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{name}" for name in _functions(node))


@dataclass
class Trace:
    """The hops in the order of their first calls, and those that were under way then."""

    hops: dict[int, Hop]
    order: list[int] = field(default_factory=list)
    under_way: dict[int, set[int]] = field(default_factory=dict)

    @contextmanager
    def followed(self) -> Iterator[None]:
        by_place = {(str(hop.file), hop.function): number for number, hop in self.hops.items()}

        def number_of(code: CodeType) -> int | None:
            return by_place.get((code.co_filename, code.co_qualname))

        def see(frame: FrameType, event: str, _argument: Any) -> None:
            number = number_of(frame.f_code) if event == "call" else None
            if number is None or number in self.order:
                return
            self.order.append(number)
            self.under_way[number] = set()
            above = frame.f_back
            while above is not None:
                if (caller := number_of(above.f_code)) is not None:
                    self.under_way[number].add(caller)
                above = above.f_back

        sys.setprofile(see)
        try:
            yield
        finally:
            sys.setprofile(None)


class Redis(StandIn):
    """Takes beats, too."""

    def beat(self, ticket: Ticket, worker: str, lease_seconds: float, *, overslept: bool = False) -> bool:
        return True


@ON_SQLITE
def test_a_submission_takes_them_in_their_order(
    portal: Portal, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # where it runs is a sandboxed process, into which no trace reaches
    assert STEPS["check"] == (check_step.__name__, check_step.check_step.__name__)
    monkeypatch.setattr(SandboxedStages, "check", lambda _self, request: check_step.check(request))
    with portal.course.sessions.begin() as session:
        session.get_one(Assignment, portal.course.assignment).device_class = ""
        register_key(session, as_worker(NOBODY), datetime.now(UTC))
    ada = client_of(portal, "ada")
    source = find_exercise("tiled").root.joinpath("solution.cu").read_text()
    redis, trace = Redis(), Trace(hops())
    with trace.followed():
        assert ada.post_form(FORM, source=source, mode="rank", key="").status_code == 303
        Dispatcher(engine, redis.connections, Settings("", "")).tick(0.0)
        result = _work(redis, tmp_path)
        assert written(Recorder(engine, redis, Heartbeat(None)), result)
    with portal.course.sessions.begin() as session:
        (line,) = board(session, portal.course.assignment, "").rows
    assert line.name == "ada"
    assert trace.order == list(trace.hops)
    for number, hop in trace.hops.items():
        assert hop.caller is None or hop.caller in trace.under_way[number], number


def _work(redis: Redis, folder: Path) -> str:
    """What a slot sends back."""
    sent: list[str] = []
    workplace = CpuWorkplace(folder)
    with (
        closing(workplace),
        closing(Outbox(redis, "w", sent.append, lambda: 0)) as outbox,
        connect_redis(NOBODY, answer_seconds=1.0) as client,
    ):
        reporter, stop = SlotReporter("cpu-0", CPU_QUEUE, "cpu"), Stop(1.0, workplace.abort)
        signs = partial(seal, A_WORKER)
        task = StepTask("host-1.w/cpu-0", signs, workplace, redis, outbox, Hints(client), reporter, stop)
        task.run(encode(redis.queues[CPU_QUEUE].pop(0)))
        return str(until(lambda: sent)[0])
