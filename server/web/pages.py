"""Pages for people. There is one: what runs here."""

from __future__ import annotations

from importlib.metadata import version

from flask import Blueprint, render_template

pages = Blueprint("pages", __name__)


@pages.get("/")
def start() -> str:
    """What runs here, and where to go from here."""
    return render_template("start.html", version=version("tilelab"))
