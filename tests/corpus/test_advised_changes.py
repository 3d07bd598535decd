"""Kernels whose next step, followed literally, is accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.exercise import find_exercise
from kernels.verdict import Verdict
from tests.corpus.test_corpus import ONE_SIZE
from tests.kernels.explanations import advice_for
from tests.marks import linux
from tests.worker.kept_processes import KeptProcesses
from worker.steps.grading import Job, grade

FOLDER = Path(__file__).parent / "wrong"

SLOW = pytest.mark.long("two seconds; the short suite has this step in tests/kernels/test_next_steps.py")
BARRIER = "        __syncthreads();\n"
CHANGES = [
    ("reduction", "reduce_without_barriers", "at line 13",
     {13: lambda line: line + BARRIER}),
    ("tiled", "last_tile_dropped", "Load 0 where the row or the column",
     {8: lambda line: line.replace("Width / TILE_WIDTH", "(Width + TILE_WIDTH - 1) / TILE_WIDTH"),
      9: lambda line: line.replace("Row < Width", "Row < Width && ph * TILE_WIDTH + tx < Width"),
      10: lambda line: line.replace("Col < Width", "Col < Width && ph * TILE_WIDTH + ty < Width")}),
    ("tiled", "no_first_barrier", "after line 14.", {14: lambda line: line + BARRIER}),
    ("tiled", "no_second_barrier", "after line 20.", {20: lambda line: line + BARRIER}),
    ("tiled", "endless_phase_loop", "Increase it",
     {17: lambda line: f"        ++ph;\n{line}"}),
    ("naive", "half_accumulator", "in `float` at lines 8, 10 and 11",
     {8: lambda line: "        float sum = 0.0f;\n",
      10: lambda line: "            sum += M[row * Width + k] * N[k * Width + col];\n",
      11: lambda line: line.replace("__half2float(sum)", "sum")}),
    ("tiled", "barrier_in_load_branch", "after the `if`",
     {17: lambda line: "", 18: lambda line: line + BARRIER}),
    ("naive", "float4_misaligned", "single floats",
     {9: lambda line: "float* p = &M[row * Width + k]; float4 m = {p[0], p[1], p[2], p[3]};\n"}),
    ("vector-addition", "unguarded", "Run line 3 only if `i < n`",
     {3: lambda line: f"if (i < n) {line}"}),
    ("convolution", "halo_not_loaded", "at line 14",
     {14: lambda line: line.replace("cell < TILE_WIDTH * TILE_WIDTH", "cell < SIDE * SIDE")}),
    ("stencil", "in_place", "Delete line 14", {14: lambda line: ""}),
    ("tiled", "no_zero_padding", "at line 11",
     {12: lambda line: f"{line}        else Mds[ty][tx] = 0;\n",
      14: lambda line: f"{line}        else Nds[ty][tx] = 0;\n"}),
    ("naive", "rejected_host_main", "at line 13",
     {13: lambda line: line.replace("int main", "\nint main")}),
    ("naive", "compile_undeclared_name", "Write `Row`", {8: lambda line: line.replace("row", "Row")}),
    ("tiled", "limit_tile_of_64", "to 32 or less", {1: lambda line: line.replace("64", "32")}),
    ("tiled", "grid_too_small", "`grid=` in",
     {1: lambda line: line.replace("max(1, Width/TILE_WIDTH)", "ceil(Width/TILE_WIDTH)")}),
    ("tiled-square", "shared_one_row_short", "line 3",
     {3: lambda line: line.replace("TILE_WIDTH - 1", "TILE_WIDTH")}),
]  # fmt: skip


@pytest.mark.one_in(5, "a fifth of the changes")
@linux
@pytest.mark.parametrize(
    ("exercise", "name", "words", "changes"),
    [pytest.param(*each, id=each[1], marks=SLOW if each[1] == "barrier_in_load_branch" else ()) for each in CHANGES],
)
def test_a_change_as_advised_is_accepted(exercise, name, words, changes, kept: KeptProcesses, cache):
    folder = find_exercise(exercise)
    file = next(path for path in (FOLDER / f"{name}.cu", folder.root / "wrong" / f"{name}.cu") if path.exists())
    lines = file.read_text("utf-8").splitlines(keepends=True)

    def graded(text: str, size: str | None = None):
        job = Job(text.encode(), find_exercise(exercise, ()), arch="sm_90", seed="5eed" * 8, cache=cache, case=size)
        return grade(job, kept.stages())

    advice = advice_for(graded("".join(lines)), [line.rstrip("\n") for line in lines])
    assert words in advice
    text = "".join(changes.get(number, str)(line) for number, line in enumerate(lines, 1))
    changed = graded(text, ONE_SIZE.get(exercise))
    assert changed.verdict is Verdict.ACCEPTED, changed.message
