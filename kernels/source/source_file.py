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
from kernels.source.characters import odd_characters
from kernels.source.conditions import visible_items
from kernels.source.constants import Macro, find_constants, find_macros, own_defaults
from kernels.source.headers import HEADERS, HeaderKind, header_text
from kernels.source.kernel import Kernel, check_kernel, find_kernels, name_of_kernel
from kernels.source.launch.comment import unread_launch_comments
from kernels.source.launch.tile import FilePlan, plan_file
from kernels.source.names import Evaluations, Given, Names, names_of
from kernels.source.paste.decoding import LARGEST_SOURCE, decode
from kernels.source.paste.left_out import Rest, leave_out
from kernels.source.paste.repairs import repair_of
from kernels.source.rules import check_blanks, check_host_code, check_includes, check_integer_types, check_lines
from kernels.source.text import Comment, Token, scan
from kernels.verdict import Finding, Verdict, rejected

__all__ = ["HEADERS", "LARGEST_SOURCE", "HeaderKind", "Source", "header_text", "read_source"]

_HOW_TO_REPAIR = "To repair the whole file, use `tilelab grade --fix` or Repair in the portal."


@dataclass(frozen=True, slots=True)
class Source:
    """A submission that passed the source rules.

    text: the text to compile, without a byte order mark and host code; every line ends with one newline
    plan: the launch and the tile that it sets
    macros: its object-like integer macros and integer constants, for launch expressions
    derived: macros and constants whose values depend on sizes, the tile or the exercise's macros
    varying: evaluated names whose value depends on a case's sizes or the tile, with these values
    kernel: the name of the kernel to grade
    kernels: the names of its `__global__` functions
    own_macros: the exercise's macros that it declares, also inside `#ifndef`, and the tile if it declares it outside of
        one. Tilelab must not define them.
    globals: the lines of the module variables that the exercise fills or sets
    warnings: likely mistakes that don't prevent grading
    """

    text: str
    plan: FilePlan
    macros: Mapping[str, int]
    kernel: str
    kernels: tuple[str, ...]
    warnings: tuple[Finding, ...] = ()
    own_macros: frozenset[str] = frozenset()
    globals: Mapping[str, int] = field(default_factory=dict)
    derived: Mapping[str, Expression] = field(default_factory=dict)
    varying: Mapping[Given, Mapping[str, int]] = field(default_factory=dict)

    def tile(self, exercise: Exercise, asked: int | None = None) -> int:
        """The tile of cases and launch for a requested tile.

        raise (ValueError): the compiler must evaluate names first
        """
        if self.plan.asked:
            raise ValueError(f"not evaluated yet: {', '.join(self.plan.asked)}")
        return self.plan.tile.chosen(asked, exercise.tile)

    def launch_note(self, asked: int | None) -> str:
        """A report's note on the launch: the origin of the tile, and a requested tile that has no effect."""
        tile = self.plan.tile
        if asked is None or asked == (tile.value or asked):
            return tile.note
        if tile.default:
            return (
                f"The tile is {asked}, not your {tile.value} (line {tile.line}): "
                "the assignment, the experiment or `--tile` sets it."
            )
        return f"{tile.note} `--tile {asked}` has no effect: your file sets its own tile.".lstrip()

    def defines(self, exercise: Exercise, tile: int, sizes: Mapping[str, int]) -> dict[str, str]:
        """The macros for compiling one case: sizes, and the tile unless the file declares it."""
        given = {exercise.tile_name: tile, **exercise.macros, **exercise.defines(sizes)}
        return {name: str(value) for name, value in given.items() if name not in self.own_macros}

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

    If the text alone doesn't give a name's value, `Source.plan.asked` has the name. The file must then be read again
    with the compiler's answer.

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
    defaults = own_defaults(items, macros, frozenset({exercise.tile_name, *exercise.macros}))
    kept = exercise.macros.keys() & defaults.keys()
    constants = find_constants(seen, macros, exercise.macro_names, kept)
    names = names_of(macros, tokens, constants).with_evaluated(evaluations)
    findings += _check_size_macros(exercise, names)
    own_macros = {name: defaults[name][1] if name in kept else names.line(name) for name in exercise.macros}
    findings += _check_macros(exercise, own_macros, names)
    own_macros[exercise.tile_name] = names.line(exercise.tile_name)
    variables = _declared_variables(exercise, tokens)
    findings += _check_variables(exercise, macros, variables)
    comments = [entry.item for entry in seen if isinstance(entry.item, Comment)]
    plan = plan_file(exercise, names, comments, defaults.get(exercise.tile_name))
    if isinstance(plan, Finding):
        return [*findings, plan]
    warnings = (
        *rest.remarks,
        *_list(renamed),
        *(unread_launch_comments(comments) if plan.launch is None else ()),
        *check_integer_types(seen, tokens),
    )
    return findings or Source(
        text=text,
        plan=plan,
        macros=names.constants.values,
        kernel=kernel,
        kernels=tuple(dict.fromkeys(kernel.name for kernel in kernels)),
        warnings=warnings,
        own_macros=frozenset(name for name, line in own_macros.items() if line is not None),
        globals={symbol: declared[-1].line for symbol, declared in variables.items()},
        derived=names.constants.derived,
        varying=evaluations.varying(),
    )


def _check_kernel(
    exercise: Launched, kernels: Sequence[Kernel], macros: Sequence[Macro], tokens: list[Token], text: str, name: str
) -> Finding | None:
    """A finding if the kernel is missing, or hidden by a character that looks like another one."""
    finding = check_kernel(exercise, kernels, macros, tokens, name)
    if finding is None or any(kernel.name == exercise.kernel for kernel in kernels):
        return finding
    odd = next(iter(odd_characters(text).values()), None)
    return finding if odd is None else rejected(odd.sentence, odd.line)


def _list(finding: Finding | None) -> list[Finding]:
    return [] if finding is None else [finding]


def _check_macros(exercise: Exercise, lines: Mapping[str, int | None], names: Names) -> list[Finding]:
    """Refuse a macro's value that fits no launch."""
    findings = []
    for name, line in lines.items():
        if line is None:
            continue
        largest, values = exercise.largest_macros[name], names.values(name)
        if name in names.asked or (len(values) == 1 and 1 <= values[0] <= largest):
            continue
        what = f"is {values[0]}" if len(values) == 1 else "isn't one number"
        message = f"`{name}` {what} here. The launch needs a number from 1 to {largest}."
        findings.append(rejected(message, line))
    return findings


def _check_size_macros(exercise: Exercise, names: Names) -> list[Finding]:
    """Refuse size macros that a file sets, because each case sets them."""
    return [
        rejected(
            f"Tilelab sets `{name}` for each case. Put your definition between `#ifndef {name}` and `#endif`.", line
        )
        for name in exercise.size_macros
        if (line := names.line(name)) is not None
    ]


_SPACES = {"__device__", "__constant__", "__managed__"}
_ENDS = {";", "{", "}"}
_LONGEST_DECLARATION = 400
_NUMBERS = {
    "unsigned", "bool", "char", "short", "int", "long", "float", "double", "half", "__half", "__nv_bfloat16",
    "nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2", "float2", "float4",
    "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "uint", "size_t",
}  # fmt: skip
_INTEGERS = {"int", "int32_t", "unsigned"}


def _check_variables(
    exercise: Exercise, macros: Sequence[Macro], variables: Mapping[str, Sequence[Token]]
) -> list[Finding]:
    """A finding for each variable that is missing or has another type. The compiler checks macros."""
    hidden = {token.text for macro in macros for token in macro.body}
    findings = []
    for symbol, (declaration, types) in _wanted(exercise).items():
        declared = variables.get(symbol)
        if declared is None and symbol not in hidden:
            message = f"The file doesn't declare `{symbol}`. Add `{declaration}` outside of all functions."
            findings.append(rejected(message))
        elif declared is not None and (found := _type(declared)) is not None and found not in types:
            message = f"`{symbol}` has the type `{found}` here. It must be `{declaration}`."
            findings.append(rejected(message, declared[-1].line))
    return findings


def _declared_variables(exercise: Exercise, tokens: Sequence[Token]) -> dict[str, list[Token]]:
    """The declarations of the exercise's module variables."""
    return {symbol: declared for symbol in _wanted(exercise) if (declared := _declaration(tokens, symbol))}


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
