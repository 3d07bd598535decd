"""Reads a submission: one CUDA C++ file with the exercise's kernel, checked against the rules for source files.

The rules are lexical and serve good messages. The compiler reports code that passes them and doesn't compile. Safety
comes from the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kernels.exercise import Exercise
from kernels.exercise.model import Launched
from kernels.exercise.values import ElementType
from kernels.expression import Expression, ExpressionError
from kernels.launch import LaunchOverride
from kernels.source.characters import odd_characters
from kernels.source.conditions import visible_items
from kernels.source.constants import Macro, declaration_line, doubtful_names, find_constants, find_macros, own_defaults
from kernels.source.headers import HEADERS, HeaderKind, header_text
from kernels.source.kernel import Kernel, check_kernel, find_kernels, name_of_kernel
from kernels.source.launch.comment import check_names, find_launch_comment, unread_launch_comments, unread_names
from kernels.source.launch.grid import unread_steps, with_grid
from kernels.source.launch.tile import Tile, checked, find_tile
from kernels.source.names import Evaluations, Given, Names, names_of
from kernels.source.paste.decoding import LARGEST_SOURCE, decode
from kernels.source.paste.left_out import Rest, leave_out
from kernels.source.paste.repairs import repair_of
from kernels.source.rules import check_blanks, check_host_code, check_includes, check_integer_types, check_lines
from kernels.source.text import Comment, Token, scan
from kernels.verdict import Finding, Verdict

__all__ = ["HEADERS", "LARGEST_SOURCE", "HeaderKind", "Source", "header_text", "read_source"]

_HOW_TO_REPAIR = "To repair the whole file, use `tilelab grade --fix` or Repair in the portal."


@dataclass(frozen=True, slots=True)
class Source:
    """A submission that passed the source rules.

    text: the text to compile, without a byte order mark and host code; every line ends with one newline
    launch: the settings of its `//!tilelab` comment, if it has one
    macros: its object-like integer macros and integer constants, for launch expressions
    derived: macros and constants whose values depend on sizes, the tile or the exercise's macros
    declares_tile: whether it declares the tile's name, so Tilelab must not define it
    own_tile: the tile of its declaration or of `tile=` in its launch comment; None leaves the tile open
    default_tile: its own tile inside `#ifndef`, which a requested tile replaces; None if it is the exercise's
    tile_line: the line that sets its tile
    tile_note: a report's note on a tile with another name than the exercise's
    asked: names that the compiler must evaluate before planning, see `read_source`
    varying: evaluated names whose value depends on a case's sizes or the tile, with these values
    kernel: the name of the kernel to grade
    kernels: the names of its `__global__` functions
    own_macros: the exercise's macros that it declares, also inside `#ifndef`, so Tilelab must not define them
    globals: the lines of the module variables that the exercise fills or sets
    warnings: likely mistakes that don't prevent grading
    """

    text: str
    launch: LaunchOverride | None
    macros: Mapping[str, int]
    declares_tile: bool
    own_tile: int | None
    kernel: str
    kernels: tuple[str, ...]
    warnings: tuple[Finding, ...] = ()
    own_macros: frozenset[str] = frozenset()
    globals: Mapping[str, int] = field(default_factory=dict)
    derived: Mapping[str, Expression] = field(default_factory=dict)
    tile_line: int | None = None
    tile_note: str = ""
    default_tile: int | None = None
    asked: tuple[str, ...] = ()
    varying: Mapping[Given, Mapping[str, int]] = field(default_factory=dict)

    def tile(self, exercise: Exercise, asked: int | None = None) -> int:
        """The tile of cases and launch: declared, otherwise requested, otherwise the file's inside `#ifndef`.

        The exercise has one for a file without any.

        raise (ValueError): the compiler must evaluate names first
        """
        if self.asked:
            raise ValueError(f"not evaluated yet: {', '.join(self.asked)}")
        if self.own_tile is not None:
            return self.own_tile
        return asked or self.default_tile or exercise.tile

    def launch_note(self, asked: int | None) -> str:
        """A report's note on the launch: the origin of the tile, and a requested tile that has no effect."""
        if asked is None or asked == (self.own_tile or self.default_tile or asked):
            return self.tile_note
        if self.own_tile is None:
            return (
                f"The tile is {asked}, not your {self.default_tile} (line {self.tile_line}): "
                "the assignment, the experiment or `--tile` sets it."
            )
        return f"{self.tile_note} `--tile {asked}` has no effect: your file sets its own tile.".lstrip()

    def defines(self, exercise: Exercise, tile: int, sizes: Mapping[str, int]) -> dict[str, str]:
        """The macros for compiling one case: sizes, and the tile unless the file declares it."""
        given = {} if self.declares_tile else {exercise.tile_name: str(tile)}
        given |= {name: str(value) for name, value in exercise.macros.items() if name not in self.own_macros}
        return given | {name: str(value) for name, value in exercise.defines(sizes).items()}

    def launch_names(self, exercise: Exercise, tile: int, sizes: Mapping[str, int]) -> dict[str, int]:
        """The values of names in launch expressions. Sizes override macros, and the tile overrides both."""
        given = frozenset(self.defines(exercise, tile, sizes).items())
        varying = {name for table in self.varying.values() for name in table}
        own = {name: value for name, value in self.macros.items() if name not in varying}
        names = exercise.names(tile, sizes, own | dict(self.varying.get(given, {})))
        for name, expression in self.derived.items():
            # A division by a size, for example, may have no value in some cases.
            with suppress(ExpressionError):
                names.setdefault(name, expression.evaluate(names))
        return names


def read_source(data: bytes, exercise: Exercise, evaluations: Evaluations | None = None) -> Source | list[Finding]:
    """Read a submission, or return findings of kind `rejected` with the reasons against it, and remarks.

    If the text alone doesn't give a name's value, `Source.asked` has the name. The file must then be read again with
    the compiler's answer.

    evaluations: the values of the names that earlier readings asked for
    """
    evaluations = evaluations or Evaluations({})
    text = decode(data)
    if isinstance(text, Finding):
        return [text]
    if (repair := repair_of(text)) is not None:
        message = f"{repair.sentence} {_HOW_TO_REPAIR}"
        return [Finding(Verdict.REJECTED, message, repair.line, column=repair.column)]
    rest = leave_out(text, exercise.size_macros.keys())
    result = _read(rest, exercise, evaluations)
    return result if isinstance(result, Source) else [*result, *rest.remarks]


def _read(rest: Rest, exercise: Exercise, evaluations: Evaluations) -> Source | list[Finding]:
    text = rest.text
    items = scan(text)
    seen = visible_items(items)
    tokens = [entry.item for entry in seen if isinstance(entry.item, Token)]
    macros = find_macros(seen, exercise.size_macros.keys())
    kernels = find_kernels(tokens)
    findings = [*check_includes(seen, text), *check_lines(seen)]
    findings += [*check_host_code(tokens), *check_blanks(seen)]
    kernel, renamed = name_of_kernel(exercise, kernels, macros, rest.launched)
    for name, launched in exercise.kernels.items():
        others = exercise.kernels.keys() - {name}
        candidates = [kernel for kernel in kernels if kernel.name not in others]
        graded = kernel if launched is exercise else name
        findings += _list(_check_kernel(launched, candidates, macros, tokens, text, graded))
    given = frozenset({exercise.tile_name, *exercise.macros, *exercise.size_macros})
    doubtful = doubtful_names(seen, given, exercise.size_macros.keys())
    defaults = own_defaults(items, frozenset({exercise.tile_name, *exercise.macros}))
    kept = exercise.macros.keys() & defaults.keys()
    read = names_of(macros, tokens, find_constants(macros, tokens, given - kept, doubtful))
    names = read.with_evaluated(evaluations)
    constants = names.constants.values
    findings += _check_size_macros(exercise, macros, tokens)
    own_macros = {
        name: defaults[name][1] if name in kept else declaration_line(name, macros, tokens) for name in exercise.macros
    }
    asked = [name for name, line in own_macros.items() if line is not None and names.values(name) is None]
    findings += _check_macros(exercise, {name: own_macros[name] for name in own_macros if name not in asked}, names)
    findings += check_globals(exercise, macros, tokens)
    comments = [entry.item for entry in seen if isinstance(entry.item, Comment)]
    launch = find_launch_comment(comments)
    if isinstance(launch, LaunchOverride):
        asked += unread_names(launch, exercise, names)
        launch = (None if asked else check_names(launch, exercise, names)) or launch
    if isinstance(launch, LaunchOverride) and not asked:
        asked += unread_steps(exercise, names, launch)
    if isinstance(launch, LaunchOverride) and not asked:
        launch = with_grid(exercise, names, launch)
    if isinstance(launch, Finding):
        return [*findings, launch]
    warnings = (
        *rest.remarks,
        *_list(renamed),
        *(unread_launch_comments(comments) if launch is None else ()),
        *check_integer_types(seen, tokens),
    )
    tile = Tile(asked=tuple(asked)) if asked else find_tile(exercise, names, launch)
    declared = names.line(exercise.tile_name)
    default_tile = _default_tile(exercise, defaults, tile) if declared is None else None
    if isinstance(default_tile, Finding):
        return [*findings, default_tile]
    if isinstance(tile, Finding):
        return [*findings, tile]
    return findings or Source(
        text=text,
        launch=launch,
        macros=constants,
        declares_tile=declared is not None,
        own_tile=tile.value,
        kernel=kernel,
        kernels=tuple(dict.fromkeys(kernel.name for kernel in kernels)),
        warnings=warnings,
        own_macros=frozenset(name for name, line in own_macros.items() if line is not None),
        globals=global_lines(exercise, tokens),
        derived=names.constants.derived,
        tile_line=(default_tile or tile).line if (default_tile or tile).value is not None else None,
        default_tile=None if default_tile is None else default_tile.value,
        tile_note=tile.note,
        asked=tile.asked,
        varying=evaluations.varying(),
    )


def _default_tile(
    exercise: Exercise, defaults: Mapping[str, tuple[int, int]], tile: Tile | Finding
) -> Tile | Finding | None:
    """The tile inside `#ifndef` of a file that declares no other; None if it is the exercise's, or missing."""
    value, line = defaults.get(exercise.tile_name, (exercise.tile, None))
    if isinstance(tile, Finding) or tile.value is not None or value == exercise.tile:
        return None
    return checked(exercise, Tile(value, line))


def _check_kernel(
    exercise: Launched, kernels: Sequence[Kernel], macros: Sequence[Macro], tokens: list[Token], text: str, name: str
) -> Finding | None:
    """A finding if the kernel is missing, or hidden by a character that looks like another one."""
    finding = check_kernel(exercise, kernels, macros, tokens, name)
    if finding is None or any(kernel.name == exercise.kernel for kernel in kernels):
        return finding
    odd = next(iter(odd_characters(text).values()), None)
    return finding if odd is None else _rejected(odd.sentence, odd.line)


def _list(finding: Finding | None) -> list[Finding]:
    return [] if finding is None else [finding]


def _check_macros(exercise: Exercise, lines: Mapping[str, int | None], names: Names) -> list[Finding]:
    """Refuse a macro's value that fits no launch."""
    findings = []
    for name, line in lines.items():
        largest, values = exercise.largest_macros[name], names.values(name) or ()
        if line is None or (len(values) == 1 and 1 <= values[0] <= largest):
            continue
        what = f"is {values[0]}" if len(values) == 1 else "isn't one number"
        message = f"`{name}` {what} here. The launch needs a number from 1 to {largest}."
        findings.append(_rejected(message, line))
    return findings


def _check_size_macros(exercise: Exercise, macros: Sequence[Macro], tokens: list[Token]) -> list[Finding]:
    """Refuse size macros that a file sets, because each case sets them."""
    lines = {name: declaration_line(name, macros, tokens) for name in exercise.size_macros}
    return [
        _rejected(
            f"Tilelab sets `{name}` for each case. Put your definition between `#ifndef {name}` and `#endif`.", line
        )
        for name, line in lines.items()
        if line is not None
    ]


def _rejected(message: str, line: int | None = None) -> Finding:
    return Finding(Verdict.REJECTED, message, line=line)


_SPACES = {"__device__", "__constant__", "__managed__"}
_ENDS = {";", "{", "}"}
_LONGEST_DECLARATION = 400
_NUMBERS = {
    "unsigned", "bool", "char", "short", "int", "long", "float", "double", "half", "__half", "__nv_bfloat16",
    "nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2", "float2", "float4",
    "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "uint", "size_t",
}  # fmt: skip
_INTEGERS = {"int", "int32_t", "unsigned"}


def check_globals(exercise: Exercise, macros: Sequence[Macro], tokens: Sequence[Token]) -> list[Finding]:
    """A finding for each variable that is missing or has another type. The compiler checks macros."""
    hidden = {token.text for macro in macros for token in macro.body}
    findings = []
    for symbol, (declaration, types) in _wanted(exercise).items():
        declared = _declaration(tokens, symbol)
        if declared is None and symbol not in hidden:
            message = f"The file doesn't declare `{symbol}`. Add `{declaration}` outside of all functions."
            findings.append(Finding(Verdict.REJECTED, message))
        elif declared is not None and (found := _type(declared)) is not None and found not in types:
            message = f"`{symbol}` has the type `{found}` here. It must be `{declaration}`."
            findings.append(Finding(Verdict.REJECTED, message, declared[-1].line))
    return findings


def global_lines(exercise: Exercise, tokens: Sequence[Token]) -> dict[str, int]:
    """The line of the declaration of each of the exercise's module variables."""
    declared = {symbol: _declaration(tokens, symbol) for symbol in _wanted(exercise)}
    return {symbol: found[-1].line for symbol, found in declared.items() if found is not None}


_TYPES = {
    ElementType.FLOAT: {"float"},
    ElementType.INT: {"int", "int32_t"},
    ElementType.UNSIGNED: {"unsigned", "uint32_t", "uint"},
    ElementType.DOUBLE: {"double"},
    ElementType.LONG: {"long", "int64_t"},
    ElementType.CHAR: {"char", "int8_t"},
    ElementType.BYTE: {"unsigned", "uint8_t"},
    ElementType.HALF: {"half", "__half"},
    ElementType.BFLOAT: {"__nv_bfloat16", "nv_bfloat16"},
    ElementType.E4M3: {"__nv_fp8_e4m3"},
    ElementType.E5M2: {"__nv_fp8_e5m2"},
    ElementType.SHORT: {"short", "int16_t"},
    ElementType.UNSIGNED_SHORT: {"unsigned", "uint16_t"},
}


def _wanted(exercise: Exercise) -> Mapping[str, tuple[str, set[str]]]:
    """The required declaration of each variable, and its allowed types."""
    operands = [operand for operand in exercise.operands if operand.binding.is_variable]
    return {operand.symbol: (operand.declaration, _TYPES[operand.type]) for operand in operands} | {
        constant.symbol: (constant.declaration, _INTEGERS) for constant in exercise.constants
    }


def _declaration(tokens: Sequence[Token], symbol: str) -> list[Token] | None:
    """The tokens of a module variable's declaration, up to its name: outside of braces, or in device memory."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text == "{") - (token.text == "}")
        if token.text == symbol:
            start = index
            while start > max(0, index - _LONGEST_DECLARATION) and tokens[start - 1].text not in _ENDS:
                start -= 1
            before = list(tokens[start:index])
            if depth == 0 or _SPACES & {each.text for each in before}:
                return [*before, token]
    return None


def _type(declared: Sequence[Token]) -> str | None:
    """The plain type of a declaration; None for the file's types and unreadable ones."""
    words = [token.text for token in declared]
    if "(" in words or not _SPACES & set(words):
        return None
    return next((word for word in words if word in _NUMBERS), None)
