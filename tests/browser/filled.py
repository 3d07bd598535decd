"""A portal with a course in which a GPU has measured. None is here: its results are written as a worker sends them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext
from sqlalchemy import insert, select, update

from kernels.verdict import Finding, Verdict
from server.accounts import browser_sessions
from server.accounts.models import Person
from server.accounts.service import set_password
from server.courses.models import Counts, Membership, Role
from server.database.engine import connect, sessions
from server.database.schema import upgrade
from server.grading.models import Job
from server.recording.record import record
from server.standings.models import Standing
from server.standings.ranks import recount
from server.submissions.models import Mode, Submission
from server.web.app import create_app
from tests.browser.states import announced, bare_course, brought, commented, connected, experiments, graded_by_rubric
from tests.server.course import ACourse
from tests.server.standings.results import checked, measure, public_id, ranked
from tests.server.web.conftest import settings
from tests.server.web.served import served

_PEOPLE = 58
_KERNEL = """#define TILE_WIDTH {tile}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {{
  __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
  __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
  int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
  int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
  float Pvalue = {start};
  for (int ph = 0; ph < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {{
    Ms[threadIdx.y][threadIdx.x] = M[Row * Width + ph * TILE_WIDTH + threadIdx.x];
    Ns[threadIdx.y][threadIdx.x] = N[(ph * TILE_WIDTH + threadIdx.y) * Width + Col];
    __syncthreads();
    for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Ms[threadIdx.y][k] * Ns[k][threadIdx.x];
{barrier}  }}
  P[Row * Width + Col] = Pvalue;
}}
"""


@dataclass(frozen=True, slots=True)
class Filled:
    """Where it answers, its course, and what there is to put into addresses: submissions by what they are in."""

    url: str
    course: ACourse
    names: dict[str, str]

    def let_in(self, context: BrowserContext, name: str) -> None:
        """Sign that person in with this browser; "ina as ada" looks at the course as ada."""
        own, _, viewed = name.partition(" as ")
        with self.course.sessions.begin() as session:
            person = session.get_one(Person, self.course.people[own])
            token = browser_sessions.begin(session, person, "test")
            found = browser_sessions.find(session, token)
            if viewed and found is not None:
                people, course = self.course.people, self.course.course
                browser_sessions.view_as(session, found.session_id, people[viewed], course)
        context.add_cookies([{"name": "tilelab", "value": token, "url": self.url}])


@contextmanager
def filled(folder: Path) -> Iterator[Filled]:
    """One that answers until it is left; ada has a history, and stands far down on a board of many.

    Others wait, without a worker, for what a page shows meanwhile.
    """
    url = f"sqlite:///{folder}/tilelab.sqlite3"
    engine = connect(url)
    upgrade(engine)
    course = ACourse.make(sessions(engine), points=10.0, counts=Counts.CHOSEN, late_percent_per_day=10.0)
    names = _fill(course)
    bare_course(course)
    names |= brought(course)
    names |= announced(course)
    names |= commented(course, names["latter"])
    connected(course, "ada", "ina")
    course.change_course(late_days=3)
    names |= graded_by_rubric(course, "slow")
    names["ada"] = str(course.people["ada"])
    with course.sessions.begin() as session:
        set_password(session, session.get_one(Person, course.people["ada"]), "two green teapots")
    app = create_app(settings(url))
    try:
        with served(app) as url:
            yield Filled(url, course, names)
    finally:
        app.extensions["tilelab"].engine.dispose()
        engine.dispose()


def _fill(course: ACourse) -> dict[str, str]:
    """Gives two attempts to be compared."""
    now = datetime.now(UTC).replace(microsecond=0)
    begin = now - timedelta(days=6)
    course.person("ina", Role.INSTRUCTOR)
    course.change(due_at=now - timedelta(days=1))
    compared = _history(course, begin)
    compared |= experiments(course)
    course.person("idle")
    ranked(
        course, "slow", 1_900.0, 0.003, source=_source("    __syncthreads();\n", 8), now=begin + timedelta(hours=131)
    )
    first = ranked(course, "p0", 9_000.0, 0.003, now=begin)
    _others(course, first, begin)
    return compared


def _history(course: ACourse, begin: datetime) -> dict[str, str]:
    """From a race to a kernel that is right, by way of one that nobody believes."""

    def at(hours: float) -> dict[str, Any]:
        return {"now": begin + timedelta(hours=hours)}

    race = Finding(Verdict.DATA_RACE, "Line 13 reads Ms while line 10 of the next phase writes it.", 13, 10)
    checked(
        course, course.job("ada", source=_source("", 16), mode=Mode.CHECK, **at(1)), Verdict.DATA_RACE, findings=(race,)
    )
    former = course.job("ada", source=_source("", 16, "0"), **at(2))
    checked(course, former, Verdict.DATA_RACE, findings=(race,))
    ranked(course, "ada", 2_310.0, 0.004, source=_source("    __syncthreads();\n", 16), **at(3))
    ranked(course, "ada", 2_316.0, 0.004, source=_source("    __syncthreads();\n", 16, "0"), **at(5))
    latter = ranked(course, "ada", 3_120.0, 0.003, source=_source("    __syncthreads();\n", 32), **at(26))
    job = course.job("ada", source=b"// too good\n", **at(30))
    remark = "it is faster than the memory of an H200 lets any kernel be that reads its operands"
    record(course.sessions, measure(course, job, 880_000.0, ranked=False, remarks=(remark,)))
    ranked(course, "ada", 2_990.0, 0.003, source=_source("    __syncthreads();\n", 32, "0.f"), **at(130))
    return {"former": public_id(course, former), "latter": public_id(course, latter)}


def _source(barrier: str, tile: int, start: str = "0.0f") -> bytes:
    return _KERNEL.format(barrier=barrier, tile=tile, start=start).encode()


def _others(course: ACourse, first: int, begin: datetime) -> None:
    """Many people at once, without a result each: a board is read from its own rows."""
    with course.sessions.begin() as session:
        job = session.get_one(Job, first)
        handed_in = session.get_one(Submission, job.submission_id)
        line = session.get_one(Standing, (course.assignment, "h200", False, job.person_id))
        for i in range(1, _PEOPLE):
            person = Person(email=f"p{i}@example.edu", name=f"Person {i}", created_at=begin + timedelta(seconds=i))
            session.add(person)
            session.flush()
            session.add(Membership(course_id=course.course, person_id=person.id, role=Role.STUDENT, created_at=begin))
            made = {"person_id": person.id, "public_id": f"{i:016x}", "judged_job_id": None}
            number = session.scalars(insert(Submission).values(_copy(handed_in) | made).returning(Submission.id)).one()
            again = _copy(job) | {"person_id": person.id, "submission_id": number}
            work = session.scalars(insert(Job).values(again).returning(Job.id)).one()
            session.execute(update(Submission).where(Submission.id == number).values(judged_job_id=work))
            speed = 9_000.0 * 0.992 ** (i - i % 3 / 2)  # some so close to another that they are tied
            session.execute(insert(Standing).values(_copy(line, "lot") | {
                "person_id": person.id, "job_id": work, "score": speed, "low": 0.997 * speed, "high": 1.003 * speed,
                "reached_at": begin + timedelta(minutes=7 * i), "cublas_share": speed / 52_000,
                "occupancy": (1.0, 0.75, 0.5)[i % 3],
            }))  # fmt: skip
        for each in session.scalars(select(Standing).where(Standing.assignment_id == course.assignment)):
            each.cublas_share, each.occupancy = each.score / 52_000, each.occupancy or 0.75
        recount(session, course.assignment)


def _copy(row: Any, without: str = "id") -> dict[str, Any]:
    return {column.key: getattr(row, column.key) for column in row.__table__.columns if column.key != without}
