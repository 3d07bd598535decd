"""Pages for joining: with a course's code, or with a link."""

from __future__ import annotations

from server.enrolment.views import invitations, join, links
from server.enrolment.views.blueprint import enrolment

__all__ = ["enrolment", "invitations", "join", "links"]
