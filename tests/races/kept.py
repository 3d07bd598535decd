"""The seeds that once found something; the short run tries them all."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

KEPT = Path(__file__).with_name("seeds.toml")
_HEAD = "# Seeds whose kernels the CPU device and the oracle once judged differently.\n"


def kept(family: str) -> list[int]:
    """The seeds of a family of kernels, ascending."""
    return _all().get(family, [])


def keep(family: str, seeds: Iterable[int]) -> None:
    """Add these."""
    lists = _all()
    lists[family] = sorted({*kept(family), *seeds})
    texts = (f"{name} = [\n" + "".join(f"    {seed},\n" for seed in each) + "]\n" for name, each in lists.items())
    KEPT.write_text(_HEAD + "\n".join(texts))


def _all() -> dict[str, list[int]]:
    return tomllib.loads(KEPT.read_text())
