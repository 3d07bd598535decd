"""The rows that benchmarks write in bulk, past the mapped classes."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import Column

import server.models  # noqa: F401 - it fills the metadata
from server.database.base import Base

BENCH = Path(__file__).parents[2] / "bench"
INSERT = re.compile(r"INSERT INTO (\w+) \(([\w,\s]+)\)")


def test_each_insert_names_all_columns_that_its_table_needs():
    inserts = [
        (file.name, table, set(names.replace(",", " ").split()))
        for file in BENCH.rglob("*.py")
        for table, names in INSERT.findall(file.read_text())
        if table in Base.metadata.tables
    ]
    missing = {
        (file, table): sorted(absent)
        for file, table, names in inserts
        if (absent := {c.name for c in Base.metadata.tables[table].columns if _needed(c)} - names)
    }
    assert len(inserts) >= 10
    assert missing == {}


def _needed(column: Column[object]) -> bool:
    counts_itself = column.primary_key and bool(column.autoincrement) and not column.foreign_keys
    return not (column.nullable or column.server_default is not None or counts_itself)
