"""The advice for the next step: the verdict's own, or a better one for a known situation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernels.exercise.model import InputKind
from kernels.launch import is_launch_comment
from kernels.report.clues import advice_of_clues
from kernels.report.guards import code_of, filled, guard, is_shared, limit_of_all, too_far
from kernels.report.model import Report
from kernels.source.rules import HOST_CODE
from kernels.verdict import CaseStatus, Finding, Severity, Verdict
from kernels.wording import lines_named, listed, plural

_FEW_THREADS = 64
"""A launch with more elements for each thread than this has few threads."""

_MOST_LINES = 3
_NUMBERS = r"float|(?:unsigned )?int"

_WRONG_SUM = (
    "Follow the block of {element} by hand. Which elements does each thread load? What does it add in each step? "
    "Which thread writes the sum?"
)
_WRONG_ELEMENT = (
    "Follow {element} by hand. Which thread writes it? From which elements does this thread compute it, and with which "
    "indices?"
)
_WRONG_TRANSPOSE = (
    "Follow {element} by hand. Where does its thread read the value? Where must it write the value after row and "
    "column change places?"
)

_UNWRITTEN_CELL = (
    "Let every thread of the block write its cell of `{name}` before each read{at}. A thread without an element "
    "writes 0, which adds nothing to a sum."
)

_UNWRITTEN_ELEMENT = (
    "`{name}` has no values until the kernel writes them, so don't read it{at}. Collect the result in a variable of "
    "the thread. Then write it with `=`."
)

_SHUFFLE = (
    "Let every lane in the mask execute the shuffle{at}. Move it out of the `if`, or put fewer lanes into the "
    "mask."
)

_GRID = "Correct `grid=` in the `//!tilelab` comment{at}."

_LAUNCH_COMMENT = (
    "Correct the `//!tilelab` comment{at}. Each number of grid and block must be at least 1. A block has at most "
    "1,024 threads, 48 KiB of shared memory and 64 K registers."
)


_PARAMETERS = "has different parameters"
_EXPECTED = "Write the expected parameters{first}, with their types and in their order."


def advice_for(report: Report, lines: Sequence[str]) -> str:
    """The advice after this report; "" if its findings already say it.

    lines: of the graded source
    """
    leading = [finding for finding in report.findings if finding.kind is report.verdict]
    leading = [finding for finding in leading if finding.severity is Severity.ERROR] or leading
    first = leading[0] if leading else Finding(report.verdict, "")
    return _general(report, lines, leading).format(
        exercise=report.exercise,
        name=_array(first),
        at=_at(leading),
        first=_at(leading[:1]),
        between=_between(first),
        element=f"`{first.example.element}`" if first.example and first.example.element else "one element",
    )


def _at(findings: Sequence[Finding]) -> str:
    """` at lines 3, 7 and 9`: the first few lines of the findings; "" if none is known."""
    known = sorted({finding.line for finding in findings if finding.line is not None})
    if len(known) > _MOST_LINES:
        return f" at lines {', '.join(map(str, known[:_MOST_LINES]))} and others"
    return f" at {lines_named(known)}" if known else ""


def _between(race: Finding) -> str:
    """The place of a missing barrier. The other line has the first access."""
    if race.line is None or race.other_line in {None, race.line}:
        return "between the two accesses"
    return f"after line {race.other_line}, before line {race.line} runs"


def _general(report: Report, lines: Sequence[str], leading: Sequence[Finding]) -> str:
    """The advice with its placeholders."""
    text = report.verdict.advice
    if report.verdict is Verdict.REJECTED:
        known = {_PARAMETERS: _EXPECTED, HOST_CODE: text}
        return next((advice for part, advice in known.items() if any(part in f.message for f in leading)), "")
    if report.verdict is Verdict.RESOURCE_LIMIT:
        return _limits(leading, report, lines)
    if report.verdict is Verdict.OUT_OF_BOUNDS and any("`printf`" in each.message for each in leading):
        return "Give `printf`{at} one argument for each conversion in its format."
    if report.verdict is Verdict.OUT_OF_BOUNDS:
        return _outside(leading, lines) or text
    if report.verdict is Verdict.INPUT_MODIFIED and leading:
        return _changed_input(_array(leading[0]), lines) or text
    if report.verdict is Verdict.UNINITIALIZED_READ and leading:
        return _unwritten(leading[0], lines) or text
    if report.verdict is Verdict.DATA_RACE and leading:
        return _race(leading[0], report, lines) or text
    if report.verdict is Verdict.WRONG_ANSWER:
        return advice_of_clues(report, lines) or _OF_KIND.get(_kind(report), text)
    if report.verdict is Verdict.BARRIER_DIVERGENCE and leading:
        return next((advice for part, advice in _BARRIERS.items() if part in leading[0].message), text)
    if report.verdict is Verdict.TIME_LIMIT:
        return _time(leading[:1], report, lines) or text
    return text


def _limits(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> str:
    """The advice for a launch that exceeds a limit."""
    text = report.verdict.advice
    if any("`__launch_bounds__`" in finding.message for finding in leading):
        return "Make the block smaller, or raise `__launch_bounds__`{at} to the block's number of threads."
    named = [lines[f.line - 1] for f in leading if f.line is not None and f.line <= len(lines)]
    if _kind(report) in _OF_KIND:
        text = text.replace("its tiles", "its shared arrays")
    return _LAUNCH_COMMENT if any(map(is_launch_comment, named)) else text


def _time(leading: Sequence[Finding], report: Report, lines: Sequence[str]) -> str:
    """The advice if a launch or a barrier runs too long, not a loop; "" otherwise."""
    line = next((finding.line for finding in leading if finding.line is not None), 0)
    if 0 < line <= len(lines) and is_launch_comment(lines[line - 1]):
        return _GRID
    if any(_MBARRIER in finding.message for finding in leading):
        return _BARRIERS[_MBARRIER]
    return Verdict.TIME_LIMIT.advice + _few_threads(report) if _kind(report) not in _OF_KIND else ""


def _outside(leading: Sequence[Finding], lines: Sequence[str]) -> str:
    """The advice for accesses outside an array, in the words of the source; "" if no array is known."""
    names = [name for name in dict.fromkeys(map(_array, leading)) if name.isidentifier()]
    if not names:
        return ""
    if (past := too_far(leading[0], lines)) is not None:
        line, index, limit = past
        return (
            f"Line {line} lets `{index}` reach `{limit}`, one past the last index. Write `{index} < {limit}`."
        )
    if len(names) > 1 or len({finding.line for finding in leading}) > 1:
        arrays = listed([f"`{name}`" for name in names[:_MOST_LINES]])
        text = f"Guard each access to {arrays}{{at}}. {limit_of_all(leading, names, lines)}"
        return f"{text} If a size isn't a multiple of the block, some threads have no element.{filled(leading, lines)}"
    return guard(leading[0], names[0], _at(leading), lines).replace("{", "{{").replace("}", "}}")


def _changed_input(name: str, lines: Sequence[str]) -> str:
    """The advice for a write to an input; "" if its name isn't known."""
    if not name:
        return ""
    pattern = rf"(const\s+)?\b({_NUMBERS})\s*\*\s*(__restrict__\s+)?{re.escape(name)}\b"
    pointer = re.search(pattern, "\n".join(lines))
    text = "Store the result{at} in the output, not in `{name}`."
    if pointer is None or pointer[1] is not None:
        return text
    return f"{text} Declare `const {pointer[2]}* {{name}}` to let the compiler find such stores."


def _unset_variable(finding: Finding, lines: Sequence[str]) -> str:
    """The advice for a variable whose declaration gives it no value; "" if the line uses none."""
    used = set(re.findall(r"\w+", code_of(finding.line, lines)))
    for number in range(finding.line or 0, 0, -1):
        declared = re.search(r"\b(?:float|double|int|unsigned|half|bool)\s+(\w+)\s*;", code_of(number, lines))
        if declared is not None and declared[1] in used:
            return f"Give `{declared[1]}` a first value at line {number}, before its use{{at}}."
    return ""


def _unwritten(finding: Finding, lines: Sequence[str]) -> str:
    """The advice for a value that no thread wrote; "" if neither its array nor its variable is known."""
    name = _array(finding)
    if not name:
        return _SHUFFLE if "shuffle" in finding.message else _unset_variable(finding, lines)
    if not is_shared(name, lines):
        return _UNWRITTEN_ELEMENT
    line = _early_return(finding, lines)
    early = f"Line {line} lets threads return before they load. " if line else ""
    return early + _UNWRITTEN_CELL


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
        "Initialise the barrier{at} with the number of threads that arrive at it in each phase. If every thread of the "
        "block arrives, write `init(&bar, blockDim.x * blockDim.y)`."
    ),
    "`bar.": (
        "Give the barrier{at} the number of threads that reach it. For the whole block, use `__syncthreads()`."
    ),
}
"""Advice for barriers other than `__syncthreads()`, by a word of their findings."""


def _race(finding: Finding, report: Report, lines: Sequence[str]) -> str:
    name = _array(finding)
    launch = report.launch
    races = [each for each in report.findings if each.kind is Verdict.DATA_RACE]
    return race_advice(
        Race(
            finding,
            name,
            lines,
            outside=bool(name) and not is_shared(name, lines),
            tiles=_kind(report) not in _OF_KIND and is_shared(name, lines),
            rows=launch is not None and launch.block[1] > 1,
            in_warps=all("`__syncwarp()`" in each.message for each in races),
        )
    )


def only_updates(race: Finding, lines: Sequence[str]) -> bool:
    """Whether both accesses are one line that only adds to its element. A barrier can't repair that; an atomic does."""
    name = re.escape(_array(race))
    update = re.compile(rf"\b{name}\s*(\[.*\])?\s*(\+\+|--|[-+]=(?!.*\b{name}\b))")
    return (
        bool(name) and race.other_line == race.line and update.search(code_of(race.line, lines)) is not None
    )


def _array(finding: Finding) -> str:
    element = finding.example.element if finding.example is not None else None
    return (element or "").partition("[")[0]


_OF_KIND: Mapping[str, str] = {
    InputKind.INTEGERS: _WRONG_SUM,
    InputKind.MANTISSAS: _WRONG_TRANSPOSE,
    InputKind.RANDOM: _WRONG_ELEMENT,
}
"""Advice for exercises without a matrix product. The inputs of their cases tell them apart."""


def _kind(report: Report) -> str:
    return report.checks[0].case.rpartition(" ")[2] if report.checks else ""


def _few_threads(report: Report) -> str:
    """A hint that the launch may have too few threads for the work; "" if it has many."""
    if report.launch is None:
        return ""
    ran = (check.case for check in report.checks if check.status is not CaseStatus.NOT_RUN)
    sizes = ([int(size) for size in re.findall(r"=(\d+)", case)] for case in ran)
    elements = max((min(found) ** 2 for found in sizes if found), default=0)
    threads = report.launch.threads * report.launch.blocks
    if threads * _FEW_THREADS >= elements:
        return ""
    return f" Or too few threads share the work. This launch has {plural(threads, 'thread')} in all."


@dataclass(frozen=True, slots=True)
class Race:
    """A data race and the code around it.

    name: the array, or ""
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
        """Whether the finding's sentence matches the pattern."""
        return re.search(pattern, self.finding.message) is not None

    def uses(self, pattern: str) -> bool:
        """Whether a line of the source matches the pattern. NAME in it means the array."""
        wanted = re.compile(pattern.replace("NAME", re.escape(self.name)))
        return any(wanted.search(line) for line in self.lines)

    @property
    def one_store(self) -> bool:
        return self.finding.other_line in {None, self.finding.line} and self.says(r"\bboth write\b")

    @property
    def one_update(self) -> bool:
        """Whether the line only adds to its element, such as `counts[value]++`."""
        return only_updates(self.finding, self.lines)

    @property
    def in_block(self) -> bool:
        """Whether both threads are of one block. Only a second block has a name of its own in the sentence."""
        return len(re.findall(r"\bof block\b", self.finding.message)) == 1

    @property
    def in_matrix(self) -> bool:
        example = self.finding.example
        return example is not None and (example.element or "").count("[") > 1


_ATOMIC_OF_IT = r"\batomic\w+\s*\(\s*&?\s*NAME\b"
_FLAG_OR_LOCK = r"\batomic(CAS|Exch)\b|\bwhile\s*\([^;]*[!=]=|\bvolatile\b"

_LOADED = r"\bNAME\s*\[[^=]*\]\s*=(?!=).*\["
"""A tile is loaded from another array. Shared memory that only holds partial results isn't a tile."""

_SET_ELSEWHERE = (
    "Set `{name}` in another launch, or let the block that owns the element set it before a barrier. Blocks run in any "
    "order, so the store may come after the atomic."
)
_FENCES = (
    "Read and write a flag or a lock with atomics (`atomicExch`, `atomicCAS`). Put `__threadfence()` after taking it "
    "and before releasing it."
)
_OWN_ELEMENT = (
    "Let one thread own each element of `{name}`, or add to it with `atomicAdd`. `__syncthreads()` orders accesses "
    "only inside a block. Blocks run in any order."
)
_ONE_CELL = "Let each thread store{first} in its own cell of `{name}`, or let one thread store it."
_NEXT_ROW = (
    "Let one thread store each element of `{name}`{first}. Compare the column with the width of the matrix, too. A "
    "column past the end of a row is an element of the next row."
)
_OWN_CELL = f"{_ONE_CELL} Does the index{{first}} use both `threadIdx.x` and `threadIdx.y`?"
_UPDATE = (
    "Add with `atomicAdd`{first}. Two threads read the same value of `{name}`, so one of their sums is lost."
)
_TILE = f"{Verdict.DATA_RACE.advice} A tile needs two barriers in each phase: one after loading it, one after using it."

_ADVICE: tuple[tuple[Callable[[Race], bool], str], ...] = (
    (lambda race: not race.outside and race.one_update, _UPDATE),
    (lambda race: race.outside and race.uses(_ATOMIC_OF_IT), _SET_ELSEWHERE),
    (lambda race: race.outside and race.uses(_FLAG_OR_LOCK), _FENCES),
    (lambda race: race.outside and race.one_store and race.in_block and race.in_matrix, _NEXT_ROW),
    (lambda race: race.outside and race.one_store and race.in_block, _ONE_CELL),
    (lambda race: race.outside, _OWN_ELEMENT),
    (
        lambda race: race.says(r"\basynchronous|\bthe copy\b"),
        "Wait for the copy with `__pipeline_wait_prior(0)`. Then put `__syncthreads()` {between}.",
    ),
    (lambda race: race.one_store and race.rows, _OWN_CELL),
    (lambda race: race.one_store, _ONE_CELL),
    (lambda race: race.in_warps, "Put `__syncwarp()` {between}."),
    (lambda race: race.tiles and race.uses(_LOADED), _TILE),
)
"""The first advice that fits is given."""


def race_advice(race: Race) -> str:
    """The advice for a race; "" if it only needs a barrier between the two accesses."""
    found = next((text for fits, text in _ADVICE if fits(race)), "")
    return found if race.name else found.replace(" of `{name}`", "")
