from __future__ import annotations

import pytest

from tests.browser.accessible import assert_accessible
from tests.browser.viewports import NARROW, WIDE


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_start_page_shows_what_this_is_to_everybody(page, portal):
    page.goto(portal.url)
    assert page.get_by_role("heading", level=1).count() == 1
    assert_accessible(page)
