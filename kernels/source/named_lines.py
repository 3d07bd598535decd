"""Lines of names that a finding is about and that no instruction of the compiled kernel has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kernels.source.text import Kind, Token, scan
from kernels.verdict import Finding, Verdict

_BOUNDS = "__launch_bounds__"
_GROUP = "tiled_partition"
_NARROW = {"1", "2", "4", "8", "16", "32"}


def point_at_names(findings: Iterable[Finding], text: str) -> tuple[Finding, ...]:
    """The findings; those about a name with its line, where the file has it once."""
    return tuple(replace(each, line=_line(each, text)) for each in findings)


def _line(finding: Finding, text: str) -> int | None:
    if finding.kind is Verdict.RESOURCE_LIMIT and finding.line is None and _BOUNDS in finding.message:
        lines = [line for line, _ in _uses(text, _BOUNDS)]
    elif finding.kind is Verdict.UNSUPPORTED and f"`{_GROUP}<" in finding.message:
        lines = [line for line, argument in _uses(text, _GROUP) if argument not in _NARROW]
    else:
        return finding.line
    return lines[0] if len(lines) == 1 else finding.line


def _uses(text: str, name: str) -> Iterator[tuple[int, str]]:
    """The lines with a name, each with what follows its `<` or `(`."""
    tokens = [item for item in scan(text) if isinstance(item, Token)]
    for index, token in enumerate(tokens):
        if token.kind is Kind.NAME and token.text == name:
            yield token.line, "".join(each.text for each in tokens[index + 2 : index + 3])
