"""A course whose assignment is worth 10 points, due a day after the first submissions, and an assistant."""

from __future__ import annotations

from datetime import timedelta

import pytest

from server.courses.models import Role
from tests.server.course import NOW
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of


@pytest.fixture
def due_tomorrow(portal: Portal) -> None:
    portal.course.change(device_class="", points=10.0, due_at=NOW + timedelta(days=1))


@pytest.fixture
def tom(portal: Portal, due_tomorrow: None) -> BrowserClient:
    return client_of(portal, "tom", Role.ASSISTANT)
