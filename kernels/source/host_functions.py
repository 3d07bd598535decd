"""A student's own host functions: taken out of what is compiled, where the kernel does not need them.

A reference on the host or a function that prints a matrix is right CUDA C++, and nvcc takes it. NVRTC compiles device
code only and refuses it. Its option to treat such functions as device code (`-default-device`) would let too much
through: a helper that the kernel calls and that lacks its `__device__` would pass here and fail with nvcc, and a host
function may use what a device has not. So the lines of these functions are blanked instead, and whatever the kernel
still needs of them shows as an undefined name. All other lines stay where they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kernels.source.conditions import seen_items
from kernels.source.text import Comment, Directive, Item, Kind, Token, closing, scan

_DEVICE = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"}
_TYPES = {"struct", "class", "union", "enum"}


@dataclass(frozen=True, slots=True)
class Blanked:
    """A text without some of its declarations, and by their names the lines by which they were asked for."""

    text: str
    names: Mapping[str, int]


def blank(text: str, lines: Collection[int]) -> Blanked | None:
    """The text without the declarations at namespace level that begin on these lines.

    None where one of them cannot be taken out by whole lines: it is part of a class, shares a line with others, or
    holds preprocessor lines that may matter outside of it.
    """
    items = scan(text)
    statements = _statements([entry.item for entry in seen_items(items) if isinstance(entry.item, Token)])
    wanted, others = [], []
    in_order = sorted(lines)
    for part in statements:
        asked = next((line for line in in_order if part[0].line <= line <= _head_end(part)), None)
        if asked is None:
            others.append(part)
        else:
            wanted.append((part, asked))
    gone = {line for part, _ in wanted for line in _span(part)}
    if not gone.issuperset(lines) or any(line in gone for part in others for line in _span(part)):
        return None
    if any(_reaches_out(item, gone) for item in items):
        return None
    if any(token.text in _DEVICE for part, _ in wanted for token in part):
        return None
    rows = ["" if number in gone else row for number, row in enumerate(text.split("\n"), 1)]
    return Blanked("\n".join(rows), {name: asked for part, asked in wanted for name in _names(part)})


def _reaches_out(item: Item, gone: Collection[int]) -> bool:
    """Whether blanking these lines would change what the compiler reads on others."""
    if isinstance(item, Directive):
        return item.line in gone and item.name != "pragma"
    if isinstance(item, Comment):
        inside = {line in gone for line in range(item.line, item.line + item.text.count("\n") + 1)}
        return len(inside) > 1
    return False


def _statements(tokens: list[Token]) -> list[list[Token]]:
    """The declarations at namespace level; the braces of namespaces and of `extern "C"` stand alone."""
    parts: list[list[Token]] = [[]]
    index = 0
    while index < len(tokens):
        text = tokens[index].text
        end = closing(tokens, index) if text in {"(", "[", "{"} else index + 1
        if text == "{" and _opens_a_scope(parts[-1]):
            end = index + 1
        parts[-1] += tokens[index:end]
        ends_here = text == ";" or (text == "{" and _has_no_semicolon(parts[-1])) or (text == "}")
        if ends_here:
            parts.append([])
        index = end
    return [part for part in parts if part]


def _opens_a_scope(head: Sequence[Token]) -> bool:
    texts = [token.text for token in head]
    return "namespace" in texts or (texts[:1] == ["extern"] and len(texts) == 2)


def _has_no_semicolon(part: Sequence[Token]) -> bool:
    """Whether a declaration ends with its braces: a function or a scope does, a type or an initialiser does not."""
    texts = [token.text for token in part]
    head = texts[: texts.index("{")]
    return "(" in head or _opens_a_scope(part[: len(head)]) or not ({"="} | _TYPES) & set(head)


def _head_end(part: Sequence[Token]) -> int:
    """The last line of a declaration before its body."""
    head = next((token for token in part if token.text == "{"), part[-1])
    return head.line


def _span(part: Sequence[Token]) -> range:
    return range(part[0].line, part[-1].line + 1)


def _names(part: Sequence[Token]) -> list[str]:
    """What a function or the variables of a declaration are called."""
    call = next((index for index, token in enumerate(part) if token.text == "("), None)
    if call:
        return [part[call - 1].text]
    after = [*(token.text for token in part[1:]), ";"]
    return [
        token.text
        for token, following in zip(part, after, strict=True)
        if token.kind is Kind.NAME and following in {";", ",", "=", "[", "{"}
    ]
