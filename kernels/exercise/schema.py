"""Read an exercise from its folder or a text. Fields are typed, unknown ones refused; errors name field and reason."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from kernels.exercise.checks import check_whole
from kernels.exercise.model import (
    FIXED,
    AnalysisRule,
    Binding,
    CaseRule,
    Constant,
    Exercise,
    FurtherLaunch,
    GoalRule,
    InputKind,
    Layout,
    MapRule,
    Metric,
    Operand,
    Operation,
    Parameter,
    Role,
)
from kernels.exercise.model import JUDGE_VERSION as JUDGE_VERSION  # noqa: PLC0414 - for whoever keeps what depends on it
from kernels.exercise.table import ExerciseError, Table
from kernels.exercise.tensor_map import MAP_TYPE, MOST_DIMENSIONS, Outside
from kernels.exercise.values import ElementType, Tolerance, ValueKind, Values, WorkRule
from kernels.launch import SHARED_BYTES, LaunchRule
from kernels.toml_text import read_toml
from kernels.verdict import Severity

_NUMBERS = ("int", "unsigned int", "unsigned", "long long", "float", "double")


def read_parameter(table: Table, names: tuple[str, ...]) -> Parameter:
    """Read one parameter of the kernel. names: for its value."""
    table.only("type", "name", "operand", "size", "value", "map")
    parameter = Parameter(
        ctype=table.text("type"),
        name=table.name("name"),
        operand=table.name("operand", default="") or None,
        size=table.name("size", default="") or None,
        value=table.scalar("value", names) if table.has("value") else None,
        map=_map(table.table("map"), names) if table.has("map") else None,
    )
    given = parameter.operand, parameter.size, parameter.value, parameter.map
    if sum(each is not None for each in given) != 1:
        raise table.error("operand", "a parameter carries either an `operand`, a `size`, a `value` or a `map`")
    pointers = tuple(f"{const}{each}*" for each in _pointed() for const in ("", "const "))
    expected = pointers if parameter.operand else _NUMBERS if parameter.value is not None else ("int",)
    if parameter.map is not None:
        expected = (MAP_TYPE,)
    if parameter.ctype not in expected:
        raise table.error("type", f"expected {' or '.join(f'`{ctype}`' for ctype in expected)}")
    if isinstance(parameter.value, float) and parameter.ctype not in {"float", "double"}:
        raise table.error("value", f"an `{parameter.ctype}` is a whole number")
    return parameter


def _map(table: Table, names: tuple[str, ...]) -> MapRule:
    table.only("operand", "box", "swizzle", "outside", "extents", "interleave")
    return MapRule(
        operand=table.name("operand"),
        box=table.dimensions("box", names, MOST_DIMENSIONS),
        swizzle=table.expression("swizzle", names, default="0"),
        nan=table.choice("outside", Outside, default=Outside.ZERO) is Outside.NAN,
        extents=table.dimensions("extents", names, MOST_DIMENSIONS) if table.has("extents") else (),
        interleave=table.integer_or_none("interleave") or 0,
    )


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


DEFINITION = "exercise.toml"
_FILES = (DEFINITION, "handout.md", "starter.cu", "solution.cu")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NAME_RULE = "small letters, digits, single hyphens"
_FIELDS = (
    "title", "operation", "kernel", "sizes", "metric", "largest_on_cpu", "parameters", "operands", "tile", "launch",
    "ranking", "analysis", "phases", "cases", "macros", "size_macros", "constants", "section", "fmad", "max_registers",
    "warp_races", "goals", "curve", "tolerance", "work", "solution", "then",
)  # fmt: skip
_LAUNCH = ("grid", "block", "shared", "cluster")
# Fields that change no verdict and no measurement.
_OUTSIDE_DIGEST = {"title", "analysis", "curve", "phases", "goals"}


def load_exercise(folder: Path) -> Exercise:
    """Read the exercise in a folder. Raise ExerciseError with the file, the field and the reason."""
    path = folder / DEFINITION
    if not _NAME.fullmatch(folder.name):
        raise ExerciseError(folder, "", f"a folder's name is the exercise's: {_NAME_RULE}")
    for file in _FILES:
        if not (folder / file).is_file():
            raise ExerciseError(folder / file, "", "this file is missing")
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ExerciseError(path, "", f"this is not TOML: {error}") from None
    return _whole(folder.name, with_solution(text, _solution_in(folder)), path, folder)


def definition_in(folder: Path) -> str:
    """The text of the exercise in a folder, with all that a verdict depends on. `read_exercise` reads it.

    raise (OSError, UnicodeDecodeError): a file can't be read
    """
    return with_solution((folder / DEFINITION).read_text("utf-8"), _solution_in(folder))


def with_solution(text: str, solution: bytes) -> str:
    """The text of an exercise. If results are compared with its solution, the first line has the solution."""
    if not _needs_solution(text):
        return text
    # In TOML, a field of the whole file comes before all tables.
    return f"solution = {json.dumps(solution.decode(errors='replace'))}\n{without_solution(text)}"


def _needs_solution(text: str) -> bool:
    """Whether a device compares results with the solution; False for a text that isn't TOML."""
    try:
        return read_toml(text).get("operation") == Operation.SOLUTION
    except (ValueError, RecursionError):
        return False


def _solution_in(folder: Path) -> bytes:
    return (folder / "solution.cu").read_bytes()


def without_solution(text: str) -> str:
    """The text of an exercise without its solution, which readers of a course may not see."""
    first, _, rest = text.partition("\n")
    return rest if first.startswith("solution = ") else text


def read_exercise(name: str, definition: str, digest: str = "") -> Exercise:
    """Read an exercise from the text of an `exercise.toml`. It has no folder.

    digest: the sender's digest, or ""
    raise (ExerciseError): names the field and the reason; also for another digest
    """
    path = Path(name) / DEFINITION
    if not _NAME.fullmatch(name):
        raise ExerciseError(Path(name), "", f"an exercise's name has {_NAME_RULE}")
    exercise = _whole(name, definition, path, None)
    if digest and digest != exercise.digest:
        raise ExerciseError(
            path,
            "",
            f"its digest is {digest[:12]} at the sender, but {exercise.digest[:12]} here. The judges have "
            f"different versions (here {JUDGE_VERSION}), or the text has changed",
        )
    return exercise


def _whole(name: str, text: str, path: Path, folder: Path | None) -> Exercise:
    return _read_once(name, text, path, folder, JUDGE_VERSION)


@lru_cache(maxsize=64)
def _read_once(name: str, text: str, path: Path, folder: Path | None, _judge: int) -> Exercise:
    """Kept for the same text, because pages and jobs ask for the same few, and each takes milliseconds."""
    try:
        data = read_toml(text)
        digest = _digest(data)
    except (ValueError, RecursionError) as error:
        raise ExerciseError(path, "", f"this is not TOML: {error}") from None
    exercise = _read(Table(path, "", data), name, folder, digest)
    check_whole(exercise, path)
    return exercise


def _digest(data: Mapping[str, object]) -> str:
    """Hash everything on which verdicts and measurements depend: all fields that don't only describe."""
    fields = {key: value for key, value in data.items() if key not in _OUTSIDE_DIGEST}
    text = json.dumps({"judge": JUDGE_VERSION, "exercise": fields}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _read(table: Table, name: str, folder: Path | None, digest: str) -> Exercise:
    table.only(*_FIELDS)
    sizes = table.names("sizes")
    tile = table.table("tile")
    tile.only("name", "default", "allowed", "largest")
    tile_name = tile.name("name", default="TILE_WIDTH")
    macros, largest_macros = _macros(table.table("macros", optional=True), {*sizes, tile_name})
    own = (tile_name, *macros)
    names = (*sizes, *own)
    operation = table.choice("operation", Operation)
    inputs = (InputKind.RANDOM,) if operation is Operation.SOLUTION else ()
    return Exercise(
        name=name,
        title=table.text("title"),
        folder=folder,
        kernel=table.name("kernel"),
        parameters=tuple(read_parameter(entry, names) for entry in table.tables("parameters", may_be_empty=True)),
        sizes=sizes,
        size_macros=table.expressions("size_macros", sizes, optional=True),
        macros=macros,
        largest_macros=largest_macros,
        constants=tuple(_constant(entry, names) for entry in table.tables("constants", may_be_empty=True)),
        operands=tuple(read_operand(entry, names) for entry in table.tables("operands")),
        operation=operation,
        section=table.expression("section", names) if table.has("section") else None,
        tile_name=tile_name,
        tile=tile.integer("default"),
        tiles=tile.integers("allowed"),
        largest_tile=tile.integer("largest"),
        launch=_launch(table.table("launch"), names),
        case_rules=tuple(_case_rule(entry, sizes, own, inputs) for entry in table.tables("cases")),
        largest_on_cpu=table.integer("largest_on_cpu"),
        ranking=table.table("ranking").integer_of_each(sizes),
        metric=table.choice("metric", Metric),
        fmad=table.boolean("fmad", default=True),
        warp_races=table.choice("warp_races", Severity, default=Severity.ERROR),
        analysis=_analysis(table, "analysis", sizes),
        phases=_analysis(table, "phases", sizes),
        goals=tuple(_goal(entry, names) for entry in table.tables("goals", may_be_empty=True)),
        digest=digest,
        curve=table.boolean("curve", default=True),
        max_registers=table.integer_or_none("max_registers"),
        largest_shared=table.table("launch").integer_or_none("largest_shared") or SHARED_BYTES,
        tolerance=_tolerance(table.table("tolerance", optional=True)),
        work=_work(table.table("work", optional=True), sizes),
        solution_text=table.text("solution", default=""),
        then=tuple(_further(entry, names) for entry in table.tables("then", may_be_empty=True)),
    )


def _tolerance(table: Table) -> Tolerance:
    table.only("absolute", "ulps")
    return Tolerance(table.number("absolute", 0.0), table.number("ulps", 0.0))


def _work(table: Table, sizes: tuple[str, ...]) -> WorkRule:
    fields = ("flops", "bytes", "elements")
    table.only(*fields)
    return WorkRule(*(table.expression(key, sizes) if table.has(key) else None for key in fields))


def _further(table: Table, names: tuple[str, ...]) -> FurtherLaunch:
    table.only("kernel", "parameters", *_LAUNCH)
    entries = table.tables("parameters", may_be_empty=True)
    parameters = tuple(read_parameter(entry, names) for entry in entries)
    return FurtherLaunch(table.name("kernel"), parameters, _launch_rule(table, names))


def _launch(table: Table, names: tuple[str, ...]) -> LaunchRule:
    table.only(*_LAUNCH, "largest_shared")
    return _launch_rule(table, names)


def _launch_rule(table: Table, names: tuple[str, ...]) -> LaunchRule:
    return LaunchRule(
        grid=table.dimensions("grid", names),
        block=table.dimensions("block", names),
        shared=table.expression("shared", names, default="0"),
        cluster=table.dimensions("cluster", names) if table.has("cluster") else (),
    )


def _case_rule(
    table: Table, sizes: tuple[str, ...], names: tuple[str, ...], default: tuple[InputKind, ...]
) -> CaseRule:
    """A rule for cases. default: the kinds of input, if the rule needn't say them."""
    table.only("sizes", "inputs")
    given = table.expressions("sizes", names)
    if set(given) != set(sizes):
        raise table.error("sizes", f"every size must be given, and no other: {', '.join(sizes)}")
    inputs = default if default and not table.has("inputs") else table.choices("inputs", InputKind)
    return CaseRule({name: given[name] for name in sizes}, inputs)


def _macros(table: Table, taken: set[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the default and the largest value of each macro."""
    defaults, largest = {}, {}
    for name in table.fields():
        if name in taken:
            raise table.error(name, "this is the name of a size or of the tile already")
        entry = table.table(name)
        entry.only("default", "largest")
        defaults[name], largest[name] = entry.integer("default"), entry.integer("largest")
        if defaults[name] > largest[name]:
            raise entry.error("default", "it must not be larger than `largest`")
    return defaults, largest


def _constant(table: Table, names: tuple[str, ...]) -> Constant:
    table.only("symbol", "value")
    return Constant(table.name("symbol"), table.expression("value", names))


def _analysis(table: Table, key: str, sizes: tuple[str, ...]) -> AnalysisRule | None:
    if not table.has(key):
        return None
    entry = table.table(key)
    tile = entry.integer_or_none("tile")
    return AnalysisRule(entry.integer_of_each(sizes, "tile"), tile)


def _goal(table: Table, names: tuple[str, ...]) -> GoalRule:
    table.only("text", "counter", "at_most")
    goal = GoalRule(
        text=table.text("text"), counter=table.name("counter"), at_most=table.number_or_expression("at_most", names)
    )
    # Import counters only if there is a goal: they come with the counting device, which loads slowly.
    from kernels.counters import COUNTERS

    if goal.counter not in COUNTERS:
        raise table.error("counter", f"there is no such counter; there are: {', '.join(sorted(COUNTERS))}")
    return goal
