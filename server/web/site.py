"""What every request needs, made once for each process: settings, the database, the broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from flask import Flask, current_app
from sqlalchemy import Engine

from server.database.engine import Sessions, connect, readers, sessions
from server.settings import Settings

_KEY = "tilelab"


@dataclass(frozen=True, slots=True)
class Site:
    """`with site.sessions.begin() as session:` is one transaction; `readers` for one that only reads."""

    settings: Settings
    engine: Engine
    sessions: Sessions
    readers: Sessions


def attach_site(app: Flask, settings: Settings) -> Site:
    """Make it and let the application's requests find it; opens no connection yet."""
    engine = connect(settings.database_url)
    site = Site(settings, engine, sessions(engine), readers(engine))
    app.extensions[_KEY] = site
    return site


def site() -> Site:
    """That of the application that answers the present request."""
    return cast("Site", current_app.extensions[_KEY])
