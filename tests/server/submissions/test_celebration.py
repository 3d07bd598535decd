"""The first accepted kernel of an assignment is celebrated, once."""

from __future__ import annotations

from datetime import timedelta

from server.courses.models import Role
from tests.server.databases import ON_SQLITE
from tests.server.standings.results import public_id, ranked
from tests.server.web.signed_in import client_of


@ON_SQLITE
def test_the_first_accepted_kernel_is_celebrated_once(portal, monkeypatch):
    ada = client_of(portal, "ada")
    first, second = (
        f"/submissions/{public_id(portal.course, ranked(portal.course, 'ada', speed))}"
        for speed in (2000, 3000)
    )
    with monkeypatch.context() as patched:
        patched.setattr("server.submissions.result.views._FRESH", timedelta())
        assert "data-celebrates" not in ada.page(first), "too long ago"
    assert "data-celebrates" not in client_of(portal, "ina", Role.INSTRUCTOR).page(first)
    assert "data-celebrates" not in ada.page(second)
    assert "data-celebrates" in ada.page(first)
    assert "data-celebrates" not in ada.page(first)
