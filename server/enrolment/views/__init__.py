"""Pages for joining: with a course's code, or with a link."""

from __future__ import annotations

from server.enrolment.views import join, links
from server.enrolment.views.blueprint import enrolment

__all__ = ["enrolment", "join", "links"]
