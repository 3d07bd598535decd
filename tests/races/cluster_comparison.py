"""Judges kernels with clusters by the CPU device and by plain rules, and says where the two differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.compile.compilation import Compilation, compile_source
from kernels.device import Budget, Buffer, Options, Unsupported, load_program, run
from kernels.facts import Mistake
from kernels.launch import Launch
from kernels.verdict import Finding, Verdict
from tests.races.clusters import THREADS, Program, generate, outlived
from tests.races.comparison import Comparison
from tests.races.oracle import judge

_BUDGET = Budget(100_000)


def compare_clusters(seeds: Sequence[int]) -> list[Comparison]:
    return [_compare(seed, generate(seed)) for seed in seeds]


def _compare(seed: int, program: Program) -> Comparison:
    try:
        findings = _races(program)
    except Unsupported as unsupported:
        return Comparison(seed, unsupported=str(unsupported))
    except Exception as error:  # noqa: BLE001  # whatever it is, the kernel that shows it is worth keeping
        return Comparison(seed, crash=f"{type(error).__name__}: {error}")
    pairs, lines = set(), set()
    for finding in findings:
        assert finding.line is not None
        if finding.facts.mistake is Mistake.CLUSTER_LIFETIME:
            lines.add(finding.line)
        else:
            other = finding.line if finding.other_line is None else finding.other_line
            pairs.add((min(finding.line, other), max(finding.line, other)))
    expected = judge(program.trace)
    lived = lines ^ (outlived(program) - {line for pair in expected for line in pair})
    # Of accesses that follow each other in order, the device keeps the last.
    laters = {later for _, later in pairs}
    expected = {pair: race for pair, race in expected.items() if pair in pairs or pair[1] not in laters}
    return Comparison(
        seed, expected, frozenset(pairs), other=frozenset(f"the life of a block at line {line}" for line in lived)
    )


def _races(program: Program) -> list[Finding]:
    made = compile_source(program.text, "K", "sm_90", {}, True)
    assert isinstance(made, Compilation), made
    many = program.blocks * THREADS
    buffers = (
        Buffer("M", np.zeros(1, np.float32), initialised=True),
        Buffer("P", np.zeros(many, np.float32), initialised=False),
    )
    launch = Launch((program.blocks, 1, 1), (THREADS, 1, 1), 0, (program.blocks, 1, 1))
    ran = run(load_program(made.ptx, made.entry), launch, ("M", "P", many), buffers, Options(budget=_BUDGET))
    return [finding for finding in ran.findings if finding.kind is Verdict.DATA_RACE]
