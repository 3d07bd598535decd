"""Read a TOML table field by field. `only` refuses unknown fields, and each getter checks the type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from kernels.expression import Expression, ExpressionError
from kernels.launch import Triple, parse_dimensions
from kernels.wording import did_you_mean

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LARGEST = 1 << 20
"""The largest whole number in an exercise, such as a size."""
_MOST_COUNTED = 1e18
_LARGEST_GIVEN, _MOST_NUMBERS = 3e38, 4096

Choice = TypeVar("Choice", bound=StrEnum)


class ExerciseError(ValueError):
    """An exercise that can't be used: the file, the field and the reason."""

    def __init__(self, path: Path, field: str, reason: str) -> None:
        super().__init__(f"{path}: {f'{field}: ' if field else ''}{reason}")
        self.path = path
        self.field = field
        self.reason = reason


class Table:
    """One table of an exercise's file. `where` is its dotted path, for messages."""

    def __init__(self, path: Path, where: str, data: Mapping[str, object]) -> None:
        self._path = path
        self._where = where
        self._data = data

    def error(self, key: str, reason: str) -> ExerciseError:
        return ExerciseError(self._path, f"{self._where}{key}", reason)

    def only(self, *known: str) -> None:
        """Refuse other fields. Call this before any getter: a misspelled field would also be reported as missing."""
        unknown = sorted(self._data.keys() - set(known))
        if unknown:
            reason = f"there is no such field.{did_you_mean(unknown[0], known)} The fields here are: "
            raise self.error(unknown[0], reason + ", ".join(sorted(known)))

    def _get(self, key: str, default: object = None) -> object:
        value = self._data.get(key, default)
        if value is None:
            raise self.error(key, "this field is missing")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string that isn't blank."""
        value = self._get(key, default)
        if not isinstance(value, str) or (key in self._data and not value.strip()):
            raise self.error(key, "expected a string that is not blank")
        return value

    def name(self, key: str, default: str | None = None) -> str:
        value = self.text(key, default)
        if key in self._data and not _IDENTIFIER.fullmatch(value):
            raise self.error(key, "expected a C identifier")
        return value

    def names(self, key: str) -> tuple[str, ...]:
        value = self._list(key)
        names = tuple(item for item in value if isinstance(item, str) and _IDENTIFIER.fullmatch(item))
        if len(names) != len(value) or len(set(names)) != len(names):
            raise self.error(key, "expected a list of different C identifiers")
        return names

    def boolean(self, key: str, *, default: bool) -> bool:
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "expected true or false")
        return value

    def integer(self, key: str) -> int:
        """Return a whole number from 1 up."""
        return self._positive(key, self._get(key))

    def integer_or_none(self, key: str) -> int | None:
        return self.integer(key) if self.has(key) else None

    def has(self, key: str) -> bool:
        return key in self._data

    def integers(self, key: str) -> tuple[int, ...]:
        """Return a list of whole numbers from 1 up, at least one."""
        return tuple(self._positive(key, item) for item in self._list(key))

    def number_or_expression(self, key: str, names: Sequence[str]) -> float | Expression:
        """Return a number from 0 up, or an expression in a string."""
        value = self._get(key)
        if isinstance(value, str):
            return self._expression(key, value, names)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_COUNTED:
            raise self.error(key, "expected a number from 0 up or an expression in a string")
        return float(value)

    def number(self, key: str, default: float) -> float:
        """Return a number from 0 up."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_COUNTED:
            raise self.error(key, "expected a number from 0 up")
        return float(value)

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of numbers, at least one."""
        values = self._list(key)
        numbers = [float(item) for item in values if isinstance(item, int | float) and abs(item) <= _LARGEST_GIVEN]
        if len(numbers) != len(values) or len(values) > _MOST_NUMBERS or bool in map(type, values):
            raise self.error(key, f"expected 1 to {_MOST_NUMBERS:,} numbers of at most {_LARGEST_GIVEN:g}")
        return tuple(numbers)

    def scalar(self, key: str, names: Sequence[str]) -> float | Expression:
        """Return a number, or an expression in a string."""
        value = self._get(key)
        if isinstance(value, float) and abs(value) <= _MOST_COUNTED:
            return value
        return self._expression(key, value, names)

    def integer_of_each(self, names: Sequence[str], *others: str) -> dict[str, int]:
        """Return an integer for each name. others: further fields that this table may have."""
        self.only(*names, *others)
        return {name: self.integer(name) for name in names}

    def choice(self, key: str, kind: type[Choice], default: Choice | None = None) -> Choice:
        return self._choice(key, kind, self._get(key, default))

    def choices(self, key: str, kind: type[Choice]) -> tuple[Choice, ...]:
        """Return a list of an enumeration's values, at least one."""
        return tuple(self._choice(key, kind, item) for item in self._list(key))

    def one_or_more(self, key: str, kind: type[Choice]) -> tuple[Choice, ...]:
        """Return one value of an enumeration, or a list of them."""
        return self.choices(key, kind) if isinstance(self._get(key), list) else (self.choice(key, kind),)

    def table(self, key: str, *, optional: bool = False) -> Table:
        """Return a table inside this one; an empty one if it is optional and missing."""
        return self._table(key, self._get(key, {} if optional else None))

    def tables(self, key: str, *, may_be_empty: bool = False) -> list[Table]:
        value = self._list(key, may_be_empty=may_be_empty)
        return [self._table(f"{key}[{index}]", item) for index, item in enumerate(value)]

    def expression(self, key: str, names: Sequence[str], default: str | None = None) -> Expression:
        """Return an expression (or a plain number) that uses only these names."""
        return self._expression(key, self._get(key, default), names)

    def expressions(self, key: str, names: Sequence[str], *, optional: bool = False) -> dict[str, Expression]:
        """Return a table of expressions, each under an identifier."""
        table = self._table(key, self._get(key, {} if optional else None))
        return {field: table.expression(field, names) for field in table.fields()}

    def fields(self) -> list[str]:
        """Return the fields of a table with free names, which must be identifiers."""
        for field in self._data:
            if not _IDENTIFIER.fullmatch(field):
                raise self.error(field, "expected a C identifier")
        return list(self._data)

    def dimensions(self, key: str, names: Sequence[str], most: int = 3) -> Triple:
        """Return one to `most` expressions in parentheses, as in a launch comment."""
        try:
            triple = parse_dimensions(self.text(key), most)
        except ExpressionError as error:
            raise self.error(key, str(error)) from None
        for expression in triple:
            self._check_names(key, expression, names)
        return triple

    def _list(self, key: str, *, may_be_empty: bool = False) -> list[object]:
        value = self._get(key, [] if may_be_empty else None)
        if not isinstance(value, list) or not (value or may_be_empty):
            raise self.error(key, "expected a list" if may_be_empty else "expected a list with at least one entry")
        return value

    def _table(self, key: str, value: object) -> Table:
        if not isinstance(value, dict):
            raise self.error(key, "expected a table")
        return Table(self._path, f"{self._where}{key}.", value)

    def _positive(self, key: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
            raise self.error(key, f"expected whole numbers from 1 to {LARGEST}")
        return value

    def _choice(self, key: str, kind: type[Choice], value: object) -> Choice:
        try:
            return kind(str(value))
        except ValueError:
            allowed = ", ".join(f'"{member.value}"' for member in kind)
            raise self.error(key, f"expected one of {allowed}") from None

    def _expression(self, key: str, value: object, names: Sequence[str]) -> Expression:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise self.error(key, "expected a whole number or an expression in a string")
        try:
            expression = Expression.parse(str(value))
        except ExpressionError as error:
            raise self.error(key, str(error)) from None
        self._check_names(key, expression, names)
        return expression

    def _check_names(self, key: str, expression: Expression, names: Sequence[str]) -> None:
        unknown = sorted(expression.names - set(names))
        if unknown:
            known = ", ".join(names) or "none"
            raise self.error(key, f"`{unknown[0]}` is not known here; the names known are: {known}")
