"""PostgreSQL's cursor, without a description of each result's columns.

SQLAlchemy reads the description once for each statement and keeps what it learned. psycopg would make one object for
each column of each result, a twelfth of the work for a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from psycopg import Column, Cursor


class DescribedOnDemand(Cursor[Any]):
    """A cursor whose `description` is made when it is read."""

    @property
    def description(self) -> Any:
        """None for a statement without rows."""
        result = self.pgresult
        return _Columns(self) if result is not None and result.nfields else None

    def columns(self) -> Sequence[Column]:
        return super().description or ()


class _Columns(Sequence[Any]):
    """The columns of the cursor's present result."""

    def __init__(self, cursor: DescribedOnDemand) -> None:
        self._cursor = cursor

    @cached_property
    def _made(self) -> Sequence[Column]:
        return self._cursor.columns()

    def __getitem__(self, place: Any) -> Any:
        return self._made[place]

    def __len__(self) -> int:
        return len(self._made)
