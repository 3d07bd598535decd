from __future__ import annotations

from tests.server.databases import engine, made, postgres_engine

__all__ = ["engine", "made", "postgres_engine"]
