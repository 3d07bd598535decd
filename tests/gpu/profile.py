"""Launches prepared kernels once each, in order, for a profiler or a checker that watches this process."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from kernels.judging.inputs import make_inputs
from kernels.judging.judge import arguments, buffers, constants
from kernels.judging.limits import launch_finding
from kernels.judging.plan import CasePlan
from tests.gpu.driver import GPU
from tests.gpu.prepare import Prepared, read


def launches(kernels: tuple[Prepared, ...]) -> Iterator[tuple[Prepared, CasePlan]]:
    """Every kernel with every case of its plan that can be launched: the order of what the profiler reports."""
    for kernel in kernels:
        for case in kernel.plan.cases:
            if case.launch is not None and launch_finding(case, kernel.resources) is None:
                yield kernel, case


def main() -> None:
    """Launch the kernels of a folder, or the one whose stem is given."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.profile", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("stem", nargs="?")
    asked = parser.parse_args()
    kernels = tuple(each for each in read(asked.folder).kernels if asked.stem in {None, each.stem})
    with GPU() as gpu:
        for kernel, case in launches(kernels):
            _launch(gpu, asked.folder, kernel, case)


def _launch(gpu: GPU, folder: Path, kernel: Prepared, case: CasePlan) -> None:
    assert case.launch is not None
    arrays = {each.name: each.values for each in buffers(case, make_inputs(case, seed=1))}
    with gpu.load((folder / f"{kernel.stem}.cubin").read_bytes(), kernel.entry) as loaded:
        loaded.run(case.launch, arguments(case), arrays, kernel.named(case.symbols), kernel.named(constants(case)))


if __name__ == "__main__":
    main()
