"""A source as statements in a normal form: without layout, comments and parentheses, and names by their kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernels.source.kernel import find_kernels
from kernels.source.text import Comment, Directive, Item, Kind, Token, scan

MOST_TOKENS = 4_000
"""Longer sources are compared up to here. A kernel has a few hundred tokens."""

_MOST_TEXT = 32_768
_LONGEST_STATEMENT = 200
_HEADS = {"if", "while", "for", "switch"}
_DROPPED = {
    "(", ")", "else", "do", "const", "constexpr", "static", "inline", "__forceinline__", "__restrict__", "__restrict",
    "restrict", "volatile", "register",
}  # fmt: skip
_WHOLE = {"int", "unsigned", "signed", "size_t", "long", "short", "uint", "int32_t", "uint32_t", "auto"}
_REAL = {"float", "double"}
_KNOWN = _WHOLE | _REAL | {
    "void", "bool", "char", "dim3", "float2", "float4", "struct", "threadIdx", "blockIdx", "blockDim", "gridDim",
    "__shared__", "__global__", "__device__", "__syncthreads", "if", "for", "while", "switch", "case",
    "break", "continue", "return", "true", "false", "extern", "fmaf", "__fmaf_rn", "min", "max", "ceil", "ceilf",
    "floor", "sizeof", "template", "typename", "using", "namespace", "define", "pragma", "unroll", "undef",
}  # fmt: skip
_CONDITIONS = {"include", "ifndef", "ifdef", "if", "else", "elif", "endif", "error", "line"}
_TURNED = {">": "<", ">=": "<="}
_ARITHMETIC = {"+", "-", "*", "/", "%", "&", "|"}


@dataclass(frozen=True, slots=True)
class Statement:
    """The tokens of a statement, or of a part of a loop's head. end: its last line."""

    line: int
    end: int
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """The statements of a source. kinds: what each of the author's names is; comments: their texts."""

    statements: tuple[Statement, ...]
    kinds: Mapping[str, str]
    comments: tuple[str, ...]

    @property
    def plain(self) -> str:
        """The code alone. Two files with the same code differ only in layout, comments and parentheses."""
        return ";".join(" ".join(statement.texts) for statement in self.statements)


def read_code(source: str) -> Code:
    """Read any text. What isn't C++ becomes statements of some kind."""
    items = scan(source[:_MOST_TEXT].replace("\r\n", "\n"))[:MOST_TOKENS]
    statements = tuple(_statements(items))
    kinds = _kinds(statements)
    for kernel in find_kernels([item for item in items if isinstance(item, Token)])[:1]:
        for place, parameter in enumerate(kernel.parameters):
            names = [token.text for token in parameter if token.text in kinds]
            kinds.update((name, f"parameter{place}") for name in names[-1:])
    comments = (" ".join(item.text.split()) for item in items if isinstance(item, Comment))
    return Code(statements, kinds, tuple(filter(None, comments)))


def normal(statement: Statement) -> list[str]:
    """The statement's tokens for sorting: the same for `a > b` and `b < a`, and for all forms of an assignment."""
    return _assignment([_TURNED.get(text, text) for text in statement.texts])


def _assignment(texts: list[str]) -> list[str]:
    """`x++` and `x += 1` as `x = x + 1`."""
    for place in range(len(texts) - 1):
        sign, following = texts[place], texts[place + 1]
        if sign in {"+", "-"} and following == sign:
            name = [text for text in texts if text != sign]
            return [*name, "=", *name, sign, "1"]
        if sign in _ARITHMETIC and following == "=":
            target = texts[:place]
            return [*target, "=", *target, sign, *texts[place + 2 :]]
    return texts


def _statements(items: Sequence[Item]) -> Iterator[Statement]:
    part: list[Token] = []
    depth = 0
    head = False
    for item in items:
        if isinstance(item, Comment):
            continue
        if isinstance(item, Directive):
            yield from _one(part)
            part = []
            if item.name not in _CONDITIONS:
                yield Statement(item.line, item.line, (item.name, *_texts(item.tokens)))
            continue
        head = head or item.text in _HEADS
        depth = max(0, depth + (item.text == "(") - (item.text == ")"))
        ends = item.text in {"{", "}", ";"}
        if not ends:
            part.append(item)
        if head and item.text == ")" and not depth:
            head, ends = False, True
        if ends or item.text == "else":
            yield from _one(part)
            part = []
    yield from _one(part)


def _one(tokens: Sequence[Token]) -> Iterator[Statement]:
    texts = _texts(tokens)
    if texts:
        yield Statement(tokens[0].line, tokens[-1].line, texts)


def _texts(tokens: Sequence[Token]) -> tuple[str, ...]:
    texts: list[str] = []
    for token in tokens[:_LONGEST_STATEMENT]:
        text = "int" if token.text in _WHOLE else "float" if token.text in _REAL else token.text
        if token.kind is Kind.NUMBER:
            text = _number(text)
        if texts[-1:] == ["."]:
            texts[-1] += text
        elif text not in _DROPPED and not (text == "int" and texts[-1:] == ["int"]):
            texts.append(text)
    return tuple(texts)


def _number(text: str) -> str:
    try:
        return f"{float(text.rstrip('fFuUlL')):g}"
    except ValueError:
        return text


def _kinds(statements: Sequence[Statement]) -> dict[str, str]:
    """What each of the author's names is, by its declaration."""
    kinds: dict[str, str] = {}
    for statement in statements:
        if statement.texts[0] == "define":
            kinds.update((name, "macro") for name in statement.texts[1:2])
        for name, kind in _used(statement.texts):
            if kinds.get(name, "other") == "other":
                kinds[name] = kind
    return kinds


def _used(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each name with its kind, if this is its declaration."""
    declared = "shared" if "__shared__" in texts else "other"
    value = False
    for place, text in enumerate(texts):
        if text in _WHOLE | _REAL and declared != "shared":
            declared = "whole" if text in _WHOLE else "real"
        elif text in {"=", ","}:
            value = text == "="
        elif (text[:1].isalpha() or text[:1] == "_") and text not in _KNOWN:
            pointer = declared in {"whole", "real"} and texts[place - 1] == "*"
            yield text, "other" if value else "pointer" if pointer else declared
