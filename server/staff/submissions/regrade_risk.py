"""Students whose points a regrade at once may lower: named before it starts, and confirmed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from kernels.wording import plural, rounded_points
from server.courses.models import Assignment, Counts
from server.staff.losses import CONFIRMED, Loss, digest_of, losses, students_grades
from server.staff.submissions.queries import Chosen
from server.submissions.grades.grade import Grade

_TOLD = 20


@dataclass(frozen=True, slots=True)
class Risk:
    """A student who may lose points, all of them in the worst case. assignment: its short name."""

    assignment: str
    loss: Loss


class MayLowerPoints(Exception):
    """A regrade at once may lower points, and this wasn't confirmed. Nothing was queued."""

    def __init__(self, risks: tuple[Risk, ...]) -> None:
        super().__init__(_told(risks))
        self.risks = risks
        self.digest = risk_digest(risks)


def regrade_risks(session: Session, chosen: Sequence[Chosen]) -> tuple[Risk, ...]:
    """The students whose points depend on these submissions, by assignment and name.

    A correction protects a student: a regrade changes neither an override nor an excuse.
    """
    regraded: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for one in chosen:
        if not one.waits:
            regraded[one.assignment_id][one.person_id].append(one.number)
    found: list[Risk] = []
    for number, by_person in sorted(regraded.items()):
        assignment = session.get_one(Assignment, number)
        before = {
            person: grade
            for person, grade in students_grades(session, assignment).items()
            if _depends(assignment, grade, by_person.get(person, ()))
        }
        found += (Risk(assignment.slug, loss) for loss in losses(session, before, {}))
    return tuple(found)


def risk_digest(risks: Sequence[Risk]) -> str:
    """A digest of risks, by which a form or a request confirms exactly these."""
    return digest_of(one.loss for one in risks)


def refuse_unconfirmed(session: Session, chosen: Sequence[Chosen], confirmed: str) -> None:
    """Refuse a regrade at once that may lower points.

    confirmed: the digest of the risks that were shown, or CONFIRMED

    raise (MayLowerPoints): points may fall, and these risks weren't confirmed
    """
    if confirmed == CONFIRMED:
        return
    risks = regrade_risks(session, chosen)
    if risks and confirmed != risk_digest(risks):
        raise MayLowerPoints(risks)


def _depends(assignment: Assignment, grade: Grade, regraded: Sequence[int]) -> bool:
    """Whether the regrade of these submissions may lower the grade."""
    if grade.counted is None or grade.score is not None or grade.excused:
        return False
    counted = grade.counted.entry.submission_id
    # A later one without a verdict may get one, and then counts.
    last = assignment.counts is Counts.LAST
    return any(one == counted or (last and one > counted) for one in regraded)


def _told(risks: tuple[Risk, ...]) -> str:
    people = len({one.loss.person_id for one in risks})
    lines = "\n".join(_lines(risks))
    return (
        f"this may lower the points of {plural(people, 'student')}:\n{lines}\nNothing changed. See the new points "
        "first with --stage, or confirm with --yes."
    )


def _lines(risks: tuple[Risk, ...]) -> Iterator[str]:
    for one in risks[:_TOLD]:
        points = rounded_points(one.loss.was.points or 0.0)
        yield f"  {one.loss.name} <{one.loss.email}>: {points} points for {one.assignment}"
    if len(risks) > _TOLD:
        yield f"  and {len(risks) - _TOLD:,} more"
