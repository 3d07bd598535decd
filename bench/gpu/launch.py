"""Launch one compiled kernel several times, for a profiler that watches this process.

python -m bench.gpu.launch STEM EXERCISE TILE WIDTH LAUNCHES; TILE 0 is the exercise's own
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from kernels.exercise import find_exercise
from kernels.judging.judge import arguments
from kernels.judging.plan import plan_at
from kernels.source.source_file import Source, read_source
from tests.gpu.driver import GPU


def main(stem: str, exercise_name: str, tile: str, width: str, launches: str) -> None:
    """Make all launches in one context, with the same inputs."""
    exercise, files = find_exercise(exercise_name, ()), Path(stem)
    source = read_source(files.with_suffix(".cu").read_bytes(), exercise)
    assert isinstance(source, Source)
    (case,) = plan_at(exercise, source, int(tile) or None, {"Width": int(width)}, "0").cases
    assert case.launch is not None
    numbers = np.random.default_rng(1)
    arrays = {
        matrix.name: numbers.standard_normal(matrix.rows * matrix.columns, np.float32) for matrix in case.matrices
    }
    with (
        GPU() as gpu,
        gpu.load(files.with_suffix(".cubin").read_bytes(), files.with_suffix(".entry").read_text()) as kernel,
    ):
        for _ in range(int(launches)):
            kernel.run(case.launch, arguments(case), arrays, {}, {})


if __name__ == "__main__":
    main(*sys.argv[1:])
