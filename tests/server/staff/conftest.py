"""A course whose assignment is worth 10 points, due a day after the first submissions, and an assistant."""

from __future__ import annotations

from datetime import timedelta

import pytest

from server.courses.models import Assignment, Role
from tests.server.course import NOW
from tests.server.web.conftest import Portal, portal
from tests.server.web.signed_in import BrowserClient, client_of

__all__ = ["portal"]


@pytest.fixture
def due_tomorrow(portal: Portal) -> None:
    with portal.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, portal.course.assignment)
        assignment.device_class, assignment.points, assignment.due_at = "", 10.0, NOW + timedelta(days=1)


@pytest.fixture
def tom(portal: Portal, due_tomorrow: None) -> BrowserClient:
    return client_of(portal, "tom", Role.ASSISTANT)
