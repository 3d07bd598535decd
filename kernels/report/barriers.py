"""Barriers in next steps: out of a branch that only some threads enter, and where a missing one belongs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, takewhile

from kernels.facts import Incomplete, Mistake
from kernels.report.model import Step
from kernels.report.source_facts import (
    code_between,
    code_of,
    code_of_all,
    names_in,
    parts_of,
    reached_names,
    statements_at,
)
from kernels.source.loops import Statement
from kernels.verdict import Finding, Verdict
from kernels.wording import lines_named, plural

_OTHER_BARRIERS: Mapping[Mistake, str] = {
    Mistake.MBARRIER: (
        "Initialise the barrier{at} with the number of threads that arrive at it in each phase. If every thread of the "
        "block arrives, this is `blockDim.x * blockDim.y`. Let each phase expect exactly the bytes that its copies "
        "bring. Each barrier counts its own phases: wait for its first with parity 0, for its next with parity 1."
    ),
    Mistake.EARLY_ARRIVAL: (
        "Wait for the last phase of the barrier before you arrive at it again{at}. In a pipeline, wait until a stage "
        "is empty before you fill it. Wait until it is full before you use it."
    ),
    Mistake.LATE_EXPECTATION: (
        "Expect the bytes{at} before this thread arrives, or in its arrival with `mbarrier.arrive.expect_tx`. "
        "Otherwise the phase may be over by then, and the bytes count for the next one. If this thread doesn't arrive, "
        "let an arriving thread expect all bytes."
    ),
    Mistake.NAMED_BARRIER: (
        "Give the barrier{at} the number of threads that reach it. For the whole block, use `__syncthreads()`."
    ),
    Mistake.CLUSTER_BARRIER: (
        "Let every thread of the cluster arrive at its barrier{at}, and then wait there. `cluster.sync()` does both. "
        "Call it outside any `if` that some threads skip."
    ),
    Mistake.MATRIX: (
        "Let all 32 threads of the warp execute the matrix instruction{at}. Only a condition that whole warps share, "
        "such as `threadIdx.x / 32 == 0`, may guard it.{warpgroup}"
    ),
}
"""Advice for barriers other than `__syncthreads()`."""

_BARRIER = re.compile(r"\b__syncthreads\s*\(\s*\)\s*;")
_LEAVES = re.compile(r"\b(?:return|break|continue|goto)\b")
_SKIPPED = re.compile(r"\s*(?:#\s*pragma.*)?")
_LONGEST_STATEMENT = 32
_MOST_RACES = 32


def barrier_step(finding: Finding, lines: Sequence[str]) -> Step:
    """The step after this finding. It names the `if` around the barrier, if that is the cause."""
    if (other := other_barrier(finding)) is not None:
        return other
    for line in (finding.line, finding.other_line):
        around = statements_at(line, lines) if line is not None else []
        ifs = [each for each in takewhile(lambda each: not each.is_loop, around) if _splits(each, lines)]
        if ifs and line is not None:
            return Step(*_out_of(ifs[-1], line, lines), {ifs[-1].first: "only some threads enter"})
    return Step("barrier", Verdict.BARRIER_DIVERGENCE.advice)


def other_barrier(finding: Finding) -> Step | None:
    """The step if the barrier isn't `__syncthreads()`; otherwise None."""
    if finding.facts.incomplete is not None:
        return _incomplete(finding.facts.incomplete)
    text = _OTHER_BARRIERS.get(finding.facts.mistake)
    return None if text is None else Step("other_barrier", text)


def wrong_bytes(findings: Sequence[Finding]) -> Step | None:
    """The step if a phase of a barrier never completes because of its bytes. Then its copies race, too."""
    phases = (each.facts.incomplete for each in findings)
    return next((_incomplete(each) for each in phases if each and each.bytes != each.expected_bytes), None)


def _incomplete(phase: Incomplete) -> Step:
    """The step if a phase of a barrier in shared memory never completes."""
    copies, arrivals = (f" at {lines_named(each)}" if each else "" for each in (phase.copy_lines, phase.arrival_lines))
    if phase.bytes != phase.expected_bytes and not phase.bytes:
        return Step("barrier_bytes", "Pass this barrier to the copies for which it waits. So far, none reports to it.")
    if phase.bytes > phase.expected_bytes:
        text = f"Let each phase expect{arrivals} exactly the bytes that its copies{copies} bring together."
        text += " So far, more bytes arrive than it expects. Multiply elements by their size."
        return Step("barrier_bytes", text)
    if phase.bytes != phase.expected_bytes:
        expect = f"Expect {phase.bytes:,} bytes{arrivals}"
        text = f"{expect}, or let the copies{copies} bring {phase.expected_bytes:,}. Multiply elements by their size."
        return Step("barrier_bytes", text)
    if phase.arrivals:
        more = plural(phase.expected_arrivals - phase.arrivals, "more thread")
        text = f"Initialise the barrier with {phase.arrivals:,}, or let {more} arrive in each phase{arrivals}."
        return Step("barrier_arrivals", text)
    return Step(
        "barrier_phase",
        f"Each barrier counts its own phases. Wait{{at}} for its first with parity 0, for its next with parity 1. A "
        "ring of stages has a barrier for each, so the parity changes only after a whole round. Or let threads "
        f"arrive{arrivals} once more. If a stage is empty at the start, its first wait names parity 1.",
    )


def _splits(statement: Statement, lines: Sequence[str]) -> bool:
    """Whether it is an `if` that threads of one block may decide differently."""
    differing = reached_names({"threadIdx"}, code_of_all(lines))
    return statement.word == "if" and bool(names_in(parts_of(statement, lines).condition) & differing)


def _out_of(only: Statement, line: int, lines: Sequence[str]) -> tuple[str, str]:
    """How the barrier at a line leaves the `if` around it, with the key of this advice."""
    body = parts_of(only, lines).body
    before, *after = _BARRIER.split(body)
    if _has_else(body):
        text = f"Put one `__syncthreads()` after the `if` of line {only.first} and its `else`, and none inside them."
        return "barrier.after_else", text
    if len(after) == 1 and not after[0].strip("} \n"):
        return ("barrier.after_if", f"Move `__syncthreads()` from line {line} to after the `if` of line {only.first}.")
    if len(after) == 1 and not before.strip("{ \n"):
        return (
            "barrier.before_if",
            f"Move `__syncthreads()` from line {line} to before the `if` of line {only.first}.",
        )
    text = f"Move each `__syncthreads()` out of the `if` at line {only.first}, which only some threads enter."
    return "barrier.out_of_if", f"{text} Guard the loads and the store instead."


def _has_else(body: str) -> bool:
    """Whether an `else` belongs to the `if` with this body, and not to another one inside it."""
    if re.match(r"(?:if|for|while|do)\b", body):
        return False
    depths = accumulate({"{": 1, "}": -1}.get(char, 0) for char in body)
    last = "}" if body.startswith("{") else ";"
    end = next((at for at, depth in enumerate(depths) if depth == 0 and body[at] == last), len(body))
    return re.match(r"\s*else\b", body[end + 1 :]) is not None


def barrier_place(races: Sequence[Finding], lines: Sequence[str]) -> str:
    """The place of a barrier between the accesses of the first race: `after line 20`.

    races: all races of the report
    """
    first, second = races[0].other_line, races[0].line
    if first is None or second is None or first == second:
        return "between the two accesses"
    # Without a loop, a thread that skipped a branch may have come first.
    again = first > second and _loop_of_both(first, second, lines) is not None
    line = _after_first(races, lines) if again else _before_second(min(first, second), max(first, second), lines)
    return f"after line {line}" if line is not None else f"after line {first}, before line {second} runs"


def _before_second(first: int, second: int, lines: Sequence[str]) -> int | None:
    """The last line before the statement of the second access. Other tiles are also complete there."""
    end, line = _end(first, second, lines), _start(second, first, lines) - 1
    while line > end and _SKIPPED.fullmatch(code_of(line, lines)):
        line -= 1
    if line < end or second > len(lines) or not _in_one_block(end, line + 1, lines):
        return None
    # After a thread has left, a barrier is too late.
    return end if _LEAVES.search(code_between(end + 1, line, lines)) else line


def _after_first(races: Sequence[Finding], lines: Sequence[str]) -> int | None:
    """The last line of the statements with the first access, if the second one is in the next iteration.

    Only races of the same loop count.
    """
    pairs = [(race.other_line or 0, race.line or 0) for race in races[:_MOST_RACES]]
    first, second = pairs[0]
    loop = _loop_of_both(first, second, lines)
    apart = _in_one_block(_end(second, first, lines), _start(first, second, lines), lines)
    same = (pair for pair in pairs if pair[0] > pair[1] and _loop_of_both(*pair, lines) == loop)
    return max(_end(*pair, lines) for pair in same) if apart else None


def _loop_of_both(first: int, second: int, lines: Sequence[str]) -> Statement | None:
    """The innermost loop around two lines."""
    around = statements_at(first, lines)
    return next((each for each in around if each.is_loop and each.first <= second <= each.last), None)


def _in_one_block(end: int, start: int, lines: Sequence[str]) -> bool:
    """Whether two statements are in one block, the first until line `end`, the other from line `start`."""
    code = code_between(end + 1, start - 1, lines)
    depth = min(accumulate({"{": 1, "}": -1}.get(char, 0) for char in code), default=0)
    return depth == 0 and re.match(r"\s*else\b", code) is None and end < start


def _start(line: int, other: int, lines: Sequence[str]) -> int:
    """The first line of the outermost statement around a line that isn't around the other line."""
    alone = _outermost(line, other, lines)
    return line if alone is None else alone.first


def _end(line: int, other: int, lines: Sequence[str]) -> int:
    """The last line of the outermost statement around a line that isn't around the other line."""
    alone = _outermost(line, other, lines)
    if alone is not None:
        return alone.last
    numbers = range(line, min(line + _LONGEST_STATEMENT, len(lines) + 1))
    return next((number for number in numbers if ";" in code_of(number, lines)), line)


def _outermost(line: int, other: int, lines: Sequence[str]) -> Statement | None:
    alone = [statement for statement in statements_at(line, lines) if not statement.first <= other <= statement.last]
    return alone[-1] if alone else None
