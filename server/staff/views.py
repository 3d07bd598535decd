"""Imports all staff pages, which registers them on the blueprint."""

from __future__ import annotations

from server.staff import audit_views, overview_views
from server.staff.assignments import extension_import_views, extension_request_views, extension_views, update_views
from server.staff.assignments import views as assignment_views
from server.staff.copies import views as copies_views
from server.staff.courses import copy_views, deletion_views
from server.staff.desk import staff
from server.staff.exercises import edit_views as exercise_edit_views
from server.staff.exercises import views as exercise_views
from server.staff.grades import correction_views, rubric_views
from server.staff.grades import views as grade_views
from server.staff.progress import page as progress_pages
from server.staff.progress import views as progress_views
from server.staff.roster import import_views
from server.staff.roster import views as roster_views
from server.staff.students import views as student_views
from server.staff.submissions import staging_views
from server.staff.submissions import views as submission_views
from server.staff.talk import announcement_views, question_views, request_views

__all__ = [
    "announcement_views", "assignment_views", "audit_views", "copies_views", "copy_views", "correction_views",
    "deletion_views", "exercise_edit_views", "exercise_views", "extension_import_views",
    "extension_request_views", "extension_views", "grade_views", "import_views",
    "overview_views", "progress_pages", "progress_views", "question_views", "request_views", "roster_views",
    "rubric_views", "staff", "staging_views", "student_views", "submission_views", "update_views",
]  # fmt: skip
