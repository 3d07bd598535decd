"""Find a person's name outside the person's account."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import JSON, Column, String, Table, select, update
from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.accounts.models import ApiToken, LinkPurpose
from server.audit.models import AuditEvent
from server.courses.models import Assignment, Counts, Course, Role, StaffNote
from server.database.base import Base
from server.experiments.models import Experiment
from server.fleet.models import Worker
from server.submissions.models import LookedAtPair, Mode, RubricGrade, StagedRegrade
from server.talk.models import Announcement, Comment, ExtensionRequest, RegradeRequest

_REMOVED = "erased"
_OURS = frozenset(str(word) for words in (Role, Counts, Mode, Verdict, LinkPurpose) for word in words)
"""Values that Tilelab itself writes, even if a person's name is one of these words."""


def _columns(of: type[Base], *names: str) -> tuple[Column[Any], ...]:
    """These columns of the table; without names, all columns with text."""
    table: Table = Base.metadata.tables[of.__tablename__]
    texts = [column for column in table.columns if isinstance(column.type, String | JSON)]
    return tuple(column for column in texts if not column.foreign_keys and (not names or column.name in names))


# Texts without use once they name an erased person. Of an audit entry, only the detail: its action and subject hold
# Tilelab's own words and numbers.
_REPLACED = (_columns(AuditEvent, "detail"), _columns(Experiment, "name", "plan"), _columns(StagedRegrade, "filter"))
# Texts to check by hand: titles, announcements, names of machines.
_LOOKED_AT = tuple(
    _columns(it)
    for it in (
        Course,
        Assignment,
        Announcement,
        Comment,
        RegradeRequest,
        ExtensionRequest,
        ApiToken,
        StaffNote,
        Worker,
        RubricGrade,
        LookedAtPair,
    )
)


def erase_mentions(session: Session, names: Sequence[str]) -> None:
    """Remove these names from the audit log, experiments and staged regrades; the rest of their texts stays."""
    for columns in _REPLACED:
        for key, identity, found in _found(session, columns, names):
            session.execute(update(key.table).where(key == identity).values(found))


def mentions(session: Session, names: Sequence[str]) -> list[str]:
    """Where else one of these names occurs, such as "courses.title of 3"."""
    return [
        f"{key.table.name}.{name} of {identity}"
        for columns in _LOOKED_AT
        for key, identity, found in _found(session, columns, names)
        for name in found
    ]


def _found(
    session: Session, columns: Sequence[Column[Any]], names: Sequence[str]
) -> Iterator[tuple[Column[Any], Any, dict[str, Any]]]:
    """Rows that contain a name as a whole word: key column, key, and the texts without the name."""
    words = "|".join(re.escape(name) for name in names if name)
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    key = columns[0].table.primary_key.columns[0]
    for identity, *values in session.execute(select(key, *columns)).all():
        pairs = ((column.name, value, _without(value, pattern)) for column, value in zip(columns, values, strict=True))
        found = {name: without for name, value, without in pairs if without != value}
        if found:
            yield key, identity, found


def _without(value: Any, pattern: re.Pattern[str]) -> Any:
    """The value without the names. A document's keys stay: they are Tilelab's own words."""
    if isinstance(value, str):
        return value if value in _OURS else pattern.sub(_REMOVED, value)
    if isinstance(value, dict):
        return {key: _without(one, pattern) for key, one in value.items()}
    if isinstance(value, list):
        return [_without(one, pattern) for one in value]
    return value
