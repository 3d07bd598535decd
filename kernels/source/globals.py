"""The module variables that a file has to declare where an exercise fills or sets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels.exercise import Binding, Exercise
from kernels.source.constants import Macro
from kernels.source.text import Token
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
        declared = _declaration(tokens, symbol)
        if declared is None and symbol not in hidden:
            message = (
                f"The file declares no `{symbol}`. It must hold `{declaration}` outside of any function."
            )
            findings.append(Finding(Verdict.REJECTED, message))
        elif declared is not None and (found := _type(declared)) is not None and found not in types:
            message = f"`{symbol}` holds `{found}` here. It must be `{declaration}`."
            findings.append(Finding(Verdict.REJECTED, message, declared[-1].line))
    return findings


def global_lines(exercise: Exercise, tokens: Sequence[Token]) -> dict[str, int]:
    """The line where each of the exercise's module variables is declared."""
    declared = {symbol: _declaration(tokens, symbol) for symbol in _wanted(exercise)}
    return {symbol: found[-1].line for symbol, found in declared.items() if found is not None}


def _wanted(exercise: Exercise) -> Mapping[str, tuple[str, set[str]]]:
    """What each variable must be declared as, and the types that it may have."""
    operands = [operand for operand in exercise.operands if operand.binding is Binding.GLOBAL]
    return {operand.symbol: (operand.declaration, {"float"}) for operand in operands} | {
        constant.symbol: (constant.declaration, _INTEGERS) for constant in exercise.constants
    }


def _declaration(tokens: Sequence[Token], symbol: str) -> list[Token] | None:
    """The tokens that declare a module variable, up to its name: outside of braces, or marked as device memory."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text == "{") - (token.text == "}")
        if token.text == symbol:
            before = _statement(tokens, index)
            if depth == 0 or _SPACES & {each.text for each in before}:
                return [*before, token]
    return None


def _statement(tokens: Sequence[Token], end: int) -> list[Token]:
    """The tokens of a statement up to `end`."""
    start = end
    while start > max(0, end - _LONGEST_DECLARATION) and tokens[start - 1].text not in _ENDS:
        start -= 1
    return list(tokens[start:end])


def _type(declared: Sequence[Token]) -> str | None:
    """The plain type of a declaration; None where it has a name of the file's own, or cannot be told."""
    words = [token.text for token in declared]
    if "(" in words or not _SPACES & set(words):
        return None
    return next((word for word in words if word in _NUMBERS), None)
