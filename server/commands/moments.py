"""Times as commands are told them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click


class Moment(click.ParamType[datetime]):
    """A day or a moment in ISO 8601; UTC where it names no zone."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Read the text."""
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time; write one like 2026-03-01T23:59+01:00.", param, ctx)
        return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class MomentOrNone(click.ParamType[datetime | None]):
    """The same, or the word `none` for no such moment."""

    name = "TIME|none"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime | None:
        """Read the text."""
        return None if value == "none" else Moment().convert(value, param, ctx)
