"""Times as staff type them: on the clock of the course, which skips an hour in spring and repeats one in autumn."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_FIRST, _LAST = 2000, 2200


class MomentError(ValueError):
    """No moment was typed; the text says why, to whoever typed it."""


def zone_named(name: str) -> ZoneInfo:
    """The zone; UTC for a name that is none, as another machine's table of zones may have had it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def typed(moment: datetime | None, zone: ZoneInfo) -> str:
    """A moment as a field for local times holds it; "" for none."""
    return "" if moment is None else f"{moment.astimezone(zone):%Y-%m-%dT%H:%M}"


def read_moment(text: str, zone: ZoneInfo, was: datetime | None = None) -> datetime | None:
    """The moment that was typed; None for an empty field. A time that comes twice means the later one.

    was: what the field showed: where nobody changed it, it stays what it was, seconds and all
    raise (MomentError): where it is none
    """
    if not text:
        return None
    if was is not None and text == typed(was, zone):
        return was
    try:
        local = datetime.fromisoformat(text)
    except ValueError:
        raise MomentError("This is not a date and time. Write it like 2026-03-01T23:59.") from None
    if not _FIRST <= local.year <= _LAST:
        raise MomentError(f"The year must be between {_FIRST} and {_LAST}.")
    if local.tzinfo is not None:
        return local.astimezone(UTC)
    moment = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) != local:
        instead = local.replace(tzinfo=zone, fold=0).astimezone(UTC).astimezone(zone)
        raise MomentError(
            f"Clocks in {zone.key} skip {local:%H:%M} on that day. Use {instead:%H:%M} instead."
        )
    return moment
