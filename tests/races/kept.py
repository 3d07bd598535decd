"""The seeds that once found something; the short run tries them all."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

KEPT = Path(__file__).with_name("seeds.toml")
_HEAD = "# Seeds whose kernels the CPU device and the oracle once judged differently.\n"


def kept() -> list[int]:
    """The seeds, ascending."""
    return sorted(tomllib.loads(KEPT.read_text())["seeds"]) if KEPT.exists() else []


def keep(seeds: Iterable[int]) -> None:
    """Add these."""
    every = sorted({*kept(), *seeds})
    KEPT.write_text(_HEAD + "seeds = [\n" + "".join(f"    {seed},\n" for seed in every) + "]\n")
