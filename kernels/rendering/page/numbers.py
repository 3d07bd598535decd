"""The format of numbers on the page.

A no-break space keeps a number and its unit on one line.
"""

from __future__ import annotations

import math

from kernels.wording import whole_percent

SPACE = "\N{NO-BREAK SPACE}"
_UNITS = (("M", 1e6), ("G", 1e9), ("T", 1e12))


def count(number: float) -> str:
    """A whole number in full, `1,048,576`; otherwise three digits or two decimals, whichever is more."""
    if not math.isfinite(number):
        return "–"
    if float(number).is_integer() or abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:,.2f}"


def short(number: float) -> str:
    """A count for a narrow column: `65,536`, `268.4 M`."""
    if abs(number) < 1e6:
        return count(round(number))
    for unit, size in _UNITS:
        if abs(number) < 999.95 * size or unit == "T":
            return f"{number / size:.4g}{SPACE}{unit}"
    raise AssertionError("the last unit takes every number")


def ratio(number: float) -> str:
    """A ratio: `4`, `8.5`, `2.06`."""
    if not math.isfinite(number):
        return "–"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.2f}".rstrip("0").rstrip(".")


def percent(share: float) -> str:
    """A share, with a decimal close to none or all: `87 %`, `0.4 %`, `99.7 %`, `< 0.1 %`."""
    value = 100 * share
    if 0 < value < 0.1:
        return f"<{SPACE}0.1{SPACE}%"
    near_an_end = 0 < abs(value) < 0.95 or 99.5 <= value < 100
    return f"{math.floor(10 * value) / 10:.1f}{SPACE}%" if near_an_end else f"{whole_percent(share)}{SPACE}%"


def milliseconds(number: float) -> str:
    """A time to three digits: `0.0123 ms`, `1.25 ms`."""
    if number == 0:
        return f"0{SPACE}ms"
    places = max(0, 2 - math.floor(math.log10(abs(number))))
    return f"{number:,.{min(places, 9)}f}{SPACE}ms"


def gflops(number: float) -> str:
    """A speed: `8,128 GFLOPS`."""
    return f"{number:,.0f}{SPACE}GFLOPS" if number >= 100 else f"{ratio(number)}{SPACE}GFLOPS"


def times(number: float) -> str:
    """A factor: `3.2 ×`."""
    return f"{ratio(number)}{SPACE}×"


def size(number: int) -> str:
    """Bytes in the unit that reads best."""
    if number < 1024:
        return f"{number:,}{SPACE}bytes"
    kib = number / 1024
    return f"{kib:,.4g}{SPACE}KiB" if kib < 1024 else f"{kib / 1024:,.4g}{SPACE}MiB"


def departure(share: float) -> str:
    """The difference between a count and the expected number: `+12.3 %`, `8 ×`."""
    if abs(share) >= 1:
        return times(share + 1)
    return f"{100 * share:+.1f}{SPACE}%"
