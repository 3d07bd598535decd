"""The dump, as a data folder or in PostgreSQL."""

from __future__ import annotations

import json
import lzma
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from alembic import command
from sqlalchemy import Engine, MetaData, create_engine, insert, select, text

from server.database import schema
from server.database.engine import connect

_HERE = Path(__file__).parent
DATABASE = "tilelab.sqlite3"


def kept_facts() -> dict[str, Any]:
    """What the pages of that version said, by facts.py."""
    found: dict[str, Any] = json.loads(lzma.decompress((_HERE / "facts.json.xz").read_bytes()))
    return found


def make_folder(folder: Path) -> None:
    """The data folder of `tilelab up`."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(_HERE / "demo.json", folder)
    connection = sqlite3.connect(folder / DATABASE)
    connection.executescript(lzma.decompress((_HERE / "dump.sql.xz").read_bytes()).decode())
    connection.close()


def fill_postgresql(url: str, folder: Path) -> None:
    """The same rows in tables of that version. folder: for a data folder to read them from"""
    make_folder(folder)
    engine = connect(url)
    config = schema._config()
    with schema._alone(engine) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0030")
    source = create_engine(f"sqlite:///{folder / DATABASE}")
    _copy(source, engine)
    source.dispose()
    engine.dispose()


def _copy(source: Engine, engine: Engine) -> None:
    tables = MetaData()
    tables.reflect(engine)
    with source.connect() as here, engine.begin() as there:
        there.execute(text("SET LOCAL session_replication_role = replica"))  # rows in any order
        for table in tables.tables.values():
            rows = [dict(row) for row in here.execute(select(table)).mappings()]
            if rows and table.name != "alembic_version":
                there.execute(insert(table), rows)
        for name, last in there.execute(_SEQUENCES).all():
            there.execute(text("SELECT setval(:name, :last)"), {"name": name, "last": last})


# Each counts on after the rows that came with numbers of their own.
_SEQUENCES = text("SELECT format('%I', sequencename), 100000 FROM pg_sequences WHERE schemaname = 'public'")
