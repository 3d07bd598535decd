"""All pages of the desk: to import this is to have them on the blueprint."""

from __future__ import annotations

from server.staff import (
    assignment_views,
    audit_views,
    extension_views,
    grade_views,
    import_views,
    overview_views,
    roster_views,
    submission_views,
    updating_views,
)
from server.staff.desk import staff

__all__ = [
    "assignment_views", "audit_views", "extension_views", "grade_views", "import_views", "overview_views",
    "roster_views", "staff", "submission_views", "updating_views",
]  # fmt: skip
