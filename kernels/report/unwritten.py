"""The next step after a read of a value that no thread wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernels.facts import Mistake
from kernels.report.guards import too_far
from kernels.report.model import Step
from kernels.report.source_facts import (
    code_between,
    code_of,
    code_of_all,
    counters_of,
    integer_parameters,
    is_shared,
    loop_at,
    names_in,
    parts_of,
    reached_names,
    statements_at,
    stores_to,
)
from kernels.source.loops import Statement
from kernels.verdict import Finding

_PRODUCT = (
    "Close the group of the product{at} with `wgmma.commit_group`, and wait for it with `wgmma.wait_group` first."
)
_SHUFFLE = (
    "Let every lane in the mask execute the shuffle{at}. Move it out of the `if`, or put fewer lanes into the mask."
)
_ELEMENT = (
    "`{name}` has no values until the kernel writes them, so don't read it{at}. Collect the result in a variable of "
    "the thread. Then write it with `=`."
)
_BARRIER = (
    "Let one thread of the block initialise {element} with `mbarrier.init`. Then show it to all threads that use it"
    "{at}, such as with `__syncthreads()`. Each block initialises its own barriers, and each stage needs one."
)
_LOCAL = "Give every element of the local array a first value before its use{at}."
_CELL = "Let the block write every cell of `{name}` that is read{at}, such as {element}. Or correct the index there."
_ZERO = "A thread without an element writes 0, which adds nothing to a sum."
_NEUTRAL = "A thread without an element writes a value that doesn't change the result."
_VARIABLE = "Give each variable a first value before its use{at}, for example `float sum = 0.0f;`."
_FRAGMENT = (
    "Give each fragment its values before its use{at}: sums by `wmma::fill_fragment(sum, 0.0f)`, factors by "
    "`wmma::load_matrix_sync`."
)
_WMMA = re.compile(r"\b(?:mma_sync|store_matrix_sync)\b")
_MOST_STORES = 16
_FOR_HEAD = re.compile(r"\bfor\s*+\([^;{}]{0,200}+;[^;{}]{0,200}+;[^;(){}]{0,200}+\)")
_SUM = re.compile(r"\+=|\batomicAdd\b|(?<![\w.])(\w+)\s*=\s*\1\s*\+")
_DECLARED = re.compile(r"\b(?:float|double|int|unsigned|half|bool)\s++(\w[^;(){}]{0,200}+);")


def unwritten_step(finding: Finding, lines: Sequence[str], *, padded: bool) -> Step:
    """The step after this finding. padded: whether only sizes with a partial tile fail, in a product of matrices."""
    name = finding.array
    if finding.facts.mistake is Mistake.NO_BARRIER:
        return Step("unwritten.barrier", _BARRIER)
    if finding.example is None or not finding.example.element:
        if finding.facts.mistake is Mistake.TRANSFER:
            return Step("unwritten.product", _PRODUCT)
        shuffle = finding.facts.mistake is Mistake.SHUFFLE
        return Step("unwritten.shuffle", _SHUFFLE) if shuffle else _variable(finding, lines)
    if not name.isidentifier():
        return Step("unwritten.local", _LOCAL)
    if not is_shared(name, lines):
        return Step("unwritten.element", _ELEMENT)
    rules = (_kept_out, _never_set, _outside, _short_loop, _some_threads)
    found = (too_far(finding, lines), *(rule(finding, name, lines) for rule in rules))
    cell = Step("unwritten.cell", f"{_CELL} {_ZERO}" if padded else _CELL)
    return next((step for step in found if step is not None), cell)


def _variable(finding: Finding, lines: Sequence[str]) -> Step:
    """The step for a variable, with the declaration that gives it no value if the line uses one."""
    code = code_of(finding.line, lines)
    if _WMMA.search(code):
        return Step("unwritten.fragment", _FRAGMENT)
    used = names_in(code)
    for number in range(finding.line or 0, 0, -1):
        for declared in _DECLARED.findall(code_of(number, lines)):
            for name in map(str.strip, declared.split(",")):
                if name in used:
                    text = f"Give `{name}` a first value at line {number}, before its use{{at}}."
                    return Step("unwritten.declared", text)
    return Step("unwritten.variable", _VARIABLE)


def _kept_out(finding: Finding, name: str, lines: Sequence[str]) -> Step | None:
    """A line that keeps threads from their loads: a `return`, a `continue`, or a condition around loads and reads."""
    line = _early_end(finding, lines) or _condition_around(finding, name, lines)
    if line is None:
        return None
    text = f"Line {line} keeps threads from their loads. Let every thread of the block write its cell"
    filler = _ZERO if _sums(lines) else _NEUTRAL
    text = f"{text} of `{{name}}` before each read{{at}}. {filler}"
    return Step("unwritten.kept_out", text, {line: "some threads leave here"})


def _sums(lines: Sequence[str]) -> bool:
    """Whether the kernel adds up values, not only the steps of its `for` loops."""
    return _SUM.search(_FOR_HEAD.sub("", code_of_all(lines))) is not None


def _early_end(finding: Finding, lines: Sequence[str]) -> int | None:
    """The first line of the kernel where some threads `return` or `continue` before any barrier."""
    code = code_of_all(lines[: finding.line or 0]).split("\n")
    start = max((at for at, line in enumerate(code) if "__global__" in line), default=len(code))
    ends = []
    for number, line in enumerate(code[start:], start + 1):
        if re.search(r"\b(?:return|continue)\s*;", line):
            ends.append(number)
        if "__syncthreads" in line:
            break
    return next(
        (each for each in ends[:_MOST_STORES] if _differs(statements_at(each, lines)[:_MOST_STORES], lines)), None
    )


def _condition_around(finding: Finding, name: str, lines: Sequence[str]) -> int | None:
    """The `if` or loop around a load and its barrier that threads of one block decide differently."""
    for store in stores_to(name, lines)[:_MOST_STORES]:
        for statement in statements_at(store, lines)[:_MOST_STORES]:
            waits = "__syncthreads" in code_between(statement.first, statement.last, lines)
            if waits and statement.first <= (finding.line or 0) <= statement.last and _differs([statement], lines):
                return statement.first
    return None


def _differs(statements: Sequence[Statement], lines: Sequence[str]) -> bool:
    """Whether threads of one block may decide one of the statements differently."""
    differing = reached_names({"threadIdx"}, code_of_all(lines))
    return any(names_in(parts_of(statement, lines).condition) & differing for statement in statements)


def _never_set(finding: Finding, name: str, lines: Sequence[str]) -> Step | None:
    """A shared sum that the kernel only adds to."""
    code, plain = code_of_all(lines), re.escape(name)
    added = re.search(rf"\batomicAdd\s*+\(\s*+&?\s*+{plain}\b|\b{plain}\s*+(\[.{{0,200}}\]\s*+)?(\+=|\+\+)", code)
    is_array = re.search(rf"\b{plain}\s*\[", code) is not None
    alias = is_array and re.search(rf"[=(,]\s*{plain}\s*[;,)]", code)
    if added is None or alias or stores_to(name, lines):
        return None
    which = f"Set every element of `{name}`" if is_array else f"Let one thread set `{name}`"
    return Step(
        "unwritten.never_set",
        f"{which} to 0 before line {finding.line}. Then call `__syncthreads()`, which every thread must reach.",
    )


def _stores_before(finding: Finding, name: str, lines: Sequence[str]) -> list[int]:
    """The lines before the read that store to the array; none if they are too many for a rule."""
    stores = [line for line in stores_to(name, lines) if line < (finding.line or 0)]
    return stores if len(stores) <= _MOST_STORES else []


def _around_stores(finding: Finding, name: str, lines: Sequence[str]) -> list[list[Statement]]:
    """For each store to the array before the read, the statements around it, the innermost first."""
    around = (statements_at(line, lines) for line in _stores_before(finding, name, lines))
    return [[each for each in found if each.last < (finding.line or 0)] for found in around]


def _only_if(finding: Finding, name: str, lines: Sequence[str]) -> Statement | None:
    """The `if` around all stores to the array, if it has no `else`."""
    around = _around_stores(finding, name, lines)
    inner = {next((each for each in found if each.word == "if"), None) for found in around}
    only = inner.pop() if len(inner) == 1 else None
    return only if only and not re.search(r"\belse\b", code_between(only.first, only.last, lines)) else None


def _outside(finding: Finding, name: str, lines: Sequence[str]) -> Step | None:
    """An `if` that skips cells outside the input."""
    only = _only_if(finding, name, lines)
    if only is None or not names_in(parts_of(only, lines).condition) & set(integer_parameters(lines)):
        return None
    if not re.search(
        rf"\b{re.escape(name)}\s*+\[.{{0,200}}\]\s*+=.{{0,200}}\[", code_between(only.first, only.last, lines)
    ):
        return None
    text = f"The `if` at line {only.first} leaves cells of `{name}` unwritten. Write"
    value = "0 to them in an `else`, which adds nothing to a sum" if _sums(lines) else "them in an `else`, too"
    return Step("unwritten.outside", f"{text} {value}.", {only.first: f"skips cells of {name}"})


def _short_loop(finding: Finding, name: str, lines: Sequence[str]) -> Step | None:
    """A loop that chooses the cells to fill, and doesn't reach all."""
    stores = _stores_before(finding, name, lines)
    loops = {loop_at(line, lines) for line in stores}
    loop = loops.pop() if len(loops) == 1 else None
    if loop is None or loop.last >= (finding.line or 0):
        return None
    chosen = reached_names(counters_of(loop, lines), code_between(loop.first, loop.last, lines))
    indices = (re.findall(rf"\b{re.escape(name)}\s*+(\[.{{0,200}}\])\s*+=", code_of(line, lines)) for line in stores)
    if not all(index and names_in(index[0]) & chosen for index in indices):
        return None
    text = f"The loop at line {loop.first} doesn't reach every cell of `{name}` that is read{{at}}, such as"
    return Step(
        "unwritten.short_loop",
        f"{text} {{element}}. Correct its start, its end or its step.",
        {loop.first: f"leaves out cells of {name}"},
    )


def _some_threads(finding: Finding, name: str, lines: Sequence[str]) -> Step | None:
    """An `if` on thread indices that skips cells."""
    only = _only_if(finding, name, lines)
    if only is None or not _differs([only], lines):
        return None
    cells = re.search(rf"\b{re.escape(name)}\s*\[", code_of(finding.line, lines)) is not None
    what = f"cells of `{name}` unwritten, such as {{element}}" if cells else f"`{name}` unwritten"
    text = f"The `if` at line {only.first} leaves {what}. Let threads write all that is read{{at}}."
    return Step("unwritten.some_threads", text, {only.first: f"skips {'cells of ' if cells else ''}{name}"})
