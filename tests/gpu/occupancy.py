"""Compares the occupancy that Tilelab computes with the driver's answer, for every kernel and many block sizes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.gpu.driver import GPU
from tests.gpu.prepare import Prepared, read

BLOCK_SIZES = (*range(32, 1025, 32), 1, 31, 33, 100, 500, 1000)
_ANSWERS = "occupancy.json"


def run(folder: Path) -> None:
    """Ask the driver, on the machine with the GPU: blocks per multiprocessor for each kernel and block size."""
    with GPU() as gpu:
        found = {kernel.stem: _ask(folder, gpu, kernel) for kernel in read(folder).kernels}
    (folder / _ANSWERS).write_text(json.dumps(found), encoding="utf-8")


def _ask(folder: Path, gpu: GPU, kernel: Prepared) -> dict[int, int]:
    with gpu.load((folder / f"{kernel.stem}.cubin").read_bytes(), kernel.entry) as loaded:
        return {
            threads: loaded.blocks_per_multiprocessor(threads, shared_of(kernel)) for threads in BLOCK_SIZES
        }


def shared_of(kernel: Prepared) -> int:
    """The dynamic shared memory of its first launch."""
    return next((case.launch.shared for case in kernel.plan.cases if case.launch is not None), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.occupancy", description=__doc__)
    parser.add_argument("do", choices=["run"])
    parser.add_argument("folder", type=Path)
    run(parser.parse_args().folder)
