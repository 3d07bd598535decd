"""All attempts of one person at an assignment, which one counts, and why others aren't ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Subquery, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from kernels.exercise.model import Metric
from kernels.rendering.measured_numbers import ms_text, speed_text
from kernels.rendering.page import numbers
from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment, Counts, Exercise
from server.grades.grade import Grade
from server.grading.metric import UNITS, interval_of, metric_of, score_of
from server.grading.models import Job, Result
from server.grading.result_columns import NOT_RELIED_ON
from server.standings.models import Standing
from server.submissions.counted_submission import Counted, Deadlines, Entry, late_days
from server.submissions.entries import numbered_entries
from server.submissions.models import Mode, Submission
from server.teams.credit import chosen_by, counts_for, first_members, teams_of

PAGE = 12
"""Attempts on a page: about a screen."""

CHARTED = 250
"""The most attempts in one chart; more points would overlap."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One submission or check in a history.

    number: 1 for the first
    value: by the exercise's metric, measured; without a GPU the modelled bound. None for no number, an unreliable
        measurement, or one from another device class than the assignment's
    shown: the value as text, even if it is unreliable
    late: started days after the deadline
    counts: whether this one counts
    stands: the device class of the leaderboard that lists it, "" without a GPU; None for no leaderboard
    why_not: a sentence why it isn't ranked; "" if it is, or may be later
    again: whether it is being regraded
    choosable: whether its owner may choose that it counts
    author: the name of the teammate who submitted it; "" for the history's person
    judged: the row of the job that gave its verdict. It becomes text only when shown, as there may be very many
    """

    number: int
    entry: Entry
    value: float | None
    shown: str
    late: int
    counts: bool
    stands: str | None
    why_not: str
    again: bool
    choosable: bool
    author: str
    metric: Metric
    judged: Row[*tuple[Any, ...]] | None

    @property
    def public_id(self) -> str:
        return self.entry.public_id

    @property
    def interval(self) -> str:
        """The 95 % interval of the number; "" if unknown."""
        return interval_text(self.judged, self.metric)

    @property
    def share(self) -> str:
        return percent_text(self.judged.cublas_share if self.judged else None)

    @property
    def occupancy(self) -> str:
        return percent_text(self.judged.occupancy if self.judged else None)

    @property
    def launch(self) -> str:
        if self.judged is None or not self.judged.launch:
            return "–"
        return f"tile {self.judged.tile} · {self.judged.launch}" if self.judged.tile else str(self.judged.launch)


@dataclass(frozen=True, slots=True)
class History:
    """The attempts of one person on a page and in its chart, the first one first.

    total: how many attempts there are
    page: the number of the page
    best_before: the best value before the chart
    shares: whether any attempt has a share of cuBLAS's speed
    modelled: whether nothing is measured, so that the numbers are modelled bounds
    chosen: whether the student chose one that counts
    closed: whether the choice can't change any more
    listed: whether other students see the person on leaderboards
    """

    attempts: tuple[Attempt, ...]
    total: int
    page: int
    best_before: float | None
    shares: bool
    modelled: bool
    chosen: bool
    grade: Grade
    deadlines: Deadlines
    metric: Metric
    counts: Counts
    closed: bool
    listed: bool

    @property
    def counted(self) -> Counted | None:
        """The submission that counts; None for none yet."""
        return self.grade.counted

    @property
    def pages(self) -> int:
        return _pages(self.total)

    @property
    def rows(self) -> tuple[Attempt, ...]:
        """The attempts on the page, the newest first."""
        first, last = _on_page(self.page, self.total)
        return tuple(each for each in reversed(self.attempts) if first <= each.number <= last)

    @property
    def charted(self) -> tuple[Attempt, ...]:
        """The newest attempts, the first one first."""
        return tuple(each for each in self.attempts if each.number > self.total - CHARTED)


def _pages(total: int) -> int:
    return max(1, -(-total // PAGE))


def _on_page(page: int, total: int) -> tuple[int, int]:
    """The numbers of the first and the last attempt on a page."""
    last = total - PAGE * (page - 1)
    return last - PAGE + 1, last


@dataclass(frozen=True, slots=True)
class _Boards:
    """The jobs of a person's lines on leaderboards, by device class.

    seen: on the leaderboards that the reader sees; listed: whether other students see them
    """

    live: Mapping[str, int]
    seen: Mapping[str, int]
    listed: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for which attempts of a history.

    own: whether the reader is its person and may choose the submission that counts
    staff: whether the reader sees live leaderboards even if they are frozen
    page: the number of a page, with its chart; None for neither
    names: the public IDs of further attempts
    """

    own: bool
    staff: bool = False
    page: int | None = 1
    names: tuple[str, ...] = ()


def history_of(
    session: Session, assignment: Assignment, person: int, deadlines: Deadlines, grade: Grade, asked: Asked
) -> History:
    """Read a part of the history of one person, who has these deadlines and this grade."""
    now = datetime.now(UTC)
    mine = counts_for(person, teams_of(session, [assignment], person))
    theirs = Submission.assignment_id == assignment.id, mine
    total, chosen = session.execute(select(func.count(), func.count(Submission.chosen_at)).where(*theirs)).one()
    page = min(max(1, asked.page or 1), _pages(total))
    wanted = _wanted(theirs, asked, page, total)
    best = grade.counted
    all_judged = _judged(session, wanted)
    frozen_at = None if asked.staff else assignment.board_frozen_at
    boards = _boards(session, assignment, person, frozen=frozen_at is not None and frozen_at <= now)
    metric, modelled = metric_of(assignment.exercise), not assignment.device_class
    closed = deadlines.closed(now) or assignment.course.archived_at is not None
    may_choose = asked.own and not closed and assignment.counts is Counts.CHOSEN
    authors = _authors(session, wanted, person) if assignment.team_size > 1 else {}
    others = _of_earlier_teams(session, person, wanted) if may_choose and assignment.team_size > 1 else ()
    attempts = []
    for number, entry in numbered_entries(session, assignment, person, wanted):
        judged = all_judged.get(entry.submission_id)
        stands = judged is not None and boards.seen.get(judged.device_class) == judged.job
        counts = best is not None and best.entry.submission_id == entry.submission_id
        number_of = _value(judged, metric, modelled=modelled)
        elsewhere = not modelled and judged is not None and judged.device_class != assignment.device_class
        relied_on = modelled or (judged is not None and judged.ranked and not elsewhere)
        attempts.append(
            Attempt(
                number=number,
                entry=entry,
                value=number_of if relied_on else None,
                shown=_shown(number_of, metric, judged.device_class if judged and elsewhere else ""),
                late=late_days(entry.created_at, deadlines.or_later(entry.team_due_at))
                if entry.mode is Mode.RANK
                else 0,
                counts=counts,
                stands=judged.device_class if judged is not None and stands else None,
                why_not="" if stands else _why_not(assignment, entry, judged, boards),
                again=judged is not None and judged.again,
                choosable=may_choose and entry.worth_choosing and not counts and entry.submission_id not in others,
                author=authors.get(entry.submission_id, ""),
                metric=metric,
                judged=judged,
            )
        )
    return History(
        attempts=tuple(attempts),
        total=total,
        page=page,
        best_before=_best_before(session, assignment, theirs, total - CHARTED) if asked.page else None,
        shares=not modelled or _has_shares(session, theirs),
        modelled=modelled,
        chosen=chosen > 0,
        grade=grade,
        deadlines=deadlines,
        metric=metric,
        counts=assignment.counts,
        closed=closed,
        listed=boards.listed,
    )


_Theirs = tuple[ColumnElement[bool], ColumnElement[bool]]


def _numbered(theirs: _Theirs) -> Subquery:
    order = func.row_number().over(order_by=(Submission.created_at, Submission.id))
    return select(Submission.id, Submission.public_id, order.label("number")).where(*theirs).subquery()


def _wanted(theirs: _Theirs, asked: Asked, page: int, total: int) -> Subquery:
    """The IDs and numbers of the asked attempts."""
    every = _numbered(theirs)
    which: list[ColumnElement[bool]] = [every.c.public_id.in_(asked.names)]
    if asked.page is not None:
        which += [every.c.number > total - CHARTED, every.c.number.between(*_on_page(page, total))]
    return select(every.c.id, every.c.number).where(or_(*which)).subquery()


def _of_earlier_teams(session: Session, person: int, wanted: Subquery) -> Sequence[int]:
    """The IDs of those that the person may not choose, because former teammates submitted them."""
    query = select(Submission.id).join(wanted, wanted.c.id == Submission.id)
    return session.scalars(query.where(~chosen_by(person))).all()


def _best_before(session: Session, assignment: Assignment, theirs: _Theirs, number: int) -> float | None:
    """The best value of the attempts up to this number; None for none."""
    metric, modelled = metric_of(assignment.exercise), not assignment.device_class
    column = (_BOUNDS if modelled else _SPEEDS).get(metric)
    if number < 1 or column is None:
        return None
    every = _numbered(theirs)
    query = (
        select(func.min(column) if metric is Metric.TIME else func.max(column))
        .select_from(Submission)
        .join(every, every.c.id == Submission.id)
        .join(Job, Job.id == Submission.judged_job_id)
        .join(Result, Result.job_id == Job.id)
        .where(every.c.number <= number, Job.verdict == Verdict.ACCEPTED, column > 0)
    )
    if not modelled:
        query = query.where(Result.ranked, Job.device_class == assignment.device_class)
    return session.scalar(query)


def _has_shares(session: Session, theirs: _Theirs) -> bool:
    query = select(Result.job_id).join(Submission, Submission.judged_job_id == Result.job_id)
    return session.scalar(query.where(*theirs, Result.cublas_share.is_not(None)).limit(1)) is not None


_SPEEDS: Mapping[Metric, ColumnElement[Any]] = {
    Metric.GFLOPS: Result.gflops.expression, Metric.GBPS: Result.gbps.expression,
    Metric.ELEMENTS: Result.melements.expression, Metric.TIME: Result.ms_median.expression,
}  # fmt: skip
_BOUNDS: Mapping[Metric, ColumnElement[Any]] = {
    Metric.GFLOPS: Result.bound_gflops.expression, Metric.TIME: Result.bound_ms.expression,
}  # fmt: skip


def _why_not(assignment: Assignment, entry: Entry, judged: Row[*tuple[Any, ...]] | None, boards: _Boards) -> str:
    """Why a submission isn't on the leaderboard; "" if it has no verdict yet."""
    if entry.cancelled:
        return "It was cancelled."
    if judged is None:
        return ""
    if judged.verdict is Verdict.SYSTEM_ERROR:
        return "Grading failed on our side. This did not use an attempt."
    if judged.verdict is not Verdict.ACCEPTED:
        return "The leaderboard lists accepted kernels only."
    if entry.mode is Mode.CHECK:
        return "This was a check. Submit the kernel for the leaderboard."
    if judged.judged_by != assignment.exercise.digest:
        return "The exercise has changed since. Course staff can regrade it."
    if boards.live.get(judged.device_class) == judged.job:
        return "The leaderboard is frozen. This one appears when the freeze ends."
    if not judged.device_class:
        return "Another accepted kernel of yours is on the leaderboard."
    if judged.ms_median is None:
        return "It was not measured."
    if not judged.ranked:
        return judged.not_ranked or NOT_RELIED_ON
    return "Another kernel of yours is faster and on the leaderboard."


def _authors(session: Session, wanted: Subquery, person: int) -> Mapping[int, str]:
    """The names of the teammates who submitted the wanted submissions, by submission."""
    query = (
        select(Submission.id, Person.name)
        .join(Submission.person)
        .join(wanted, wanted.c.id == Submission.id)
        .where(Submission.person_id != person)
    )
    return dict(session.execute(query).all())


def _judged(session: Session, wanted: Subquery) -> Mapping[int, Row[*tuple[Any, ...]]]:
    """The jobs with the verdicts of the wanted submissions, by submission. Reads only the shown columns."""
    other = aliased(Job)
    again = exists().where(
        other.submission_id == Submission.id, other.id != Submission.judged_job_id, other.ended_at.is_(None)
    )
    query = (
        select(
            Submission.id.label("submission"), Job.id.label("job"), Job.verdict, Job.device_class,
            again.label("again"), Exercise.digest.label("judged_by"), Result.ranked, Result.not_ranked, Result.gflops,
            Result.gbps, Result.melements, Result.ms_median, Result.ms_low, Result.ms_high, Result.bound_gflops,
            Result.bound_ms, Result.cublas_share, Result.occupancy, Result.tile, Result.launch,
        )
        .join(Job, Job.id == Submission.judged_job_id)
        .join(Job.exercise)
        .outerjoin(Result, Result.job_id == Job.id)
        .join(wanted, wanted.c.id == Submission.id)
    )  # fmt: skip
    return {row.submission: row for row in session.execute(query)}


def _boards(session: Session, assignment: Assignment, person: int, *, frozen: bool) -> _Boards:
    query = select(Standing.device_class, Standing.job_id, Standing.before_freeze, Standing.listed).where(
        Standing.assignment_id == assignment.id, Standing.person_id.in_(first_members(assignment.id, person))
    )
    live: dict[str, int] = {}
    kept: dict[str, int] = {}
    listed = True
    for device_class, job, before_freeze, shown in session.execute(query):
        (kept if before_freeze else live)[device_class] = job
        listed = shown
    return _Boards(live, kept if frozen else live, listed)


def _value(judged: Row[*tuple[Any, ...]] | None, metric: Metric, *, modelled: bool) -> float | None:
    if judged is None or judged.verdict is not Verdict.ACCEPTED:
        return None
    if modelled:
        score = score_of(metric, judged.bound_gflops, None, judged.bound_ms)
    else:
        score = score_of(metric, judged.gflops, judged.gbps, judged.ms_median, judged.melements)
    return score if score is None or metric is not Metric.TIME else -score


def _shown(value: float | None, metric: Metric, elsewhere: str) -> str:
    """elsewhere: the device class that measured it, if it isn't the assignment's."""
    if value is None:
        return ""
    on = f" on {elsewhere.upper()}" if elsewhere else ""
    return f"{number_text(value, metric)}{numbers.SPACE}{UNITS[metric]}{on}"


def number_text(value: float, metric: Metric) -> str:
    """Format a value without its unit."""
    return ms_text(value) if metric is Metric.TIME else speed_text(value)


def interval_text(result: Any, metric: Metric) -> str:
    """The 95 % interval of a result, or of a row with the same fields; "" if unknown."""
    ends = None if result is None else interval_of(metric, result)
    if ends is None:
        return ""
    low, high = (number_text(abs(end), metric) for end in sorted(ends, key=abs))
    return low if low == high else f"{low} to {high}"


def percent_text(share: float | None) -> str:
    """Format a share; a dash for none."""
    return "–" if share is None else numbers.percent(share)
