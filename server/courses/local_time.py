"""Times that staff enter in the course's time zone, also when its clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_FIRST, _LAST = 2000, 2200


class MomentError(ValueError):
    """An invalid time; the text says why."""

    fields = ()


def zone_named(name: str) -> ZoneInfo:
    """The time zone; UTC if this machine doesn't know it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def days_later(moment: datetime, days: int, zone: ZoneInfo) -> datetime:
    """The same time of day so many days later, also when clocks change between."""
    local = moment.astimezone(zone).replace(tzinfo=None) + timedelta(days=days)
    later = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if later.astimezone(zone).replace(tzinfo=None) == local:
        return later
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)  # clocks skip this time


def typed(moment: datetime | None, zone: ZoneInfo) -> str:
    """A time as a field for local times holds it; "" for none."""
    return "" if moment is None else f"{moment.astimezone(zone):%Y-%m-%dT%H:%M}"


def read_moment(text: str, zone: ZoneInfo, was: datetime | None = None) -> datetime | None:
    """Parse a field; None if empty. A time that occurs twice means the later one.

    was: the time that the field showed; an unchanged field keeps it exactly, with seconds

    raise (MomentError): the text isn't a time
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
        raise MomentError(f"Clocks in {zone.key} skip {local:%H:%M} on that day. Use {instead:%H:%M} instead.")
    return moment
