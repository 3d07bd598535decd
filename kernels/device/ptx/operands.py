from __future__ import annotations

import re

import numpy as np

from kernels.device.ptx.module import Address, Arguments, Immediate, Malformed, Operand, Pair, Register, Symbol, Vector
from kernels.device.ptx.tokens import Tokens

MAX_SCOPES = 64
MOST_OFFSET = 1 << 32
_NAME = re.compile(r"[%$_a-zA-Z.][\w.$%]*")


class Scopes:
    """The names of one function. A name declared inside braces may be declared again in other braces."""

    def __init__(self) -> None:
        self._scopes: list[dict[str, str]] = [{}]
        self._count = 0
        self._registers: set[str] = set()

    def open(self) -> None:
        if len(self._scopes) >= MAX_SCOPES:
            raise Malformed("braces nested too deeply")
        self._count += 1
        self._scopes.append({})

    def close(self) -> None:
        self._scopes.pop()

    def declare(self, name: str, *, register: bool = False) -> str:
        """Declare a name; return a name that is unique in the function."""
        check_name(name)
        unique = name if len(self._scopes) == 1 else f"{name}#{self._count}"
        self._scopes[-1][name] = unique
        if register:
            self._registers.add(unique)
        return unique

    def resolve(self, name: str) -> str:
        """Return the unique name for a name."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name

    def is_register(self, unique: str) -> bool:
        """Whether a name without `%` was declared as a register."""
        return unique in self._registers


def check_name(name: str) -> None:
    """Refuse a text that can't be a name."""
    if not _NAME.fullmatch(name):
        raise Malformed(f"unexpected name {name[:40]!r}")


def float_bits(text: str, *, single: bool) -> int:
    """The bits of a constant: as hexadecimal digits of 32 or 64 bits, or a decimal number of 64 bits.

    single: round 64 bits to 32
    """
    digits = text.removeprefix("-")
    sign = int(len(digits) < len(text))
    written = int(f"0x{digits[2:]}", 0) if digits[1:2] in set("fFdD") else None
    if written is not None and digits[1] in "fF":
        return written ^ sign << 31
    value = np.float64(digits) if written is None else np.uint64(written).view(np.float64)
    if not single:
        return int(value.view(np.uint64)) ^ sign << 63
    with np.errstate(over="ignore"):
        return int(value.astype(np.float32).view(np.uint32)) ^ sign << 31


class OperandReader:
    def __init__(self, tokens: Tokens, scopes: Scopes) -> None:
        self._tokens = tokens
        self._scopes = scopes
        self._single = False

    def all(self, *, single: bool = False) -> tuple[Operand, ...]:
        """Parse all operands of an instruction. single: its floats have 32 bits, so longer constants are rounded."""
        self._single = single
        operands: list[Operand] = []
        if self._tokens.accept(";"):
            return ()
        while True:
            operands.extend(self._some())
            if self._tokens.accept(";"):
                return tuple(operands)
            self._tokens.expect(",")

    def _some(self) -> tuple[Operand, ...]:
        """Parse one operand. The address of a tensor map with coordinates counts as two: `[map, {x, y}]`."""
        if self._tokens.kind() != "mark" or self._tokens.peek() != "[":
            return (self._one(),)
        address = self._address()
        coordinates = (self._vector(),) if self._tokens.accept(",") else ()
        self._tokens.expect("]")
        return address, *coordinates

    def _one(self) -> Operand:
        mark = self._tokens.peek()
        if self._tokens.kind() == "mark":
            if mark == "{":
                return self._vector()
            if mark == "(":
                return self._arguments()
        operand = self._scalar()
        if self._tokens.accept("|"):
            second = self._scalar()
            return Pair(_register_or_none(operand), _register_or_none(second))
        return operand

    def _scalar(self) -> Register | Immediate | Symbol:
        kind, text = self._tokens.kind(), self._tokens.peek()
        if kind == "float":
            self._tokens.next()
            return Immediate(float_bits(text, single=self._single))
        if kind == "word":
            self._tokens.next()
            name = self._scopes.resolve(text)
            if name.startswith("%") or text == "_" or self._scopes.is_register(name):
                return Register(name)
            if self._tokens.accept("+"):
                return Symbol(name, self._tokens.integer() % MOST_OFFSET)
            return Symbol(name)
        if self._tokens.accept("!"):
            inner = self._scalar() if self._tokens.kind() == "word" else None
            if not isinstance(inner, Register):
                raise Malformed("a negation of something that isn't a predicate")
            return Register("!" + inner.name)
        if text == "-":
            self._tokens.next()
            if self._tokens.kind() == "float":
                return Immediate(float_bits(f"-{self._tokens.next()}", single=self._single))
            return Immediate(-self._tokens.integer())
        return Immediate(self._tokens.integer())

    def _address(self) -> Address:
        """Parse an address up to its closing bracket."""
        self._tokens.expect("[")
        base: Register | Symbol | None = None
        offset = 0
        if self._tokens.kind() == "word":
            found = self._scalar()
            if isinstance(found, Immediate):
                raise Malformed("an address of unexpected form")
            base = Symbol(found.name) if isinstance(found, Symbol) else found
            offset = found.offset if isinstance(found, Symbol) else 0
            if self._tokens.accept("+") or self._tokens.peek() == "-":
                offset += self._tokens.integer()
        else:
            offset = self._tokens.integer()
        if not -MOST_OFFSET <= offset <= MOST_OFFSET:
            raise Malformed("an address with an impossible offset")
        return Address(base, offset)

    def _vector(self) -> Vector:
        self._tokens.expect("{")
        items: list[Register | Immediate | None] = []
        while True:
            item = self._scalar()
            if isinstance(item, Symbol):
                raise Malformed("a symbol inside a vector")
            items.append(None if isinstance(item, Register) and item.name == "_" else item)
            if self._tokens.accept("}"):
                return Vector(tuple(items))
            self._tokens.expect(",")

    def _arguments(self) -> Arguments:
        self._tokens.expect("(")
        names: list[str] = []
        if self._tokens.accept(")"):
            return Arguments(())
        while True:
            names.append(self._scopes.resolve(self._tokens.next()))
            if self._tokens.accept(")"):
                return Arguments(tuple(names))
            self._tokens.expect(",")


def _register_or_none(operand: Register | Immediate | Symbol) -> Register | None:
    if isinstance(operand, Register):
        return None if operand.name == "_" else operand
    raise Malformed("a pair of something that isn't a register")
