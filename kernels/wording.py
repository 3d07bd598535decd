"""Counts, sizes and points in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

_MOST_PLACES = 6


def plural(count: int, noun: str) -> str:
    """The count with its noun: `1 element`, `2 elements`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def part_of(part: int, whole: int, noun: str) -> str:
    """A part of a count: `1,369 of 1,369 elements`."""
    return f"{part:,} of {plural(whole, noun)}"


def at_line(line: int | None) -> str:
    """The place in a sentence: ` at line 12`; "" for an unknown line."""
    return "" if line is None else f" at line {line}"


def listed(texts: Sequence[str], word: str = "and") -> str:
    """`a, b and c`."""
    return f" {word} ".join(filter(None, (", ".join(texts[:-1]), texts[-1]))) if texts else ""


def lines_named(numbers: Sequence[int]) -> str:
    """`line 11`, `lines 11, 12 and 14`; "" for none."""
    return f"line{'s' if numbers[1:] else ''} {listed([*map(str, numbers)])}" if numbers else ""


def line_ranges(spans: Iterable[range]) -> str:
    """Lines in words: `line 3`, `lines 3 to 9`, `lines 3 to 9, 12 and 20 to 30`. Adjacent ones are joined."""
    joined: list[tuple[int, int]] = []
    for span in spans:
        if joined and span[0] <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], span[-1])
        else:
            joined.append((span[0], span[-1]))
    texts = [str(first) if first == last else f"{first} to {last}" for first, last in joined]
    if len(texts) > _MOST_PLACES:
        texts = [*texts[: _MOST_PLACES - 1], "others"]
    alone = len(joined) == 1 and joined[0][0] == joined[0][1]
    return f"line{'' if alone else 's'} {listed(texts)}"


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Sizes in the form of the command's option: `Width=256`."""
    return ", ".join(f"{name}={value:,}" for name, value in sizes.items())


def rounded_points(value: float) -> str:
    """Points of a grade, with at most two decimals: `10`, `7.5`, `3.33`."""
    return short_number(value, 2)


def percent(share: float) -> str:
    """A share of 1 as a whole number, halves rounded up: `87 %`."""
    return f"{whole_percent(share)} %"


def whole_percent(share: float) -> int:
    """Percent of 1, halves rounded up, as at school. Python's formats round them to even numbers."""
    return math.floor(round(100 * share, 6) + 0.5)


def short_number(value: float, digits: int = 1) -> str:
    """A number without zeros after its last digit: `16`, `7.5`."""
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".")


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known name that is most like this one, in any case; "" if none is."""
    folded = {each.casefold(): each for each in sorted(known)}
    return folded.get(next(iter(get_close_matches(name.casefold(), folded, 1, cutoff)), ""), "")


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """A question that follows a sentence, with the closest known name; "" if none is close."""
    close = closest(name, known, cutoff)
    return f" Did you mean `{close}`?" if close else ""


def byte_size(count: int) -> str:
    """Bytes in the unit that reads best: `512 bytes`, `48 KiB`, `1.5 KiB`."""
    if count < 1024:
        return plural(count, "byte")
    return f"{count / 1024:g} KiB" if count % 512 == 0 else f"{count:,} bytes"
