"""What fails most, by cause: who met it, who still does, and how long the fix took. Points and time by section."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import update

from kernels.facts import Access, AccessKind, Facts
from kernels.report.causes import Cause
from kernels.verdict import Finding, Verdict
from server.accounts.models import Person
from server.class_progress.failures import Try, by_cause
from server.class_progress.scores import distribution
from server.courses.models import Membership
from tests.server.course import NOW
from tests.server.staff.graded import handed_in, newest_job
from tests.server.standings.results import checked
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient

PAGE = "/staff/gpu/progress/tiled"
HOUR = timedelta(hours=1)
RACE, BOUNDS, OK = Verdict.DATA_RACE, Verdict.OUT_OF_BOUNDS, Verdict.ACCEPTED


def tried(person: int, hour: int, verdict: Verdict, cause: str = "") -> Try:
    return Try(person, NOW + hour * HOUR, f"{person}-{hour}", verdict, cause)


def test_a_cause_counts_each_student_once_and_is_fixed_by_the_attempt_after_the_last_with_it() -> None:
    race, guard = Cause.BARRIER_AFTER_USE, Cause.UNGUARDED_LOAD
    rows = by_cause(
        [
            tried(1, 0, RACE, race), tried(1, 1, BOUNDS, guard), tried(1, 2, RACE, race), tried(1, 5, OK),
            tried(2, 0, RACE, race), tried(2, 1, OK),
            tried(3, 0, RACE, race), tried(3, 9, RACE, race),
            tried(4, 3, RACE),
        ]
    )  # fmt: skip
    assert [(row.cause, row.students, row.stuck, row.attempts, row.fix, row.public_id) for row in rows] == [
        (race.words, 3, 1, 5, 3 * 3600, "3-9"),
        (guard.words, 1, 0, 1, 3600, "1-1"),
        ("Data race", 1, 1, 1, None, "4-3"),
    ]


def test_points_fall_into_tenths_with_a_range_for_a_bonus() -> None:
    assert distribution([0, 1.9, 2, 20], 20)[0] == ("0–2", 2)
    assert [count for _, count in distribution([0, 1.9, 2, 20, 21], 20)] == [2, 1, *[0] * 7, 1, 1]
    assert sum(count for _, count in distribution([0.0], 0)) == 1


def fails(portal: Portal, name: str, *accesses: AccessKind, source: bytes = b"") -> None:
    course = portal.course
    accepted = course.hand_in(name, source=source or f"// {name}".encode(), now=NOW)
    between = tuple(Access((place,), kind, 5 + place) for place, kind in enumerate(accesses))
    race = Finding(RACE, "Two threads use `Mds[0][0]`.", line=6, other_line=5, facts=Facts(accesses=between))
    checked(course, newest_job(course, accepted.submission.id), RACE, findings=(race,))


def test_the_page_groups_by_cause_and_keeps_to_a_section(portal: Portal, tom: BrowserClient) -> None:
    for name in ("ada", "bob"):
        fails(portal, name, AccessKind.READ, AccessKind.WRITE)
    fails(portal, "eve", AccessKind.WRITE, AccessKind.READ)
    handed_in(portal.course, "ada", OK, NOW + HOUR, source=b"// right")
    with portal.course.sessions.begin() as session:
        ada = session.query(Person.id).filter_by(email="ada@example.edu").scalar()
        session.execute(update(Membership).where(Membership.person_id == ada).values(section="A"))
    page = " ".join(tom.page(PAGE).split())
    assert page.index(Cause.BARRIER_AFTER_USE.words) < page.index(Cause.BARRIER_BEFORE_USE.words)
    assert 'data-of="Students">2</td><td class="n" data-of="Still">1</td>' in page
    assert "60 min" in page
    only = tom.page(f"{PAGE}?section=A")
    assert Cause.BARRIER_AFTER_USE.words in only
    assert Cause.BARRIER_BEFORE_USE.words not in only
    assert tom.get(f"{PAGE}?section=none").status_code == 422
    students = tom.page(f"{PAGE}/students?section=A")
    assert "ada@example.edu" in students
    assert "bob@example.edu" not in students
