"""The data of an assignment's page, for one person."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from markupsafe import Markup
from sqlalchemy.orm import Session

from kernels.source.paste.repairs import Repair
from server.accounts.access import Viewer, nothing_here
from server.accounts.digest import digest_of
from server.assignments.form import EarlierSubmission, Sent, earlier_submission, new_key
from server.assignments.tasks import CourseBar, Task, course_bar, task_of
from server.courses.access import Membership, Reader
from server.courses.handouts import render
from server.courses.models import Assignment, Counts, Exercise
from server.exercises.stored import Material, material_of
from server.grades.grade import LateDays, late_days_of
from server.grades.points import Tier, points_for, tiers_of
from server.submissions.allowance import Allowance, allowance
from server.submissions.counted_submission import Counted, Entry, best, late_days
from server.submissions.entries import NEWEST
from server.submissions.models import Mode
from server.submissions.refusals import NotAccepted


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of the assignment that are the same for all students.

    late_most: the highest late penalty, in %
    goals_percent: the share of the points with a missed goal, in %
    under_way: submissions of one student that may be in progress at once; None if unlimited
    """

    late_percent: float
    late_most: float
    goals_percent: float
    tiers: Sequence[Tier]
    counts: Counts
    interval: int
    under_way: int | None


@dataclass(frozen=True, slots=True)
class Editor:
    """The editor's form.

    instead: the source of the text, for the button that restores it
    asked: whether the reader asked for this text; then no draft replaces it
    kept: whether the reader just sent this text; then it is newer than any draft
    repaired: for the Repair button
    """

    text: str
    marks: str
    key: str
    draft_key: str
    instead: str
    asked: bool = False
    kept: bool = False
    repaired: Repair | None = None


@dataclass(frozen=True, slots=True)
class AssignmentPage:
    """The data of the page.

    rank, check: why a submission or a check isn't possible now; None if it is
    allowance: None for course staff, who have no limits
    handout: None for no handout
    earlier: the submission to show the result of; in the editor, unless a form was refused
    attempts: the last submissions and checks, the last one first
    counts: the submission that counts; best: the best one, if it is a different one
    late_days: the reader's late days; None for course staff
    viewed: whether course staff view the page as the student, and can't submit
    reader: the ID of the person
    worth_late: the points of a kernel that is accepted now, after the deadline; None before the deadline
    """

    now: datetime
    course: Membership
    bar: CourseBar | None
    task: Task
    rules: Rules
    allowance: Allowance | None
    rank: NotAccepted | None
    check: NotAccepted | None
    handout: Markup | None
    has_starter: bool
    editor: Editor
    earlier: EarlierSubmission | None
    attempts: Sequence[Entry]
    more_attempts: int
    counts: Counted | None
    best: Counted | None
    late_days: LateDays | None
    worth_late: float | None
    viewed: bool
    reader: int

    @property
    def over(self) -> bool:
        return self.viewed or self.course.archived or (self.allowance is not None and self.task.closed(self.now))

    @property
    def never_rank(self) -> bool:
        """Whether all attempts are used."""
        return self.allowance is not None and self.allowance.left == 0


def assignment_page(
    session: Session,
    reader: Reader,
    assignment: Assignment,
    *,
    came_from: str | None = None,
    sent: Sent | None = None,
    most_under_way: int | None = None,
) -> AssignmentPage:
    """Gather the data of the page.

    came_from: the ID of a submission to show in the editor; raises Refused if it isn't the reader's own
    sent: the form that was just sent and refused
    """
    who, course, now = reader.viewer, reader.course, reader.now
    bar = course_bar(session, reader)
    task = bar.task if bar else task_of(session, assignment, who.id)
    given = material_of(session, assignment.exercise)
    before = earlier_submission(session, who.id, assignment, came_from, staff=course.is_staff)
    if came_from is not None and before is None:
        raise nothing_here()
    limits = None if course.is_staff else allowance(session, assignment, who.id, now)
    days = None if course.is_staff else late_days_of(session, assignment, who.id, now)
    newest = tuple(reversed(task.entries))
    highest = best(assignment, task.graded_by, task.entries)
    return AssignmentPage(
        now=now,
        course=course,
        bar=bar,
        task=task,
        rules=Rules(
            assignment.late_percent_per_day,
            assignment.late_percent_most,
            assignment.goals_percent,
            tiers_of(assignment),
            assignment.counts,
            assignment.min_interval_seconds,
            most_under_way,
        ),
        allowance=limits,
        rank=limits.refusal(Mode.RANK, now, most_under_way) if limits else None,
        check=limits.refusal(Mode.CHECK, now, most_under_way) if limits else None,
        handout=_handout(given, task, assignment.exercise),
        has_starter=given is not None and given.starter is not None,
        editor=_editor(who, task, given, before, sent, came_from),
        earlier=before,
        attempts=newest[:NEWEST],
        more_attempts=max(0, task.number - NEWEST),
        counts=task.counted,
        best=None if highest == task.counted else highest,
        late_days=days,
        worth_late=points_for(
            assignment, late_days(now, task.deadlines) - (min(days.here, days.late) if days else 0), accepted=True
        )
        if task.overdue(now)
        else None,
        viewed=who.viewing is not None,
        reader=who.id,
    )


def _handout(given: Material | None, task: Task, exercise: Exercise) -> Markup | None:
    if given is None or not given.handout:
        return None
    address = f"{task.address}figures/"
    return render(given.handout, given.figures, address, exercise.name, exercise.definition)


def _editor(
    who: Viewer,
    task: Task,
    given: Material | None,
    before: EarlierSubmission | None,
    sent: Sent | None,
    came_from: str | None,
) -> Editor:
    draft_key = f"{digest_of(who.email)[:16]}:{task.course}/{task.slug}"
    if sent is not None:
        return Editor(sent.text, "[]", sent.key, draft_key, "", kept=True, repaired=sent.repaired)
    if before is not None:
        marks = json.dumps([asdict(mark) for mark in before.marks])
        last = f"{before.author}’s submission" if before.author else "your last submission"
        instead = "that submission" if came_from else last
        return Editor(before.text, marks, new_key(), draft_key, instead, asked=came_from is not None)
    starter = given.starter if given else None
    return Editor(starter or "", "[]", new_key(), draft_key, "the starter")
