"""How the races of both sides are put beside each other."""

from __future__ import annotations

import tomllib

from tests.gpu.races import REASONS, Row, page


def test_a_kernel_that_racecheck_could_not_follow_is_no_agreement_and_no_disagreement():
    lines = page([Row("stuck", "barrier_divergence", 0, None)], {})
    assert "| barrier_divergence | 1 | 0 | 0 | 0 | 1 |" in lines
    assert not any("`stuck`" in line for line in lines)


def test_sums_and_reasons():
    found = [Row("raced", "data_race", 2, 5), Row("clean", "accepted", 0, 0), Row("odd", "data_race", 1, 0)]
    lines = page(found, {"odd": "it is odd"})
    assert "| **all** | 3 | 1 | 1 | 1 | 0 |" in lines
    assert "| `odd` | data_race | 1 | 0 | it is odd |" in lines


def test_reasons_are_about_kernels_of_the_corpus():
    named = set(tomllib.loads(REASONS.read_text(encoding="utf-8")))
    corpus = {path.stem for path in (REASONS.parent.parent / "corpus").glob("*/*.cu")}
    assert named <= corpus
