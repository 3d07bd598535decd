"""Compares products with public test vectors that an H100 and an H200 computed.

`python -m tests.kernels.device.tensor.vectors FOLDER`, with a checkout of the models of Khattak and Mikaitis (arXiv
2512.07004): `north-numerical-computing/MATLAB-tensor-core` on GitHub. It prints how many of each kind differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.tensor.multiplication import Kinds, multiply_add
from tests.kernels.device.tensor.plain import number

_KINDS = {"fp16": "f16", "bf16": "bf16", "tf32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2"}
_RESULTS = {"fp32": "f32", "fp16": "f16"}


def _floats(path: Path) -> NDArray[np.float32]:
    """The numbers of a file: lines of hexadecimal digits, or single numbers of 32 binary digits."""
    lines = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    base = 2 if len(lines[0][0]) == 32 else 16
    return np.array([[int(each, base) for each in line] for line in lines], np.uint32).view(np.float32)


def _bits(numbers: NDArray[np.float32], kind: str) -> NDArray[Any]:
    """The same numbers in a format that holds them."""
    if kind in {"f32", "tf32"}:
        return numbers.view(np.uint32)
    if kind == "bf16":
        return (numbers.view(np.uint32) >> 16).astype(np.uint16)
    if kind == "f16":
        return numbers.astype(np.float16).view(np.uint16)
    of_positive = {float(number(code, kind).value): code for code in range(127)}
    codes = [of_positive[abs(float(each))] | int(np.signbit(each)) << 7 for each in numbers.reshape(-1)]
    return np.array(codes, np.uint8).reshape(numbers.shape)


def differing(folder: Path) -> Iterator[tuple[str, int, int]]:
    """For each file of results: its name, how many results differ, and how many there are."""
    for path in sorted(folder.glob("d_*.txt")):
        result = _RESULTS[path.stem.rpartition("_")[2]]
        kind, where = _KINDS[folder.name], folder.parent.name
        a, b = (_floats(folder / f"{each}_{where}_{folder.name}.txt") for each in "ab")
        c, expected = _floats(folder / f"c_{where}_fp32.txt"), _bits(_floats(path), result)
        # For sums of 8-bit floats in `float`, the GPU ran `wgmma` on zeros.
        eights = kind[0] == "e" and result == "f32"
        c = np.zeros_like(c) if eights else c
        kinds = Kinds(result, kind, kind, result, eights=eights)
        given = (_bits(a, kind)[:, np.newaxis], _bits(b, kind)[:, np.newaxis], _bits(c, result)[:, np.newaxis])
        found = multiply_add(kinds, *given)
        yield f"{where} {folder.name} to {result}", int((found[:, 0] != expected).sum()), len(expected)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts. The exit code is 1 if a result differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels.device.tensor.vectors", description=__doc__)
    parser.add_argument("folder", type=Path)
    checkout = parser.parse_args(arguments).folder
    folders = [checkout / "model_validation" / device / name for device in ("H100", "H200") for name in _KINDS]
    counts = [each for folder in folders if folder.is_dir() for each in differing(folder)]
    for name, wrong, total in counts:
        print(f"{name}: {wrong} of {total:,} differ")
    return int(not counts or any(wrong for _, wrong, _ in counts))


if __name__ == "__main__":
    sys.exit(main())
