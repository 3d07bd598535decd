"""The next step after a barrier that some threads of a block don't reach."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, takewhile

from kernels.report.source_facts import code_of_all, names_in, parts_of, reached_names, statements_at
from kernels.report.step import Step
from kernels.source.loops import Statement
from kernels.verdict import Finding, Verdict

MBARRIER = "`cuda::barrier`"

OTHER_BARRIERS: Mapping[str, str] = {
    MBARRIER: (
        "Initialise the barrier{at} with the number of threads that arrive at it in each phase. If every thread of the "
        "block arrives, write `init(&bar, blockDim.x * blockDim.y)`."
    ),
    "`bar.": (
        "Give the barrier{at} the number of threads that reach it. For the whole block, use `__syncthreads()`."
    ),
}
"""Advice for barriers other than `__syncthreads()`, by a word of their findings."""

_BARRIER = re.compile(r"\b__syncthreads\s*\(\s*\)\s*;")


def barrier_step(finding: Finding, lines: Sequence[str]) -> Step:
    """The step after this finding. It names the `if` around the barrier, if that is the cause."""
    for part, text in OTHER_BARRIERS.items():
        if part in finding.message:
            return Step(text)
    for line in (finding.line, finding.other_line):
        around = statements_at(line, lines) if line is not None else []
        ifs = [each for each in takewhile(lambda each: not each.is_loop, around) if _splits(each, lines)]
        if ifs and line is not None:
            return Step(_out_of(ifs[-1], line, lines), {ifs[-1].first: "only some threads enter"})
    return Step(Verdict.BARRIER_DIVERGENCE.advice)


def _splits(statement: Statement, lines: Sequence[str]) -> bool:
    """Whether it is an `if` that threads of one block may decide differently."""
    differing = reached_names({"threadIdx"}, code_of_all(lines))
    return statement.word == "if" and bool(names_in(parts_of(statement, lines).condition) & differing)


def _out_of(only: Statement, line: int, lines: Sequence[str]) -> str:
    """How the barrier at a line leaves the `if` around it."""
    body = parts_of(only, lines).body
    before, *after = _BARRIER.split(body)
    if _has_else(body):
        return f"Put one `__syncthreads()` after the `if` of line {only.first} and its `else`, and none inside them."
    if len(after) == 1 and not after[0].strip("} \n"):
        return f"Move `__syncthreads()` from line {line} to after the `if` of line {only.first}."
    if len(after) == 1 and not before.strip("{ \n"):
        return f"Move `__syncthreads()` from line {line} to before the `if` of line {only.first}."
    text = f"Move each `__syncthreads()` out of the `if` at line {only.first}, which only some threads enter."
    return f"{text} Guard the loads and the store instead."


def _has_else(body: str) -> bool:
    """Whether an `else` belongs to the `if` with this body, and not to another one inside it."""
    if re.match(r"(?:if|for|while|do)\b", body):
        return False
    depths = accumulate({"{": 1, "}": -1}.get(char, 0) for char in body)
    last = "}" if body.startswith("{") else ";"
    end = next((at for at, depth in enumerate(depths) if depth == 0 and body[at] == last), len(body))
    return re.match(r"\s*else\b", body[end + 1 :]) is not None
