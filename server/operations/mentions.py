"""Where the database names someone in texts that are not their own account."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import JSON, Column, String, Table, select, update
from sqlalchemy.orm import Session

from server.accounts.models import ApiToken
from server.audit.models import AuditEvent
from server.courses.models import Assignment, Course
from server.database.base import Base
from server.experiments.models import Experiment
from server.fleet.models import Worker


def _tables(*classes: type[Base]) -> tuple[Table, ...]:
    return tuple(Base.metadata.tables[it.__tablename__] for it in classes)


# Texts that nobody needs once they name someone erased, and such as someone has to look at: titles, names of machines.
_REPLACED = _tables(AuditEvent, Experiment)
_LOOKED_AT = _tables(Course, Assignment, ApiToken, Worker)
_REMOVED = "erased"


def erase_mentions(session: Session, names: Sequence[str]) -> None:
    """Take these names out of the audit and of experiments: a text that holds one goes, a document is emptied."""
    for table in _REPLACED:
        key = table.primary_key.columns[0]
        for identity, found in _found(session, table, names):
            values: dict[str, Any] = {
                column.name: _REMOVED if isinstance(column.type, String) else {"erased": True}
                for column in found
            }
            session.execute(update(table).where(key == identity).values(values))


def mentions(session: Session, names: Sequence[str]) -> list[str]:
    """Where else one of these names stands, such as "courses.title of 3"."""
    return [
        f"{table.name}.{column.name} of {identity}"
        for table in _LOOKED_AT
        for identity, found in _found(session, table, names)
        for column in found
    ]


def _found(session: Session, table: Table, names: Sequence[str]) -> Iterator[tuple[Any, list[Column[Any]]]]:
    """Rows with a text that holds a name, as a word of its own, and which texts those are."""
    words = "|".join(re.escape(name.casefold()) for name in names if name)
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)")
    key = table.primary_key.columns[0]
    texts = [column for column in table.columns if _is_text(column) and not column.foreign_keys]
    for identity, *values in session.execute(select(key, *texts)).all():
        found = [
            column
            for column, value in zip(texts, values, strict=True)
            if value is not None and pattern.search(_text(value).casefold())
        ]
        if found:
            yield identity, found


def _is_text(column: Column[Any]) -> bool:
    return isinstance(column.type, String | JSON)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
