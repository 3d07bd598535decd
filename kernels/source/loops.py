"""The line of the source for a finding: the head of its loop, or the line with its name.

The compiler often leaves no instruction of a loop's head, so an endless run shows lines of the body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from kernels.facts import Mistake
from kernels.source.conditions import visible_tokens
from kernels.source.text import Kind, Token, scan
from kernels.verdict import Finding, Verdict

_JUMP = "goto"
_LOOPS = {"for", "while", "do", _JUMP}
_CONDITIONS = {"for", "while", "if", "switch"}
_NO_LABELS = {"default", "public", "private", "protected", "case"}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Statement:
    """A `for`, `while`, `do`, `if`, `switch` or backward `goto`, with its lines from the head to the last token."""

    word: str
    first: int
    last: int
    start: int

    @property
    def is_loop(self) -> bool:
        """Whether it repeats its lines. A `goto` repeats those from its label."""
        return self.word in _LOOPS


def name_loops(findings: Iterable[Finding], text: str) -> tuple[Finding, ...]:
    """The findings. Findings of kind `time_limit` move to the heads of their loops and are merged by line."""
    named: dict[object, Finding] = {}
    for place, finding in enumerate(findings):
        key: object = place
        if finding.kind is Verdict.TIME_LIMIT and finding.line is not None:
            loop = _enclosing(text, finding.line)
            # The line of a wait isn't in an endless loop.
            if loop is not None and finding.facts.mistake is not Mistake.MBARRIER:
                message = f"{finding.message} The loop begins at line {loop.first}."
                finding = replace(finding, line=loop.first, message=message)  # noqa: PLW2901
            key = finding.line, finding.severity
        known = named.get(key)
        named[key] = finding if known is None else replace(known, count=known.count + finding.count)
    return tuple(named.values())


def loop_line(text: str, line: int) -> int:
    """The line of the head of the innermost loop around `line`; the line itself without such a loop.

    A loop is a `for`, `while` or `do` statement, or the code from a label to its `goto`.
    """
    loop = _enclosing(text, line)
    return line if loop is None else loop.first


def statements_around(text: str, line: int) -> list[Statement]:
    """The statements with a condition whose lines include `line`, the innermost first."""
    return [each for each in _from_the_last(text) if each.first <= line <= each.last]


@lru_cache(maxsize=4)  # advice asks for many lines of one text
def _from_the_last(text: str) -> tuple[Statement, ...]:
    tokens = visible_tokens(text)
    return tuple(sorted((*_conditions(tokens), *_jumps(tokens)), key=lambda each: -each.start))


def _enclosing(text: str, line: int) -> Statement | None:
    return next((each for each in statements_around(text, line) if each.is_loop), None)


def _conditions(tokens: list[Token]) -> Iterator[Statement]:
    ends = _statement_ends(tokens)
    # The `while` of a `do` doesn't begin a loop.
    ends_of_do = {ends[index + 1] for index, token in enumerate(tokens) if token.text == "do"}
    for index, token in enumerate(tokens):
        begins = token.text in _CONDITIONS and index not in ends_of_do and _text(tokens, index + 1) == "("
        if begins or token.text == "do":
            yield Statement(token.text, token.line, tokens[ends[index] - 1].line, index)


def _jumps(tokens: list[Token]) -> Iterator[Statement]:
    """Labels with a `goto` back to them."""
    labels: dict[str, int] = {}
    for index, token in enumerate(tokens):
        before = _text(tokens, index - 1) if index else ""
        if token.text == _JUMP and _text(tokens, index + 1) in labels:
            start = labels[tokens[index + 1].text]
            yield Statement(_JUMP, tokens[start].line, tokens[index + 1].line, start)
        elif _is_label(token, before, _text(tokens, index + 1)):
            labels[token.text] = index


def _is_label(token: Token, before: str, after: str) -> bool:
    begins = before in {"", ";", "{", "}", ":", ")"}
    return begins and after == ":" and token.kind is Kind.NAME and token.text not in _NO_LABELS


def _text(tokens: list[Token], index: int) -> str:
    return tokens[index].text if index < len(tokens) else ""


def _statement_ends(tokens: list[Token]) -> list[int]:
    """For each index, the index after a statement that would begin there.

    The work goes from the last token to the first, so the parts of a statement are already known.
    """
    count = len(tokens)
    closes = _closing(tokens)
    # After the next semicolon outside of brackets, or before the brace that closes the enclosing block.
    simple = [count] * (count + 2)
    ends = [count] * (count + 2)
    for index in range(count - 1, -1, -1):
        text = tokens[index].text
        simple[index] = {";": index + 1, "}": index}.get(text, simple[closes.get(index, index + 1)])
        if text in _CONDITIONS and _text(tokens, index + 1) == "(":
            end = ends[closes[index + 1]]
            ends[index] = ends[end + 1] if text == "if" and _text(tokens, end) == "else" else end
        elif text == "do":
            ends[index] = simple[ends[index + 1]]
        else:
            ends[index] = closes[index] if text == "{" else simple[index]
    return ends


def _closing(tokens: list[Token]) -> dict[int, int]:
    """For the index of each opening bracket, the index after its closing bracket, or the end."""
    closes: dict[int, int] = {}
    waiting: dict[str, list[int]] = {closer: [] for closer in _BRACKETS.values()}
    for index, token in enumerate(tokens):
        if token.text in _BRACKETS:
            closes[index] = len(tokens)
            waiting[_BRACKETS[token.text]].append(index)
        elif waiting.get(token.text):
            closes[waiting[token.text].pop()] = index + 1
    return closes


_BOUNDS = "__launch_bounds__"
_GROUP = "tiled_partition"
_NARROW = {"1", "2", "4", "8", "16", "32"}


def point_at_names(findings: Iterable[Finding], text: str) -> tuple[Finding, ...]:
    """The findings, with the line of the name that a finding is about, if the file has it once."""
    return tuple(replace(finding, line=_line(finding, text)) for finding in findings)


def _line(finding: Finding, text: str) -> int | None:
    if finding.facts.mistake is Mistake.LAUNCH_BOUNDS and finding.line is None:
        lines = [line for line, _ in _uses(text, _BOUNDS)]
    elif finding.facts.mistake is Mistake.LARGE_GROUP:
        lines = [line for line, argument in _uses(text, _GROUP) if argument not in _NARROW]
    else:
        return finding.line
    return lines[0] if len(lines) == 1 else finding.line


def _uses(text: str, name: str) -> Iterator[tuple[int, str]]:
    """The lines with a name, each with the token after its `<` or `(`."""
    tokens = [item for item in scan(text) if isinstance(item, Token)]
    for index, token in enumerate(tokens):
        if token.kind is Kind.NAME and token.text == name:
            yield token.line, "".join(token.text for token in tokens[index + 2 : index + 3])
