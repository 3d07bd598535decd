"""The plan of an operand: a matrix of a case, its values before the launch, and the kernel's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernels.exercise import Binding, Layout, Operand, Role
from kernels.exercise.model import Exercise, MapRule, Parameter
from kernels.exercise.tensor_map import TensorMap
from kernels.exercise.values import ElementType, ValueKind, Values
from kernels.expression import Expression, ExpressionError
from kernels.facts import Element
from kernels.launch import LaunchError, LaunchOverride


@dataclass(frozen=True, slots=True)
class ValuesPlan:
    """How a matrix's elements are made before the launch; see `kernels.exercise.values.Values`."""

    kind: ValueKind
    low: int
    high: int
    entries: int
    longest: int
    columns: int
    rows: str
    numbers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """One matrix of a case: its size, its order in memory, and how the kernel gets it.

    rows: of all planes together
    declaration, line: for a module variable, the required declaration, and its line in the file
    vector: whether its elements have one index
    planes: for elements with three indices; otherwise 0
    values: for the operation SOLUTION, before the launch
    sorted_by: the outputs by which its results are sorted, see `Exercise.sorted_by`
    """

    name: str
    role: Role
    rows: int
    columns: int
    layout: Layout
    binding: Binding
    symbol: str | None
    declaration: str = ""
    line: int | None = None
    vector: bool = False
    planes: int = 0
    type: ElementType = ElementType.FLOAT
    values: ValuesPlan | None = None
    sorted_by: tuple[str, ...] = ()

    def element(self, row: int, column: int) -> Element:
        """An element in the course's notation."""
        if self.vector:
            return Element(self.name, (row,))
        if not self.planes:
            return Element(self.name, (row, column))
        return Element(self.name, (*divmod(row, self.rows // self.planes), column))

    def result(self, row: int, column: int) -> Element:
        """An element as results are compared."""
        if not self.sorted_by:
            return self.element(row, column)
        rows = f"sorted({', '.join(self.sorted_by)})[{row}]"
        return Element("", text=f"{rows}.{self.name}" if len(self.sorted_by) > 1 else rows)

    @property
    def elements(self) -> int:
        return self.rows * self.columns

    @property
    def bytes(self) -> int:
        return self.elements * self.type.bytes

    @property
    def words(self) -> int:
        """The 32-bit words that hold all elements."""
        return -(-self.bytes // 4)

    @property
    def row_length(self) -> int:
        """Elements from one row (in column-major order, one column) to the next in memory."""
        return self.columns if self.layout is Layout.ROW_MAJOR else self.rows


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument: a pointer to `matrix`, the whole number `number`, the float `real`, or the tensor map `map`.

    double: whether `real` has 64 bits
    """

    matrix: str | None
    number: int | None
    real: float | None = None
    double: bool = False
    map: TensorMap | None = None

    @property
    def value(self) -> int | float:
        """The number, for an argument that isn't a pointer. A double is a np.float64, and a float isn't."""
        if self.real is None:
            return int(self.number or 0)
        if not self.double:
            return self.real
        # numpy takes long to load, and a plan alone does without it
        from numpy import float64

        return float64(self.real)


def plan_argument(
    exercise: Exercise,
    parameter: Parameter,
    sizes: Mapping[str, int],
    names: Mapping[str, int],
    comment: LaunchOverride | None = None,
) -> Argument:
    """One argument at these sizes. Raises LaunchError for a tensor map that can't exist.

    comment: the submission's, if it may change tensor maps
    """
    if (rule := parameter.map) is not None:
        if comment is not None:
            box, swizzle = comment.boxes.get(parameter.name), comment.swizzles.get(parameter.name)
            rule = replace(rule, box=box or rule.box, swizzle=swizzle or rule.swizzle)
        return Argument(None, None, map=_plan_map(parameter.name, rule, exercise.operand(rule.operand), names))
    if parameter.value is not None:
        value = parameter.value
        number = value.evaluate(names) if isinstance(value, Expression) else value
        if parameter.ctype in {"float", "double"}:
            return Argument(None, None, float(number), double=parameter.ctype == "double")
        return Argument(None, int(number))
    return Argument(parameter.operand, None if parameter.size is None else sizes[parameter.size])


def _plan_map(name: str, rule: MapRule, operand: Operand, names: Mapping[str, int]) -> TensorMap:
    try:
        tensor_map = rule.resolve(operand, names)
    except ExpressionError as error:
        raise LaunchError(f"The tensor map `{name}` has no value: {error}.") from None
    if problem := tensor_map.problem:
        raise LaunchError(f"The tensor map `{name}` can't exist: {problem}.")
    return tensor_map


def plan_matrix(
    operand: Operand, sorted_by: tuple[str, ...], names: Mapping[str, int], lines: Mapping[str, int]
) -> MatrixPlan:
    """One operand at these sizes. lines: of the file's module variables."""
    rows, columns = operand.shape(names)
    is_variable = operand.binding.is_variable
    return MatrixPlan(
        name=operand.name,
        role=operand.role,
        rows=rows,
        columns=columns,
        layout=operand.layout,
        binding=operand.binding,
        symbol=operand.symbol if is_variable else None,
        declaration=operand.declaration if is_variable else "",
        line=lines.get(operand.symbol) if is_variable else None,
        vector=operand.vector,
        planes=0 if operand.planes is None else operand.planes.evaluate(names),
        type=operand.type,
        values=None if operand.values is None else _plan_values(operand.values, names),
        sorted_by=sorted_by,
    )


def _plan_values(values: Values, names: Mapping[str, int]) -> ValuesPlan:
    low, high, entries, longest, columns = (
        each.evaluate(names) for each in (values.low, values.high, values.entries, values.longest, values.columns)
    )
    return ValuesPlan(values.kind, low, high, entries, longest, columns, values.rows, values.numbers)
