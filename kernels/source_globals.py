"""The module variables that a file has to declare where an exercise fills or sets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels.exercise import Binding, Exercise
from kernels.source_constants import Macro
from kernels.source_text import Token
from kernels.verdict import Finding, Verdict

_SPACES = {"__device__", "__constant__", "__managed__"}
_ENDS = {";", "{", "}"}
_LONGEST_DECLARATION = 400
_NUMBERS = {
    "bool", "char", "short", "int", "long", "float", "double", "half", "__half", "float2", "float4", "int32_t",
    "uint32_t", "uint", "size_t",
}  # fmt: skip
_INTEGERS = {"int", "int32_t"}


def check_globals(exercise: Exercise, macros: Sequence[Macro], tokens: Sequence[Token]) -> list[Finding]:
    """A finding for each variable that is missing or holds another type; what macros hide is the compiler's to find."""
    hidden = {token.text for macro in macros for token in macro.body}
    findings = []
    for symbol, (declaration, types) in _wanted(exercise).items():
        places = [index for index, token in enumerate(tokens) if token.text == symbol]
        if not places and symbol not in hidden:
            message = (
                f"The file declares no `{symbol}`. It must hold `{declaration}` outside of any function."
            )
            findings.append(Finding(Verdict.REJECTED, message))
            continue
        found = next(filter(None, (_type(tokens, index) for index in places)), None)
        if found is not None and found not in types:
            message = f"`{symbol}` holds `{found}` here. It must be `{declaration}`."
            findings.append(Finding(Verdict.REJECTED, message, tokens[places[0]].line))
    return findings


def global_lines(exercise: Exercise, tokens: Sequence[Token]) -> dict[str, int]:
    """The line where each of the exercise's module variables is first named."""
    lines: dict[str, int] = {}
    wanted = _wanted(exercise)
    for token in tokens if wanted else ():
        if token.text in wanted:
            lines.setdefault(token.text, token.line)
    return lines


def _wanted(exercise: Exercise) -> Mapping[str, tuple[str, set[str]]]:
    """What each variable must be declared as, and the types that it may have."""
    operands = [operand for operand in exercise.operands if operand.binding is Binding.GLOBAL]
    return {operand.symbol: (operand.declaration, {"float"}) for operand in operands} | {
        constant.symbol: (constant.declaration, _INTEGERS) for constant in exercise.constants
    }


def _type(tokens: Sequence[Token], index: int) -> str | None:
    """The plain type that a module variable is declared with where it is named; None where this is no declaration."""
    words: list[str] = []
    for back in range(index - 1, max(index - _LONGEST_DECLARATION, -1), -1):
        if tokens[back].text in _ENDS:
            break
        words.append(tokens[back].text)
    if "(" in words or not _SPACES & set(words):
        return None
    return next((word for word in reversed(words) if word in _NUMBERS), None)
