"""A little of `make fuzz-api`."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz_api.running import fuzz, target


def test_the_api_keeps_to_its_description(tmp_path: Path):
    with target(tmp_path) as there:
        run = fuzz(there, seed=1, examples=10, folder=tmp_path)

    assert run.passed, run.text
    assert run.cases > 200, run.text
