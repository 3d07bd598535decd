from __future__ import annotations

from collections.abc import Callable, Iterator

from kernels.device.ptx.module import SIZES, Malformed, Variable
from kernels.device.ptx.operands import float_bits
from kernels.device.ptx.tokens import Tokens

POINTER_BYTES = 8
_BYTE_MASKS = tuple(0xFF << 8 * byte for byte in range(POINTER_BYTES))
"""`0xFF00(symbol)` is the second byte of an address, in a variable that is initialised byte by byte."""


class VariableReader:
    """Parser for variables. `declare` returns the unique name for a name."""

    def __init__(self, tokens: Tokens, declare: Callable[[str], str]) -> None:
        self._tokens = tokens
        self._declare = declare

    def several(self, space: str, *, external: bool = False) -> Iterator[Variable]:
        """Parse `.align 4 .b8 name[1024] = {...}, ...;`, after the memory space."""
        align, element = self._type()
        while True:
            yield self._variable(space, align, element, external=external)
            if not self._tokens.accept(","):
                break
        self._tokens.expect(";")

    def parameter(self) -> Variable:
        align, element = self._type()
        return self._variable("param", align, element)

    def _type(self) -> tuple[int, int]:
        """Parse the alignment and the element size before a variable's name."""
        align = 0
        size = 0
        while self._tokens.peek().startswith("."):
            word = self._tokens.next()[1:]
            if word == "align":
                align = self._tokens.integer()
            elif word in {"ptr", "attribute"} or word in {"global", "shared", "const", "local"}:
                if word == "attribute":
                    while self._tokens.next() != ")":
                        pass
            elif word in {"v2", "v4"}:
                size = -int(word[1])
            elif word in SIZES:
                size = SIZES[word] * max(1, -size)
            else:
                raise Malformed(f"unknown type .{word[:40]}")
        if size <= 0 or align < 0 or align > 1 << 16:
            raise Malformed("a variable without a type")
        return align or size, size

    def _variable(self, space: str, align: int, element: int, *, external: bool = False) -> Variable:
        name = self._declare(self._tokens.next())
        count = 1
        unsized = False
        while self._tokens.accept("["):
            if self._tokens.accept("]"):
                unsized = True
                continue
            count *= self._tokens.integer()
            self._tokens.expect("]")
        size = 0 if unsized else count * element
        if size < 0 or size > 1 << 40:
            raise Malformed("a variable of impossible size")
        data, pointers = self._initialiser(element) if self._tokens.accept("=") else (None, ())
        if data is not None and unsized:
            size = len(data)
        if data is not None and len(data) > size:
            raise Malformed("an initialiser that is longer than its variable")
        return Variable(name, space, size, align, data, external, pointers, element)

    def _initialiser(self, element: int) -> tuple[bytes, tuple[tuple[int, str], ...]]:
        """Parse `{1, 2, symbol+4}` or one value into bytes."""
        data = bytearray()
        pointers: list[tuple[int, str]] = []
        depth = 0
        while True:
            if self._tokens.accept("{"):
                depth += 1
                continue
            if self._tokens.accept("}"):
                depth -= 1
            else:
                value, symbol, byte = self._constant(element)
                if symbol and byte:
                    if element != 1 or pointers[-1:] != [(len(data) - byte, symbol)]:
                        raise Malformed("an address with missing bytes")
                elif symbol:
                    if element != (POINTER_BYTES if byte is None else 1):
                        raise Malformed("an address in a variable that is too narrow for it")
                    pointers.append((len(data), symbol))
                data += (value & ((1 << 8 * element) - 1)).to_bytes(element, "little")
            while depth and self._tokens.accept("}"):
                depth -= 1
            if depth == 0:
                if pointers and pointers[-1][0] + POINTER_BYTES > len(data):
                    raise Malformed("an address with missing bytes")
                return bytes(data), tuple(pointers)
            if not self._tokens.accept(","):
                raise Malformed("an initialiser of unexpected form")

    def _constant(self, element: int) -> tuple[int, str, int | None]:
        """Parse a value, the symbol whose address is added, and which byte of the address is meant (None: all)."""
        kind, text = self._tokens.kind(), self._tokens.peek()
        if kind == "float":
            self._tokens.next()
            return float_bits(text, single=element == SIZES["f32"]), "", None
        if kind == "word":
            return *self._symbol(), None
        number = self._tokens.integer()
        if not self._tokens.accept("("):
            return number, "", None
        if number not in _BYTE_MASKS:
            raise Malformed("an address under an unexpected mask")
        value, symbol = self._symbol()
        self._tokens.expect(")")
        byte = _BYTE_MASKS.index(number)
        return value >> 8 * byte & 0xFF, symbol, byte

    def _symbol(self) -> tuple[int, str]:
        """Parse a symbol and the number that is added to its address."""
        text = self._tokens.next()
        if text == "generic":
            self._tokens.expect("(")
            text = self._tokens.next()
            self._tokens.expect(")")
        return (self._tokens.integer() if self._tokens.accept("+") else 0), text
