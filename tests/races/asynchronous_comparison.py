"""Judges kernels with asynchronous operations by the CPU device and by plain rules, and says where the two differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.compile import nvrtc
from kernels.device import Budget, Buffer, Options, Unsupported, load_program, run
from kernels.launch import Launch
from kernels.verdict import Finding, Severity, Verdict
from tests.races.asynchronous import HEAD, WORDS, Program, generate
from tests.races.comparison import Comparison, apart
from tests.races.oracle import Pair, Race
from tests.races.proxy_rules import judge

_OPTIONS = ["-arch=compute_90a", "-std=c++17", "-lineinfo"]
_BUDGET = Budget(100_000)


def compare_asynchronous(seeds: Sequence[int]) -> list[Comparison]:
    """Compile the kernels of these seeds at once, and judge each twice."""
    if not seeds:
        return []
    text, programs = HEAD.splitlines(), []
    for seed in seeds:
        programs.append(generate(seed, len(text) + 1))
        text += programs[-1].lines
    output = nvrtc.run("/kernel.cu", "\n".join(text), _OPTIONS, {}, [])
    assert output.ok, output.log
    ptx = apart(output.ptx)
    return [_compare(program, ptx[f"K{program.seed}"]) for program in programs]


def _compare(program: Program, ptx: str) -> Comparison:
    try:
        findings = _findings(program, ptx)
    except Unsupported as unsupported:
        return Comparison(program.seed, unsupported=str(unsupported))
    except Exception as error:  # noqa: BLE001  # whatever it is, the kernel that shows it is worth keeping
        return Comparison(program.seed, crash=f"{type(error).__name__}: {error}")
    if program.overtaken and any(finding.facts.incomplete for finding in findings):
        return Comparison(program.seed, unsupported="waits that may be overtaken")
    expected: dict[Pair, Race] = {}
    for threads in program.events.values():
        expected |= judge(threads)
    pairs, left, other = set(), set(), set()
    for finding in findings:
        line, earlier = finding.line, finding.other_line
        assert line is not None
        if finding.kind is not Verdict.DATA_RACE:
            other.add(f"{finding.kind.value} at line {line}")
        elif earlier is None:
            left.add(line)
        else:
            pairs.add((min(line, earlier), max(line, earlier)))
    # Of accesses to a word that follow each other in order, the device keeps the last.
    for a, b in expected.keys() - pairs:
        if any((c, b) in pairs and (a, c) not in expected for c in range(a + 1, b)):
            del expected[a, b]
    # Code behind a wait that fails only runs if the other orders show nothing.
    if program.looks and (pairs or left):
        expected = {pair: race for pair, race in expected.items() if pair in pairs}
    # Beside a race, the device doesn't report what is under way at the end.
    if not expected:
        other |= {f"a copy under way at the end at line {line}" for line in left - program.left}
        other |= {f"no copy under way at the end at line {line}" for line in program.left - left}
    return Comparison(program.seed, expected, frozenset(pairs), other=frozenset(other))


def _findings(program: Program, ptx: str) -> list[Finding]:
    many = program.blocks * program.threads
    buffers = (
        Buffer("M", np.zeros(program.blocks * WORDS, np.float32), initialised=True),
        Buffer("P", np.zeros(many, np.float32), initialised=True),
    )
    launch = Launch((program.blocks, 1, 1), (program.threads, 1, 1), 0)
    ran = run(load_program(ptx, f"K{program.seed}"), launch, ("M", "P", many), buffers, Options(budget=_BUDGET))
    return [finding for finding in ran.findings if finding.severity is Severity.ERROR]
