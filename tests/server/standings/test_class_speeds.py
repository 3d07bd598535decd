"""Where a student's speed is among the class."""

from __future__ import annotations

from server.grading.models import Job
from server.standings.class_speeds import FEWEST, ClassSpeeds, class_speeds
from server.standings.service import set_listed
from tests.server.course import ACourse, later
from tests.server.standings.results import ranked
from tests.server.web.conftest import Portal


def _class(course: ACourse, job: int) -> ClassSpeeds | None:
    with course.sessions.begin() as session:
        return class_speeds(session, session.get_one(Job, job).submission_id or 0, later(0))


def test_a_class_is_shown_from_five_students_on_and_never_by_name(portal: Portal) -> None:
    course = portal.course
    jobs = [ranked(course, f"student{number}", 1_000.0 + 700 * number) for number in range(FEWEST - 1)]
    assert _class(course, jobs[2]) is None
    ranked(course, "last", 9_000.0)
    found = _class(course, jobs[2])
    assert found is not None
    assert (found.slower, found.others) == (2, FEWEST - 1)
    own = [label for label, _ in found.plot.rows if label.startswith("you")]
    assert len(own) == 1
    assert not any(name in str(found) for name in course.people)
    with course.sessions.begin() as session:
        set_listed(session, course.people["student0"], listed=False)
    assert _class(course, jobs[2]) is None, "the listed speeds would tell the other one"
    assert _class(course, jobs[0]) is not None
