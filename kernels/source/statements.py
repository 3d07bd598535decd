"""The declarations of a file: functions, types and variables outside of any function."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.source.text import Token, closing

_TYPES = {"struct", "class", "union", "enum"}
# Only so many tokens of a declaration decide what it is, so that a strange file takes no longer.
_LONGEST_HEAD = 400


def statements(tokens: list[Token]) -> list[list[Token]]:
    """The declarations at namespace level as tokens. Braces of namespaces and `extern "C"` are separate parts."""
    parts: list[list[Token]] = [[]]
    index = 0
    while index < len(tokens):
        text = tokens[index].text
        inside = text in {"(", "["} or (text == "{" and not opens_a_scope(parts[-1]))
        end = closing(tokens, index) if inside else index + 1
        parts[-1] += tokens[index:end]
        ends_here = text == ";" or (text == "{" and _has_no_semicolon(parts[-1])) or (text == "}")
        if ends_here:
            parts.append([])
        index = end
    return [part for part in parts if part]


def opens_a_scope(head: Sequence[Token]) -> bool:
    """Whether braces after this head contain declarations, as for a namespace or `extern "C"`."""
    texts = [token.text for token in head[:_LONGEST_HEAD]]
    return "namespace" in texts or (texts[:1] == ["extern"] and len(texts) == 2)


def _has_no_semicolon(part: Sequence[Token]) -> bool:
    """Whether a declaration ends with its braces. A function or scope does; a type or initialiser doesn't."""
    texts = [token.text for token in part[:_LONGEST_HEAD]]
    head = texts[: texts.index("{")] if "{" in texts else texts
    return "(" in head or opens_a_scope(part[: len(head)]) or not ({"="} | _TYPES) & set(head)
