"""Read the operands and parameters of an exercise from their tables."""

from __future__ import annotations

from kernels.exercise.model import FIXED, Binding, Layout, Operand, Parameter, Role
from kernels.exercise.table import Table
from kernels.exercise.values import ElementType, ValueKind, Values

_NUMBERS = ("int", "unsigned int", "unsigned", "long long", "float", "double")


def read_parameter(table: Table, names: tuple[str, ...]) -> Parameter:
    """Read one parameter of the kernel. names: for its value."""
    table.only("type", "name", "operand", "size", "value")
    parameter = Parameter(
        ctype=table.text("type"),
        name=table.name("name"),
        operand=table.name("operand", default="") or None,
        size=table.name("size", default="") or None,
        value=table.scalar("value", names) if table.has("value") else None,
    )
    if sum(each is not None for each in (parameter.operand, parameter.size, parameter.value)) != 1:
        raise table.error("operand", "a parameter carries either an `operand`, a `size` or a `value`")
    pointers = [f"{const}{each}*" for each in _pointed() for const in ("", "const ")]
    expected = pointers if parameter.operand else _NUMBERS if parameter.value is not None else ("int",)
    if parameter.ctype not in expected:
        raise table.error("type", f"expected {' or '.join(f'`{ctype}`' for ctype in expected)}")
    if isinstance(parameter.value, float) and parameter.ctype not in {"float", "double"}:
        raise table.error("value", f"an `{parameter.ctype}` is a whole number")
    return parameter


def _pointed() -> tuple[str, ...]:
    return tuple(spelling for element_type in ElementType for spelling in element_type.spellings)


def read_operand(table: Table, names: tuple[str, ...]) -> Operand:
    """Read one operand. names: for its extents and values."""
    table.only("name", "role", "planes", "rows", "cols", "layout", "binding", "symbol", "type", "values", "order")
    name = table.name("name")
    vector = not table.has("cols")
    if vector and table.has("planes"):
        raise table.error("planes", "an operand with `planes` also has `rows` and `cols`")
    if table.has("planes") and table.has("layout"):
        raise table.error("layout", "an operand with `planes` is in row-major order")
    return Operand(
        name=name,
        role=table.choice("role", Role),
        rows=table.expression("rows", names),
        cols=table.expression("cols", names, default="1"),
        layout=table.choice("layout", Layout, default=Layout.ROW_MAJOR),
        binding=table.choice("binding", Binding, default=Binding.PARAMETER),
        symbol=table.name("symbol", default=name),
        vector=vector,
        planes=table.expression("planes", names) if table.has("planes") else None,
        type=table.choice("type", ElementType, default=ElementType.FLOAT),
        values=_values(table.table("values"), names) if table.has("values") else None,
        order=table.name("order", default=FIXED),
    )


def _values(table: Table, names: tuple[str, ...]) -> Values:
    kind = table.choice("kind", ValueKind)
    table.only("kind", *kind.fields)
    default = Values(kind)
    if kind is ValueKind.ROW_COLUMNS:
        return Values(kind, rows=table.name("rows"), columns=table.expression("columns", names))
    if kind is ValueKind.ROW_STARTS:
        entries, longest = (table.expression(key, names) for key in ("entries", "longest"))
        return Values(kind, entries=entries, longest=longest)
    if kind is ValueKind.GIVEN:
        return Values(kind, numbers=table.numbers("numbers"))
    if not kind.fields:
        return default
    low, high = ("0", "255") if kind is ValueKind.IMAGE else (default.low.text, default.high.text)
    return Values(kind, table.expression("low", names, low), table.expression("high", names, high))
