"""Clusters: the races and lifetimes that the device finds, and those that the definition gives."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.compile.compilation import Compilation, compile_source
from kernels.device import Budget, Buffer, load_program, run
from kernels.facts import Mistake
from kernels.launch import Launch
from kernels.verdict import Verdict
from tests.marks import linux, some_of
from tests.races.clusters import THREADS, Program, generate, outlived
from tests.races.oracle import judge


def found_in(program: Program) -> tuple[set[tuple[int, int]], set[int]]:
    """The pairs of lines that race by the device, and the lines of accesses to memory that may not exist."""
    made = compile_source(program.text, "K", "sm_90", {}, True)
    assert isinstance(made, Compilation), made
    many = program.blocks * THREADS
    buffers = (
        Buffer("M", np.zeros(1, np.float32), initialised=True),
        Buffer("P", np.zeros(many, np.float32), initialised=False),
    )
    launch = Launch((program.blocks, 1, 1), (THREADS, 1, 1), 0, (program.blocks, 1, 1))
    ran = run(load_program(made.ptx, made.entry), launch, ("M", "P", many), buffers, budget=Budget(100_000))
    races = [finding for finding in ran.findings if finding.kind is Verdict.DATA_RACE]
    pairs, lines = set(), set()
    for finding in races:
        assert finding.line is not None
        if finding.facts.mistake is Mistake.CLUSTER_LIFETIME:
            lines.add(finding.line)
        else:
            other = finding.line if finding.other_line is None else finding.other_line
            pairs.add((min(finding.line, other), max(finding.line, other)))
    return pairs, lines


@linux
@pytest.mark.parametrize("first", some_of(range(0, 200, 20), 10, str, "the short suite has twenty of two hundred"))
def test_the_device_finds_the_races_of_the_definition(first: int) -> None:
    for seed in range(first, first + 20):
        program = generate(seed)
        pairs, lines = found_in(program)
        expected = set(judge(program.trace))
        named = {line for pair in expected for line in pair}

        # Of accesses that follow each other in order, the device keeps the last.
        assert pairs <= expected, f"{seed}\n{program.text}"
        assert {later for _, later in pairs} == {later for _, later in expected}, f"{seed}\n{program.text}"
        assert lines == outlived(program) - named, f"{seed}\n{program.text}"
