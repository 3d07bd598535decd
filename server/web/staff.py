"""Imports all pages and API routes for course staff, which registers them on their two blueprints."""

from __future__ import annotations

from server.acts import file_api, file_views
from server.assignments import api as assignment_api
from server.assignments import extension_views, practice_views
from server.assignments import staff_views as assignment_views
from server.class_progress import api as progress_api
from server.class_progress import views as progress_views
from server.copies import views as copies_views
from server.courses import audit_views, copy_views
from server.courses import staff_views as course_views
from server.courses.staff_api import staff_api
from server.courses.staff_pages import staff
from server.exercises import api as exercise_api
from server.exercises import catalogue_views
from server.exercises import views as exercise_views
from server.grades import api as grade_api
from server.grades import grading_views, platform_views, rubric_views
from server.grades import views as grade_views
from server.lti import api as lti_api
from server.lti import staff_views as lti_views
from server.operations import retention_views
from server.regrades import api as regrade_api
from server.regrades import request_views
from server.regrades import views as regrade_views
from server.roster import api as roster_api
from server.roster import student_views
from server.roster import views as roster_views
from server.submissions import staff_api as submission_api
from server.submissions import staff_views as submission_views
from server.talk import announcement_api, comment_views
from server.talk import announcement_staff_views as announcement_views
from server.teams import api as team_api
from server.teams import staff_views as team_views

__all__ = [
    "announcement_api", "announcement_views", "assignment_api", "assignment_views", "audit_views", "catalogue_views",
    "comment_views", "copies_views", "copy_views", "course_views", "exercise_api", "exercise_views", "extension_views",
    "file_api", "file_views", "grade_api", "grade_views", "grading_views", "lti_api", "lti_views", "platform_views",
    "practice_views", "progress_api", "progress_views", "regrade_api", "regrade_views", "request_views",
    "retention_views", "roster_api", "roster_views", "rubric_views", "staff", "staff_api", "student_views",
    "submission_api", "submission_views", "team_api", "team_views",
]  # fmt: skip
