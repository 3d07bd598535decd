"""Numbers for everything that instructions read and write: registers, constants, symbols and specials."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernels.device.ptx.module import Address, Immediate, Malformed, Operand, Register, Symbol, Unsupported, is_special
from kernels.device.ptx.program import Program
from kernels.device.state.geometry import WARP
from kernels.device.state.values import Value, uniform


@dataclass(frozen=True, slots=True)
class Place:
    """The address operand: a register's number and a displacement."""

    register: int
    displacement: int


_WIDEST = 64
_KNOWN = re.compile(
    r"%(tid|ntid|ctaid|nctaid)\.[xyz]|%(laneid|warpid|nwarpid|smid|nsmid|gridid|dynamic_smem_size)|%lanemask_\w\w"
    r"|%(n?clusterid|cluster_n?ctaid)\.[xyz]|%cluster_n?ctarank|%is_explicit_cluster"
)
_ENVIRONMENT = re.compile(r"%envreg\d+")
"""Facts from the driver about the launch, such as the address of a cooperative grid's barrier. Here there are none."""

CLOCK = re.compile(r"%clock(64|_hi)?|%globaltimer(_lo|_hi)?")


class Operands:
    """The numbers of one program's operands. Each is checked for the width that its instruction needs."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.constants: dict[int, Value] = {}
        self.specials: dict[int, str] = {}
        self.symbols: dict[int, tuple[str, int]] = {}
        self._slots: dict[object, int] = {}
        self._count = len(program.registers)

    @property
    def count(self) -> int:
        return self._count

    def _slot(self, key: object) -> int:
        if key not in self._slots:
            self._slots[key] = self._count
            self._count += 1
        return self._slots[key]

    def spare(self, use: str) -> int:
        """Return the number of a register that no instruction of the kernel uses."""
        return self._slot(("spare", use))

    def source(self, operand: Operand | None, bits: int, *, wider: bool = False) -> int:
        """Return the number of a source operand.

        bits: its width by the instruction; constants get this width
        wider: whether a register may be wider
        """
        if isinstance(operand, Register) and is_special(operand.name):
            if bits != special_bits(operand.name) or CLOCK.fullmatch(operand.name):
                raise Malformed(f"`{operand.name}` has the wrong width here")
            if _ENVIRONMENT.fullmatch(operand.name):
                return self.source(Immediate(0), bits)
            if not _KNOWN.fullmatch(operand.name):
                raise Unsupported(f"mov {operand.name}", None)
            number = self._slot(operand.name)
            self.specials[number] = operand.name
            return number
        if isinstance(operand, Register):
            return self._register(operand.name, bits, wider=wider)
        if isinstance(operand, Immediate):
            number = self._slot((operand.value, bits))
            self.constants[number] = uniform(operand.value, bits)
            return number
        if isinstance(operand, Symbol) and operand.name == "WARP_SZ":
            return self.source(Immediate(WARP), bits)
        raise Malformed("an operand of unexpected form")

    def _address(self, symbol: Symbol) -> int:
        if symbol.name in self.program.functions:
            return self.source(Immediate(self.program.functions[symbol.name] + symbol.offset), 64)
        if symbol.name not in self.program.variables:
            raise Unsupported(symbol.name, None, f"The address of `{symbol.name[:60]}` can't be taken here.")
        number = self._slot((symbol.name, symbol.offset, "symbol"))
        self.symbols[number] = (symbol.name, symbol.offset)
        return number

    def target(self, operand: Operand | None, bits: int, *, wider: bool = False) -> int | None:
        """Return the number of a destination, or None if the result isn't used. `bits` and `wider` as for a source."""
        if operand is None or (isinstance(operand, Register) and operand.name == "_"):
            return None
        if isinstance(operand, Register) and not is_special(operand.name):
            return self._register(operand.name, bits, wider=wider)
        raise Malformed("a destination that isn't a register")

    def _register(self, name: str, bits: int, *, wider: bool) -> int:
        number = self.program.registers[name]
        width = self.program.widths[number]
        if width == bits or (wider and bits < width <= _WIDEST):
            return number
        raise Malformed(f"the register {name[:40]!r} has {width} bits where {bits} are needed")

    def place(self, operand: Operand) -> Place:
        """Return the register and the displacement of an address."""
        if not isinstance(operand, Address):
            raise Malformed("an address is missing")
        if operand.base is None:
            return Place(self.source(Immediate(0), 64), operand.offset)
        if isinstance(operand.base, Symbol):
            return Place(self._address(operand.base), operand.offset)
        return Place(self.source(operand.base, 32, wider=True), operand.offset)

    def _width(self, number: int | None) -> int:
        return 32 if number is None else self.program.widths[number]

    def _bits_at(self, number: int) -> int:
        """Return the width of a register or constant; 0 if unknown, for symbols and special registers."""
        if number < len(self.program.widths):
            return self.program.widths[number]
        value = self.constants.get(number)
        if value is not None:
            return value.bits
        return 32 if number in self.specials else 0


def special_bits(name: str) -> int:
    if name == "%is_explicit_cluster":
        return 1
    return 64 if name in {"%gridid", "%clock64", "%globaltimer"} else 32
