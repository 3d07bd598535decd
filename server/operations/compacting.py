"""Make the file of a SQLite database anew, without what was removed from it."""

from __future__ import annotations

import sqlite3

from sqlalchemy import Engine


def compact(engine: Engine) -> bool | None:
    """Whether it was done: not where others keep the file in use. None for PostgreSQL, which clears up by itself."""
    if engine.dialect.name != "sqlite":
        return None
    connection = engine.raw_connection()
    try:
        driver = connection.driver_connection
        assert driver is not None
        driver.execute("PRAGMA query_only=OFF")
        driver.execute("VACUUM")
        busy, _, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return not busy
