"""The next step after a loop that never ends, if its head shows why."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernels.report.model import Step
from kernels.report.source_facts import (
    changed_names,
    code_of_all,
    integer_parameters,
    names_in,
    parts_of,
    statements_at,
)
from kernels.verdict import Finding

_BUILT_IN = {"blockDim", "gridDim", "threadIdx", "blockIdx", "x", "y", "z"}
_UNCLEAR = re.compile(r"\w\s*\(|\[|->|&(?!&)|(?:^|[(!&|=<>])\s*\*")
"""A condition with a call, an array or a pointer may change on its own."""
_LEAVES = re.compile(r"\b(?:break|return|goto|asm)\b")
_REFERENCE = re.compile(r"\b(?:int|unsigned|size_t|float|double)\s*&")
_NEVER_NEGATIVE = re.compile(r"\b(?:unsigned(?:\s++int)?|size_t)\s++(\w++)\s*+=.{0,200};\s*+\1\s*+>=\s*+0\s*+;")


def endless_step(finding: Finding, lines: Sequence[str]) -> Step | None:
    """The step for a counter that never changes or is never negative; None without one."""
    around = statements_at(finding.line, lines) if finding.line is not None else []
    loop = next((each for each in around if each.first == finding.line and each.word in {"for", "while"}), None)
    if loop is None:
        return None
    parts = parts_of(loop, lines)
    if (unsigned := _NEVER_NEGATIVE.search(parts.condition)) is not None:
        name = unsigned[1]
        text = f"`{name}` is unsigned, so `{name} >= 0` is always true. Declare it as `int` at line {loop.first}."
        return Step("endless.unsigned", text, {loop.first: f"{name} is never below 0"})
    clauses = parts.condition.split(";")
    condition = clauses[1] if len(clauses) == 3 else parts.condition
    name = _counter(condition, lines)
    changed = changed_names(f"{';'.join(clauses[2:])};{parts.body}")
    if not name or _UNCLEAR.search(condition) or _LEAVES.search(parts.body) or names_in(condition) & changed:
        return None
    verb = {"<": "Increase", ">": "Decrease"}.get(condition.partition(name)[2].lstrip()[:1], "Change")
    where = "in the loop's head" if len(clauses) == 3 else "at the end of the loop"
    text = f"`{name}` never changes in the loop at line {loop.first}. {verb} it {where}."
    return Step("endless.unchanged", text, {loop.first: f"{name} never changes"})


def _counter(condition: str, lines: Sequence[str]) -> str:
    """The only variable of a thread in a condition; "" for none, several or one that other threads may change."""
    code = code_of_all(lines)
    known = {*_BUILT_IN, *integer_parameters(lines)}
    found = [name for name in names_in(condition) - known if not name.isupper()]
    if len(found) != 1 or _REFERENCE.search(code):
        return ""
    shared = re.search(rf"\b(?:volatile|__shared__|__device__|__managed__)\b[^;(){{}}]{{0,200}}\b{found[0]}\b", code)
    return "" if shared else found[0]
