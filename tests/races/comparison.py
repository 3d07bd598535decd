"""Judges programs twice, by the CPU device and by the oracle, and says where the two differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernels.compile import nvrtc
from kernels.device import Budget, Buffer, Execution, Options, Schedule, Unsupported, load_program, run
from kernels.launch import Launch
from kernels.verdict import Finding, Verdict
from tests.races.following import follow
from tests.races.generator import generate
from tests.races.oracle import Pair, Race, judge_both
from tests.races.programs import Program, rows
from tests.races.text import render

_OPTIONS = ["-arch=compute_90", "-std=c++17", "-lineinfo", "-fmad=false"]
# A change may also bring a read before the first write.
_ALLOWED = {Verdict.UNINITIALIZED_READ.value}
_BUDGET = Budget(100_000)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A program with the lines of its text and its PTX; `first_line` is the number of the text's first line."""

    seed: int
    program: Program
    lines: Sequence[str]
    first_line: int
    ptx: str

    @property
    def name(self) -> str:
        return f"K{self.seed}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the two judges say of one kernel.

    expected: the pairs that race by the oracle, with examples
    found: those that the device reports
    expected_open, found_open: the same for pairs that set different values atomically in no fixed order
    other: what else the device found, by kind
    unsupported: the instruction that the device does not know, if any; then nothing was compared
    crash: the error in which the device ended, if any
    unsettled: whether the pairs depend on an order of atomics that the kernel does not report; nothing is compared
    """

    seed: int
    expected: dict[Pair, Race] = field(default_factory=dict)
    found: frozenset[Pair] = frozenset()
    expected_open: dict[Pair, Race] = field(default_factory=dict)
    found_open: frozenset[Pair] = frozenset()
    other: frozenset[str] = frozenset()
    unsupported: str = ""
    crash: str = ""
    unsettled: bool = False

    @property
    def missed(self) -> list[Pair]:
        return sorted(self.expected.keys() - self.found)

    @property
    def accused(self) -> list[Pair]:
        return sorted(self.found - self.expected.keys())

    @property
    def differs(self) -> bool:
        if self.crash:
            return True
        if self.unsettled:
            return False
        if self.expected_open.keys() != self.found_open:
            return True
        return bool(self.missed or self.accused or self.other - _ALLOWED)


def compile_seeds(seeds: Sequence[int], make: Callable[[int], Program] = generate) -> list[Kernel]:
    """The kernels of these seeds, from one compilation; shared arrays of one kernel are not in the PTX of another."""
    programs = {seed: make(seed) for seed in seeds}
    text: list[str] = []
    parts: dict[int, tuple[int, list[str]]] = {}
    for seed, program in programs.items():
        first_line = len(text) + 1
        parts[seed] = first_line, render(program, f"K{seed}", first_line)
        text += parts[seed][1]
    output = nvrtc.run("/kernel.cu", "\n".join(text), _OPTIONS, {}, [])
    if not output.ok:
        raise ValueError(f"seeds {seeds[0]} to {seeds[-1]} do not compile:\n{output.log}")
    texts = apart(output.ptx)
    return [
        Kernel(seed, program, parts[seed][1], parts[seed][0], texts[f"K{seed}"]) for seed, program in programs.items()
    ]


def apart(ptx: str) -> dict[str, str]:
    """The PTX of each kernel alone, with the head and the table of files that all of them share."""
    text, files = re.split(r"(?m)^(?=\t\.file\t)", ptx, maxsplit=1)
    head, *kernels = re.split(r"(?m)^(?=\.visible \.entry )", text)
    return {each.split("(")[0].split()[-1]: head + each + files for each in kernels}


def compare_seeds(seeds: Sequence[int], make: Callable[[int], Program] = generate) -> list[Comparison]:
    """Compile the kernels of these seeds at once, and judge each twice."""
    return [compare(kernel) for kernel in compile_seeds(seeds, make)] if seeds else []


def compare(kernel: Kernel) -> Comparison:
    """Run a kernel and judge it twice."""
    try:
        execution = _run(kernel)
    except Unsupported as unsupported:
        return Comparison(kernel.seed, unsupported=str(unsupported))
    except Exception as error:  # noqa: BLE001  # whatever it is, the kernel that shows it is worth keeping
        return Comparison(kernel.seed, crash=f"{type(error).__name__}: {error}")
    expected, open_, unsettled = _expected(kernel.program, execution.values["P"])
    races, order = (
        frozenset(_pair(each) for each in execution.findings if each.kind is kind)
        for kind in (Verdict.DATA_RACE, Verdict.ORDER_DEPENDENT)
    )
    others = {each.kind for each in execution.findings} - {Verdict.DATA_RACE, Verdict.ORDER_DEPENDENT}
    # The order of atomics decides what threads do. Without an error in the first one, the device tries another.
    if not expected and not open_ and (races or order or not others):
        turned = _run(kernel, Schedule.REVERSED, races=False)
        expected, open_, unsettled_too = _expected(kernel.program, turned.values["P"])
        unsettled |= unsettled_too
    return Comparison(
        kernel.seed, expected, races, open_, order, frozenset(each.value for each in others), unsettled=unsettled
    )


def _expected(program: Program, output: NDArray[np.float32]) -> tuple[dict[Pair, Race], dict[Pair, Race], bool]:
    """What the oracle finds, and whether that hangs on an order of atomics that the output does not tell."""
    reported = output.view(np.uint32).reshape(-1, program.total).tolist()
    first, *others = follow(program, lambda row, thread: int(reported[row][thread]))
    races, order = judge_both(first)
    try:
        unsettled = not first.certain or any(
            (again[0].keys(), again[1].keys()) != (races.keys(), order.keys()) for again in map(judge_both, others)
        )
    except ValueError:
        unsettled = True
    return races, order, unsettled


def _pair(finding: Finding) -> Pair:
    assert finding.line is not None
    assert finding.other_line is not None, finding
    return min(finding.line, finding.other_line), max(finding.line, finding.other_line)


def _run(kernel: Kernel, schedule: Schedule = Schedule.LOCKSTEP, *, races: bool = True) -> Execution:
    program = kernel.program
    n = program.total * (1 + rows(program.body))
    buffers = (
        Buffer("M", np.zeros(program.bytes_in_m // 4, np.float32), initialised=True),
        Buffer("P", np.zeros(n, np.float32), initialised=True),
    )
    launch = Launch((program.blocks, 1, 1), (program.threads, 1, 1), 0)
    program_in_ptx = load_program(kernel.ptx, kernel.name)
    return run(program_in_ptx, launch, ("M", "P", n), buffers, Options(budget=_BUDGET, schedule=schedule, races=races))
