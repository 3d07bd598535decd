"""What to try next, for each verdict, in the words of the course."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernels.exercise.model import InputKind
from kernels.launch import is_launch_comment
from kernels.report.model import Report
from kernels.source.rules import HOST_CODE
from kernels.verdict import CaseStatus, Finding, Verdict
from kernels.wording import plural

_FEW_THREADS = 64
"""Elements for each thread of a launch from which on it has few."""

_WRONG_SUM = (
    "Follow one block by hand: which elements does each of its threads load, what does it add in each step, and which "
    "thread writes the sum?"
)
_WRONG_TRANSPOSE = (
    "Follow one element by hand: where does its thread read it, and where must it be written once row and column "
    "have changed places?"
)

_UNWRITTEN_CELL = (
    "Let every thread of the block write its cell in every phase, also where the element that belongs there lies "
    "outside the matrix: 0 then adds nothing to a sum."
)

_UNWRITTEN_ELEMENT = (
    "An output holds nothing of use before the kernel has written it: collect the sum in a variable of the thread, and "
    "write it with `=`."
)

_SHUFFLE = "Let every lane that the mask of the shuffle names execute it: take it out of the `if`, or name fewer lanes."

_GRID = "Correct `grid=` in the `//!tilelab` comment."

_LAUNCH_COMMENT = (
    "Correct the `//!tilelab` comment: each number of grid and block is at least 1, and a block has at most "
    "1,024 threads, 48 KiB of shared memory and 64 K registers."
)


def advice_for(report: Report, lines: Sequence[str]) -> str:
    """What to try next after this report; "" where its findings say it all.

    lines: of the graded source
    """
    text = report.verdict.advice.replace("NAME", report.exercise)
    leading = [finding for finding in report.findings if finding.kind is report.verdict]
    if report.verdict is Verdict.REJECTED:
        return text if any(HOST_CODE in finding.message for finding in leading) else ""
    if report.verdict is Verdict.RESOURCE_LIMIT:
        if any("`__launch_bounds__`" in finding.message for finding in leading):
            return "Make the block smaller, or give `__launch_bounds__` at least its number of threads."
        named = [lines[f.line - 1] for f in leading if f.line is not None and f.line <= len(lines)]
        return _LAUNCH_COMMENT if any(map(is_launch_comment, named)) else text
    if report.verdict is Verdict.OUT_OF_BOUNDS and any("`printf`" in each.message for each in leading):
        return "Give `printf` one argument for each conversion in its format."
    if report.verdict is Verdict.UNINITIALIZED_READ and leading:
        return _unwritten(leading[0], lines) or text
    if report.verdict is Verdict.DATA_RACE and leading:
        return _race(leading[0], report, lines) or text
    if report.verdict is Verdict.WRONG_ANSWER:
        return _OF_KIND.get(_kind(report), text)
    if report.verdict is Verdict.BARRIER_DIVERGENCE and leading:
        return next((advice for part, advice in _BARRIERS.items() if part in leading[0].message), text)
    if report.verdict is Verdict.TIME_LIMIT:
        return _time(leading[:1], report, lines) or text
    return text


def _time(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> str:
    """What helps where it is no loop that runs too long; "" else."""
    line = next((finding.line for finding in leading if finding.line is not None), 0)
    if 0 < line <= len(lines) and is_launch_comment(lines[line - 1]):
        return _GRID
    if any(_MBARRIER in finding.message for finding in leading):
        return _BARRIERS[_MBARRIER]
    return Verdict.TIME_LIMIT.advice + _few_threads(report) if _kind(report) not in _OF_KIND else ""


def _unwritten(finding: Finding, lines: Sequence[str]) -> str:
    """What helps where an element of an array was read that nobody wrote; "" for other values."""
    name = _array(finding)
    if not name:
        return _SHUFFLE if "shuffle" in finding.message else ""
    if not _is_shared(name, lines):
        return _UNWRITTEN_ELEMENT
    line = _early_return(finding, lines)
    return (f"Line {line} lets threads return before they load. " if line else "") + _UNWRITTEN_CELL


def _early_return(finding: Finding, lines: Sequence[str]) -> int | None:
    """The first line of the kernel with a `return` before any barrier."""
    code = [line.partition("//")[0] for line in lines[: finding.line or 0]]
    start = max((at for at, line in enumerate(code) if "__global__" in line), default=len(code))
    for number, line in enumerate(code[start:], start + 1):
        if re.search(r"\breturn\s*;", line):
            return number
        if "__syncthreads" in line:
            break
    return None


_MBARRIER = "`cuda::barrier`"

_BARRIERS: Mapping[str, str] = {
    _MBARRIER: (
        "Initialise the barrier for as many threads as arrive at it in each phase: "
        "`init(&bar, blockDim.x * blockDim.y)` if every thread of the block does."
    ),
    "`bar.": "Give the barrier the number of threads that reach it, or use `__syncthreads()` for the whole block.",
}
"""For barriers other than `__syncthreads()`, by what their findings name."""


def _race(finding: Finding, report: Report, lines: Sequence[str]) -> str:
    name = _array(finding)
    launch = report.launch
    races = [each for each in report.findings if each.kind is Verdict.DATA_RACE]
    return race_advice(
        Race(
            finding,
            name,
            lines,
            outside=bool(name) and not _is_shared(name, lines),
            tiles=_kind(report) not in _OF_KIND and _is_shared(name, lines),
            rows=launch is not None and launch.block[1] > 1,
            in_warps=all("`__syncwarp()`" in each.message for each in races),
        )
    )


def _array(finding: Finding) -> str:
    element = finding.example.element if finding.example is not None else None
    return (element or "").partition("[")[0]


def _is_shared(name: str, lines: Sequence[str]) -> bool:
    """Whether some line declares an array of that name in shared memory."""
    named = re.compile(rf"\b{re.escape(name)}\b")
    return any("__shared__" in line and named.search(line) for line in lines)


_OF_KIND: Mapping[str, str] = {
    InputKind.INTEGERS: _WRONG_SUM,
    InputKind.MANTISSAS: _WRONG_TRANSPOSE,
}
"""For exercises that ask for no product, known by the inputs of their cases."""


def _kind(report: Report) -> str:
    return report.checks[0].case.rpartition(" ")[2] if report.checks else ""


def _few_threads(report: Report) -> str:
    """Added where the work may be too much for the threads of the launch; "" where they are many."""
    if report.launch is None:
        return ""
    ran = (check.case for check in report.checks if check.status is not CaseStatus.NOT_RUN)
    sizes = ([int(size) for size in re.findall(r"=(\d+)", case)] for case in ran)
    elements = max((min(found) ** 2 for found in sizes if found), default=0)
    threads = report.launch.threads * report.launch.blocks
    if threads * _FEW_THREADS >= elements:
        return ""
    return f" Or too few threads share the work: this launch has {plural(threads, 'thread')} in all."


@dataclass(frozen=True, slots=True)
class Race:
    """A data race with its surroundings.

    name: of the array, or ""
    outside: whether the array is in global memory
    tiles: whether it is a shared array of a matrix product
    rows: whether the threads of a block have two indices
    in_warps: whether `__syncwarp()` is enough for this race and all others
    """

    finding: Finding
    name: str
    lines: Sequence[str]
    outside: bool
    tiles: bool
    rows: bool
    in_warps: bool

    def says(self, pattern: str) -> bool:
        """Whether the finding's sentence holds the pattern."""
        return re.search(pattern, self.finding.message) is not None

    def uses(self, pattern: str) -> bool:
        """Whether a line of the source holds the pattern; NAME stands for the array."""
        wanted = re.compile(pattern.replace("NAME", re.escape(self.name)))
        return any(wanted.search(line) for line in self.lines)

    @property
    def one_store(self) -> bool:
        return self.finding.other_line in {None, self.finding.line} and self.says(r"\bboth write\b")


_ATOMIC_OF_IT = r"\batomic\w+\s*\(\s*&?\s*NAME\b"
_FLAG_OR_LOCK = r"\batomic(CAS|Exch)\b|\bwhile\s*\([^;]*[!=]=|\bvolatile\b"

_SET_ELSEWHERE = (
    "Set `NAME` in another launch, or let the block that owns the element set it before a barrier. Blocks run in any "
    "order, so the store may come after the atomic."
)
_FENCES = (
    "Read and write a flag or a lock with atomics (`atomicExch`, `atomicCAS`). Put `__threadfence()` after taking it "
    "and before releasing it."
)
_OWN_ELEMENT = (
    "Let one thread own each element of `NAME`, or add to it with `atomicAdd`. Inside a block `__syncthreads()` orders "
    "two accesses; blocks run in any order."
)
_OWN_CELL = (
    "Give each thread its own cell: does the index use both `threadIdx.x` and `threadIdx.y`? Or let one thread "
    "store it."
)
_TILE = (
    "Put `__syncthreads()` between the two accesses, where every thread of the block reaches it. A tile needs two in "
    "each phase: one after loading it, and one after using it."
)

_ADVICE: tuple[tuple[Callable[[Race], bool], str], ...] = (
    (lambda race: race.outside and race.uses(_ATOMIC_OF_IT), _SET_ELSEWHERE),
    (lambda race: race.outside and race.uses(_FLAG_OR_LOCK), _FENCES),
    (lambda race: race.outside, _OWN_ELEMENT),
    (
        lambda race: race.says(r"\basynchronous|\bthe copy\b"),
        "Wait for the copy (`__pipeline_wait_prior(0)`) before the barrier.",
    ),
    (lambda race: race.one_store and race.rows, _OWN_CELL),
    (lambda race: race.one_store, "Give each thread its own cell, or let one thread store it."),
    (lambda race: race.in_warps, "Put `__syncwarp()` between the steps."),
    (lambda race: race.tiles, _TILE),
)
"""The first that fits helps."""


def race_advice(race: Race) -> str:
    """What to try next; "" where a barrier between the two accesses is all there is to say."""
    found = next((text for fits, text in _ADVICE if fits(race)), "")
    return found.replace("NAME", race.name)
