"""The seeds that once found something; the short run tries them all."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.races.programs import Program

KEPT = Path(__file__).with_name("seeds.toml")
_HEAD = "# Seeds whose kernels the CPU device and the oracle once judged differently.\n"


Make = Callable[[int], Program]


def kept(make: Make) -> list[int]:
    """The seeds for a generator, ascending."""
    return _all().get(make.__name__, [])


def keep(make: Make, seeds: Iterable[int]) -> None:
    """Add these."""
    lists = _all()
    lists[make.__name__] = sorted({*kept(make), *seeds})
    texts = (f"{name} = [\n" + "".join(f"    {seed},\n" for seed in each) + "]\n" for name, each in lists.items())
    KEPT.write_text(_HEAD + "\n".join(texts))


def _all() -> dict[str, list[int]]:
    return tomllib.loads(KEPT.read_text())
