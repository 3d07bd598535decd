"""The windows that pages are shown in."""

from __future__ import annotations

from playwright.sync_api import ViewportSize

WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
