"""What stands around every page: who reads it, and the ways to go from it."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Flask, request

from server.web.access import viewer_or_none


@dataclass(frozen=True, slots=True)
class Link:
    """A way to go. here: whether it leads to where the reader is."""

    title: str
    address: str
    here: bool


def attach_frame(app: Flask) -> None:
    """Give the base template what it shows."""
    app.jinja_env.globals["viewer_or_none"] = viewer_or_none
    app.jinja_env.globals["site_links"] = site_links


def site_links() -> tuple[Link, ...]:
    """The ways that stand at the top of every page."""
    who = viewer_or_none()
    if who is None:
        return ()
    return (Link("Courses", "/", request.path == "/"),)
