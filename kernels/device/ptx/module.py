"""The parts of a parsed PTX text: modules, functions, instructions and their operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kernels.device.ptx.features import not_emulated, of_large_group
from kernels.facts import Facts, Mistake
from kernels.verdict import Finding, Verdict

SIZES = {
    "pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16,
}  # fmt: skip


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


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate in front of an instruction."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
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

    @property
    def head(self) -> str:
        """The opcode without its modifiers: `ld`."""
        return self.opcode.split(".", 1)[0]


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
