"""Tiled kernels with one mistake: each run gives the same next step, and this step repairs the kernel."""

from __future__ import annotations

import re

import pytest

from kernels.exercise import find_exercise
from kernels.report import Report
from kernels.verdict import Verdict
from tests.kernels.explanations import advice_for
from tests.marks import linux, some_of
from tests.worker.kept_processes import KeptProcesses
from worker.steps.grading import Job, grade

EXERCISE = find_exercise("tiled", ())
SOLUTION = (EXERCISE.root / "solution.cu").read_text("utf-8")
SEEDS = ("5eed" * 8, "7" * 32)

LOADS = {"M[Row * Width + mCol]": "M[mCol * Width + Row]", "N[nRow * Width + Col]": "N[Col * Width + nRow]"}
PADDED = "Nds[TILE_WIDTH][TILE_WIDTH]", "Nds[TILE_WIDTH][TILE_WIDTH + 1]"
USES = {"Mds[ty][k]": "Mds[k][ty]", "Nds[k][tx]": "Nds[tx][k]"}
STORES = {"Mds[ty][tx] =": "Mds[tx][ty] =", "Nds[ty][tx] =": "Nds[tx][ty] ="}
CHANGES = {
    "use of N": {"Nds[k][tx]": "Nds[tx][k]"},
    "use of M": {"Mds[ty][k]": "Mds[k][ty]"},
    "both uses": USES,
    "store of M": {"Mds[ty][tx] =": "Mds[tx][ty] ="},
    "store of N": {"Nds[ty][tx] =": "Nds[tx][ty] ="},
    "both stores": STORES,
    "store of M, use of N": {"Mds[ty][tx] =": "Mds[tx][ty] =", "Nds[k][tx]": "Nds[tx][k]"},
    "padded": {**USES, PADDED[0]: PADDED[1]},
    "another row of M": {"Mds[ty][k]": "Mds[tx][k]"},
    "another column of N": {"Nds[k][tx]": "Nds[k][ty]"},
    "tx and ty": {"Mds[ty][k]": "Mds[tx][k]", "Nds[k][tx]": "Nds[k][ty]"},
    "load of M": {"M[Row * Width + mCol]": "M[mCol * Width + Row]"},
    "load of N": {"N[nRow * Width + Col]": "N[Col * Width + nRow]"},
    "both loads": LOADS,
    "operands": {"M[Row * Width + mCol]": "N[Row * Width + mCol]", "N[nRow * Width + Col]": "M[nRow * Width + Col]"},
    "subtracted": {"Pvalue +=": "Pvalue -="},
    "overwritten": {"Pvalue +=": "Pvalue ="},
    "an integer": {"float Pvalue = 0.0f": "int Pvalue = 0"},
    "output": {"P[Row * Width + Col]": "P[Col * Width + Row]"},
}


def changed(changes: dict[str, str]) -> str:
    text = SOLUTION
    for right, wrong in changes.items():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    return text


def as_advised(text: str, advice: str) -> str:
    """The source after the step, which says what to write instead, or at which lines row and column change places."""
    lines = text.split("\n")
    (places,) = re.findall(r"lines? (\d[\d, and]*)", advice.lower())
    for number in map(int, re.findall(r"\d+", places)):
        line = lines[number - 1]
        for needed, found in re.findall(r"`([^`]+)` instead of `([^`]+)`", advice):
            line = line.replace(found, needed)
        if advice.startswith("Exchange row and column"):
            line = re.sub(r"\[(\w+) \* Width \+ (\w+)\]", r"[\2 * Width + \1]", line)
        if advice.startswith("Exchange `M` and `N`"):
            line = re.sub(r"\b([MN])\[", lambda read: "NM"["MN".index(read[1])] + "[", line)
        if advice.startswith("Declare"):
            line = line.replace("int ", "float ")
        lines[number - 1] = line
    return "\n".join(lines)


@linux
@pytest.mark.parametrize(
    "name", some_of(CHANGES, 5, str, "tests/kernels/test_tile_indices.py has the other sources, without a run")
)
def test_one_step_repairs_the_kernel(name, kept: KeptProcesses, cache):
    def graded(text: str, seed: str) -> Report:
        # One size shows every mistake but an integer, which whole numbers hide.
        case = None if name == "an integer" else "Width=37"
        job = Job(text.encode(), EXERCISE, arch="sm_90", seed=seed, cache=cache, case=case)
        return grade(job, kept.stages())

    text = changed(CHANGES[name])
    (advice,) = {advice_for(graded(text, seed), text.split("\n")) for seed in SEEDS}
    repaired = graded(as_advised(text, advice), SEEDS[0])
    assert repaired.verdict is Verdict.ACCEPTED, advice
