"""Leaderboards: each person's best result on one device class, updated when a result is recorded.

A leaderboard has rows of its own, so reading it never scans all results. Only the last verdict of a submission counts.
A regrade can therefore move a person down as well as up. A frozen leaderboard is stored twice: live, and with only the
submissions from before the freeze.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, func, insert, or_, select, true, union
from sqlalchemy.orm import Session, aliased

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.audit.service import note
from server.courses.models import Assignment, Exercise
from server.database.base import one_of
from server.grading.metric import interval_of, metric_of, score_of
from server.grading.models import Job, JobKind, Result, judged_alike
from server.grading.result_columns import complete
from server.standings.models import Standing, StandingCount
from server.standings.queries import Position, Ranked, Selection, read_own, read_part
from server.standings.ranks import BoardKey, Changes, bucket, change, recount
from server.submissions.models import Mode, Submission
from server.submissions.verdicts import judged_job_id
from server.teams.credit import first_member, first_member_of, first_members
from server.teams.models import TeamMember


@dataclass(frozen=True, slots=True)
class Board:
    """A part of a leaderboard.

    own: the reader's line, wherever it is; None if the reader has none
    more: whether lines follow `rows`; `board(after=position_of(rows[-1]))` reads them
    """

    rows: tuple[Ranked, ...]
    own: Ranked | None = None
    more: bool = False


def update_leaderboards(session: Session, finished: Iterable[tuple[Job, Result, Submission | None]]) -> None:
    """Update the leaderboards with the results of jobs, in the transaction that records the results.

    Only submissions count, not checks, and only for the assignment's current version of the exercise. A system error
    changes nothing.
    """
    counted = [
        (job, result, submission)
        for job, result, submission in finished
        if submission is not None and submission.mode is Mode.RANK and result.verdict is not Verdict.SYSTEM_ERROR
    ]
    if not counted:
        return
    whose = {submission.id: first_member_of(session, submission) for _, _, submission in counted}
    people = set(whose.values())
    # Transactions that record results of the same person wait here. Otherwise each would miss what the other wrote.
    own = select(Person.id).where(Person.id.in_(people)).order_by(Person.id)
    session.execute(own.with_for_update(key_share=True))
    theirs = {submission.assignment_id for _, _, submission in counted}
    # `freeze` and `rebuild` take the exclusive lock (`_lock`), so they wait for this transaction and it for them.
    query = select(Assignment).where(Assignment.id.in_(theirs)).order_by(Assignment.id)
    locked = query.with_for_update(read=True, of=Assignment).execution_options(populate_existing=True)
    assignments = {assignment.id: assignment for assignment in session.scalars(locked)}
    changes = Changes()
    for job, result, submission in counted:
        assignment = assignments[submission.assignment_id]
        if job.kind is JobKind.REGRADE:
            _recompute(session, assignment, job.device_class, whose[submission.id], changes)
        elif submission.judged_job_id == job.id and job.exercise.digest == assignment.exercise.digest:
            best = _best_of(assignment.exercise, job.device_class, result, submission.created_at)
            if best is not None:
                for key in _boards(assignment, job.device_class, submission.created_at):
                    _raise(session, key, whose[submission.id], best, changes)
    change(session, changes)


def _recompute(session: Session, assignment: Assignment, device_class: str, person: int, changes: Changes) -> None:
    """Recompute a person's lines on one device class from all their results."""
    best = best_line(session, assignment, device_class, person)
    _put(session, BoardKey(assignment.id, device_class), person, best, changes)
    if assignment.board_frozen_at is not None:
        best = best_line(session, assignment, device_class, person, until=assignment.board_frozen_at)
        _put(session, BoardKey(assignment.id, device_class, before_freeze=True), person, best, changes)


def recompute_all(session: Session, assignment: Assignment, lines: Iterable[tuple[int, str]]) -> None:
    """Recompute the lines of these people and device classes, with as many statements as for one.

    The caller holds the assignment's exclusive lock.
    """
    people: dict[str, list[int]] = defaultdict(list)
    for person, device_class in lines:
        people[device_class].append(person)
    frozen = assignment.board_frozen_at
    for device_class, those in people.items():
        best = best_lines(session, assignment, device_class, those)
        _put_all(session, BoardKey(assignment.id, device_class), those, best)
        if frozen is not None:
            best = best_lines(session, assignment, device_class, those, until=frozen)
            _put_all(session, BoardKey(assignment.id, device_class, before_freeze=True), those, best)
    recount(session, assignment.id)


def rebuild(session: Session, assignment: Assignment) -> None:
    """Recompute all leaderboards of an assignment, for example after its exercise changed."""
    _lock(session, assignment)
    session.execute(delete(Standing).where(Standing.assignment_id == assignment.id))
    session.execute(delete(StandingCount).where(StandingCount.assignment_id == assignment.id))
    pairs = select(first_member(assignment), Job.device_class).join(Job, Job.id == Submission.judged_job_id)
    found = session.execute(
        pairs.where(
            Submission.assignment_id == assignment.id, Submission.mode == Mode.RANK, judged_alike(assignment.exercise)
        ).distinct()
    )
    recompute_all(session, assignment, [(person, device_class) for person, device_class in found])


def freeze(session: Session, assignment: Assignment, at: datetime | None) -> None:
    """Freeze the leaderboards: students see only submissions until `at`. None ends the freeze."""
    _lock(session, assignment)
    assignment.board_frozen_at = at
    frozen = and_(Standing.assignment_id == assignment.id, Standing.before_freeze.is_(True))
    session.execute(delete(Standing).where(frozen))
    session.flush()
    if at is not None:
        # Copy the lines that were reached before the freeze: they are the same on both leaderboards.
        columns = [column for column in Standing.__table__.columns if column.key != "before_freeze"]
        rows = select(*columns, true()).where(
            Standing.assignment_id == assignment.id, Standing.before_freeze.is_(False), ~_late(at)
        )
        session.execute(insert(Standing).from_select([*(column.key for column in columns), "before_freeze"], rows))
        live = select(Standing.device_class, Standing.person_id, Standing.listed).where(
            Standing.assignment_id == assignment.id, Standing.before_freeze.is_(False), _late(at)
        )
        for device_class, person, listed in session.execute(live).all():
            best = best_line(session, assignment, device_class, person, until=at)
            if best is not None:
                key = BoardKey(assignment.id, device_class, before_freeze=True)
                session.execute(insert(Standing).values({**_values(key, person, best), "listed": listed}))
    recount(session, assignment.id)


def board(
    session: Session,
    assignment: int,
    device_class: str,
    *,
    limit: int = 50,
    after: Position | None = None,
    person: int | None = None,
    staff: bool = False,
    before_freeze: bool = False,
) -> Board:
    """Read a part of a leaderboard, from its first line or behind a position.

    person: the reader, for the `own` line; staff: whether to read lines that aren't listed
    """
    key = BoardKey(assignment, device_class, before_freeze)
    part = read_part(session, key, Selection(after=after, limit=limit, reader=person, staff=staff))
    own = None if person is None else read_own(session, key, person)
    return Board(part.rows, own, more=part.later)


@dataclass(frozen=True, slots=True)
class BestLine:
    """The columns of a `Standing` that aren't its key."""

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
    keys = [BoardKey(assignment.id, device_class)]
    if assignment.board_frozen_at is not None and created_at <= assignment.board_frozen_at:
        keys.append(BoardKey(assignment.id, device_class, before_freeze=True))
    return keys


def _best_of(exercise: Exercise, device_class: str, result: Result, created_at: datetime) -> BestLine | None:
    """Turn a result into the columns of its line; None if it doesn't count on the leaderboard."""
    metric = metric_of(exercise)
    if not device_class:
        if result.verdict is not Verdict.ACCEPTED:
            return None
        score = low = high = 0.0
    else:
        speeds = (result.gflops, result.gbps, result.ms_median, result.melements)
        found = score_of(metric, *speeds) if result.ranked else None
        if found is None:
            return None
        score = found
        low, high = interval_of(metric, result) or (score, score)
    bound = score_of(metric, result.bound_gflops, None, result.bound_ms) if not device_class else None
    return BestLine(
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


def best_line(
    session: Session, assignment: Assignment, device_class: str, person: int, until: datetime | None = None
) -> BestLine | None:
    """The best of a person's submissions until then; see `best_lines`."""
    return best_lines(session, assignment, device_class, [person], until).get(person)


def best_lines(
    session: Session,
    assignment: Assignment,
    device_class: str,
    people: Sequence[int],
    until: datetime | None = None,
    staged: int | None = None,
    exercise: Exercise | None = None,
) -> Mapping[int, BestLine]:
    """Find the best of each person's submissions until then, each with its last verdict. People without one are left
    out. What only erased people submitted is left out, too.

    By every metric, the best is the shortest time. On an unmeasured leaderboard it is the lowest modelled time, dated
    by the first accepted submission.

    staged: the ID of a staged regrade, for the lines once it is applied
    exercise: the version that it gives the assignment; None for the present one
    """
    version = exercise or assignment.exercise
    speed = Result.ms_median if device_class else Result.bound_ms
    own = first_member(assignment)
    # PostgreSQL sorts NULL last and SQLite sorts it first.
    order = (speed.is_(None), speed, Submission.created_at, Submission.id)
    place = func.row_number().over(partition_by=own, order_by=order).label("place")
    first = func.min(Submission.created_at).over(partition_by=own).label("first")
    found = (
        select(Result.job_id, own.label("person_id"), Submission.created_at, first, place)
        .select_from(Submission)
        .join(Job, Job.id == judged_job_id(staged))
        .join(Result, Result.job_id == Job.id)
        .where(
            Submission.assignment_id == assignment.id,
            one_of(own, people),
            _still_known(),
            Submission.mode == Mode.RANK,
            Submission.created_at <= until if until is not None else true(),
            Job.device_class == device_class,
            judged_alike(version),
            Result.ranked if device_class else Result.verdict == Verdict.ACCEPTED,
        )
        .subquery()
    )
    query = (
        select(found.c.person_id, Result, found.c.created_at if device_class else found.c.first)
        .join(found, found.c.job_id == Result.job_id)
        .where(found.c.place == 1)
    )
    lines = {}
    for person, result, reached_at in session.execute(query).all():
        complete(result)
        lines[person] = _best_of(version, device_class, result, reached_at)
    return {person: line for person, line in lines.items() if line is not None}


def _still_known() -> ColumnElement[bool]:
    """Whether the author of a submission, or a member of its team, isn't erased."""
    erased = select(Person.id).where(Person.erased_at.is_not(None))
    teams = (
        select(TeamMember.person_id)
        .join(Person, Person.id == TeamMember.person_id)
        .where(TeamMember.team_id == Submission.team_id, Person.erased_at.is_(None))
        .correlate(Submission)
    )
    return or_(Submission.person_id.not_in(erased), teams.exists())


def _raise(session: Session, key: BoardKey, person: int, best: BestLine, changes: Changes) -> None:
    """Write the line if it is better than the present one, or equal and earlier.

    On an unmeasured leaderboard, the first accepted submission dates the line.
    """
    present = session.execute(select(Standing).where(key.lines, Standing.person_id == person)).scalar_one_or_none()
    if present is None:
        return _put(session, key, person, best, changes)
    if key.device_class:
        if (best.score, present.reached_at) > (present.score, best.reached_at):
            _put(session, key, person, best, changes)
        return None
    first = min(best.reached_at, present.reached_at)
    no_bound = float("-inf")
    if (best.bound or no_bound, present.reached_at) > (present.bound or no_bound, best.reached_at):
        _put(session, key, person, BestLine(**{**asdict(best), "reached_at": first}), changes)
    elif first < present.reached_at:
        present.reached_at = first
        session.flush()
    return None


def _put(session: Session, key: BoardKey, person: int, best: BestLine | None, changes: Changes) -> None:
    """Write or remove a line. The caller holds a lock on the person or on the assignment, and makes the changes."""
    present = session.execute(select(Standing).where(key.lines, Standing.person_id == person)).scalar_one_or_none()
    listed = present.listed if present else best is not None and not _unlisted(session, key.assignment_id, [person])
    if present is not None:
        changes[key, bucket(present.score), listed] -= 1
    if best is not None:
        changes[key, bucket(best.score), listed] += 1
    if present is not None and best is not None:
        for name, value in asdict(best).items():
            setattr(present, name, value)
    elif present is not None:
        session.delete(present)
    elif best is not None:
        session.add(Standing(**_values(key, person, best), listed=listed))
    session.flush()


def _put_all(session: Session, key: BoardKey, people: Sequence[int], best: Mapping[int, BestLine]) -> None:
    """Write or remove the lines of these people, without counting them."""
    mine = select(Standing).where(key.lines, one_of(Standing.person_id, people))
    present = {line.person_id: line for line in session.scalars(mine)}
    unlisted = _unlisted(session, key.assignment_id, people)
    for person in people:
        line, found = present.get(person), best.get(person)
        if found is None:
            if line is not None:
                session.delete(line)
        elif line is None:
            session.add(Standing(**_values(key, person, found), listed=person not in unlisted))
        else:
            for name, value in asdict(found).items():
                setattr(line, name, value)
    session.flush()


def _unlisted(session: Session, assignment: int, people: Sequence[int]) -> set[int]:
    """Which of these people aren't listed, or are in a team with such a person.

    `set_listed` waits for the caller's lock before it changes that.
    """
    own = aliased(TeamMember)
    mates = (
        select(own.person_id)
        .join(TeamMember, TeamMember.team_id == own.team_id)
        .join(Person, Person.id == TeamMember.person_id)
        .where(own.assignment_id == assignment, one_of(own.person_id, people), ~Person.listed)
    )
    alone = select(Person.id).where(one_of(Person.id, people), ~Person.listed)
    return set(session.scalars(union(alone, mates)))


def _values(key: BoardKey, person: int, best: BestLine) -> Mapping[str, object]:
    return {**asdict(key), "person_id": person, **asdict(best)}


def _lock(session: Session, assignment: Assignment) -> None:
    session.execute(select(Assignment.id).where(Assignment.id == assignment.id).with_for_update())


def _late(at: datetime) -> ColumnElement[bool]:
    """Lines that may come from a submission after `at`.

    `reached_at` doesn't tell on an unmeasured leaderboard: a later submission can have the best modelled time.
    """
    return or_(Standing.reached_at > at, Standing.device_class == "")


_KEY = (Standing.assignment_id, Standing.device_class, Standing.before_freeze, Standing.score, Standing.listed)


def set_listed(session: Session, person_id: int, *, listed: bool) -> None:
    """List a person on leaderboards, or no longer. Other students see it at once.

    Takes the locks of `update_leaderboards`, in its order: no line is written meanwhile.
    """
    own = aliased(TeamMember)
    shared = (
        select(TeamMember.assignment_id, TeamMember.person_id)
        .join(own, own.team_id == TeamMember.team_id)
        .where(own.person_id == person_id)
    )
    mates = {(assignment, mate) for assignment, mate in session.execute(shared)}
    everyone = {person_id, *(mate for _, mate in mates)}
    rows = select(Person).where(Person.id.in_(everyone)).order_by(Person.id)
    locked = session.scalars(rows.with_for_update(key_share=True).execution_options(populate_existing=True))
    (person,) = (one for one in locked if one.id == person_id)
    if person.listed == listed:
        return
    theirs = select(Submission.assignment_id).where(Submission.person_id == person_id)
    in_teams = Assignment.id.in_({assignment for assignment, _ in mates})
    mine = select(Assignment.id).where(or_(Assignment.id.in_(theirs), in_teams)).order_by(Assignment.id)
    found = session.scalars(mine.with_for_update(read=True)).all()
    person.listed = listed
    session.flush()
    lines = select(Standing).where(Standing.person_id.in_(everyone), Standing.assignment_id.in_(found))
    changes = Changes()
    for line in session.scalars(lines).all():
        if line.person_id != person_id and (line.assignment_id, line.person_id) not in mates:
            continue
        now = line.person_id not in _unlisted(session, line.assignment_id, [line.person_id])
        if now != line.listed:
            place = BoardKey(line.assignment_id, line.device_class, line.before_freeze), bucket(line.score)
            changes[*place, line.listed] -= 1
            changes[*place, now] += 1
            line.listed = now
    session.flush()
    change(session, changes)
    note(session, person, "person.changed", f"person {person_id}", changed=["listed"])


def remove_person(session: Session, person: int) -> None:
    """Remove the lines of an erased person. A line that teammates share stays for them."""
    removed = session.execute(delete(Standing).where(Standing.person_id == person).returning(*_KEY)).all()
    gone = Changes()
    for number, device_class, before_freeze, score, listed in removed:
        gone[BoardKey(number, device_class, before_freeze), bucket(score), listed] -= 1
    change(session, gone)
    shared = select(Assignment).join(TeamMember, TeamMember.assignment_id == Assignment.id)
    for one in session.scalars(shared.where(TeamMember.person_id == person).distinct().order_by(Assignment.id)).all():
        _lock(session, one)
        firsts = session.scalars(first_members(one.id, person)).all()
        lines = select(Standing.device_class).where(Standing.assignment_id == one.id, Standing.person_id.in_(firsts))
        devices = {row.device_class for row in removed if row.assignment_id == one.id} | set(session.scalars(lines))
        recompute_all(session, one, [(first, device_class) for first in firsts for device_class in sorted(devices)])
