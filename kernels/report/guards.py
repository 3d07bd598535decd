"""How to keep an access inside its array, in the words of the student's source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from kernels.exercise.input_words import case_sizes
from kernels.report.model import Step
from kernels.report.source_facts import (
    code_between,
    code_of,
    code_of_all,
    declared_shared,
    integer_parameters,
    is_shared,
    names_in,
    parts_of,
    reached_names,
    statements_at,
)
from kernels.verdict import Finding
from kernels.wording import listed

_LONGEST = 70
_MOST_ACCESSES = 16
_EITHER = re.compile(r"\b(\w+)\s*<\s*\w+\s*\|\|\s*(\w+)\s*<(?![<=])")
_ROW_MAJOR = re.compile(r"(?P<row>\w+|\([^()]*\))\s*\*\s*(?P<width>\w+)\s*\+\s*(?P<column>.+)")


def guard(finding: Finding, name: str, at: str, lines: Sequence[str]) -> tuple[str, str]:
    """The key and the text of what the finding's access to the array `name` needs.

    at: the place of the findings, as ` at line 7`
    """
    code = code_of(finding.line, lines)
    indices = _indices(name, code)
    quoted = f"`{name}[{']['.join(indices)}]`"
    access = quoted if indices and len(quoted) <= _LONGEST else f"each access to `{name}`"
    index = indices[0] if len(indices) == 1 and access == quoted else ""
    if (line := declared_shared(name, lines)) is not None:
        text = f"Compare the index of {access}{at} with the size of `{name}`, which line {line} declares."
        return "guard.shared", text
    if any(index < 0 for index in finding.indices):
        return "guard.negative", f"Guard {access}{at}. Its index must not be below 0."
    # The kernel's only integer parameter, if it is the array's length in the example; "" otherwise. An index of a block
    # alone, such as `output[blockIdx.x]`, ends earlier.
    lengths = integer_parameters(lines)
    of_thread = names_in(index) & reached_names({"threadIdx"}, code_of_all(lines))
    same = finding.facts.elements == _only_size(finding)
    length = lengths[0] if same and of_thread and len(lengths) == 1 else ""
    limit = f"`{length}`" if length else "the number of elements"
    if len(finding.indices) < 2 and _stores_together(index, code):
        condition = f"`{index} < {length}`" if length else f"`{index}` is less than {limit}"
        return "guard.line", f"Run line {finding.line} only if {condition}."
    inside = _limit(finding, index, limit, lines)
    return "guard", f"Guard {access}{at}. {inside}{filled([finding], lines)}"


def too_far(finding: Finding, lines: Sequence[str]) -> Step | None:
    """The step for a `<=` that lets an index go too far; None without one."""
    inside = " ".join(re.findall(r"\[([^\[\]]*)\]", code_of(finding.line, lines)))
    used = names_in(inside)
    limits = integer_parameters(lines)
    for number in range(finding.line or 0, 0, -1):
        code = code_of(number, lines)
        for name in sorted(used):
            compared = re.search(rf"\b{name}\s*(<=?)\s*(\w+)\s*(?=[;)&|?])", code)
            if compared is None:
                used -= {name} if re.search(rf"\b{name}\s*[<>]", code) else set()
                continue
            used.remove(name)
            starts_later = re.search(rf"\bfor\b.{{0,200}}\b{name}\s*+=(?!\s*+0\s*+;)(?!=)", code) is not None
            if compared[1] == "<=" and not starts_later and (compared[2] in limits or compared[2].isupper()):
                limit = compared[2]
                text = f"Line {number} lets `{name}` reach `{limit}`, one past the last index."
                return Step("too_far", f"{text} Write `{name} < {limit}`.", {number: f"lets {name} reach {limit}"})
        if "__global__" in code:
            break
    return None


def either_is_enough(findings: Sequence[Finding], lines: Sequence[str]) -> Step | None:
    """The step for a `||` between the limits of two indices of the accesses, around the first; None without one."""
    finding = findings[0]
    own = code_of(finding.line, lines)
    accesses = "\n".join(code_of(each.line, lines) for each in findings[:_MOST_ACCESSES])
    used = names_in(" ".join(re.findall(r"\[([^\[\]]*)\]", accesses)))
    tests = [(finding.line or 0, own.partition("?")[0])] if "?" in own else []
    tests += [
        (statement.first, parts_of(statement, lines).condition)
        for statement in statements_at(finding.line or 0, lines)
        if statement.word == "if" and not re.search(r"\belse\b", code_between(statement.first, statement.last, lines))
    ]
    for number, test in tests:
        if (match := _EITHER.search(test)) is not None and {match[1], match[2]} <= used:
            text = f"The `||` at line {number} lets a thread pass if only one index is inside. Write `&&` instead."
            return Step("either_is_enough", text, {number: "one of two is enough"})
    return None


def limit_of_all(findings: Sequence[Finding], names: Sequence[str], lines: Sequence[str]) -> str:
    """What the indices of accesses to several lines or arrays must be less than."""
    below = any(index < 0 for finding in findings for index in finding.indices)
    if below or any(is_shared(name, lines) for name in names):
        return "Compare each index with the size of its array."
    if all(len(finding.indices) > 1 for finding in findings if finding.example is not None):
        return "Its row and its column must be inside the matrix."
    return "Its index must be less than the number of elements."


def filled(findings: Sequence[Finding], lines: Sequence[str]) -> str:
    """What the shared arrays get that these findings' lines fill; "" if they fill none."""
    targets = (code_of(finding.line, lines).partition("[")[0].strip() for finding in findings)
    arrays = [f"`{name}`" for name in dict.fromkeys(targets) if name and is_shared(name, lines)]
    return f" A thread without an element writes 0 to {listed(arrays)}." if arrays else ""


def _limit(finding: Finding, index: str, limit: str, lines: Sequence[str]) -> str:
    if len(finding.indices) < 2:
        return f"{f'`{index}`' if index else 'Its index'} must be less than {limit}."
    parts = _ROW_MAJOR.fullmatch(index)
    # `ph * TILE + tx + Row * Width` has the same form. Only a parameter can be the width of a matrix.
    if parts is None or parts["width"] not in integer_parameters(lines):
        return "Its row and its column must be inside the matrix."
    row, column, width = parts["row"].strip("()"), parts["column"], parts["width"]
    size = _only_size(finding)
    if integer_parameters(lines) == [width] and size is not None and finding.facts.elements == size * size:
        return f"`{row}` and `{column}` must both be less than `{width}`."
    return f"`{column}` must be less than `{width}`, and `{row}` less than the number of rows."


def _only_size(finding: Finding) -> int | None:
    """The size of the example's case, if it has only one."""
    sizes = case_sizes((finding.example and finding.example.case) or "")
    return sizes[0] if len(sizes) == 1 else None


def _stores_together(index: str, code: str) -> bool:
    """Whether the line is one store whose arrays all have this index."""
    accesses = re.findall(r"\b(\w+)\s*\[([^\[\]]*)\]", code)
    store = re.fullmatch(r"\s*\w+\s*\[[^\[\]]*\]\s*=(?!=)[^;{}]*;\s*", code)
    return (
        bool(index and store) and len({name for name, _ in accesses}) > 1 and {used for _, used in accesses} == {index}
    )


def _indices(name: str, code: str) -> list[str]:
    """The indices of the one access to an array in a line; empty for none or several accesses."""
    starts = [match.end() for match in re.finditer(rf"\b{re.escape(name)}\s*(?=\[)", code)]
    rest = code[starts[0] :] if len(starts) == 1 else ""
    found: list[str] = []
    while rest.startswith("["):
        depths = list(accumulate({"[": 1, "]": -1}.get(char, 0) for char in rest))
        if 0 not in depths:
            return []
        end = depths.index(0)
        found.append(rest[1:end].strip())
        rest = rest[end + 1 :].lstrip()
    return found
