"""The start page: a reader's courses with their progress, or a description of Tilelab for strangers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from flask import Blueprint, render_template

from server.accounts.access import Viewer, viewer_or_none
from server.assignments.tasks import (
    CourseProgress,
    Task,
    course_progress,
    due_next,
    in_order,
    next_step,
    tasks_everywhere,
)
from server.courses.frame import read_frame
from server.courses.models import CourseInvitation, Role
from server.courses.service import Attended, all_courses
from server.enrolment.course_invitations import invitations_of
from server.http.site import site
from server.talk.announcements import unseen_by_course
from server.talk.comments import news_by_course

pages = Blueprint("pages", __name__)
pages.add_app_template_global(next_step)


@dataclass(frozen=True, slots=True)
class LearntCourse:
    """An active course of a student. tasks: in the course's order, without the practice."""

    course: Attended
    tasks: Sequence[Task]
    practice: Sequence[Task]
    progress: CourseProgress


@dataclass(frozen=True, slots=True)
class HomePage:
    """next: the most urgent task; None for none. learnt: courses with tasks; others: the reader's other courses.

    answers, unseen: how many comments and announcements the reader hasn't seen, by course
    """

    now: datetime
    next: Task | None
    invitations: Sequence[CourseInvitation]
    learnt: Sequence[LearntCourse]
    others: Sequence[Attended]
    answers: Mapping[str, int]
    unseen: Mapping[str, int]


@pages.get("/")
def start() -> str:
    """Show the start page."""
    who = viewer_or_none()
    if who is None:
        return render_template("start.html", version=version("tilelab"))
    return render_template("assignments/home.html", page=_home(who))


def _home(who: Viewer) -> HomePage:
    now = datetime.now(UTC)
    with site().readers.begin() as session:
        own = read_frame(session, who)
        tasks = tasks_everywhere(session, who.id, own, now)
        invited = invitations_of(session, who.id)
        courses = all_courses(session) if who.admin else own
        answers, unseen = news_by_course(session, who.id), unseen_by_course(session, who.id, now)
    learnt = [_learnt(course, tasks) for course in courses if course.role is Role.STUDENT]
    shown = [one for one in learnt if one.tasks or one.practice]
    with_tasks = {one.course.slug for one in shown}
    others = [one for one in courses if one.slug not in with_tasks]
    return HomePage(now, next(iter(due_next(tasks, now)), None), invited, shown, others, answers, unseen)


def _learnt(course: Attended, tasks: Sequence[Task]) -> LearntCourse:
    own = in_order(task for task in tasks if task.course == course.slug)
    return LearntCourse(
        course, [task for task in own if not task.practice], [task for task in own if task.practice],
        course_progress(own),
    )  # fmt: skip
