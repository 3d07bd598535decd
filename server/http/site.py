"""What every request needs, made once for each process: settings, the database, the broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from flask import Flask, current_app, request
from sqlalchemy import Engine

from server.database.engine import Sessions, connect, hasty, readers, sessions
from server.settings import Settings

_KEY = "tilelab"
_NOTE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Site:
    """`with site.sessions.begin() as session:` is one transaction; `readers` for one that only reads.

    notes: for `server.http.notes`
    """

    settings: Settings
    engine: Engine
    sessions: Sessions
    readers: Sessions
    notes: Sessions


def attach_site(app: Flask, settings: Settings) -> Site:
    """Make it and let the application's requests find it; opens no connection yet."""
    engine = connect(settings.database_url)
    site = Site(
        settings, engine, sessions(engine), readers(engine), hasty(engine, _NOTE_SECONDS, synced=False)
    )
    app.extensions[_KEY] = site
    app.jinja_env.globals["site_address"] = site_address
    return site


def site() -> Site:
    """That of the application that answers the present request."""
    return cast("Site", current_app.extensions[_KEY])


def site_address() -> str:
    """Where browsers find the portal, for links that leave it: as its operator set it, else where it was asked."""
    return site().settings.public_url or request.host_url.rstrip("/")
