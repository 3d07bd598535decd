"""The live part of a submission's page, for the page itself, its stream and its polling."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from flask import Flask, current_app
from markupsafe import Markup

from kernels.exercise.input_words import case_words
from server.http.site import Site
from server.submissions.progress.hub import Hub
from server.submissions.progress.phases import PhaseState, Progress
from server.submissions.progress.streams import attach_hub

_KEY = "tilelab-live-part"
_TEMPLATE = "submissions/progress.html"


class LivePart:
    """Renders the live part as HTML, outside of requests: the hub renders it once for many pages."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def __call__(self, progress: Progress) -> str:
        template = self._app.jinja_env.get_template(_TEMPLATE)
        return template.render(progress=progress, states=PhaseState, case_words=case_words)


def attach_live(app: Flask, site: Site) -> None:
    """Attach the hub and the live part to the application; starts no thread."""
    attach_hub(app, Hub(site.readers, site.settings.redis_url))
    app.extensions[_KEY] = LivePart(app)


def live_part() -> LivePart:
    part: LivePart = current_app.extensions[_KEY]
    return part


def markup_of(progress: Progress) -> Markup:
    return Markup(live_part()(progress))  # noqa: S704 - from our own template


def envelope(html: str, final: bool) -> str:
    """The JSON for the page's script: the live part, whether it is the last, and the server's time."""
    return json.dumps({"html": html, "final": final, "now": clock()})


def clock() -> float:
    """Seconds since 1970, for the page's script."""
    return round(datetime.now(UTC).timestamp(), 2)
