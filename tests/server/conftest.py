from __future__ import annotations

from tests.server.databases import engine, made, postgres_engine
from tests.services.connections import no_connection_is_left

__all__ = ["engine", "made", "no_connection_is_left", "postgres_engine"]
