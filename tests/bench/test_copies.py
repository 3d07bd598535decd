"""The corpus of `python -m bench.copies`: its kernels are correct, and the comparison finds the copies among them."""

from __future__ import annotations

import pytest

from bench.copies.authors import kernel
from bench.copies.corpus import outcome
from bench.copies.disguises import DISGUISES, disguised
from bench.copies.layout import Layout, laid_out
from kernels.exercise import find_exercise
from kernels.source.similarity.comparison import LEAST_SHARE
from kernels.source.text import Token, scan
from kernels.verdict import Verdict
from tests.marks import linux
from worker.steps.grading import Job, grade

ALL = "renamed, reordered, reformatted, comments"
TILED = find_exercise("tiled")
STARTER = (TILED.root / "starter.cu").read_text()


def tokens(text: str) -> list[str]:
    return [item.text for item in scan(text) if isinstance(item, Token)]


def test_nine_of_ten_copies_are_found_at_one_false_pair_in_a_hundred():
    found = outcome([kernel(seed) for seed in range(120)], STARTER, ALL, 12)
    assert found.recall(LEAST_SHARE) >= 0.9
    assert found.false(LEAST_SHARE) <= 0.01 * len(found.independent)


@pytest.mark.long("the short suite finds copies at one false pair in a hundred")
def test_a_course_that_completes_the_starter_has_few_pairs():
    """Their kernels are so similar that only some copies are found."""
    found = outcome([kernel(seed, starter=True) for seed in range(120)], STARTER, ALL, 12)
    assert found.recall(LEAST_SHARE) >= 0.2
    assert found.false(LEAST_SHARE) <= 0.01 * len(found.independent)


def test_another_layout_keeps_the_tokens():
    text = kernel(11)
    assert all(
        tokens(laid_out(text, Layout("\t", own_line, spaced, star_left))) == tokens(text)
        for own_line in (True, False)
        for spaced in (True, False)
        for star_left in (True, False)
    )


def test_a_copy_is_the_same_in_every_run_and_never_the_original():
    text = kernel(4)
    for kind in DISGUISES:
        assert disguised(text, kind, 1) == disguised(text, kind, 1) != text


@linux
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long("one other seed is in the short suite"))])
@pytest.mark.parametrize("kind", ["", "all, and rewritten"])
def test_the_kernels_and_their_copies_are_correct(seed, kind, tmp_path, kept):
    text = kernel(seed)
    source = disguised(text, kind, seed) if kind else text
    report = grade(Job(source.encode(), TILED, "sm_90", "5eed" * 8, tmp_path), kept.stages())
    assert report.verdict is Verdict.ACCEPTED
