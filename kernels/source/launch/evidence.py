"""Evidence of a kernel's tile: the extents of shared arrays, and the steps from block to block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernels.source.array_shapes import declared_arrays
from kernels.source.names import Names
from kernels.source.statements import statements
from kernels.source.text import Kind, Token, closing, code_of

_SHARED = "__shared__"
_BLOCK_INDEX = "blockIdx"
_NOT_FACTORS = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
_AXES = {"x", "y", "z"}
_LAUNCHED = ("blockDim", "group_dim", "dim_threads", "ntid")
_CASTS = {"(", ")", "int", "unsigned", "long", "size_t"}
_ENDS = {*"+-;,<>=?:&|{}", "<=", ">=", "==", "&&", "||", "return"}
_LONGEST_PRODUCT = 64  # tokens


@dataclass(frozen=True, slots=True)
class BlockStep:
    """A product with a block index.

    axis: x, y or z
    operand: the other operand
    factors: the first names and numbers of the product
    call: whether one of them is a function's value
    """

    axis: str
    operand: Sequence[Token]
    factors: Sequence[Token]
    call: bool

    @property
    def text(self) -> str:
        """The step for a launch comment; "" if it is a function's value."""
        text = "*".join(token.text.replace("'", "") for token in self.factors)
        return "" if self.call else f"({text})" if len(self.factors) > 1 else text

    @property
    def words(self) -> list[str]:
        """The operand without casts and parentheses."""
        return [token.text for token in self.operand if token.text not in _CASTS]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a kernel's code shows about its blocks.

    names: the file's names, with their uses in the functions that the kernel reaches
    steps: the products with block indices
    arrays: the names and numbers between the brackets of each array in shared memory
    """

    names: Names
    steps: Sequence[BlockStep]
    arrays: Sequence[Sequence[str]]

    @property
    def factors(self) -> list[Token]:
        return [token for step in self.steps for token in step.factors]

    @property
    def first_factors(self) -> list[Token]:
        return [step.factors[0] for step in self.steps if step.factors]

    def step_texts(self) -> dict[str, str]:
        """The step from block to block for a launch comment, on each axis with exactly one."""
        found: dict[str, set[str]] = {}
        for step in self.steps:
            if step.factors:
                found.setdefault(step.axis, set()).add(step.text)
        return {axis: next(iter(texts)) for axis, texts in found.items() if len(texts) == 1 and "" not in texts}


def read_evidence(names: Names, kernel: str) -> Evidence:
    names = names.within(_reached(names, kernel))
    arrays = [" ".join(extents).split() for memory, _, extents in declared_arrays(names.tokens) if memory == _SHARED]
    return Evidence(names, [*_block_steps(names)], arrays)


def _block_steps(names: Names) -> Iterator[BlockStep]:
    tokens = names.tokens
    aliases = dict(aliases_of(names, _BLOCK_INDEX))
    for index, token in enumerate(tokens):
        axis, last = aliases.get(token.text, ""), index
        if token.text == _BLOCK_INDEX and index + 2 < len(tokens):
            axis, last = tokens[index + 2].text, index + 2
        before = tokens[max(0, index - _LONGEST_PRODUCT) : index][::-1]
        after = tokens[last + 1 : last + 1 + _LONGEST_PRODUCT]
        for walk, direction in ((before, -1), (after, 1)):
            if axis in _AXES and walk and walk[0].text == "*":
                yield _product(axis, walk, direction)


def _product(axis: str, walk: Sequence[Token], direction: int) -> BlockStep:
    """The product along these tokens, from its `*` on. direction: -1 if they are in reverse order."""
    opening, ending = ("([", ")]")[::direction]
    operands: list[list[Token]] = []
    depth = 0
    for token in walk:
        depth += (token.text in opening) - (token.text in ending)
        if not depth and token.text == "*":
            operands.append([])
        elif depth < 0 or (not depth and token.text in _ENDS):
            break
        else:
            operands[-1].append(token)
    factors: list[Token] = []
    call = False
    for operand in operands:
        call = call or " ( ) " in code_of(token.text for token in operand[::direction])
        words = [token for token in operand if token.text not in _CASTS]
        whole = next((place for place in range(1, len(words), 2) if words[place].text != "*"), len(words))
        plain = all(token.kind in {Kind.NAME, Kind.NUMBER} for token in words[:whole:2])
        if not plain or any(token.text in _NOT_FACTORS for token in words):
            break
        factors += words[:whole:2]
        if whole < len(words):
            break
    return BlockStep(axis, operands[0][::direction], factors, call)


def follows_launch(names: Names) -> bool:
    """Whether the code reads the launched block's extents."""
    used = (name for macro in names.macros if names.used(macro.name) for name in macro.names)
    code = names.code + " ".join(used)
    return any(word in code for word in _LAUNCHED)


def aliases_of(names: Names, variable: str) -> Iterator[tuple[str, str]]:
    """`by` from `int by = blockIdx.y` and from `#define by blockIdx.y`, each with its axis."""
    for macro in names.macros:
        if len(macro.body) == 3 and macro.body[0].text == variable:
            yield macro.name, macro.body[2].text
    yield from re.findall(rf"(?<= )(\S++) = {variable} \. (\w+) [,;]", names.code)


def _reached(names: Names, kernel: str) -> list[Token]:
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
