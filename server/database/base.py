"""What all tables share: names of constraints, and the types of columns."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum as PythonEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Enum, Integer, MetaData, TypeDecorator
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase

# Every constraint has a name of its own, so that a migration can change it on either database.
_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcTime(TypeDecorator[datetime]):
    """A moment. SQLite keeps no time zone: there it is kept in UTC, and read back with it."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Refuse a time without a zone: nobody knows which moment it is."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a time zone is no moment")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# SQLite counts rows up by itself only in a column of its plain INTEGER, which there has 64 bits anyway.
BigId = BigInteger().with_variant(Integer, "sqlite")

Document = JSON().with_variant(JSONB, "postgresql")
"""What is read as a whole and never searched."""


def choice(values: type[PythonEnum], *, constrained: bool = True) -> Enum:
    """A column that holds one of these values, as text that a person can read.

    constrained: whether the database keeps the list as well, so that a new value takes a migration
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
    """The class of all tables."""

    metadata = MetaData(naming_convention=_NAMES)
    type_annotation_map: dict[Any, Any] = {datetime: UtcTime(), dict[str, Any]: Document, list[str]: Document}  # noqa: RUF012 - SQLAlchemy's own name for it
