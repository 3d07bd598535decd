"""All that an assignment's page shows, gathered for one person."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from markupsafe import Markup
from sqlalchemy.orm import Session

from server.accounts.access import Viewer, nothing_here
from server.accounts.digest import digest_of
from server.courses.access import Membership
from server.courses.exercises import Material, material_of
from server.courses.handouts import render
from server.courses.models import Assignment, Counts
from server.submissions.allowance import Allowance, allowance
from server.submissions.assignment.earlier_submission import Earlier, earlier
from server.submissions.assignment.form import Sent, new_key
from server.submissions.assignment.tasks import Task, task_of
from server.submissions.counted_submission import Counted, Entry, late_days, points_for
from server.submissions.models import Mode
from server.submissions.refusals import NotAccepted

_SHOWN_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for everybody, beside what the task tells.

    under_way: how many of one student may be without a verdict at a time; None for any number
    """

    late_percent: float
    counts: Counts
    interval: int
    under_way: int | None


@dataclass(frozen=True, slots=True)
class Editor:
    """The form as it is shown.

    instead: what the server put there, in the words of a button that brings it back
    asked: whether the text is what the reader asked for, which no draft is to replace
    kept: whether the text is what was just sent, newer than any draft
    """

    text: str
    marks: str
    key: str
    draft_key: str
    instead: str
    asked: bool = False
    kept: bool = False


@dataclass(frozen=True, slots=True)
class AssignmentPage:
    """What the page shows.

    allowance: None for staff, who have no limits; rank, check: why nothing of that kind is taken now
    handout: None where none was kept
    earlier: what stands in the editor, where it was handed in before
    attempts: the last ones, the last one first
    counts: the one that counts; best: the best, where that is another one
    worth_late: the points of a right kernel that is handed in now, where that is late; None where it is not
    """

    now: datetime
    course: Membership
    task: Task
    rules: Rules
    allowance: Allowance | None
    rank: NotAccepted | None
    check: NotAccepted | None
    handout: Markup | None
    has_starter: bool
    editor: Editor
    earlier: Earlier | None
    attempts: Sequence[Entry]
    more_attempts: int
    counts: Counted | None
    best: Counted | None
    worth_late: float | None

    @property
    def over(self) -> bool:
        return self.course.archived or (self.allowance is not None and self.task.closed(self.now))

    @property
    def never_rank(self) -> bool:
        """Whether handing in is over, as all attempts are used."""
        return self.allowance is not None and self.allowance.left == 0


def assignment_page(
    session: Session,
    who: Viewer,
    course: Membership,
    assignment: Assignment,
    now: datetime,
    *,
    came_from: str | None = None,
    sent: Sent | None = None,
    most_under_way: int | None = None,
) -> AssignmentPage:
    """The page.

    came_from: the name of a submission that is to stand in the editor; raises Refused where it is not one's own
    sent: what was just sent and cannot be taken
    """
    task = task_of(session, assignment, who.id)
    given = material_of(session, assignment.exercise)
    before = earlier(session, who.id, assignment.id, came_from)
    if came_from is not None and before is None:
        raise nothing_here()
    limits = None if course.is_staff else allowance(session, assignment, who.id, now)
    newest = tuple(reversed(task.entries))
    return AssignmentPage(
        now=now,
        course=course,
        task=task,
        rules=Rules(
            assignment.late_percent_per_day,
            assignment.counts,
            assignment.min_interval_seconds,
            most_under_way,
        ),
        allowance=limits,
        rank=limits.refusal(Mode.RANK, now, most_under_way) if limits else None,
        check=limits.refusal(Mode.CHECK, now, most_under_way) if limits else None,
        handout=_handout(given, task),
        has_starter=given is not None and given.starter is not None,
        editor=_editor(who, task, given, before, sent, came_from),
        earlier=None if sent else before,
        attempts=newest[:_SHOWN_ATTEMPTS],
        more_attempts=max(0, len(newest) - _SHOWN_ATTEMPTS),
        counts=task.counted,
        best=None if task.best == task.counted else task.best,
        worth_late=points_for(assignment, late_days(now, task.deadlines), accepted=True)
        if task.overdue(now)
        else None,
    )


def _handout(given: Material | None, task: Task) -> Markup | None:
    if given is None or not given.handout:
        return None
    return render(given.handout, given.figures, f"{task.address}figures/")


def _editor(
    who: Viewer,
    task: Task,
    given: Material | None,
    before: Earlier | None,
    sent: Sent | None,
    came_from: str | None,
) -> Editor:
    draft_key = f"{digest_of(who.email)[:16]}:{task.course}/{task.slug}"
    if sent is not None:
        return Editor(sent.text, "[]", sent.key, draft_key, "", kept=True)
    if before is not None:
        marks = json.dumps([asdict(mark) for mark in before.marks])
        instead = "that submission" if came_from else "your last submission"
        return Editor(before.text, marks, new_key(), draft_key, instead, asked=came_from is not None)
    starter = given.starter if given else None
    return Editor(starter or "", "[]", new_key(), draft_key, "the starter")
