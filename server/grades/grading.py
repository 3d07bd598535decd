"""Grading a whole class by the rubric: who is next, whose share a student is in, and who has a submission open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any

from sqlalchemy import and_, exists, or_, select, update
from sqlalchemy.orm import Session, aliased

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.acts.act import Act, Target
from server.acts.field import Asked
from server.courses.models import Assignment, Correction, Membership, Role
from server.courses.service import hold_active_course
from server.database.upsert import insert_into
from server.fields import Text
from server.grades.criteria import Criterion, criteria_of
from server.grades.grade import given_in
from server.grades.losses import students_grades
from server.grades.rubric import code_of
from server.submissions.models import GradingShare, Mode, RubricGrade
from server.teams.credit import credited

CLAIM = timedelta(minutes=10)
"""How long an opened submission stays with who opened it."""

NO_ONE, EVERYONE = "none", "all"


@dataclass(frozen=True, slots=True)
class Paper:
    """A student of whom something is to grade, or a team with the same submission.

    code: the student's name while grading blind, which stays and says nothing; it is in addresses
    row: what course staff gave so far; None for nothing
    graded: whether all criteria have points
    excused: whether the assignment doesn't count for the student
    grader: whose share the student is in; None if it is no one's who still is course staff
    mates: the others of the team; the person stands for all
    """

    person: int
    name: str
    section: str
    code: str
    row: RubricGrade | None
    graded: bool
    excused: bool
    grader: int | None
    claimed_by: int | None
    claimed_until: datetime | None
    mates: tuple[Paper, ...] = ()

    @property
    def codes(self) -> frozenset[str]:
        """The codes of all its students."""
        return frozenset({self.code, *(mate.code for mate in self.mates)})

    @property
    def waits(self) -> bool:
        return not self.graded and not self.excused

    @property
    def counts(self) -> bool:
        """Whether it is part of the progress. An excused student is only if graded."""
        return self.graded or not self.excused

    def holder(self, reader: int, now: datetime) -> int | None:
        """Who else has it open now; None for no one."""
        free = self.claimed_by in (None, reader) or self.claimed_until is None or self.claimed_until <= now
        return None if free else self.claimed_by

    def is_kept(self, reader: int, now: datetime) -> bool:
        """Whether the reader's claim lasts a while."""
        return self.claimed_by == reader and self.claimed_until is not None and self.claimed_until > now + CLAIM / 2

    def is_for(self, reader: int, now: datetime) -> bool:
        """Whether it may be the reader's next one."""
        return self.waits and self.grader in (None, reader) and self.holder(reader, now) is None


def papers(session: Session, assignment: Assignment) -> Sequence[Paper]:
    """All students with a submission that may count, in an order that has nothing to do with their names."""
    one = credited([assignment])
    judged = exists().where(
        one.assignment_id == assignment.id,
        one.person_id == Membership.person_id,
        one.mode == Mode.RANK,
        one.verdict.is_not(None),
        one.verdict != Verdict.SYSTEM_ERROR,
    )
    grader = aliased(Membership)
    active = grader.course_id == assignment.course_id, grader.role != Role.STUDENT, grader.dropped_at.is_(None)
    query = (
        select(
            Membership.person_id, Person.name, Membership.section, RubricGrade, Correction.excused,
            grader.person_id, GradingShare.claimed_by, GradingShare.claimed_until,
        )
        .join(Person, Person.id == Membership.person_id)
        .outerjoin(RubricGrade, _of(assignment, RubricGrade))
        .outerjoin(Correction, _of(assignment, Correction))
        .outerjoin(GradingShare, _of(assignment, GradingShare))
        .outerjoin(grader, and_(grader.person_id == GradingShare.grader_id, *active))
        .where(Membership.course_id == assignment.course_id, Membership.role == Role.STUDENT)
        .where(Person.erased_at.is_(None))
        .where(or_(and_(judged, Membership.dropped_at.is_(None)), RubricGrade.id.is_not(None)))
    )  # fmt: skip
    criteria = criteria_of(assignment.rubric)
    found = (
        Paper(
            person, name, section, code_of(assignment, person), row, _graded(criteria, row), bool(excused), share,
            holder, until,
        )
        for person, name, section, row, excused, share, holder, until in session.execute(query)
    )  # fmt: skip
    return sorted(_by_team(session, assignment, list(found)), key=lambda one: one.code)


def _by_team(session: Session, assignment: Assignment, found: list[Paper]) -> list[Paper]:
    """One paper for the members of a team for whom the same submission counts. Who isn't graded stands for them."""
    if assignment.team_size == 1:
        return found
    counted = {person: grade.counted for person, grade in students_grades(session, assignment).items()}
    same: dict[object, list[Paper]] = {}
    for one in sorted(found, key=lambda one: (not one.waits, one.excused, one.person)):
        entry = counted.get(one.person)
        same.setdefault(("alone", one.person) if entry is None else entry.entry.submission_id, []).append(one)
    return [_together(papers) for papers in same.values()]


def _together(papers: list[Paper]) -> Paper:
    first, *mates = papers
    return replace(first, name=" and ".join(one.name for one in papers), mates=tuple(mates)) if mates else first


def _graded(criteria: Sequence[Criterion], row: RubricGrade | None) -> bool:
    given = given_in(row)
    return given is not None and all(each.points(given) is not None for each in criteria)


def _of(assignment: Assignment, table: type[RubricGrade | Correction | GradingShare]) -> Any:
    return and_(table.person_id == Membership.person_id, table.assignment_id == assignment.id)


def around(found: Sequence[Paper], reader: int, now: datetime, code: str = "") -> tuple[Paper | None, Paper | None]:
    """The reader's ungraded ones before and after this one: first their share, then unassigned ones. It wraps."""
    mine = sorted((one for one in found if one.code != code and one.is_for(reader, now)), key=_place(reader))
    if not mine:
        return None, None
    here = next((_place(reader)(one) for one in found if one.code == code), (False, ""))
    later = [one for one in mine if _place(reader)(one) > here]
    earlier = [one for one in mine if _place(reader)(one) < here]
    return (earlier or mine)[-1], (later or mine)[0]


def _place(reader: int) -> Callable[[Paper], tuple[bool, str]]:
    return lambda one: (one.grader != reader, one.code)


def claim(session: Session, assignment: int, person: int, reader: int, now: datetime) -> None:
    """Keep a student's submission from other graders for a while, unless one of them has it open.

    A grader has one open at a time: the one before is free again.
    """
    others = GradingShare.assignment_id == assignment, GradingShare.claimed_by == reader
    session.execute(
        update(GradingShare)
        .where(*others, GradingShare.person_id != person)
        .values(claimed_by=None, claimed_until=None)
    )
    free = or_(GradingShare.claimed_by.is_(None), GradingShare.claimed_by == reader, GradingShare.claimed_until <= now)
    held = {"claimed_by": reader, "claimed_until": now + CLAIM}
    made = insert_into(session, GradingShare).values(assignment_id=assignment, person_id=person, **held)
    key = [GradingShare.assignment_id, GradingShare.person_id]
    session.execute(made.on_conflict_do_update(index_elements=key, set_=held, where=free))


def release(session: Session, assignment: int, person: int) -> None:
    """End the claim on a student's submission."""
    key = GradingShare.assignment_id == assignment, GradingShare.person_id == person
    session.execute(update(GradingShare).where(*key).values(claimed_by=None, claimed_until=None))


def progress(found: Sequence[Paper]) -> tuple[int, int]:
    """How many are graded, of how many. Without excused students, unless they are graded."""
    return sum(one.graded for one in found), sum(one.counts for one in found)


@dataclass(frozen=True, slots=True)
class Share:
    """How far one grader is. grader: None for unassigned students; graded_by_them: also of other shares."""

    grader: int | None
    name: str
    share: int
    left: int
    graded_by_them: int


def shares(found: Sequence[Paper], staff: Mapping[int, str]) -> Sequence[Share]:
    """The progress of each member of course staff who grades, and of unassigned students."""
    made = [
        Share(
            grader,
            name,
            sum(one.grader == grader and one.counts for one in found),
            sum(one.grader == grader and one.waits for one in found),
            sum(one.graded and one.row is not None and one.row.graded_by == grader for one in found) if grader else 0,
        )
        for grader, name in [*staff.items(), (None, "")]
    ]
    return [one for one in made if one.share or one.graded_by_them]


def graders(session: Session, course: int) -> Mapping[int, Person]:
    """The course staff, by name."""
    query = select(Person).join(Membership, Membership.person_id == Person.id)
    staff = Membership.course_id == course, Membership.role != Role.STUDENT, Membership.dropped_at.is_(None)
    return {one.id: one for one in session.scalars(query.where(*staff).order_by(Person.name, Person.id))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Whose share the ungraded students of a section are in. Graded students stay where they are.

    grader: an email; `all` to split evenly among the assistants, `none` for no share
    section: "" for all students
    """

    grader: Annotated[str, Text(longest=254), Asked("Graded by", option="GRADER", needed=True)] = EVERYONE
    section: Annotated[str, Text(longest=60), Asked("Students", help="Only this section.")] = ""


def _split(session: Session, on: Target, _actor: Person | None, given: Split) -> int:
    """Returns how many students moved."""
    hold_active_course(session, on.course.id)
    assignment = on.assignment
    among = _among(session, on.course.id, given.grader)
    graded = select(RubricGrade.person_id).where(RubricGrade.assignment_id == assignment.id)
    query = select(Membership.person_id).join(Person, Person.id == Membership.person_id).where(
        Membership.course_id == on.course.id, Membership.role == Role.STUDENT, Membership.dropped_at.is_(None),
        Person.erased_at.is_(None), Membership.person_id.not_in(graded),
    )  # fmt: skip
    if given.section:
        query = query.where(Membership.section == given.section)
    students = sorted(session.scalars(query), key=lambda person: code_of(assignment, person))
    known = {one.person_id: one for one in _shares_of(session, assignment)}
    for place, person in enumerate(students):
        share = known.get(person) or GradingShare(assignment_id=assignment.id, person_id=person)
        share.grader_id = among[place % len(among)] if among else None
        session.add(share)
    session.flush()
    return len(students)


def _shares_of(session: Session, assignment: Assignment) -> Sequence[GradingShare]:
    return session.scalars(select(GradingShare).where(GradingShare.assignment_id == assignment.id)).all()


def _among(session: Session, course: int, grader: str) -> Sequence[int]:
    staff = graders(session, course)
    if grader == NO_ONE:
        return ()
    if grader != EVERYONE:
        return [number for number, one in staff.items() if one.email.casefold() == grader.casefold()]
    assistants = select(Membership.person_id).where(
        Membership.course_id == course, Membership.role == Role.ASSISTANT, Membership.dropped_at.is_(None)
    )
    return sorted(session.scalars(assistants)) or list(staff)


def _wrong(session: Session, on: Target, given: Split) -> dict[str, str]:
    if given.grader != NO_ONE and not _among(session, on.course.id, given.grader):
        return {"grader": "No member of course staff has this email."}
    sections = select(Membership.section).where(Membership.course_id == on.course.id)
    if given.section and given.section not in session.scalars(sections.distinct()).all():
        return {"section": "No student is in this section."}
    return {}


SPLIT = Act(asks=Split, do=_split, audit="grades.split", wrong=_wrong)
