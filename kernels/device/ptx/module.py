"""The parts of a parsed PTX text: modules, functions, instructions and their operands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from kernels.device.ptx.features import not_emulated, of_large_group
from kernels.facts import Facts, Mistake
from kernels.verdict import Finding, Verdict

SIZES = {
    "pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16,
}  # fmt: skip


_NO_RESULT = re.compile(
    r"(st|bra|brx|(bar|barrier)(\.cta)?\.(sync|arrive)|bar\.warp|membar|fence|red|ret|exit|trap|brkpt|nanosleep"
    r"|cp|prefetch|prefetchu|discard|applypriority|pmevent|griddepcontrol|call|stmatrix|wmma\.store)(\.|$)"
)
_SPECIAL = re.compile(
    r"!?%(tid|ntid|ctaid|nctaid|laneid|warpid|nwarpid|smid|nsmid|gridid|clock|clock_hi|clock64|globaltimer\w*"
    r"|lanemask_\w+|dynamic_smem_size|total_smem_size|envreg\d+|n?cluster\w*|is_explicit_cluster"
    r"|reserved_smem\w*|aggr_smem_size|current_graph_exec|pm\d+\w*)(\.[xyzw])?"
)


class Malformed(ValueError):
    """The text isn't a PTX module as the compiler writes it. `line` is the student's line, if known."""

    line: int | None = None


class Unsupported(Exception):
    """The CPU device can't emulate or check an instruction. Holds the student's line.

    findings: of the run up to this instruction, if it ran
    """

    findings: tuple[Finding, ...] = ()

    def __init__(self, instruction: str, line: int | None, reason: str = "") -> None:
        super().__init__(reason or not_emulated(instruction))
        self.instruction = instruction
        self.line = line

    @property
    def finding(self) -> Finding:
        mistake = Mistake.LARGE_GROUP if of_large_group(self.instruction) else Mistake.OTHER
        return Finding(Verdict.UNSUPPORTED, str(self), self.line, facts=Facts(mistake))


class Reached(Unsupported):
    """Threads reached an instruction that isn't emulated."""


@dataclass(frozen=True, slots=True)
class Register:
    """A register by its unique name in the function, or a special register such as `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: an integer, or the bits of a float."""

    value: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, or the name of a function or label."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """An address in brackets: a register or a symbol, and a byte offset."""

    base: Register | Symbol | None
    offset: int


@dataclass(frozen=True, slots=True)
class Vector:
    """Operands in braces."""

    items: tuple[Register | Immediate | None, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations joined by a bar, `%p1|%p2`; None for an underscore."""

    first: Register | None
    second: Register | None


@dataclass(frozen=True, slots=True)
class Arguments:
    """The names in parentheses of a call."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A feature that isn't emulated, and the sentence about it, at a place that a run may never reach."""

    construct: str
    reason: str


Operand = Register | Immediate | Symbol | Address | Vector | Pair | Arguments | Refusal


@lru_cache(maxsize=4096)
def is_special(name: str) -> bool:
    """Whether a name is a special register, such as `%tid.x`."""
    return bool(_SPECIAL.fullmatch(name))


def _registers_in(operand: Operand) -> list[str]:
    if isinstance(operand, Register):
        names = [operand.name.lstrip("!")]
    elif isinstance(operand, Address) and isinstance(operand.base, Register):
        names = [operand.base.name]
    elif isinstance(operand, Vector):
        names = [item.name for item in operand.items if isinstance(item, Register)]
    elif isinstance(operand, Pair):
        names = [item.name for item in (operand.first, operand.second) if item is not None]
    else:
        names = []
    return [name for name in names if name != "_" and not is_special(name)]


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate in front of an instruction."""

    register: Register
    negated: bool


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    line: the student's line that findings name; None if the compiler knows none
    inlined: its line in a helper function, then the lines of the calls up to the kernel's; empty in the kernel itself
    library: whether it is in the text of a header
    """

    opcode: str
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int | None
    inlined: tuple[int, ...] = ()
    library: bool = False

    @property
    def call(self) -> int | None:
        """The kernel's line that calls the helper function with its line; None in the kernel."""
        return self.inlined[-1] if self.inlined and self.inlined[-1] != self.line else None

    @property
    def counted_line(self) -> int | None:
        """The line for which it counts, which is the machine code's line too."""
        return self.inlined[0] if self.inlined else self.line

    @cached_property
    def head(self) -> str:
        """The opcode without its modifiers: `ld`."""
        return self.opcode.split(".", 1)[0]

    @cached_property
    def results(self) -> tuple[str, ...]:
        """The names of the registers that it writes."""
        if not self.operands or _NO_RESULT.match(self.opcode):
            return ()
        first = self.operands[0]
        return tuple(_registers_in(first)) if not isinstance(first, Address) else ()

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The names of the registers that it reads, including its guard."""
        found: list[str] = []
        if self.guard is not None:
            found.append(self.guard.register.name)
        for position, operand in enumerate(self.operands):
            # The result of a product of four warps is an addend, too.
            if self.results and position == 0 and self.head != "wgmma":
                continue
            found.extend(_registers_in(operand))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Label:
    """A place in the body to which branches lead."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in a memory space. `data` holds its bytes if it has an initialiser.

    pointers: byte offset -> symbol, for initialisers that hold addresses
    """

    name: str
    space: str
    size: int
    align: int
    data: bytes | None = None
    external: bool = False
    pointers: tuple[tuple[int, str], ...] = ()
    element: int = 1


Signature = tuple[tuple[int, ...], tuple[int, ...]]
"""The sizes in bytes of a function's results and of its parameters."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a kernel's attributes demand of its launch.

    most_threads: the most threads in a block, from `__launch_bounds__`; 0 for any
    block: the only possible block, from `__block_size__`; () for any
    cluster: the blocks of a cluster, from `__cluster_dims__`; () for none
    counts_clusters: whether the grid's size counts clusters instead of blocks
    needs_cluster: whether the launch must have clusters, whose size it gives if the kernel doesn't
    most_in_cluster: the most blocks in a cluster, from `__launch_bounds__`; 0 for any
    """

    most_threads: int = 0
    block: tuple[int, ...] = ()
    cluster: tuple[int, ...] = ()
    counts_clusters: bool = False
    needs_cluster: bool = False
    most_in_cluster: int = 0


@dataclass(slots=True)
class Function:
    """A kernel or a device function.

    prototypes: signatures of calls through a pointer, by the label that the call names
    """

    name: str
    entry: bool
    parameters: list[Variable]
    returns: list[Variable]
    body: list[Instruction | Label] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, Signature] = field(default_factory=dict)
    bounds: Bounds = Bounds()
    defined: bool = False

    @property
    def signature(self) -> Signature:
        return sizes(self.returns), sizes(self.parameters)


def sizes(variables: Sequence[Variable]) -> tuple[int, ...]:
    return tuple(variable.size for variable in variables)


@dataclass(slots=True)
class Module:
    """All declarations of one PTX text."""

    functions: dict[str, Function]
    variables: dict[str, Variable]

    @property
    def entries(self) -> list[str]:
        return [function.name for function in self.functions.values() if function.entry]
