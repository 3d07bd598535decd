"""What pages can be in the middle of: submissions on their way, and courses where nothing has happened.

No worker runs here, so that each stays as it was brought.
"""

from __future__ import annotations

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Course, Membership, Role
from server.grading.changes import cancel, regrade
from server.grading.models import Job
from server.submissions.models import Mode, Submission
from tests.server.course import NOW, ACourse
from tests.server.standings.results import checked, public_id, ranked
from tests.server.submissions.graded import given_up, taken
from worker.messages import StepKind


def brought(course: ACourse) -> dict[str, str]:
    """Submissions by what they are in, each of a student who is called so; the last ones are still to be taken."""
    jobs = {
        "measured": ranked(course, "measured", 2_000.0, source=b"// measured\n"),
        "wrong": course.job("wrong", source=b"// wrong\n", mode=Mode.CHECK),
        "fault": course.job("fault", source=b"// fault\n", mode=Mode.CHECK),
        "measuring": course.job("measuring", source=b"// measuring\n"),
    }
    checked(course, jobs["measuring"])
    checked(course, jobs["wrong"], Verdict.WRONG_ANSWER, message="P[1][2] is wrong.")
    taken(course, jobs["measuring"], StepKind.MEASURE)
    given_up(course, jobs["fault"])
    jobs["again"] = _graded_again(course)
    jobs["checking"] = course.job("checking", source=b"// checking\n", mode=Mode.CHECK)
    taken(course, jobs["checking"])
    jobs["queued"] = course.job("queued", source=b"// queued\n")
    jobs["stopped"] = course.job("stopped", source=b"// stopped\n")
    with course.sessions.begin() as session:
        cancel(session, jobs["stopped"], session.get_one(Person, course.people["stopped"]))
    return {name: public_id(course, job) for name, job in jobs.items()}


def _graded_again(course: ACourse) -> int:
    """One with a verdict that waits for another."""
    job = course.job("again", source=b"// again\n", mode=Mode.CHECK)
    checked(course, job)
    with course.sessions.begin() as session:
        submission = session.get_one(Submission, session.get_one(Job, job).submission_id)
        assignment = session.get_one(Assignment, course.assignment)
        regrade(session, assignment, None, only=[submission.id])
    return job


def bare_course(course: ACourse) -> None:
    """Courses where nothing has happened, `bare` with an assignment and `void` without, and somebody in no course."""
    course.person("outside", None)
    course.person("eve", None)
    with course.sessions.begin() as session:
        like = session.get_one(Assignment, course.assignment)
        made = Course(slug="bare", title="Nothing yet", created_at=NOW)
        none = Course(slug="void", title="Nothing at all", created_at=NOW)
        session.add_all([made, none])
        session.flush()
        session.add(
            Assignment(
                course_id=made.id, exercise_digest=like.exercise_digest, title="Tiled", created_at=NOW, slug="tiled",
                device_class="h200", arch="sm_90",
            )
        )  # fmt: skip
        for where in (made, none):
            for name, role in (("eve", Role.STUDENT), ("ina", Role.INSTRUCTOR)):
                session.add(
                    Membership(course_id=where.id, person_id=course.people[name], role=role, created_at=NOW)
                )
