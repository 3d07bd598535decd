"""The parts of a file that the compiler will see, as far as conditional compilation can be decided beforehand.

A part that may or may not be compiled counts as seen. The source rules then report too much, not too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernels.source.text import Directive, Item, Kind, Token, scan

# The known state of macros when Tilelab compiles. A file that defines or undefines a macro makes it unknown.
_DEFINED = {"TILELAB", "__CUDACC__", "__CUDACC_RTC__", "__CUDA_ARCH__"}
_UNDEFINED = {"__NVCC__", "__INTELLISENSE__", "_WIN32", "WIN32", "_MSC_VER"}
_CONDITIONALS = {"if", "ifdef", "ifndef", "elif", "else", "endif"}


@dataclass(frozen=True, slots=True)
class VisibleItem:
    """An item that the compiler may see.

    undefined: the macros that are certainly undefined at the item
    certain: whether the compiler certainly sees it
    """

    item: Item
    undefined: frozenset[str]
    certain: bool = True


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition's value, if certain, and its implications for macros.

    needs_undefined: the macros that are undefined if it is true
    only_defined: the macro that is undefined if it is false, for a plain `defined(X)`
    """

    value: bool | None
    needs_undefined: frozenset[str] = frozenset()
    only_defined: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Branch:
    """Whether the compiler may or certainly does see a branch, and the undefined macros in it."""

    seen: bool = True
    undefined: frozenset[str] = frozenset()
    certain: bool = True


@dataclass(slots=True)
class _Frame:
    """One open #if.

    outer: the branch around it
    settled: whether an earlier branch was certainly taken
    open: whether an earlier branch may have been taken
    """

    outer: _Branch
    branch: _Branch
    settled: bool
    otherwise_undefined: frozenset[str]
    open: bool = False

    def enter(self, value: bool | None, undefined: frozenset[str]) -> None:
        """Start the branch of the next items. value: of its condition."""
        outer = self.outer
        self.branch = _Branch(
            seen=outer.seen and value is not False,
            undefined=outer.undefined | undefined,
            certain=outer.certain and value is True and not self.open,
        )
        self.open = self.open or value is None


def visible_items(items: Sequence[Item], undefined: frozenset[str] = frozenset()) -> list[VisibleItem]:
    """The items outside branches that are certainly skipped. undefined: macros to take as undefined everywhere."""
    facts = _facts(items) | dict.fromkeys(undefined, False)
    frames: list[_Frame] = []
    result: list[VisibleItem] = []
    for item in items:
        if isinstance(item, Directive) and item.name in _CONDITIONALS:
            _step(item, frames, facts)
            branch = frames[-1].outer if frames else _Branch()
        else:
            branch = frames[-1].branch if frames else _Branch()
        if branch.seen:
            result.append(VisibleItem(item, branch.undefined, branch.certain))
    return result


def visible_tokens(text: str) -> list[Token]:
    """The tokens of the code outside branches that are certainly skipped."""
    return [entry.item for entry in visible_items(scan(text)) if isinstance(entry.item, Token)]


def _facts(items: Iterable[Item]) -> dict[str, bool]:
    facts = dict.fromkeys(_DEFINED, True) | dict.fromkeys(_UNDEFINED, False)
    for item in items:
        if isinstance(item, Directive) and item.name in {"define", "undef"} and item.tokens:
            facts.pop(item.tokens[0].text, None)
    return facts


def _step(directive: Directive, frames: list[_Frame], facts: dict[str, bool]) -> None:
    """Open, change or close a frame."""
    name = directive.name
    if name in {"if", "ifdef", "ifndef"}:
        condition = _condition(directive, facts)
        outer = frames[-1].branch if frames else _Branch()
        frame = _Frame(outer, outer, condition.value is True, condition.only_defined)
        frame.enter(condition.value, condition.needs_undefined)
        frames.append(frame)
    elif not frames:
        return
    elif name == "endif":
        frames.pop()
    else:
        frame = frames[-1]
        condition = _condition(directive, facts) if name == "elif" else _Condition(value=True)
        value = False if frame.settled else condition.value
        frame.enter(value, condition.needs_undefined | frame.otherwise_undefined)
        frame.settled = frame.settled or condition.value is True
        frame.otherwise_undefined |= condition.only_defined


def _condition(directive: Directive, facts: dict[str, bool]) -> _Condition:
    """Read a condition. Only simple forms joined by && or || can be certain."""
    tokens = list(directive.tokens)
    if directive.name in {"ifdef", "ifndef"}:
        return _definedness(tokens[0], facts, negated=directive.name == "ifndef") if tokens else _Condition(None)
    texts = {token.text for token in tokens}
    if {"&&", "||"} <= texts:
        return _Condition(None)
    joint = "||" if "||" in texts else "&&"
    parts = [_simple(part, facts) for part in _split(tokens, joint)]
    if len(parts) == 1:
        return parts[0]
    values = {part.value for part in parts}
    decisive = joint == "||"
    value = decisive if decisive in values else (None if None in values else not decisive)
    if joint == "||":
        return _Condition(value)
    return _Condition(value, frozenset[str]().union(*(part.needs_undefined for part in parts)))


def _split(tokens: list[Token], joint: str) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.text == joint:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _simple(tokens: list[Token], facts: dict[str, bool]) -> _Condition:
    """`0`, `1`, `X`, `!X`, `defined X`, `defined(X)`, `!defined(X)`."""
    rest = [token for token in tokens if token.text not in {"(", ")"}]
    negated = False
    while rest and rest[0].text == "!":
        negated = not negated
        rest = rest[1:]
    if len(rest) == 1 and rest[0].text in {"0", "1"}:
        return _Condition((rest[0].text == "1") != negated)
    if len(rest) == 1 and rest[0].kind is Kind.NAME:
        known = facts.get(rest[0].text)
        return _Condition(None if known is None else known != negated)
    if len(rest) == 2 and rest[0].text == "defined":
        return _definedness(rest[1], facts, negated=negated)
    return _Condition(None)


def _definedness(token: Token, facts: dict[str, bool], *, negated: bool) -> _Condition:
    known = facts.get(token.text)
    value = None if known is None else known != negated
    name = frozenset({token.text})
    return _Condition(value, needs_undefined=name) if negated else _Condition(value, only_defined=name)
