"""Evidence of a kernel's tile: the extents of shared arrays, and the steps from block to block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernels.source.names import Names
from kernels.source.statements import statements
from kernels.source.text import Kind, Token, closing

_BLOCK_INDEX = "blockIdx"
_NOT_FACTORS = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
_AXES = {"x", "y", "z"}
_LAUNCHED = ("blockDim", "group_dim", "dim_threads", "ntid")
_ENDS = {"+", "-", "*", ";", ",", "<", ">", "=", "?", ":", "&", "|", "<=", ">=", "==", "&&", "||", "+=", "-=", "return"}


@dataclass(frozen=True, slots=True)
class BlockStep:
    """The factors of a block index: `axis` is x, y or z, `factors` the first names and numbers."""

    axis: str
    factors: tuple[Token, ...]
    call: bool

    @property
    def text(self) -> str:
        """The step for a launch comment; "" if it is a function's value."""
        text = "*".join(token.text.replace("'", "") for token in self.factors)
        return "" if self.call else f"({text})" if len(self.factors) > 1 else text


def shared_extents(tokens: Sequence[Token]) -> list[list[str]]:
    """The names and numbers between the brackets of each array in shared memory."""
    arrays: list[list[str]] = []
    inside, depth = False, 0
    for index, token in enumerate(tokens):
        if token.text == "__shared__":
            inside = True
        elif token.text in {";", "{", "("} and not depth:
            inside = False
        elif inside and token.text == "[":
            if tokens[index - 1].text != "]":
                arrays.append([])
            depth += 1
        elif inside and token.text == "]":
            depth -= 1
        elif inside and depth and arrays:
            arrays[-1].append(token.text)
    return arrays


def block_steps(names: Names) -> Iterator[BlockStep]:
    for axis, near, direction in _beside_indices(names):
        if step := _product(names.tokens, near, direction, axis):
            yield step


def block_operands(names: Names) -> Iterator[tuple[str, list[Token]]]:
    """The whole operands that multiply block indices, such as `(blockDim.x / 2)`, with their axes."""
    for axis, near, direction in _beside_indices(names):
        if 0 <= near < len(names.tokens) and names.tokens[near].text == "*":
            yield axis, _operand(names.tokens, near + direction, direction)


def _operand(tokens: Sequence[Token], start: int, direction: int) -> list[Token]:
    """The tokens from `start` to the end of the operand."""
    opening, ending = ({"(", "["}, {")", "]"}) if direction > 0 else ({")", "]"}, {"(", "["})
    found: list[Token] = []
    depth, place = 0, start
    while 0 <= place < len(tokens):
        text = tokens[place].text
        depth += (text in opening) - (text in ending)
        if depth < 0 or (depth == 0 and text in {*_ENDS, "{", "}"}):
            break
        found.append(tokens[place])
        place += direction
    return found[::direction]


def _beside_indices(names: Names) -> Iterator[tuple[str, int, int]]:
    """The positions on both sides of each block index, with its axis and the direction."""
    tokens = names.tokens
    aliases = dict(aliases_of(names, _BLOCK_INDEX))
    for index, token in enumerate(tokens):
        axis, last = aliases.get(token.text, ""), index
        if token.text == _BLOCK_INDEX and index + 2 < len(tokens):
            axis, last = tokens[index + 2].text, index + 2
        if axis in _AXES:
            yield axis, index - 1, -1
            yield axis, last + 1, 1


def follows_launch(names: Names) -> bool:
    """Whether the code reads the launched block's extents."""
    texts = [token.text for token in names.tokens]
    texts += [name for macro in names.macros for name in macro.names if names.used(macro.name)]
    return any(word in text for text in texts for word in _LAUNCHED)


def _product(tokens: Sequence[Token], near: int, direction: int, axis: str) -> BlockStep | None:
    """The factors from the `*` at `near` on."""
    factors: list[Token] = []
    call = False
    while 0 <= near < len(tokens) and tokens[near].text == "*":
        far = near + direction
        while 0 < far < len(tokens) - 1 and tokens[far].text in {"(", ")"}:
            call = call or (direction < 0 and tokens[far].text == "(" and tokens[far + 1].text == ")")
            far += direction
        token = tokens[far] if 0 <= far < len(tokens) else tokens[near]
        if token.kind not in {Kind.NAME, Kind.NUMBER} or token.text in _NOT_FACTORS:
            break
        factors.append(token)
        near = far + direction
        if [token.text for token in tokens[far + 1 : far + 3]] == ["(", ")"]:
            call = True
            near = far + 3 if direction > 0 else near
    return BlockStep(axis, tuple(factors), call) if factors else None


def aliases_of(names: Names, variable: str) -> Iterator[tuple[str, str]]:
    """`by` from `int by = blockIdx.y` and from `#define by blockIdx.y`, each with its axis."""
    for macro in names.macros:
        if len(macro.body) == 3 and macro.body[0].text == variable:
            yield macro.name, macro.body[2].text
    tokens = names.tokens
    for index in range(2, len(tokens) - 3):
        alone = tokens[index - 1].text == "=" and tokens[index + 3].text in {",", ";"}
        if alone and tokens[index].text == variable:
            yield tokens[index - 2].text, tokens[index + 2].text


def reached(names: Names, kernel: str) -> list[Token]:
    """The tokens of a file without functions that the kernel calls neither directly nor indirectly."""
    parts = [(part, _function(part)) for part in statements(names.tokens)]
    if kernel not in {name for _, name in parts}:
        return names.tokens
    mentioned = {name for macro in names.macros for name in macro.names} | {kernel}
    mentioned |= {token.text for part, name in parts if not name for token in part}
    called: set[int] = set()
    while found := [place for place, (_, name) in enumerate(parts) if name in mentioned and place not in called]:
        called.update(found)
        mentioned |= {token.text for place in found for token in parts[place][0]}
    return [token for place, (part, name) in enumerate(parts) if not name or place in called for token in part]


def _function(part: list[Token]) -> str:
    """The name of the function that a declaration defines; "" for other declarations and operators."""
    index = 0
    while index + 1 < len(part) and part[index].text not in {"{", "=", ";"}:
        if part[index].text in {"operator", "struct", "class", "union", "enum"}:
            return ""
        if part[index + 1].text == "(" and part[index].kind is Kind.NAME:
            end = closing(part, index + 1)
            if end < len(part) and part[end].text == "{":
                return part[index].text
            index = end
            continue
        index += 1
    return ""


def uses(tokens: Sequence[Token], *texts: str) -> bool:
    """Whether the code has these tokens in a row."""
    return any(
        token.text == texts[0] and tuple(token.text for token in tokens[index : index + len(texts)]) == texts
        for index, token in enumerate(tokens)
    )
