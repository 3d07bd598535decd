"""Integer expressions such as `ceil(Width/TILE_WIDTH)`: parsed into a small tree, never evaluated as Python.

They appear in exercises (sizes, launches), in a submission's launch comment, and in its integer macros. As in C, `/`
and `%` truncate toward zero. Only the quotient of `ceil(a/b)` is exact, so `ceil(Width/16)` has the value that a
student expects. Divisions within `a` and `b` truncate, too.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

LONGEST = 240
DEEPEST = 24
LARGEST = 1 << 63
_MOST_SHIFT = 62

Evaluation = Callable[[Mapping[str, int]], int]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]{0,3}(?![\w.])|(?P<name>[A-Za-z_]\w*)|(?P<operator><<|>>|[-+*/%(),]))",
    re.ASCII,
)
_FLOAT_NUMBER = re.compile(r"(?<![\w.])([0-9]+)(?:\.0*[fF]?|[fF])(?![\w.])", re.ASCII)
_FLOAT_CAST = re.compile(r"\(\s*(?:float|double)\s*\)\s*")
_FLOAT_CALL = re.compile(r"\bceilf\s*\(")
_PRECEDENCE = {"<<": 1, ">>": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}
_ARITY = {"ceil": (1, 1), "min": (2, 8), "max": (2, 8)}


class ExpressionError(ValueError):
    """An expression that can't be read or has no value; the message is a clause for the student."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A number, a name, or an operation (`+`, `neg`, `ceil`, ...) on its operands."""

    operation: str
    operands: tuple[_Node, ...] = ()
    value: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression.

    value: its value for numbers that have all of its names; raises ExpressionError for a division by zero
    cost: how many operations on whole numbers one evaluation takes
    """

    text: str
    names: frozenset[str]
    _root: _Node
    value: Evaluation = field(compare=False, repr=False)
    cost: int = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Read an expression; raise ExpressionError with the reason if it isn't one."""
        if len(text) > LONGEST:
            raise ExpressionError(f"it is longer than {LONGEST} characters")
        if (whole := _without_floats(text)) != text:
            raise ExpressionError(_no_floats(whole))
        parser = _Parser(_tokens(text))
        root = parser.binary(1, 0)
        parser.finish()
        return cls(text.strip(), frozenset(parser.names), root, _compiled(root), _cost(root))

    def __reduce__(self) -> tuple[Callable[[str], Expression], tuple[str]]:
        return Expression.parse, (self.text,)  # functions can't be pickled

    def evaluate(self, env: Mapping[str, int]) -> int:
        """The value with the names in `env`; raise ExpressionError on an unknown name or a division by zero."""
        if not self.names <= env.keys():
            unknown = sorted(self.names - env.keys())
            known = ", ".join(sorted(env)) or "none"
            raise ExpressionError(f"`{unknown[0]}` isn't known here; known names are: {known}")
        return self.value(env)


def value_of(text: str, names: Mapping[str, int]) -> int | None:
    """The value of an expression; None if it has none."""
    try:
        return Expression.parse(text).evaluate(names)
    except ExpressionError:
        return None


def _without_floats(text: str) -> str:
    """The text without floating-point numbers and casts, which C needs and an exact division doesn't."""
    return _FLOAT_CALL.sub("ceil(", _FLOAT_CAST.sub("", _FLOAT_NUMBER.sub(r"\1", text)))


def _no_floats(whole: str) -> str:
    if "ceil(" in whole:
        return f"`ceil(a/b)` is exact here, so write `{whole.strip()}`"
    return "use whole numbers only; a division is exact only as `ceil(a/b)`"


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            rest = text[position:].strip()
            raise ExpressionError(f"`{rest[:20]}` is not an integer expression")
        kind = match.lastgroup or ""
        tokens.append((kind, match.group(kind)))
        position = match.end()
    if not tokens:
        raise ExpressionError("it is empty")
    return tokens


class _Parser:
    """Precedence climbing over the tokens, with a limit on the depth."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.position = 0
        self.names: set[str] = set()

    def peek(self) -> tuple[str, str]:
        """The next token, ("end", "") after the last."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ("end", "")

    def take(self) -> tuple[str, str]:
        token = self.peek()
        self.position += 1
        return token

    def expect(self, text: str) -> None:
        found = self.take()[1]
        if found != text:
            raise ExpressionError(f"expected `{text}`, found {f'`{found}`' if found else 'the end'}")

    def finish(self) -> None:
        """Refuse tokens after the expression."""
        if self.peek()[0] != "end":
            raise ExpressionError(f"unexpected `{self.peek()[1]}`")

    def binary(self, lowest: int, depth: int) -> _Node:
        """Operators of at least that precedence, left to right."""
        left = self.unary(depth)
        while (precedence := _PRECEDENCE.get(self.peek()[1], 0)) >= lowest:
            sign = self.take()[1]
            left = _Node(sign, (left, self.binary(precedence + 1, depth + 1)))
        return left

    def unary(self, depth: int) -> _Node:
        """A sign, a number, a name, a call or a parenthesis."""
        if depth > DEEPEST:
            raise ExpressionError("it is nested too deeply")
        kind, text = self.take()
        if text in {"-", "+"}:
            operand = self.unary(depth + 1)
            return _Node("neg", (operand,)) if text == "-" else operand
        if kind == "number":
            return _number(text)
        if kind == "name":
            if text in _ARITY and self.peek()[1] == "(":
                return self.call(text, depth + 1)
            self.names.add(text)
            return _Node("name", name=text)
        if text == "(":
            inner = self.binary(1, depth + 1)
            self.expect(")")
            return inner
        raise ExpressionError(f"expected a number or a name, found {f'`{text}`' if text else 'the end'}")

    def call(self, function: str, depth: int) -> _Node:
        self.expect("(")
        arguments = [self.binary(1, depth)]
        while self.peek()[1] == ",":
            self.take()
            arguments.append(self.binary(1, depth))
        self.expect(")")
        least, most = _ARITY[function]
        if not least <= len(arguments) <= most:
            raise ExpressionError(f"`{function}` takes {'one argument' if most == 1 else 'two or more arguments'}")
        if function == "ceil":
            _check_quotient(arguments[0])
        return _Node(function, tuple(arguments))


def _number(text: str) -> _Node:
    """A literal. C's octal numbers are refused, because a student would read them as decimal."""
    if len(text) > 1 and text[0] == "0" and text[1] not in "xX":
        raise ExpressionError(f"`{text}` is octal in C; write it without the leading zero")
    value = int(text, 0)
    if value >= LARGEST:
        raise ExpressionError(f"`{text}` is too large")
    return _Node("number", value=value)


def _check_quotient(inside: _Node) -> None:
    """Refuse divisions whose meaning inside `ceil` isn't plain: C truncates them, and a reader may expect otherwise."""
    if inside.operation == "/":
        if inside.operands[0].operation == "/":
            raise ExpressionError("`ceil` has two divisions in a row; write `ceil(a/(b*c))` instead of `ceil(a/b/c)`")
    elif _divides(inside):
        raise ExpressionError("`ceil` rounds one quotient up; write `ceil(a/b)`, and other operations around it")


def _divides(node: _Node) -> bool:
    return node.operation == "/" or (node.operation != "ceil" and any(map(_divides, node.operands)))


def _cost(node: _Node) -> int:
    return 1 + sum(map(_cost, node.operands))


def _compiled(node: _Node) -> Evaluation:
    """The function that gives a tree's value."""
    if node.operation == "number":
        value = node.value
        return lambda _: value
    if node.operation == "name":
        return operator.itemgetter(node.name)
    if node.operation == "ceil":
        return _compiled_ceiling(node.operands[0])
    operands = [_compiled(operand) for operand in node.operands]
    if node.operation in _OF_SEVERAL:
        several = _OF_SEVERAL[node.operation]
        return lambda env: several([operand(env) for operand in operands])
    left, right = operands[0], operands[-1]
    if node.operation == "neg":
        return lambda env: -left(env)
    combine = _COMBINE[node.operation]
    return lambda env: combine(left(env), right(env))


def _compiled_ceiling(inside: _Node) -> Evaluation:
    if inside.operation != "/":
        return _compiled(inside)  # whole already
    left, right = map(_compiled, inside.operands)
    return lambda env: _ceiling(left(env), right(env))


def _ceiling(left: int, right: int) -> int:
    _check_divisor(right)
    return -(-left // right)


def _quotient(left: int, right: int) -> int:
    """The quotient truncated toward zero."""
    _check_divisor(right)
    whole = (-left if left < 0 else left) // (-right if right < 0 else right)
    return whole if (left < 0) == (right < 0) else -whole


def _remainder(left: int, right: int) -> int:
    return left - right * _quotient(left, right)


def _check_divisor(right: int) -> None:
    if right == 0:
        raise ExpressionError("it divides by zero")


def _shift_left(left: int, right: int) -> int:
    return left << _bits("<<", right)


def _shift_right(left: int, right: int) -> int:
    return left >> _bits(">>", right)


def _bits(shift: str, right: int) -> int:
    if not 0 <= right <= _MOST_SHIFT:
        raise ExpressionError(f"`{shift}` must shift by 0 to {_MOST_SHIFT} bits")
    return right


_OF_SEVERAL: Mapping[str, Callable[[list[int]], int]] = {"min": min, "max": max}
_COMBINE: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": _remainder,
    "<<": _shift_left,
    ">>": _shift_right,
}
