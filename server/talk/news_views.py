"""The page with a reader's news, and their number at the top of every page."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Blueprint, render_template

from server.accounts.access import viewer, viewer_or_none
from server.http.site import site
from server.talk.news import news_of, number_of_news

news_pages = Blueprint("news_pages", "server.talk")

_MOST = 50


@news_pages.get("/news")
def show_news() -> str:
    """Show what the reader hasn't seen, the newest first."""
    who, now = viewer(), datetime.now(UTC)
    with site().readers.begin() as session:
        lines = news_of(session, who.id, now, _MOST)
    return render_template("talk/news.html", lines=lines)


@news_pages.app_template_global("news_number")
def news_number() -> int:
    """How much is new for the reader."""
    who = viewer_or_none()
    if who is None:
        return 0
    with site().readers.begin() as session:
        return number_of_news(session, who.id, datetime.now(UTC))
