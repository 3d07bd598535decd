"""Delete assignments and courses that nothing was submitted to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from server.accounts.models import BrowserSession, Person
from server.assignments.trial import delete_trials
from server.audit.models import AuditEvent
from server.audit.service import note
from server.courses.models import (
    Accommodation,
    Assignment,
    Correction,
    Course,
    CourseInvitation,
    Exercise,
    ExerciseFile,
    Extension,
    Membership,
    StaffNote,
)
from server.courses.service import CourseError, hold_course
from server.experiments.models import Experiment
from server.grading.models import Job
from server.grading.service import delete_jobs
from server.lti.contexts import delete_contexts, delete_links
from server.lti.models import LtiContext, LtiLink
from server.standings.models import StandingCount
from server.submissions.models import GradingShare, Submission
from server.talk.models import Announcement, ExtensionRequest, SavedComment, SeenAnnouncement
from server.teams.models import Team, TeamMember
from worker.contract.messages import Ticket

_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class Losses:
    """What a deletion removes. exercises, members, notes: of a course only."""

    assignments: int
    extensions: int
    announcements: int = 0
    exercises: int = 0
    members: int = 0
    notes: int = 0


def losses_of_assignment(session: Session, assignment: Assignment) -> Losses:
    """What deleting the assignment removes; raises CourseError if it can't be deleted."""
    _check(
        session, Assignment.id == assignment.id, Experiment.assignment_id == assignment.id,
        "Close it or don’t list it instead.",
    )  # fmt: skip
    return Losses(
        1,
        _count(session, Extension.person_id, Extension.assignment_id == assignment.id),
        _count(session, Announcement.id, Announcement.assignment_id == assignment.id),
    )


def losses_of_course(session: Session, course: Course) -> Losses:
    """What deleting the course removes; raises CourseError if it can't be deleted."""
    inside = Assignment.course_id == course.id
    own = select(Exercise.id).where(Exercise.course_id == course.id)
    used = or_(Experiment.course_id == course.id, Experiment.exercise_id.in_(own))
    _check(session, inside, used, "Archive it instead.")
    extended = Extension.assignment_id.in_(select(Assignment.id).where(inside))
    return Losses(
        _count(session, Assignment.id, inside),
        _count(session, Extension.person_id, extended),
        _count(session, Announcement.id, Announcement.course_id == course.id),
        session.scalar(select(func.count(Exercise.name.distinct())).where(Exercise.course_id == course.id)) or 0,
        _count(session, Membership.id, Membership.course_id == course.id),
        _count(session, StaffNote.id, StaffNote.course_id == course.id),
    )


def delete_assignment(
    session: Session, assignment: Assignment, actor: Person | None, now: datetime | None = None
) -> None:
    """Delete an assignment with its extensions; raises CourseError if it can't be deleted."""
    course = assignment.course
    hold_course(session, course.id)
    _hold_assignments(session, Assignment.id == assignment.id)
    losses = losses_of_assignment(session, assignment)
    note(
        session, actor, "assignment.deleted", f"assignment {assignment.name}", now=now,
        course_id=course.id, exercise=assignment.exercise.name, points=assignment.points,
        extensions=losses.extensions,
    )  # fmt: skip
    _delete_assignments(session, Assignment.id == assignment.id)


def delete_course(session: Session, course: Course, actor: Person | None, now: datetime | None = None) -> list[Ticket]:
    """Delete a course with all that is in it. Returns the tickets to revoke after the commit; raises CourseError.

    Accounts stay. So do the entries of its audit, outside any course.
    """
    inside = Assignment.course_id == course.id
    session.execute(select(Course.id).where(Course.id == course.id).with_for_update())
    _hold_assignments(session, inside)
    losses = losses_of_course(session, course)
    note(
        session, actor, "course.deleted", f"course {course.slug}", now=now, assignments=losses.assignments,
        members=losses.members, notes=losses.notes,
    )  # fmt: skip
    _delete_announcements(session, Announcement.course_id == course.id)
    _delete_assignments(session, inside)
    delete_contexts(session, LtiContext.course_id == course.id)
    own = select(Exercise.id).where(Exercise.course_id == course.id)
    tickets = delete_jobs(session, Job.exercise_id.in_(own) & Job.proof_file.is_not(None))
    for statement in (
        delete(ExerciseFile).where(ExerciseFile.exercise_id.in_(own)),
        delete(Exercise).where(Exercise.course_id == course.id),
        delete(Membership).where(Membership.course_id == course.id),
        delete(CourseInvitation).where(CourseInvitation.course_id == course.id),
        delete(StaffNote).where(StaffNote.course_id == course.id),
        delete(Accommodation).where(Accommodation.course_id == course.id),
        delete(SavedComment).where(SavedComment.course_id == course.id),
        update(AuditEvent).where(AuditEvent.course_id == course.id).values(course_id=None),
        update(BrowserSession)
        .where(BrowserSession.viewing_course_id == course.id)
        .values(viewing_id=None, viewing_course_id=None),
        delete(Course).where(Course.id == course.id),
    ):
        session.execute(statement.execution_options(synchronize_session=False))
    session.expire_all()
    return tickets


def _check(session: Session, which: ColumnElement[bool], used: ColumnElement[bool], instead: str) -> None:
    """Raise CourseError if there is work on these assignments, or in an experiment that uses them."""
    chosen = select(Assignment.id).where(which)
    for column, where, one, many in (
        (Submission.id, Submission.assignment_id.in_(chosen), "submission", "submissions"),
        (Experiment.id, used, "experiment", "experiments"),
        (
            Correction.person_id, Correction.assignment_id.in_(chosen),
            "grade set by course staff", "grades set by course staff",
        ),
    ):  # fmt: skip
        if count := _count(session, column, where, _COUNTED + 1):
            told = f"more than {_COUNTED:,}" if count > _COUNTED else str(count)
            raise CourseError(f"It can’t be deleted: it has {told} {one if count == 1 else many}. {instead}")


def _count(
    session: Session, column: InstrumentedAttribute[int], where: ColumnElement[bool], most: int | None = None
) -> int:
    """Count rows, up to `most`."""
    return session.scalar(select(func.count()).select_from(select(column).where(where).limit(most).subquery())) or 0


def _hold_assignments(session: Session, which: ColumnElement[bool]) -> None:
    # A submission in progress holds the row, so this waits for it. Later ones don't find the assignment.
    session.execute(select(Assignment.id).where(which).order_by(Assignment.id).with_for_update())


def _delete_announcements(session: Session, which: ColumnElement[bool]) -> None:
    seen = SeenAnnouncement.announcement_id.in_(select(Announcement.id).where(which))
    for statement in (delete(SeenAnnouncement).where(seen), delete(Announcement).where(which)):
        session.execute(statement.execution_options(synchronize_session=False))


def _delete_assignments(session: Session, which: ColumnElement[bool]) -> None:
    chosen = select(Assignment.id).where(which)
    _delete_announcements(session, Announcement.assignment_id.in_(chosen))
    delete_links(session, LtiLink.assignment_id.in_(chosen))
    # A worker that runs one of them wastes a few seconds: its result finds no step.
    delete_trials(session, Job.trial_of_id.in_(chosen))
    for statement in (
        delete(Extension).where(Extension.assignment_id.in_(chosen)),
        delete(TeamMember).where(TeamMember.assignment_id.in_(chosen)),
        delete(Team).where(Team.assignment_id.in_(chosen)),
        delete(ExtensionRequest).where(ExtensionRequest.assignment_id.in_(chosen)),
        delete(StandingCount).where(StandingCount.assignment_id.in_(chosen)),
        delete(GradingShare).where(GradingShare.assignment_id.in_(chosen)),
        delete(SavedComment).where(SavedComment.assignment_id.in_(chosen)),
        update(Experiment).where(Experiment.pinned_id.in_(chosen)).values(pinned_id=None),
        delete(Assignment).where(which),
    ):
        session.execute(statement.execution_options(synchronize_session=False))
    session.expire_all()
