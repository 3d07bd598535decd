"""Time zones for the profile page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from zoneinfo import available_timezones

from flask import request

OF_COURSE = "course"
"""The choice of a person who wants each course's time zone, wherever the browser is."""

_COOKIE = "tilelab_zone"
_REGIONS = (
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific",
)  # fmt: skip

Region = tuple[str, Sequence[tuple[str, str]]]


def is_zone(name: str) -> bool:
    return name in _known()


def of_browser() -> str:
    """The time zone that this browser reported; "" for none. Only for how times look, because anyone can set it."""
    name = request.cookies.get(_COOKIE, "")
    return name if is_zone(name) else ""


def regions(chosen: str = "") -> Sequence[Region]:
    """Each region with its zones, as name and label; always includes the chosen zone."""
    listed = _by_region()
    if chosen in {"", OF_COURSE} or any(chosen == name for _, zones in listed for name, _ in zones):
        return listed
    return (("Yours", ((chosen, chosen),)), *listed)


@cache
def _known() -> frozenset[str]:
    return frozenset(available_timezones()) | {"UTC"}


@cache
def _by_region() -> Sequence[Region]:
    made: list[Region] = [("World", (("UTC", "UTC"),))]
    for region in _REGIONS:
        names = sorted(name for name in _known() if name.startswith(f"{region}/"))
        if names:
            made.append((region, tuple((name, _place(name)) for name in names)))
    return tuple(made)


def _place(name: str) -> str:
    return name.partition("/")[2].replace("/", ", ").replace("_", " ")
