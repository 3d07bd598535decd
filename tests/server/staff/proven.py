"""An exercise of a course, and workers that grade its proof."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select

from kernels.verdict import Finding, Verdict
from server.accounts.models import Person
from server.courses.models import Course
from server.dispatching.dispatch import take
from server.exercises.proof import start_proof
from server.exercises.stored import content_of, keep_draft
from server.grading.models import Step, StepState
from server.recording.record import record
from tests.server.commands.own_exercises import DEFINITION
from tests.server.course import AFTER_ANY_PAUSE, NOW, ACourse, check_result, report_for
from worker.contract.messages import CPU_QUEUE

FILES: dict[str, bytes] = {
    "exercise.toml": DEFINITION.encode(),
    "handout.md": b"# A title\n\nMultiply.\n\n![Rows](rows.svg)\n",
    "starter.cu": b"// Write MatVec here.\n",
    "solution.cu": b"// the solution\n",
    "rows.svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "wrong.toml": b'[races]\nverdict = "data_race"\nline = 3\nwhy = "No barrier."\n',
    "wrong/races.cu": b"// races\n",
    "right/other.cu": b"// another\n",
}


def drafted(course: ACourse, name: str, by: str) -> None:
    """A draft of this name, whose solution fails at one tile."""
    person = course.person(by)
    with course.sessions.begin() as session:
        draft = keep_draft(session, content_of(name, FILES), course.course, person, NOW)
        start_proof(session, session.get_one(Course, course.course), draft, session.get_one(Person, person))
    prove(course, {"solution.cu": Verdict.DATA_RACE})


def prove(course: ACourse, wrong: Mapping[str, Verdict] | None = None) -> None:
    """Grade all kernels of a proof as they must be graded, except those in `wrong`, by file."""
    with course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=500, cap=500, now=AFTER_ANY_PAUSE)
        sent = session.scalars(select(Step).where(Step.state == StepState.SENT).order_by(Step.id)).all()
        results = []
        for step in sent:
            file = step.job.proof_file or ""
            due = {
                "solution.cu": Verdict.ACCEPTED,
                "right/other.cu": Verdict.ACCEPTED,
                "starter.cu": Verdict.WRONG_ANSWER,
            }
            verdict = (wrong or {}).get(file) or due.get(file, Verdict.DATA_RACE)
            findings = () if verdict is Verdict.ACCEPTED else (Finding(verdict, "So.", line=3),)
            report = report_for(step.job, verdict, findings=findings)
            results.append(check_result(session, step.job_id, verdict, report=report))
    for result in results:
        record(course.sessions, result)
