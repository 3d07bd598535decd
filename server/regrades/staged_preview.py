"""What a staged regrade would change: verdicts, points and ranks, before and after."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from server.accounts.models import Person
from server.fields import JsonName
from server.grades.grade import Grade
from server.grades.losses import students_grades
from server.grading.models import Job
from server.regrades.service import ChangedVerdict
from server.regrades.staging import changed_lines
from server.standings.models import Standing
from server.standings.service import best_lines
from server.submissions.models import StagedRegrade, Submission
from server.submissions.verdicts import judged_job_id


@dataclass(frozen=True, slots=True)
class NewGrade:
    """A grade whose points would change."""

    person_id: int
    student: str
    email: str
    was: Grade
    now: Grade

    @property
    def lower(self) -> bool:
        return (self.now.points or 0.0) < (self.was.points or 0.0)


@dataclass(frozen=True, slots=True)
class NewRank:
    """A changed rank on a leaderboard. was, now: None for no line."""

    device_class: str
    person_id: Annotated[int, JsonName("person")]
    student: Annotated[str, JsonName("name")]
    was: int | None
    now: int | None


@dataclass(frozen=True, slots=True)
class Preview:
    """All that applying a staged regrade would change."""

    verdicts: tuple[ChangedVerdict, ...]
    grades: tuple[NewGrade, ...]
    ranks: tuple[NewRank, ...]

    @property
    def lower(self) -> int:
        """How many students would lose points."""
        return sum(one.lower for one in self.grades)

    @property
    def digest(self) -> str:
        """Of the changes, by which a form detects that they are others by now."""
        verdicts = [(one.public_id, one.was, one.now) for one in self.verdicts]
        grades = [(one.person_id, one.was.points, one.now.points) for one in self.grades]
        ranks = [(one.device_class, one.person_id, one.was, one.now) for one in self.ranks]
        return hashlib.sha256(repr((verdicts, grades, ranks)).encode()).hexdigest()


def preview(session: Session, staged: StagedRegrade) -> Preview:
    """Compute what applying the regrade now would change. Reads only."""
    return Preview(_verdicts(session, staged), _grades(session, staged), _ranks(session, staged))


def _verdicts(session: Session, staged: StagedRegrade) -> tuple[ChangedVerdict, ...]:
    new, old = aliased(Job), aliased(Job)
    query = (
        select(Submission.public_id, Person.id, Person.name, Person.email, old.verdict, new.verdict)
        .select_from(Submission)
        .join(new, new.staged_for_id == Submission.id)
        .join(Person, Person.id == Submission.person_id)
        .outerjoin(old, old.id == Submission.judged_job_id)
        .where(new.regrade_id == staged.id, new.id == judged_job_id(staged.id))
        .order_by(Submission.id)
    )
    return tuple(
        ChangedVerdict(public_id, person, name, email, was, now)
        for public_id, person, name, email, was, now in session.execute(query)
        if now is not None and now is not was
    )


def _grades(session: Session, staged: StagedRegrade) -> tuple[NewGrade, ...]:
    before = students_grades(session, staged.assignment)
    after = students_grades(session, staged.assignment, staged=staged.id)
    changed = {
        person: (before.get(person, Grade()), now)
        for person, now in after.items()
        if now.points != before.get(person, Grade()).points
    }
    people = _people(session, changed)
    found = (NewGrade(person, people[person].name, people[person].email, *pair) for person, pair in changed.items())
    return tuple(sorted(found, key=lambda one: (not one.lower, one.student.casefold(), one.email)))


def _ranks(session: Session, staged: StagedRegrade) -> tuple[NewRank, ...]:
    lines: dict[str, dict[int, tuple[float, datetime, int]]] = defaultdict(dict)
    query = select(Standing.device_class, Standing.person_id, Standing.score, Standing.reached_at, Standing.lot).where(
        Standing.assignment_id == staged.assignment_id, Standing.before_freeze.is_(False)
    )
    for device_class, person, score, reached_at, lot in session.execute(query):
        lines[device_class][person] = (score, reached_at, lot)
    unlisted = _unlisted(session, staged)
    before = {device_class: _ordered(found, unlisted) for device_class, found in lines.items()}
    changed: dict[str, set[int]] = defaultdict(set)
    for person, device_class in changed_lines(session, staged):
        changed[device_class].add(person)
    if staged.exercise is not None:  # a line stays only if the new version judged its submission
        for device_class, known in lines.items():
            changed[device_class] |= known.keys()
    for device_class, several in changed.items():
        people = sorted(several)
        best = best_lines(session, staged.assignment, device_class, people, staged=staged.id, exercise=staged.exercise)
        for person in people:
            kept = lines[device_class].pop(person, None)
            if person in best:
                # A new line gets a random lot when it is written. It decides only between equal lines of the same
                # moment.
                lot = 0 if kept is None else kept[2]
                lines[device_class][person] = (best[person].score, best[person].reached_at, lot)
    found = [
        (device_class, person, was.get(person), now.get(person))
        for device_class in sorted(lines)
        for was, now in [(before.get(device_class, {}), _ordered(lines[device_class], unlisted))]
        for person in sorted(was.keys() | now.keys())
        if was.get(person) != now.get(person)
    ]
    names = _people(session, {person: None for _, person, _, _ in found})
    return tuple(NewRank(name, person, names[person].name, was, now) for name, person, was, now in found)


def _unlisted(session: Session, staged: StagedRegrade) -> set[int]:
    query = select(Submission.person_id).join(Person, Person.id == Submission.person_id)
    mine = query.where(Submission.assignment_id == staged.assignment_id, ~Person.listed)
    return set(session.scalars(mine.distinct()))


def _ordered(lines: Mapping[int, tuple[float, datetime, int]], unlisted: Collection[int]) -> Mapping[int, int]:
    """The ranks by person: the highest score first, then the earliest. Only listed lines are counted."""
    found, rank = {}, 1
    for person in sorted(lines, key=lambda person: (-lines[person][0], *lines[person][1:])):
        found[person] = rank
        rank += person not in unlisted
    return found


def _people(session: Session, wanted: Mapping[int, object]) -> Mapping[int, Person]:
    numbers = sorted(wanted)
    found: dict[int, Person] = {}
    for start in range(0, len(numbers), 1_000):  # databases limit the number of parameters in a statement
        some = session.scalars(select(Person).where(Person.id.in_(numbers[start : start + 1_000])))
        found |= {one.id: one for one in some}
    return found
