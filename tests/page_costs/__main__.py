"""`make page-costs`: the processor time of pages that show hostile texts of legal size; none may take too long."""

from __future__ import annotations

import argparse
import heapq
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kernels.report import Report
from server.bounded_work import bounded_seconds
from server.courses.models import Assignment, Role
from server.database.engine import connect, sessions
from server.database.schema import upgrade
from server.grades.criteria import Criterion, stored
from server.grades.rubric import code_of
from server.web.app import create_app
from tests.page_costs import texts
from tests.server.course import ACourse
from tests.server.submissions.graded import graded, handed_in
from tests.server.web.conftest import Portal, settings
from tests.server.web.signed_in import BrowserClient, client_of
from worker.steps.explanation import ExplainRequest, explain

MOST_SECONDS = 0.5
ON_A_WORKER, _MOST_ON_A_WORKER = "explanation, on a worker", 2.0
"""It happens once, and the worker ends it after five seconds."""

_SHOWN = 8
_OF_A_STUDENT = 20
"""Checks: the server allows 30 an hour."""

_PROGRESS_SECONDS = 20.0
_HOME = "/courses/gpu/tiled"


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What one page took. text: the source or the experiment."""

    seconds: float
    page: str
    status: int = field(compare=False)
    text: str = field(compare=False)

    @property
    def late(self) -> bool:
        return self.seconds > (_MOST_ON_A_WORKER if self.page == ON_A_WORKER else MOST_SECONDS)


@dataclass(slots=True)
class Stage:
    """A portal with a student and an instructor, in this process.

    name: the student's
    earlier: their last submission
    """

    portal: Portal
    student: BrowserClient
    staff: BrowserClient
    chance: random.Random
    number: int = 0
    name: str = ""
    earlier: str = ""

    def costs(self) -> Iterator[Cost]:
        """Grade one more text, and read one page of each kind that shows it."""
        self.number += 1
        if self.number % 10 == 0:
            yield self._experiment()
            return
        if self.number % _OF_A_STUDENT == 1:
            self.name, self.earlier = f"s{self.number}", ""
            self.student = client_of(self.portal, self.name)
        text = texts.source(self.chance)
        found = texts.finding(self.chance, text)
        report = Report(found.kind, found.message, "tiled", "cpu", "sm_90", 16, findings=(found,))
        began = _processor_seconds()
        made = explain(ExplainRequest(report, text))
        yield Cost(_processor_seconds() - began, ON_A_WORKER, 200, text)
        name, job = handed_in(self.portal.course, self.name, source=text.encode())
        graded(self.portal.course, job, verdict=found.kind, message=found.message, findings=(found,), explanation=made)
        pages = [
            ("result", self.student, f"/submissions/{name}"),
            ("file of the result", self.student, f"/submissions/{name}/report.html"),
            ("comments", self.student, f"/submissions/{name}/comments"),
            ("editor", self.student, f"{_HOME}/?submission={name}"),
            ("result, for staff", self.staff, f"/submissions/{name}"),
            ("grading", self.staff, f"/staff/gpu/grading/tiled/{self._code()}"),
        ]
        if self.earlier:
            pages.append(("comparison", self.student, f"{_HOME}/compare?left={self.earlier}&right={name}"))
        self.earlier = name
        # The result is the page that everybody reads, and the others take turns.
        for page, client, path in (pages[0], pages[1 + self.number % (len(pages) - 1)]):
            yield _cost(page, text, lambda client=client, path=path: client.get(path).status_code)  # type: ignore[misc]
        yield _cost(
            "form with the text",
            text,
            lambda: self.student.post_form(f"{_HOME}/submissions", source=text, mode="check", repair="yes").status_code,
        )

    def _code(self) -> str:
        with self.portal.course.sessions.begin() as session:
            assignment = session.get_one(Assignment, self.portal.course.assignment)
            return code_of(assignment, self.portal.course.person(self.name))

    def _experiment(self) -> Cost:
        text = texts.experiment(self.chance)
        name, role = f"e{self.number}", self.chance.choice((Role.STUDENT, Role.INSTRUCTOR))
        asked = {"course": "gpu", "definition": text, "kernels": {"a.cu": texts.KERNEL}}
        headers = {"Authorization": f"Bearer {self.portal.token(name, role)}"}
        return _cost(
            f"start of an experiment by {'a student' if role is Role.STUDENT else 'staff'}",
            text,
            lambda: self.portal.client.post("/api/v1/experiments", json=asked, headers=headers).status_code,
        )


@contextmanager
def stage(seed: int) -> Iterator[Stage]:
    """A portal on a new database."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'tilelab.db'}"
        engine = connect(url)
        upgrade(engine)
        app = create_app(settings(url))
        rubric = stored([Criterion("aa", "Readable", 4.0)])
        portal = Portal(app, ACourse.make(sessions(engine), rubric=rubric), app.test_client())
        try:
            yield Stage(
                portal, client_of(portal, "ada"), client_of(portal, "ina", Role.INSTRUCTOR), random.Random(seed)
            )
        finally:
            engine.dispose()


def _processor_seconds() -> float:
    return time.thread_time() + bounded_seconds()


def _cost(page: str, text: str, ask: Callable[[], int]) -> Cost:
    began = _processor_seconds()
    status = ask()
    return Cost(_processor_seconds() - began, page, status, text)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.page_costs")
    parser.add_argument("texts", type=int, nargs="?", default=5_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    parser.add_argument("--keep", type=Path, help="Folder for the texts that took too long.")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    began = told = time.monotonic()
    slowest: dict[str, list[Cost]] = {}
    read = failed = 0
    with stage(options.seed) as on:
        for number in range(1, options.texts + 1):
            for cost in on.costs():
                read += 1
                failed += cost.status >= 500
                known = slowest.setdefault(cost.page, [])
                (heapq.heappush if len(known) < _SHOWN else heapq.heappushpop)(known, cost)
            if time.monotonic() - told > _PROGRESS_SECONDS:
                told = time.monotonic()
                print(f"{number:,} texts in {told - began:,.0f} s", flush=True)
    late = [cost for costs in slowest.values() for cost in costs if cost.late]
    for page, costs in sorted(slowest.items(), key=lambda each: -max(each[1]).seconds):
        worst = max(costs)
        print(f"  {page:<36} {worst.seconds:.2f} s for {worst.text[:60]!r} ({len(worst.text):,} characters)")
    for place, cost in enumerate(sorted(late, reverse=True)):
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{place}-{cost.page.replace(' ', '-')}.txt").write_text(cost.text)
    print(
        f"seed {options.seed}: {options.texts:,} texts, {read:,} pages in {time.monotonic() - began:,.0f} s; "
        f"{len(late)} of the slowest took too long, {failed:,} failed"
    )
    return 1 if late or failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
