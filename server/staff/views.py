"""All pages of the desk: to import this is to have them on the blueprint."""

from __future__ import annotations

from server.staff import import_views, roster_views
from server.staff.desk import staff

__all__ = ["import_views", "roster_views", "staff"]
