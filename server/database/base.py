"""What all tables share: names of constraints, column types, and a condition on many rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum as PythonEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    DateTime,
    Dialect,
    Enum,
    Integer,
    MetaData,
    TypeDecorator,
    bindparam,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute

# Every constraint has a name, so that migrations can change it in both databases.
_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcTime(TypeDecorator[datetime]):
    """A time. SQLite stores no time zone, so it stores UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Refuse a time without a zone, because it is ambiguous."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time needs a time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# SQLite numbers rows by itself only in a column of its type INTEGER, which has 64 bits there.
BigId = BigInteger().with_variant(Integer, "sqlite")

Document = JSON().with_variant(JSONB, "postgresql")
"""A JSON value without an index. A query that looks into it needs another condition that leaves few rows."""


def choice(values: type[PythonEnum], *, constrained: bool = True) -> Enum:
    """A column for one of these values, stored as readable text.

    constrained: whether the database checks the value too, so that a new value needs a migration
    """
    return Enum(
        values,
        native_enum=False,
        create_constraint=constrained,
        validate_strings=True,
        length=32,
        name=values.__name__.lower(),
        values_callable=lambda members: [str(member.value) for member in members],
    )


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=_NAMES)
    type_annotation_map: dict[Any, Any] = {datetime: UtcTime(), dict[str, Any]: Document, list[str]: Document}  # noqa: RUF012 - SQLAlchemy's own name for it


def one_of(column: InstrumentedAttribute[int] | ColumnElement[int], numbers: Iterable[int]) -> ColumnElement[bool]:
    """Rows with one of these numbers, inlined: there may be more than a statement may have parameters."""
    return column.in_(bindparam(None, list(numbers), column.type, expanding=True, literal_execute=True))
