"""Staged regrades: new verdicts that change nothing until course staff apply them.

The jobs of a staged regrade belong to no submission, so no page, leaderboard or limit reads them. Applying hands them
to their submissions, in one transaction. Dropping deletes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session, aliased

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.acts.act import Act, Nothing, Target
from server.assignments.exercise_update import replace_version, take_waiting
from server.audit.service import note
from server.courses.models import Assignment, Exercise
from server.courses.service import hold_course
from server.fields import INTERNAL
from server.grading.models import Job, JobState
from server.grading.service import delete_jobs
from server.standings.service import rebuild, recompute_all
from server.submissions.changes import NotPossible, regrade_others, regrade_staged
from server.submissions.models import StagedRegrade, Submission
from server.submissions.verdicts import judged_job_id, judged_verdict, update_judged_jobs
from server.teams.credit import first_member
from worker.contract.messages import Ticket


@dataclass(frozen=True, slots=True)
class StagedRegradeAnswer:
    """A staged regrade: it changes nothing until it is applied.

    number: its ID
    by: None for the command line
    unjudged: how many ended without a verdict
    version: of the exercise that applying gives the assignment; None for its present one
    """

    number: Annotated[int, INTERNAL]
    assignment: str
    title: Annotated[str, INTERNAL]
    at: datetime
    by: str | None
    filter: Annotated[str, INTERNAL]
    total: int
    waiting: int
    running: int
    done: int
    cancelled: int
    unjudged: int
    version: int | None

    @property
    def over(self) -> bool:
        return not self.waiting and not self.running


_AND = "; "
"""Between the filters of regrades that were staged together."""


def stage(
    session: Session,
    assignment: Assignment,
    actor: Person | None,
    only: Sequence[int] | None,
    by: str = "",
    now: datetime | None = None,
    version: Exercise | None = None,
) -> list[int]:
    """Stage a regrade, or add to the assignment's staged one. Returns the IDs of the new jobs.

    only: the IDs of the submissions; None for all
    by: the filter that chose them, in words
    version: of the exercise that judges them, and that applying gives the assignment; None for the present one
    """
    moment = now or datetime.now(UTC)
    found = find_staged(session, assignment)
    if found is None:
        found = StagedRegrade(
            assignment_id=assignment.id,
            started_by=None if actor is None else actor.id,
            started_at=moment,
            filter=by,
            exercise_id=None if version is None else version.id,
        )
        session.add(found)
        session.flush()
    elif by not in found.filter.split(_AND):
        found.filter = _AND.join((found.filter, by)) if found.filter and by else ""
    made = regrade_staged(session, assignment, found, moment, only)
    note(
        session, actor, "regrade.staged", _subject(assignment), now=moment, course_id=assignment.course_id,
        jobs=len(made), **({"filter": by} if by else {}),
    )  # fmt: skip
    return made


def find_staged(session: Session, assignment: Assignment) -> StagedRegrade | None:
    """The assignment's staged regrade; None for none."""
    return session.scalar(select(StagedRegrade).where(StagedRegrade.assignment_id == assignment.id))


def staged_in(session: Session, course_id: int) -> list[StagedRegradeAnswer]:
    """All staged regrades of a course, newest first."""
    query = select(StagedRegrade).join(Assignment).where(Assignment.course_id == course_id)
    found = session.scalars(query.order_by(StagedRegrade.id.desc())).all()
    return [progress(session, one) for one in found]


def progress(session: Session, staged: StagedRegrade) -> StagedRegradeAnswer:
    """How far a staged regrade is."""
    counted = select(Job.state, func.count()).where(Job.regrade_id == staged.id).group_by(Job.state)
    states = {state: count for state, count in session.execute(counted)}  # noqa: C416 - typed so
    errors = select(func.count()).where(Job.regrade_id == staged.id, Job.verdict == Verdict.SYSTEM_ERROR)
    cancelled = states.get(JobState.CANCELLED, 0)
    by = None if staged.started_by is None else session.get_one(Person, staged.started_by).name
    return StagedRegradeAnswer(
        staged.id, staged.assignment.slug, staged.assignment.title, staged.started_at, by, staged.filter,
        sum(states.values()), states.get(JobState.QUEUED, 0), states.get(JobState.RUNNING, 0),
        states.get(JobState.DONE, 0), cancelled, (session.scalar(errors) or 0) + cancelled,
        None if staged.exercise is None else staged.exercise.number,
    )  # fmt: skip


def changed_lines(session: Session, staged: StagedRegrade) -> list[tuple[int, str]]:
    """The people and device classes whose lines on leaderboards may change once the regrade is applied."""
    new, old = aliased(Job), aliased(Job)
    query = (
        select(first_member(staged.assignment), new.device_class, old.device_class)
        .select_from(Submission)
        .join(new, new.staged_for_id == Submission.id)
        .outerjoin(old, old.id == Submission.judged_job_id)
        .where(new.regrade_id == staged.id, new.id == judged_job_id(staged.id))
        .distinct()
    )
    found = {(person, name) for person, *names in session.execute(query) for name in names if name is not None}
    return sorted(found)


def apply(session: Session, assignment: Assignment, actor: Person | None, now: datetime | None = None) -> int:
    """Let the staged verdicts count, in this transaction. Returns how many jobs there were.

    raise (NotPossible): nothing is staged, or not all of it is graded
    """
    staged = _locked(session, assignment)
    found = progress(session, staged)
    if not found.over:
        waiting = found.waiting + found.running
        raise NotPossible(f"{waiting:,} submissions of this regrade are not graded yet. Apply it once all are.")
    number, version, moment = staged.id, staged.exercise, now or datetime.now(UTC)
    if version is not None:  # locks steps, which the recorder locks first
        take_waiting(session, assignment, version, moment)
    mine = select(Job.staged_for_id).where(Job.regrade_id == number)
    # As the recorder: submissions before their assignment, so that neither waits for the other.
    session.execute(
        select(Submission.id).where(Submission.id.in_(mine)).order_by(Submission.id).with_for_update(key_share=True)
    )
    session.execute(select(Assignment.id).where(Assignment.id == assignment.id).with_for_update())
    if version is not None:
        replace_version(session, assignment, version, moment)
    lines = changed_lines(session, staged)
    first, last = session.execute(select(func.min(Job.id), func.max(Job.id)).where(Job.regrade_id == number)).one()
    errors = session.scalars(select(Job).where(Job.regrade_id == number, Job.verdict == Verdict.SYSTEM_ERROR)).all()
    judged = {"judged_job_id": judged_job_id(number), "verdict": judged_verdict(number)}
    change = update(Submission).where(Submission.id.in_(mine)).values(judged)
    session.execute(change.execution_options(synchronize_session=False))
    handed_over = {"submission_id": Job.staged_for_id, "regrade_id": None, "staged_for_id": None}
    session.execute(
        update(Job).where(Job.regrade_id == number).values(handed_over).execution_options(synchronize_session=False)
    )
    session.delete(staged)
    session.flush()
    session.expire_all()
    update_judged_jobs(session, errors)
    if version is None:
        recompute_all(session, assignment, lines)
    else:
        rebuild(session, assignment)
        # Submissions that came after the regrade was staged.
        regrade_others(session, assignment, moment)
    note(
        session, actor, "assignment.regraded", _subject(assignment), now=now, course_id=assignment.course_id,
        assignment=assignment.id, jobs=found.total, first=first, last=last, staged=True,
        **({"filter": found.filter} if found.filter else {}),
        **({"version": found.version} if found.version is not None else {}),
    )  # fmt: skip
    return found.total


def _drop(session: Session, on: Target, actor: Person | None, _: Nothing) -> Sequence[Ticket]:
    staged = _locked(session, on.assignment)
    mine = Job.regrade_id == staged.id
    count = session.scalar(select(func.count()).where(mine)) or 0
    tickets = delete_jobs(session, mine)
    session.delete(staged)
    note(session, actor, "regrade.dropped", on.subject, course_id=on.course.id, jobs=count)
    return tickets


DROP = Act(asks=Nothing, do=_drop, assistants=True, revokes=True)
"""Delete the staged regrade with all its jobs; raises NotPossible if nothing is staged."""


def _locked(session: Session, assignment: Assignment) -> StagedRegrade:
    hold_course(session, assignment.course_id)  # no other request adds to the regrade meanwhile
    found = find_staged(session, assignment)
    if found is None:
        raise NotPossible("No regrade of this assignment is staged. It was applied or dropped.")
    return found


def _subject(assignment: Assignment) -> str:
    return f"assignment {assignment.name}"
