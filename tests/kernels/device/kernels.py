"""Compiles small kernels with the real compiler and runs them on the CPU device.

Every kernel is `K(float* M, float* P, int n)`: M holds 0, 1, 2, ... and P, which has n elements, is to be written. A
test marks lines of its source with comments such as `//@ read` and asks for their numbers by the mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.compile.bundle import header_texts
from kernels.compile.compilation import Compilation, compile_source
from kernels.device import Budget, Buffer, Execution, Options, Program, Schedule, load_program, run
from kernels.exercise.tensor_map import MAP_TYPE, TensorMap
from kernels.facts import Mistake
from kernels.launch import Launch
from kernels.verdict import Example, Finding, Verdict

schedules = pytest.mark.parametrize(
    "schedule",
    [
        pytest.param(each, marks=pytest.mark.long("the short suite has orders of whole warps") if hard else ())
        for each in Schedule
        for hard in [each.group == 1 or each.late]
    ],
)
CACHE = Path(__file__).parents[3] / "build" / "headers"
HEAD = "__global__ void K(float* M, float* P, int n)"
THREAD = "int t = threadIdx.x;"
SENTENCES = re.compile(r"[A-Z\d`](?:[^;]|`[^`]*`)*\.")
"""What every finding says: whole sentences, not clauses joined by semicolons."""


@cache
def compiled(text: str, arch: str = "sm_90", defines: str = "", symbols: tuple[str, ...] = ()) -> Compilation:
    """The compilation of a source; `defines` as in "A=1 B=2"."""
    macros = dict(each.split("=") for each in defines.split())
    headers = header_texts(text, CACHE)
    made = compile_source(text, "K", arch, macros, True, symbols, headers=headers)
    assert isinstance(made, Compilation), made
    return made


@cache
def program(text: str, arch: str = "sm_90", defines: str = "") -> Program:
    """The source as the device runs it."""
    made = compiled(text, arch, defines)
    return load_program(made.ptx, made.entry)


def line(text: str, mark: str) -> int:
    """The number of the one line that is marked."""
    found = [number for number, each in enumerate(text.splitlines(), 1) if each.endswith(f"//@ {mark}")]
    assert len(found) == 1, (mark, found)
    return found[0]


def triple(extent: int | tuple[int, ...]) -> tuple[int, int, int]:
    """An extent with all three axes."""
    x, y, z = (*(extent if isinstance(extent, tuple) else (extent,)), 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True)
class Device:
    """The device for one architecture."""

    arch: str

    def run(
        self,
        text: str,
        *,
        grid: int | tuple[int, ...] = 1,
        block: int | tuple[int, ...] = 32,
        shared: int = 0,
        cluster: int | tuple[int, ...] = 1,
        n: int = 32,
        values: int = 64,
        columns: int = 0,
        budget: int | Budget = 100_000,
        defines: str = "",
        maps: tuple[TensorMap, ...] = (),
        **options: Any,
    ) -> Execution:
        """One launch with n elements of P and `values` of M. maps: the parameters after n."""
        buffers = (
            Buffer("M", np.arange(values, dtype=np.float32), initialised=True, columns=columns),
            Buffer("P", np.full(n, np.nan, np.float32), initialised=False, columns=columns),
        )
        launch = Launch(triple(grid), triple(block), shared, triple(cluster))
        prepared = program(text, self.arch, defines)
        limit = budget if isinstance(budget, Budget) else Budget(budget)
        execution = run(prepared, launch, ("M", "P", n, *maps), buffers, Options(budget=limit, **options))
        for finding in execution.findings:
            assert SENTENCES.fullmatch(finding.message), finding.message
        return execution

    def output(self, text: str, dtype: str = "f4", **options: Any) -> list[Any]:
        """What is in P after a launch that shows nothing wrong."""
        execution = self.run(text, **options)
        assert execution.findings == ()
        listed: list[Any] = execution.values["P"].view(dtype).tolist()
        return listed


def only(execution: Execution) -> Finding:
    """The one finding of a run."""
    assert len(execution.findings) == 1, execution.findings
    return execution.findings[0]


def lines(execution: Execution) -> list[tuple[str, int | None, int | None]]:
    """The findings without their details."""
    return [(finding.kind.value, finding.line, finding.other_line) for finding in execution.findings]


def racing(execution: Execution) -> set[frozenset[int | None]]:
    """The pairs of lines that race in a run without other findings."""
    assert {each.kind for each in execution.findings} <= {Verdict.DATA_RACE}
    return {frozenset({each.line, each.other_line}) for each in execution.findings}


def example(finding: Finding) -> Example:
    """The example that every finding of the device carries."""
    assert finding.example is not None
    return finding.example


@dataclass(frozen=True)
class Found:
    """What is expected of the one finding of a story: lines by their marks, None where anything will do.

    pair: two lines in any order
    threads: of the example; a set where their order is open
    lacks: the bytes that a barrier expects and gets, or the arrivals if these are equal
    """

    kind: Verdict | None = None
    line: str | None = None
    other: str | None = None
    count: int | None = None
    pair: tuple[str, str] | None = None
    element: str | None = None
    threads: tuple[tuple[int, int, int], ...] | set[tuple[int, int, int]] | None = None
    block: tuple[int, int, int] | None = None
    lacks: tuple[int, int] | None = None
    mistake: Mistake | None = None
    says: str = ""

    def check(self, text: str, execution: Execution) -> None:
        finding = only(execution)
        assert self.says in finding.message
        seen: dict[str, Any] = {
            "kind": finding.kind,
            "line": finding.line,
            "other": finding.other_line,
            "count": finding.count,
            "mistake": finding.facts.mistake,
        }
        seen |= {"pair": {finding.line, finding.other_line}}
        if (lack := finding.facts.incomplete) is not None:
            numbers = (lack.expected_bytes, lack.bytes), (lack.expected_arrivals, lack.arrivals)
            seen |= {"lacks": numbers[lack.expected_bytes == lack.bytes]}
        if finding.example is not None:
            threads = finding.example.threads
            seen["threads"] = set(threads) if isinstance(self.threads, set) else threads
            seen |= {"element": finding.example.element, "block": finding.example.block}
        wanted = {name: value for name, value in vars(self).items() if value is not None and name != "says"}
        wanted |= {name: line(text, wanted[name]) for name in ("line", "other") if name in wanted}
        if self.pair is not None:
            wanted["pair"] = {line(text, mark) for mark in self.pair}
        assert {name: seen[name] for name in wanted} == wanted


@dataclass(frozen=True)
class Race:
    """Expects races of these two lines, and nothing else."""

    one: str
    two: str

    def check(self, text: str, execution: Execution) -> None:
        assert racing(execution) == {frozenset({line(text, self.one), line(text, self.two)})}


class Story:
    """A kernel, and what its launch shows: the values of P, which it writes without a finding, a finding, or none.

    body: the kernel's, which has its number in the block as `t`; before: what stands before the kernel
    maps: tensor maps that the kernel gets as `m0`, `m1` and so on
    """

    def __init__(
        self,
        name: str,
        wanted: list[Any] | Found | Race | None,
        body: str,
        *,
        before: str = "",
        dtype: str = "f4",
        **launch: Any,
    ) -> None:
        self.name, self.wanted, self.dtype, self.launch = name, wanted, dtype, launch
        names = "".join(f", {MAP_TYPE} m{number}" for number in range(len(launch.get("maps", ()))))
        self.text = f"{before}\n{HEAD[:-1]}{names}) {{\n  {THREAD}\n{body}\n}}"

    def __str__(self) -> str:
        return self.name

    def check(self, device: Device) -> None:
        if isinstance(self.wanted, list):
            assert device.output(self.text, self.dtype, **self.launch) == self.wanted
            return
        execution = device.run(self.text, **self.launch)
        if self.wanted is None:
            assert execution.findings == ()
        else:
            self.wanted.check(self.text, execution)
