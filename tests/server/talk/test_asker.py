"""What an answer for everyone shows of the student who asked."""

from __future__ import annotations

import pytest

from server.talk.asker import Asker, found_of

SOURCE = "// given line here\nfloat mySecretAccumulator = 0;\nint i;\n"
ADA = Asker(
    "Ada Max", "ada@example.edu", SOURCE, ["// given line here"], ["Why does it hang\non Tuesdays when I am ill?"]
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Ada, put a barrier.", 1),
        ("Ask\nMAX’s neighbour", 1),
        ("ada\nmax asked", 1),
        ("```\n// Ada Max\n```", 1),
        ("`unclosed Ada", 1),
        ("Mail ada@example.edu", 2),
        ("`float  mySecretAccumulator=0;`", 1),
        ("> on Tuesdays when I\nam ill?", 1),
        ("Use `max(a, b)`, adapt // given line here, int i; why?", 0),
        ("```\nmax(a, b)\n\nmax(b, a)\n```", 0),
    ],
)
def test_names_lines_and_words_are_found(text: str, number: int) -> None:
    assert len(found_of(ADA, text)) == number, found_of(ADA, text)


def test_a_short_name_counts_only_as_a_whole() -> None:
    short = Asker("Bo Li", "b@example.edu", "", [], [])
    assert found_of(short, "Bo wrote li") == []
    assert len(found_of(short, "Bo Li wrote")) == 1
