from __future__ import annotations

import re
from pathlib import Path

import pytest

import kernels.rendering.page
from kernels.exercise import BUILT_IN

FOLDER = Path(kernels.rendering.page.__file__).parent
STYLE = "".join((FOLDER / name).read_text() for name in ("tokens.css", "style.css"))
PAIRS = {name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\);", STYLE)}
WRITTEN = ("ink", "soft", "accent", "good", "fair", "poor", "comment", "cuda", "keyword")
GROUNDS = ("paper", "card", "sunken")
HEAT = 0.13


def luminance(colour: tuple[float, ...]) -> float:
    parts = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def channels(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))


def contrast(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("ink", WRITTEN)
def test_words_stand_out_from_every_ground(ink, ground, scheme):
    assert contrast(channels(PAIRS[ink][scheme]), channels(PAIRS[ground][scheme])) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ink", WRITTEN)
def test_words_stand_out_from_the_hottest_line(ink, scheme):
    card, heat = channels(PAIRS["card"][scheme]), channels(PAIRS["heat"][scheme])
    ground = tuple(HEAT * hot + (1 - HEAT) * cold for hot, cold in zip(heat, card, strict=True))
    assert contrast(channels(PAIRS[ink][scheme]), ground) >= 4.5
    assert f"var(--heat) {HEAT * 100:.0f}%" in STYLE


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("mark", ["heat", "bar", "accent"])
def test_marks_stand_out(mark, scheme):
    assert contrast(channels(PAIRS[mark][scheme]), channels(PAIRS["card"][scheme])) >= 3


def test_motion_print_and_focus_are_thought_of():
    for words in ("prefers-reduced-motion: reduce", "@media print", ":focus-visible", "forced-colors: active"):
        assert words in STYLE


@pytest.mark.parametrize("figure", sorted(BUILT_IN.glob("*/*.svg")), ids=lambda file: file.name)
def test_figures_of_handouts_have_the_colours_of_the_page_and_fit_a_phone(figure):
    drawing = figure.read_text()
    used = re.findall(r"light-dark\((#\w+), (#\w+)\)", drawing)
    assert used
    assert set(used) <= set(PAIRS.values())
    assert 2 * len(used) == len(re.findall(r"#[0-9a-f]{6}\b", drawing))
    width = re.search(r'<svg [^>]*?\bwidth="(\d+)"', drawing)
    assert width is not None
    assert int(width[1]) <= 330
