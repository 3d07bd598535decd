"""Boards: each person's best on one device class, kept up to date by whoever records a result.

A board is read from its own rows, never from all results. Of a submission only the last verdict counts: a regrade that
comes out otherwise moves its person, down as well as up. While a board is frozen there are two: the live one, and that
of what was handed in until then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, func, insert, or_, select, true
from sqlalchemy.orm import Session, undefer

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.courses.models import Assignment
from server.grading.metric import interval_of, metric_of, score_of
from server.grading.models import Job, JobKind, Result, judged_alike
from server.grading.result_columns import complete
from server.standings.models import Standing, StandingCount
from server.standings.queries import (
    Asked,
    Part,
    Position,
    Ranked,
    read_own,
    read_part,
)
from server.standings.ranks import BoardKey, bucket, change, recount
from server.submissions.models import Mode, Submission

__all__ = ["Board", "Ranked", "board", "forget", "freeze", "rebuild", "restand", "score_of", "stand"]


@dataclass(frozen=True, slots=True)
class Board:
    """A part of a board.

    own: the line of the person who asked, wherever it is; None for one who has none
    more: whether lines follow the last of `rows`; then `board(after=position_of(rows[-1]))` gives them
    """

    rows: tuple[Ranked, ...]
    own: Ranked | None = None
    more: bool = False


def stand(session: Session, job: Job, result: Result) -> None:
    """Let a job's result count on its board, in the transaction that records it.

    Only what was handed in for the ranking counts, for the exercise as the assignment has it now. A fault of our own
    leaves what there was.
    """
    if job.submission_id is None or result.verdict is Verdict.SYSTEM_ERROR:
        return
    submission = session.get_one(Submission, job.submission_id)
    if submission.mode is not Mode.RANK:
        return
    # Whoever else records something of this person waits here, so that neither overlooks what the other wrote.
    session.execute(
        select(Person.id).where(Person.id == submission.person_id).with_for_update(key_share=True)
    )
    # Whoever freezes or rebuilds the boards waits for this, and this for them.
    assignment = session.scalars(
        select(Assignment).where(Assignment.id == submission.assignment_id).with_for_update(read=True, of=Assignment)
        .execution_options(populate_existing=True)
    ).one()  # fmt: skip
    if job.kind is JobKind.REGRADE:
        restand(session, assignment, job.device_class, submission.person_id)
    elif submission.judged_job_id == job.id and job.exercise.digest == assignment.exercise.digest:
        best = _best_of(assignment, job.device_class, result, submission.created_at)
        if best is not None:
            for key in _boards(assignment, job.device_class, submission.created_at):
                _raise(session, key, submission.person_id, best)


def restand(session: Session, assignment: Assignment, device_class: str, person: int) -> None:
    """Put a person's standings on one device class right, from all results."""
    _put(
        session,
        BoardKey(assignment.id, device_class),
        person,
        _best(session, assignment, device_class, person),
    )
    if assignment.board_frozen_at is not None:
        best = _best(session, assignment, device_class, person, until=assignment.board_frozen_at)
        _put(session, BoardKey(assignment.id, device_class, before_freeze=True), person, best)


def rebuild(session: Session, assignment: Assignment) -> None:
    """Put all boards of an assignment right, as after its exercise was changed."""
    _lock(session, assignment)
    session.execute(delete(Standing).where(Standing.assignment_id == assignment.id))
    session.execute(delete(StandingCount).where(StandingCount.assignment_id == assignment.id))
    pairs = select(Submission.person_id, Job.device_class).join(Job, Job.id == Submission.judged_job_id)
    found = session.execute(
        pairs.where(
            Submission.assignment_id == assignment.id,
            Submission.mode == Mode.RANK,
            judged_alike(assignment.exercise),
        ).distinct()
    )
    for person, device_class in found.all():
        restand(session, assignment, device_class, person)


def freeze(session: Session, assignment: Assignment, at: datetime | None) -> None:
    """From then on students see the boards of what was handed in until then; None lets them see everything again."""
    _lock(session, assignment)
    assignment.board_frozen_at = at
    frozen = and_(Standing.assignment_id == assignment.id, Standing.before_freeze.is_(True))
    session.execute(delete(Standing).where(frozen))
    session.flush()
    if at is not None:
        _copy(session, assignment, until=at)
        live = select(Standing.device_class, Standing.person_id).where(
            Standing.assignment_id == assignment.id, Standing.before_freeze.is_(False), _late(at)
        )
        for device_class, person in session.execute(live).all():
            best = _best(session, assignment, device_class, person, until=at)
            if best is not None:
                session.execute(insert(Standing).values(_values(
                    BoardKey(assignment.id, device_class, before_freeze=True), person, best
                )))  # fmt: skip
    recount(session, assignment.id)


def forget(session: Session, person: int) -> None:
    """Take a person off all boards."""
    removed = session.execute(
        delete(Standing).where(Standing.person_id == person)
        .returning(Standing.assignment_id, Standing.device_class, Standing.before_freeze, Standing.score)
    )  # fmt: skip
    gone: Counter[tuple[BoardKey, int]] = Counter()
    for assignment, device_class, before_freeze, score in removed:
        gone[BoardKey(assignment, device_class, before_freeze), bucket(score)] -= 1
    change(session, gone)


def board(
    session: Session,
    assignment: int,
    device_class: str,
    *,
    limit: int = 50,
    after: Position | None = None,
    person: int | None = None,
    before_freeze: bool = False,
) -> Board:
    """The best of an assignment on a device class, from the first or from after a place.

    person: whose own line is wanted
    """
    key = BoardKey(assignment, device_class, before_freeze)
    part: Part = read_part(session, key, Asked(after=after, limit=limit))
    own = None if person is None else read_own(session, key, person)
    return Board(part.rows, own, more=part.later)


@dataclass(frozen=True, slots=True)
class _Best:
    """What a standing holds beside its key."""

    job_id: int
    score: float
    low: float
    high: float
    reached_at: datetime
    cublas_share: float
    occupancy: float
    tile: int
    launch: str
    bound: float


def _boards(assignment: Assignment, device_class: str, created_at: datetime) -> list[BoardKey]:
    """Those on which something handed in then stands."""
    keys = [BoardKey(assignment.id, device_class)]
    if assignment.board_frozen_at is not None and created_at <= assignment.board_frozen_at:
        keys.append(BoardKey(assignment.id, device_class, before_freeze=True))
    return keys


def _best_of(assignment: Assignment, device_class: str, result: Result, created_at: datetime) -> _Best | None:
    """What one result is worth; None where it does not stand on the board."""
    metric = metric_of(assignment.exercise)
    if not device_class:
        if result.verdict is not Verdict.ACCEPTED:
            return None
        score = low = high = 0.0
    else:
        found = score_of(metric, result.gflops, result.gbps, result.ms_median) if result.ranked else None
        if found is None:
            return None
        score = found
        low, high = interval_of(metric, result) or (score, score)
    bound = score_of(metric, result.bound_gflops, None, result.bound_ms) if not device_class else None
    return _Best(
        job_id=result.job_id,
        score=score,
        low=low,
        high=high,
        reached_at=created_at,
        cublas_share=result.cublas_share or 0.0,
        occupancy=result.occupancy or 0.0,
        tile=result.tile,
        launch=result.launch,
        bound=bound or 0.0,
    )


def _best(
    session: Session, assignment: Assignment, device_class: str, person: int, until: datetime | None = None
) -> _Best | None:
    """The person's best among the last verdicts of their submissions, of those handed in until then.

    For each metric that is the shortest time. Where nothing is measured it is the best that is modelled, since the
    first that is right.
    """
    counts = and_(
        Submission.assignment_id == assignment.id,
        Submission.person_id == person,
        Submission.mode == Mode.RANK,
        Submission.created_at <= until if until is not None else true(),
        Job.device_class == device_class,
        judged_alike(assignment.exercise),
        Result.ranked if device_class else Result.verdict == Verdict.ACCEPTED,
    )
    speed = Result.ms_median if device_class else Result.bound_ms
    query = (
        select(Result, Submission.created_at)
        .join(Job, Job.id == Result.job_id)
        .join(Submission, Submission.judged_job_id == Job.id)
        .where(counts)
        # The two databases put what is not there at different ends.
        .order_by(speed.is_(None), speed, Submission.created_at)
        .limit(1)
        .options(undefer(Result.report))
    )
    found = session.execute(query).one_or_none()
    if found is None:
        return None
    result, reached_at = found
    complete(result)
    if not device_class:
        first = select(func.min(Submission.created_at)).join(Job, Job.id == Submission.judged_job_id)
        reached_at = session.scalar(first.join(Result, Result.job_id == Job.id).where(counts)) or reached_at
    return _best_of(assignment, device_class, result, reached_at)


def _raise(session: Session, key: BoardKey, person: int, best: _Best) -> None:
    """Replace what is worse, or equal and later. Where nothing is measured, the first right one is what counts."""
    present = session.execute(
        select(Standing).where(key.lines, Standing.person_id == person)
    ).scalar_one_or_none()
    if present is None:
        return _put(session, key, person, best)
    if key.device_class:
        if (best.score, present.reached_at) > (present.score, best.reached_at):
            _put(session, key, person, best)
        return None
    first = min(best.reached_at, present.reached_at)
    no_bound = float("-inf")
    if (best.bound or no_bound, present.reached_at) > (present.bound or no_bound, best.reached_at):
        _put(session, key, person, _Best(**{**asdict(best), "reached_at": first}))
    elif first < present.reached_at:
        present.reached_at = first
        session.flush()
    return None


def _put(session: Session, key: BoardKey, person: int, best: _Best | None) -> None:
    """Write the line, or remove it, and count it. Nobody else writes lines of this person, or of this assignment."""
    present = session.execute(
        select(Standing).where(key.lines, Standing.person_id == person)
    ).scalar_one_or_none()
    changes: Counter[tuple[BoardKey, int]] = Counter()
    if present is not None:
        changes[key, bucket(present.score)] -= 1
    if best is not None:
        changes[key, bucket(best.score)] += 1
    if present is not None and best is not None:
        for name, value in asdict(best).items():
            setattr(present, name, value)
    elif present is not None:
        session.delete(present)
    elif best is not None:
        session.add(Standing(**_values(key, person, best)))
    session.flush()
    change(session, changes)


def _values(key: BoardKey, person: int, best: _Best) -> Mapping[str, object]:
    return {**asdict(key), "person_id": person, **asdict(best)}


def _lock(session: Session, assignment: Assignment) -> None:
    session.execute(select(Assignment.id).where(Assignment.id == assignment.id).with_for_update())


def _late(at: datetime) -> ColumnElement[bool]:
    """Whose line may rest on something handed in later; where nothing is measured, what is modelled may."""
    return or_(Standing.reached_at > at, Standing.device_class == "")


def _copy(session: Session, assignment: Assignment, until: datetime) -> None:
    """Who reached their best until then had it then."""
    columns = [column for column in Standing.__table__.columns if column.key != "before_freeze"]
    rows = select(*columns, true()).where(
        Standing.assignment_id == assignment.id, Standing.before_freeze.is_(False), ~_late(until)
    )
    session.execute(
        insert(Standing).from_select([*(column.key for column in columns), "before_freeze"], rows)
    )
