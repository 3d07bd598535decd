"""The page above an address that only accepts forms."""

from __future__ import annotations

from urllib.parse import quote

from flask import current_app, request


def page_above() -> str:
    """The nearest address above the requested one that shows a page; at the latest the start page."""
    adapter = current_app.create_url_adapter(request)
    above = request.path.rstrip("/")
    while adapter is not None and above:
        above = above.rpartition("/")[0]
        for address in (f"{above}/", above):
            if address and adapter.test(address, "GET"):
                return quote(address)
    return "/"
