"""Every regular expression takes time in proportion to a text's length, whatever the text is."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

import pytest

from tests.regexes.attacks import ALIKE, ENDS, attacks, text_of
from tests.regexes.patterns import Pattern, patterns

SIZE = 16 * 1024
"""A quarter of the largest source: a quadratic search takes seconds here, too."""

NOTHING = 0.01
GROWTH = 8.0
"""At four times the length. A linear search takes four times as long, a quadratic one sixteen times."""

OPEN = {"pattern", "pattern.replace('NAME', re.escape(self.name))", "self.pattern or '(?s:.*)'"}
"""Parameters of functions whose callers' patterns are in the list."""


def seconds(pattern: Pattern, text: str) -> float:
    compiled = re.compile(pattern.text, pattern.flags)
    began = time.thread_time()
    if pattern.anchored:
        compiled.match(text)
    else:
        for _ in compiled.finditer(text):
            pass
    return time.thread_time() - began


def slow(pattern: Pattern, texts: Iterable[tuple[str, str, str]], size: int) -> list[str]:
    """The texts for which the time grows faster than the length."""
    found = []
    for before, piece, end in texts:
        whole, quarter = (text_of(before, piece, end, each) for each in (size, size // 4))
        taken = seconds(pattern, whole)
        # Twice, because the first may have waited for a page of memory.
        if taken > NOTHING and min(taken, seconds(pattern, whole)) > GROWTH * max(
            seconds(pattern, quarter), NOTHING / 4
        ):
            found.append(f"{pattern.place}: {pattern.text} takes {taken:.2f} s for {(before, piece, end)!r}")
    return found


def test_every_pattern_is_in_the_list():
    found = patterns()

    assert len(found) > 300
    assert {part for each in found if each.text == "name" for part in each.unknown} <= OPEN


def test_a_pattern_that_divides_its_text_in_many_ways_is_found():
    quadratic = Pattern("here.py", 1, r"^\s*(\w+)\s*\[", re.MULTILINE, anchored=False)

    assert slow(quadratic, [("", "\n", "")], 4 * 1024)
    assert ("", "\n") in attacks(quadratic.text, quadratic.flags)


def test_no_pattern_is_slow_on_what_people_repeat():
    alike = [("", piece, "\x01") for piece in ALIKE]

    assert [line for each in patterns() for line in slow(each, alike, SIZE)] == []


@pytest.mark.long("a minute; the short suite has the texts that people repeat")
def test_no_pattern_is_slow_on_a_text_made_for_it():
    found = [
        line
        for each in patterns()
        for line in slow(each, ((*attack, end) for attack in attacks(each.text, each.flags) for end in ENDS), SIZE)
    ]

    assert found == []
