"""A student's tasks: assignments with deadlines, submissions and points, and the progress in a course."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from kernels.exercise.catalogue import catalogue, catalogue_entries
from kernels.exercise.model import Metric
from server.courses.access import Reader
from server.courses.models import Assignment, Role
from server.courses.service import Attended, assignments_for, visible_assignments
from server.grades.grade import Decisions, Grade, decisions_of, grade_from, rubric_grades_of
from server.grading.metric import metric_of
from server.submissions.counted_submission import Counted, Deadlines, Entry, due_for
from server.submissions.entries import deciding_entries, times_since
from server.submissions.models import Mode
from server.teams.deadlines import shared_deadlines


@dataclass(frozen=True, slots=True)
class Task:
    """An assignment for one person.

    points: the most possible, with those by the rubric
    deadlines: with this person's extension and accommodation, or those of their team; usual: without them
    graded_by: the person's own, by which submissions without a team have their points
    extra_attempts: granted to this person
    metric: ranks the measurements
    grade: what counts, and the points
    entries: the submissions and checks of this person that decide something, see `Deciding`
    number: how many submissions and checks there are
    position: its place in the course; None for none
    exercise: the name of an exercise that comes with Tilelab; "" for a course's own
    practice: whether it is practice, without points and deadline
    """

    course: str
    course_title: str
    time_zone: str
    slug: str
    title: str
    points: float
    device_class: str
    metric: Metric
    opens_at: datetime | None
    listed: bool
    deadlines: Deadlines
    usual: Deadlines
    graded_by: Deadlines
    extra_attempts: int
    grade: Grade
    entries: Sequence[Entry]
    number: int = 0
    position: int | None = None
    assignment_id: int = 0
    exercise: str = ""
    practice: bool = False

    @property
    def counted(self) -> Counted | None:
        """The submission that counts; None for none yet."""
        return self.grade.counted

    @property
    def address(self) -> str:
        return f"/courses/{self.course}/{self.slug}/"

    @property
    def due_extended(self) -> bool:
        return self.deadlines.due_at != self.usual.due_at

    @property
    def closing_extended(self) -> bool:
        return self.deadlines.closes_at != self.usual.closes_at

    @property
    def under_way(self) -> bool:
        return any(entry.under_way for entry in self.entries)

    @property
    def checked(self) -> Entry | None:
        """The last check with a verdict, shown until a submission counts."""
        return next((one for one in reversed(self.entries) if one.mode is Mode.CHECK and one.judged), None)

    @property
    def done(self) -> bool:
        """Whether an accepted submission counts."""
        return self.counted is not None and self.counted.entry.accepted

    @property
    def at_its_best(self) -> bool:
        """Whether no better submission is possible: it is accepted, and no GPU measures its speed."""
        return self.done and not self.device_class

    def closed(self, now: datetime) -> bool:
        return self.deadlines.closed(now)

    def overdue(self, now: datetime) -> bool:
        return self.deadlines.due_at is not None and now > self.deadlines.due_at


def tasks_everywhere(session: Session, person_id: int, courses: Iterable[Attended], now: datetime) -> Sequence[Task]:
    """A student's tasks in all their active courses, by deadline. courses: the person's own."""
    learns = {one.slug for one in courses if one.role is Role.STUDENT}
    if not learns:
        return []
    found = [each for each in visible_assignments(session, person_id, now) if each.course.slug in learns]
    return sorted(tasks_for(session, found, person_id), key=_by_due)


def due_next(tasks: Iterable[Task], now: datetime) -> Sequence[Task]:
    """Choose the tasks that are still worth doing. tasks: by deadline.

    First come open tasks before their deadline, then late ones, the latest deadline first. Then come done tasks that
    can be improved. Left out are practice, closed and excused tasks, done tasks after their deadline, and done tasks
    that can't be improved.
    """
    ahead: list[Task] = []
    late: list[Task] = []
    done: list[Task] = []
    for task in tasks:
        if task.practice or task.closed(now) or task.at_its_best or task.grade.excuse_released:
            continue
        if not task.overdue(now):
            (done if task.done else ahead).append(task)
        elif not task.done:
            late.append(task)
    return [*ahead, *reversed(late), *done]


def tasks_in(session: Session, course_id: int, role: Role, person_id: int, now: datetime) -> Sequence[Task]:
    """A person's tasks in one course, in its order."""
    return in_order(tasks_for(session, assignments_for(session, course_id, role, now), person_id))


def in_order(tasks: Iterable[Task]) -> Sequence[Task]:
    """Sort the tasks of one course. Tasks without a place come last, by the person's deadline."""
    return sorted(tasks, key=lambda task: (task.position is None, task.position or 0, *_by_due(task)))


def task_of(
    session: Session,
    assignment: Assignment,
    person_id: int,
    also: Collection[int] = (),
    decisions: Decisions | None = None,
) -> Task:
    """A person's task for one assignment. Its entries include the submissions `also`.

    decisions: read before
    """
    known = None if decisions is None else {assignment.id: decisions}
    (only,) = tasks_for(session, [assignment], person_id, also, known)
    return only


def tasks_for(
    session: Session,
    assignments: Sequence[Assignment],
    person_id: int,
    also: Collection[int] = (),
    decisions: Mapping[int, Decisions] | None = None,
) -> Iterable[Task]:
    """A person's tasks for these assignments, in their order. Their entries include the submissions `also`.

    decisions: by the assignments' IDs, if they were read before
    """
    decided = decisions or decisions_of(session, [one.id for one in assignments], person_id)
    by_rubric = rubric_grades_of(session, assignments, person_id)
    deciding = deciding_entries(session, assignments, person_id, also)
    shared = shared_deadlines(session, assignments, person_id)
    for assignment in assignments:
        decision = decided[assignment.id]
        extension, own = decision.extension, decision.deadlines(assignment)
        entries = deciding[assignment.id].entries
        yield Task(
            course=assignment.course.slug,
            course_title=assignment.course.title,
            time_zone=assignment.course.time_zone,
            slug=assignment.slug,
            title=assignment.title,
            points=assignment.most_points,
            device_class=assignment.device_class,
            metric=metric_of(assignment.exercise),
            opens_at=assignment.opens_at,
            listed=assignment.listed,
            deadlines=shared.get(assignment.id, own),
            usual=due_for(assignment, None, None),
            graded_by=own,
            extra_attempts=extension.extra_attempts if extension else 0,
            grade=grade_from(assignment, decision, entries, by_rubric.get(assignment.id)),
            entries=entries,
            number=deciding[assignment.id].number,
            position=assignment.position,
            assignment_id=assignment.id,
            exercise="" if assignment.exercise.course_id else assignment.exercise.name,
            practice=assignment.practice,
        )


def _by_due(task: Task) -> tuple[bool, float]:
    """Sort by the person's own deadline; tasks without one come last. Others stay in order, the first created first."""
    due_at = task.deadlines.due_at
    return due_at is None, 0.0 if due_at is None else due_at.timestamp()


@dataclass(frozen=True, slots=True)
class Step:
    """The words of the link to a student's next step at an assignment, and its address."""

    words: str
    address: str


@dataclass(frozen=True, slots=True)
class CourseProgress:
    """A student's progress in a course, without practice and the assignments that they are excused from.

    done, of: how many assignments are accepted, of how many
    points, most: of the assignments with points that are released
    held: how many assignments have points that aren't released yet
    """

    done: int
    of: int
    points: float
    most: float
    held: int


@dataclass(frozen=True, slots=True)
class CourseBar:
    """A student's place in a course, as the pages of one assignment show it.

    task: the page's own; before, after: its neighbours in the course's order, None at the ends. The neighbours of
        practice are practice
    """

    now: datetime
    task: Task
    before: Task | None
    after: Task | None
    progress: CourseProgress


def course_bar(session: Session, reader: Reader) -> CourseBar | None:
    """The bar for a student's page of an assignment; None for course staff, who have no progress."""
    if reader.course.is_staff:
        return None
    every = tasks_in(session, reader.course.course_id, reader.course.role, reader.viewer.id, reader.now)
    own = next((task for task in every if task.slug == reader.slug), None)
    if own is None:
        return None
    tasks = [task for task in every if task.practice == own.practice]
    here = tasks.index(own)
    return CourseBar(
        now=reader.now,
        task=tasks[here],
        before=tasks[here - 1] if here else None,
        after=tasks[here + 1] if here + 1 < len(tasks) else None,
        progress=course_progress(every),
    )


def course_progress(tasks: Sequence[Task]) -> CourseProgress:
    """Sum up a student's tasks in one course."""
    found = [task for task in tasks if not (task.practice or task.grade.excuse_released)]
    valued = [task for task in found if task.points]
    released = [task for task in valued if not task.grade.held]
    return CourseProgress(
        done=sum(task.done for task in found),
        of=len(found),
        points=sum(task.grade.points or 0.0 for task in released),
        most=sum(task.points for task in released),
        held=len(valued) - len(released),
    )


def next_step(task: Task, now: datetime) -> Step:
    """The most useful link for a student at this assignment."""
    pending = next((entry for entry in task.entries if entry.under_way), None)
    if pending is not None:
        return Step("See progress", f"/submissions/{pending.public_id}")
    if task.grade.excuse_released and task.counted is None:
        return Step("Read handout", task.address)
    over = task.grade.excuse_released or task.closed(now) or task.at_its_best or (task.done and task.overdue(now))
    if over and task.counted is not None:
        return Step("See result", f"/submissions/{task.counted.entry.public_id}")
    if task.closed(now):
        return Step("Read handout", task.address)
    if task.done:
        return Step("Make it faster", task.address)
    if task.counted is not None:
        return Step("Fix it", task.address)
    if task.checked is not None:
        return Step("Submit it" if task.checked.accepted else "Fix it", task.address)
    return Step("Continue" if task.entries else "Start", task.address)


WEEKS = 12
_LEVELS = (1, 3, 6, 12)


@dataclass(frozen=True, slots=True)
class Day:
    """A day. place: days since the first Monday; level: 0 for none to 4 for many."""

    day: date
    place: int
    count: int

    @property
    def level(self) -> int:
        return sum(self.count >= least for least in _LEVELS)


@dataclass(frozen=True, slots=True)
class OwnActivity:
    """The last weeks, from a Monday until today."""

    days: Sequence[Day]

    @property
    def total(self) -> int:
        return sum(each.count for each in self.days)

    @property
    def active(self) -> int:
        return sum(each.count > 0 for each in self.days)


def read_activity(
    session: Session, tasks: Sequence[Task], person_id: int, now: datetime, zone: ZoneInfo
) -> OwnActivity | None:
    """Read a person's activity of the last weeks at these tasks, in this time zone; None for none."""
    since = datetime.combine(_first_day(now, zone), time(), zone)
    return own_activity(times_since(session, [task.assignment_id for task in tasks], person_id, since), now, zone)


def _first_day(now: datetime, zone: ZoneInfo) -> date:
    today = now.astimezone(zone).date()
    return today - timedelta(days=today.weekday(), weeks=WEEKS - 1)


def own_activity(times: Iterable[datetime], now: datetime, zone: ZoneInfo) -> OwnActivity | None:
    """The activity of the last weeks, in this time zone; None for none. times: of submissions and checks."""
    today, first = now.astimezone(zone).date(), _first_day(now, zone)
    counts = Counter(moment.astimezone(zone).date() for moment in times)
    dates = [first + timedelta(days=place) for place in range((today - first).days + 1)]
    found = OwnActivity([Day(day, place, counts[day]) for place, day in enumerate(dates)])
    return found if found.total else None


@dataclass(frozen=True, slots=True)
class PracticeTask:
    """Practice for one person. what: what to write, as part of a sentence; "" for a course's own exercise."""

    task: Task
    what: str


@dataclass(frozen=True, slots=True)
class PracticeLevel:
    """Practice of similar difficulty."""

    title: str
    tasks: tuple[PracticeTask, ...]


def practice_levels(tasks: Sequence[Task]) -> list[PracticeLevel]:
    """The practice among these tasks, by the levels of the catalogue. Exercises of the course come last."""
    practice = [task for task in tasks if task.practice]
    levels = [
        PracticeLevel(
            level.title,
            tuple(
                PracticeTask(task, entry.what)
                for entry in level.entries
                for task in practice
                if task.exercise == entry.exercise.name
            ),
        )
        for level in catalogue()
    ]
    others = (PracticeTask(task, "") for task in practice if task.exercise not in catalogue_entries())
    return [level for level in (*levels, PracticeLevel("Other exercises", tuple(others))) if level.tasks]
