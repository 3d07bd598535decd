"""Reads a kernel's machine code as nvdisasm prints it: the hardware's accesses and jumps for each line.

The text is hostile, because the cubin comes from a student's file. It is bounded, and text in another form raises
`BadSass`. Unknown instructions are counted and otherwise ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from kernels.device.counting.counts import Verb
from kernels.device.ptx.parser import SOURCE_NAME
from kernels.evidence import LONGEST_LINE, MOST_LINES, CodeLine

TEXT_LIMIT = 16 * 2**20
MOST_INSTRUCTIONS = 500_000

_LONGEST_LINE = 2000
_FILE = re.compile(r'\s*//## File "([^"]*)", line (\d{1,9})')
_SECTION = re.compile(r"\s*\.section\s+\.text\.([^\s,]+),")
_ENTRY = re.compile(r'\s*\.other\s+([^\s,]+),@"STO_CUDA_ENTRY')
_INSTRUCTION = re.compile(
    r"\s++/\*[0-9a-f]{4,8}\*/\s++(?:\{\s*+)?(@!?U?P(?:T|\d{1,2})\s++)?([A-Z][A-Z0-9_]{0,15})((?:\.\w{1,24}){0,16})(?:\s++([^;]*+))?;"
)
_PREDICATE = re.compile(r"!?U?P\d")
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
_LOADS = {"LDS": "shared", "LDG": "global", "LDL": "local", "LD": "generic"}
_STORES = {"STS": "shared", "STG": "global", "STL": "local", "ST": "generic"}
_MATRICES, _ROW_BYTES = {"LDSM": Verb.LOAD, "STSM": Verb.STORE}, 16
_ATOMICS = {
    "ATOMS": "shared",
    "ATOMG": "global",
    "ATOM": "generic",
    "RED": "generic",
    "REDG": "global",
    "REDS": "shared",
}
_SPILLS = {"LDL": "loads from", "STL": "stores to"}
_JUMPS = {"BRA", "BRX", "JMP", "JMX"}
_ALWAYS_CONDITIONAL = {"BRX", "JMX"}


class BadSass(ValueError):
    """The text isn't nvdisasm's, lacks the kernel, or is too long."""


@dataclass(frozen=True, slots=True)
class MachineAccess:
    """One memory instruction.

    space: "shared", "global", "local", or "generic" if the address decides
    width: bytes per thread
    """

    space: str
    verb: Verb
    width: int
    predicated: bool


@dataclass(frozen=True, slots=True)
class MachineBranch:
    """One instruction that may leave the straight line.

    name: such as "BRA" or "EXIT"
    conditional: whether threads can take different ways
    """

    name: str
    conditional: bool


@dataclass(frozen=True, slots=True)
class MachineLine:
    """The machine code of one source line."""

    instructions: int
    barriers: int
    accesses: tuple[MachineAccess, ...]
    branches: tuple[MachineBranch, ...]

    def widths(self, space: str, verb: Verb) -> Counter[int]:
        return Counter(item.width for item in self.accesses if item.verb is verb and item.space in {space, "generic"})

    @property
    def branches_conditionally(self) -> bool:
        """Whether the hardware branches here. A conditional exit only disables threads."""
        return any(item.conditional for item in self.branches if item.name in _JUMPS)


Sass = Mapping[int | None, MachineLine]
"""A kernel's machine code with the functions that it calls, by line of the student's file; None for other code."""


class _Line:
    def __init__(self) -> None:
        self.instructions = self.barriers = 0
        self.accesses: list[MachineAccess] = []
        self.branches: list[MachineBranch] = []

    def done(self) -> MachineLine:
        return MachineLine(self.instructions, self.barriers, tuple(self.accesses), tuple(self.branches))


def read_sass(text: str, entry: str) -> Sass:
    """The kernel `entry` from the text of `nvdisasm -gi -c`.

    An instruction belongs to the innermost line of the student's file: that's the inlined function, not its call.
    Code from headers belongs to the line that uses it. The reader of PTX does the same.
    """
    if len(text) > TEXT_LIMIT:
        raise BadSass("the text is too long")
    lines: dict[int | None, _Line] = {}
    count = 0
    for line, match in _instructions(text, entry):
        count += 1
        if count > MOST_INSTRUCTIONS:
            raise BadSass("too many instructions")
        _note(lines.setdefault(line, _Line()), match)
    if not count:
        raise BadSass("the text holds no such kernel")
    return {line: found.done() for line, found in lines.items()}


def sass_listing(text: str, entry: str) -> tuple[CodeLine, ...]:
    """The instructions for readers, at most MOST_LINES; call `read_sass` first, which checks the text's size."""
    found = islice(_instructions(text, entry), MOST_LINES)
    return tuple(CodeLine(_readable(match), line) for line, match in found)


def _readable(match: re.Match[str]) -> str:
    guard, name, suffixes, operands = match.groups()
    text = " ".join(f"{guard or ''}{name}{suffixes or ''} {operands or ''}".split())[:LONGEST_LINE]
    return f"{text}  // {_SPILLS[name]} local memory" if name in _SPILLS else text


def _instructions(text: str, entry: str) -> Iterator[tuple[int | None, re.Match[str]]]:
    others = {match[1] for match in map(_ENTRY.match, text.split("\n")) if match} - {entry}
    wanted = False
    line: int | None = None
    places: list[int | None] = []
    for raw in text.split("\n"):
        words = raw[:_LONGEST_LINE]
        if match := _SECTION.match(words):
            wanted, line = match[1] not in others, None
            places.clear()
        elif match := _FILE.match(words):
            own = match[1].rsplit("/", 1)[-1] == SOURCE_NAME
            places.append(int(match[2]) or None if own else None)
        elif wanted and (match := _INSTRUCTION.match(words)):
            if places:
                # The innermost place comes first, then the calls that inlined it.
                line = next((place for place in places if place), None)
                places.clear()
            yield line, match


def _note(line: _Line, match: re.Match[str]) -> None:
    guard, name, suffixes, operands = match.groups()
    # PT and UPT are always true, so such a guard decides nothing.
    guarded = guard is not None and not guard.startswith(("@PT", "@UPT"))
    words = (suffixes or "").split(".")[1:]
    line.instructions += 1
    if name in _JUMPS | {"EXIT", "RET"}:
        decides = guarded or name in _ALWAYS_CONDITIONAL or bool(_PREDICATE.match(operands or ""))
        line.branches.append(MachineBranch(name, decides))
    elif name == "BAR":
        line.barriers += 1
    elif name == "LDGSTS":
        # This instruction copies from global to shared memory, so it counts as a load and a store.
        width = _width(words)
        line.accesses.append(MachineAccess("global", Verb.LOAD, width, guarded))
        line.accesses.append(MachineAccess("shared", Verb.STORE, width, guarded))
    elif name in _MATRICES:
        # Each of its threads has the address of one row.
        line.accesses.append(MachineAccess("shared", _MATRICES[name], _ROW_BYTES, guarded))
    else:
        for verb, spaces in ((Verb.LOAD, _LOADS), (Verb.STORE, _STORES), (Verb.ATOMIC, _ATOMICS)):
            if name in spaces:
                line.accesses.append(MachineAccess(spaces[name], verb, _width(words), guarded))


def _width(words: list[str]) -> int:
    """Bytes per thread from an instruction's suffixes; 4 has no suffix."""
    return next((_WIDTHS[word] for word in words if word in _WIDTHS), 4)
