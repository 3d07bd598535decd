"""What every request needs, made once per process: settings, database, broker."""

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
    """`with site.sessions.begin() as session:` is one transaction; `readers` is for read-only ones.

    notes: for `server.http.notes`
    """

    settings: Settings
    engine: Engine
    sessions: Sessions
    readers: Sessions
    notes: Sessions


def attach_site(app: Flask, settings: Settings) -> Site:
    """Create the site and attach it to the application; opens no connections."""
    engine = connect(settings.database_url)
    site = Site(settings, engine, sessions(engine), readers(engine), hasty(engine, _NOTE_SECONDS, synced=False))
    app.extensions[_KEY] = site
    app.jinja_env.globals["site_address"] = site_address
    return site


def site() -> Site:
    return cast("Site", current_app.extensions[_KEY])


def site_address() -> str:
    """The portal's public address for links: the operator's setting, otherwise the address of this request."""
    return site().settings.public_url or request.host_url.rstrip("/")
