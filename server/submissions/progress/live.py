"""The part of a submission's page that changes while it is graded, for the page itself, its stream and its polling."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

from flask import Flask, current_app
from markupsafe import Markup

from server.http.site import Site
from server.submissions.progress.hub import Hub
from server.submissions.progress.phases import PhaseState, Progress
from server.submissions.progress.streams import attach_hub

_KEY = "tilelab-live-part"
_TEMPLATE = "submissions/progress.html"


class LivePart:
    """Writes the part as HTML. It needs no request: the hub writes it for many pages at once."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def __call__(self, progress: Progress) -> str:
        template = self._app.jinja_env.get_template(_TEMPLATE)
        return template.render(progress=progress, states=PhaseState)


def attach_live(app: Flask, site: Site) -> None:
    """Give the application what its live pages need; begins nothing."""
    attach_hub(app, Hub(site.readers, site.settings.redis_url))
    app.extensions[_KEY] = LivePart(app)


def live_part() -> LivePart:
    """That of the application that answers the present request."""
    part: LivePart = current_app.extensions[_KEY]
    return part


def markup_of(progress: Progress) -> Markup:
    """The part, for the page that is made now."""
    return Markup(live_part()(progress))  # noqa: S704 - a template of ours


def envelope(html: str, final: bool) -> str:
    """What the page's script is told: the part, whether it is the last, and what the time is here."""
    return json.dumps({"html": html, "final": final, "now": round(time.time(), 2)})


def clock() -> float:
    """Seconds since 1970, as the page's script counts."""
    return round(datetime.now(UTC).timestamp(), 2)
