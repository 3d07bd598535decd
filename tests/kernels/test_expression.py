"""Expressions: their values, their limits, and that nothing but an ExpressionError comes out of bad text."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.expression import Expression, ExpressionError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("0x1F", 31),
        ("16u", 16),
        ("1024UL", 1024),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("10 - 4 - 3", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 % 3", -1),
        ("--5", 5),
        ("1 << 4 + 1", 32),
        ("64 >> 2", 16),
        ("ceil(17 / 16)", 2),
        ("ceil(16 / 16)", 1),
        ("ceil(-17 / 16)", -1),
        ("ceil(((Width - 4) / 2 + 1) / 2)", 4),
        ("ceil((Width / 2 * 2) / TILE_WIDTH)", 1),
        ("ceil(Width / (7 / 2))", 6),
        ("ceil(ceil(Width / 4) / 2)", 3),
        ("ceil(ceil(Width / 4) + 1)", 6),
        ("ceil(Width)", 17),
        ("min(3, 2, 5)", 2),
        ("max(3, Width)", 17),
        ("(Width + TILE_WIDTH - 1) / TILE_WIDTH", 2),
        ("ceil(Width / TILE_WIDTH) * 4", 8),
    ],
)
def test_values_are_those_of_c(text, value):
    assert Expression.parse(text).evaluate({"Width": 17, "TILE_WIDTH": 16}) == value


def test_an_expression_is_the_same_after_pickling():
    text = " ceil(Width / TILE_WIDTH) "
    found = pickle.loads(pickle.dumps(Expression.parse(text)))
    assert found == Expression.parse(text)
    assert found.evaluate({"Width": 17, "TILE_WIDTH": 16}) == 2


@given(st.integers(0, 10**6), st.integers(1, 10**4))
def test_ceil_of_a_quotient_is_the_exact_ceiling(a, b):
    assert Expression.parse("ceil(a/b)").evaluate({"a": a, "b": b}) == (a + b - 1) // b


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("2 +", "found the end"),
        ("(2", "expected `)`"),
        ("2 3", "unexpected `3`"),
        ("2.5", "is not an integer expression"),
        ("16abc", "is not an integer expression"),
        ("010", "octal"),
        ("ceil(1, 2)", "one argument"),
        ("ceil(Width / 2 / 3)", "two divisions in a row"),
        ("ceil((Width / 2) / 3)", "two divisions in a row"),
        ("ceil(Width / 2 + 1)", "rounds one quotient up"),
        ("ceil(max(Width / 2, 1))", "rounds one quotient up"),
        ("ceil(-(Width / 2))", "rounds one quotient up"),
        ("min(1)", "two or more"),
        ("__import__('os')", "is not an integer expression"),
        ("a.b", "is not an integer expression"),
        ("2 ** 3", "expected a number or a name"),
        ("(" * 100 + "1" + ")" * 100, "too deeply"),
        ("-" * 100 + "1", "too deeply"),
        ("1+" * 200 + "1", "longer than"),
        ("9" * 30, "too large"),
        ("٣", "is not an integer expression"),
    ],
)
def test_text_that_is_no_expression_is_refused_with_the_reason(text, reason):
    with pytest.raises(ExpressionError, match=_escaped(reason)):
        Expression.parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 / (Width - 17)", "divides by zero"),
        ("1 % 0", "divides by zero"),
        ("ceil(1 / 0)", "divides by zero"),
        ("1 << 99", "must shift by"),
        ("Height", "`Height` isn't known here; known names are: TILE_WIDTH, Width"),
    ],
)
def test_an_expression_without_a_value_says_why(text, reason):
    with pytest.raises(ExpressionError, match=_escaped(reason)):
        Expression.parse(text).evaluate({"Width": 17, "TILE_WIDTH": 16})


def test_a_function_name_without_parentheses_is_a_name():
    assert Expression.parse("min + 1").names == {"min"}


@given(st.text(alphabet="0123456789abW+-*/%()<>, ceilmnx", max_size=60))
def test_any_text_gives_a_value_or_an_expression_error(text):
    try:
        expression = Expression.parse(text)
        value = expression.evaluate(dict.fromkeys(expression.names, 3))
    except ExpressionError:
        return
    assert isinstance(value, int)


def _escaped(text: str) -> str:
    import re

    return re.escape(text)
