"""Reads the text of a PTX module into typed instructions.

The text comes out of a compiler that ran on a student's file, inline assembly included, so it is hostile: whatever
does not have the expected form ends in `Malformed`, never in a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_TEXT = 16 * 1024 * 1024
MAX_TOKENS = 2_000_000
MAX_SCOPES = 64


class Malformed(ValueError):
    """The text is not a PTX module of the form that the compiler writes."""


class Unsupported(Exception):
    """An instruction that the CPU device does not know, with the student's line that it comes from."""

    def __init__(self, instruction: str, line: int | None, reason: str = "") -> None:
        super().__init__(reason or f"the CPU device does not know the instruction `{instruction}`")
        self.instruction = instruction
        self.line = line


@dataclass(frozen=True, slots=True)
class Register:
    """A register by its unique name inside the function (or a special register such as `%tid.x`)."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: an integer, or a float by its bits (`floating` says how many bits: 32 or 64)."""

    value: int
    floating: int = 0


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, or the name of a function or label."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """What stands in brackets: a register or a symbol, and a byte offset."""

    base: Register | Symbol | None
    offset: int


@dataclass(frozen=True, slots=True)
class Vector:
    """Operands in braces."""

    items: tuple[Register | Immediate | None, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations joined by a bar, `%p1|%p2`; None where the text has an underscore."""

    first: Register | None
    second: Register | None


@dataclass(frozen=True, slots=True)
class Arguments:
    """The names in parentheses of a call."""

    names: tuple[str, ...]


Operand = Register | Immediate | Symbol | Address | Vector | Pair | Arguments


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate in front of an instruction."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; `line` is the student's line, None where the compiler knows none."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Label:
    """A place in the body that branches name."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in a memory space. `data` holds its bytes where it has an initialiser.

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


@dataclass(slots=True)
class Function:
    """A kernel or a device function.

    most_threads: how many threads a block may have, where the source says it; else 0
    """

    name: str
    entry: bool
    parameters: list[Variable]
    returns: list[Variable]
    body: list[Instruction | Label] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    most_threads: int = 0
    defined: bool = False


@dataclass(slots=True)
class Module:
    """All that one PTX text declares."""

    functions: dict[str, Function]
    variables: dict[str, Variable]

    @property
    def entries(self) -> list[str]:
        """The names of the kernels, in the order of the text."""
        return [function.name for function in self.functions.values() if function.entry]


_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\r\f\v]+|//[^\n]*|/\*.*?\*/|\n)
  | (?P<string>"[^"\n]*")
  | (?P<float>0[fF][0-9a-fA-F]{8}(?![0-9a-fA-F])|0[dD][0-9a-fA-F]{16})
  | (?P<number>0[xX][0-9a-fA-F]+U?|[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+U?)
  | (?P<word>[.%$_a-zA-Z@][\w.$%]*(?:::[\w.$]+)*)
  | (?P<mark>[-{}()\[\],;:=|!+<>@*&~])
    """,
    re.VERBOSE | re.DOTALL,
)

SIZES = {
    "pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16,
}  # fmt: skip
_SPACES = {".global", ".const", ".shared", ".local", ".param"}
_LINKAGE = {".visible", ".extern", ".weak", ".common"}


def parse_module(text: str, source_name: str = "kernel.cu") -> Module:
    """Reads a PTX module.

    source_name: the name under which the compiler was given the student's file; only its lines are kept
    raise (Malformed): the text is not of the expected form
    """
    if len(text) > MAX_TEXT:
        raise Malformed("the compiled kernel is too large")
    return _Parser(_tokens(text), _source_files(text, source_name)).module()


def _source_files(text: str, source_name: str) -> frozenset[int]:
    """The numbers that `.file` directives give to the student's own file."""
    found = re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.MULTILINE)
    return frozenset(int(number) for number, path in found if path.rsplit("/", 1)[-1] == source_name)


def _tokens(text: str) -> list[tuple[str, str]]:
    """Pairs of kind and text; blanks and comments are left out."""
    tokens: list[tuple[str, str]] = []
    position = 0
    match = _TOKEN.match
    while position < len(text):
        found = match(text, position)
        if found is None:
            raise Malformed(f"unexpected character {text[position]!r}")
        kind = found.lastgroup or ""
        if kind != "skip":
            tokens.append((kind, found.group()))
            if len(tokens) > MAX_TOKENS:
                raise Malformed("the compiled kernel is too large")
        position = found.end()
    return tokens


class _Parser:
    """Recursive descent over the tokens; one instance reads one module."""

    def __init__(self, tokens: list[tuple[str, str]], own_files: frozenset[int]) -> None:
        self._tokens = tokens
        self._at = 0
        self._own_files = own_files
        self._module = Module({}, {})
        self._line: int | None = None
        self._scopes: list[dict[str, str]] = []
        self._scope_count = 0
        self._plain_registers: set[str] = set()

    # -- tokens -----------------------------------------------------------------------------------------------------

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise Malformed("the text ends in the middle of a declaration")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _expect(self, mark: str) -> None:
        found = self._next()
        if found != mark:
            raise Malformed(f"expected {mark!r}, found {found[:40]!r}")

    def _accept(self, mark: str) -> bool:
        if self._peek() == mark and self._kind() != "string":
            self._at += 1
            return True
        return False

    def _integer(self) -> int:
        negative = self._accept("-")
        text = self._next().rstrip("U")
        try:
            value = int(text, 0 if text[:1] == "0" and len(text) > 1 and text[1] in "xX" else 10)
        except ValueError:
            raise Malformed(f"expected a number, found {text[:40]!r}") from None
        return -value if negative else value

    # -- module scope -----------------------------------------------------------------------------------------------

    def module(self) -> Module:
        while self._at < len(self._tokens):
            self._declaration()
        return self._module

    def _declaration(self) -> None:
        word = self._peek()
        if word in {".version", ".target", ".address_size", ".file"}:
            self._at += 1
            self._directive_tail(word)
            return
        if word == ".section":
            self._section()
            return
        external = False
        while self._peek() in _LINKAGE:
            external |= self._next() == ".extern"
        word = self._next()
        if word in {".entry", ".func"}:
            self._function(entry=word == ".entry")
        elif word in _SPACES:
            for variable in self._variables(word[1:], external):
                self._module.variables[variable.name] = variable
        else:
            raise Malformed(f"unexpected {word[:40]!r} outside a function")

    def _directive_tail(self, word: str) -> None:
        """Steps over what follows a directive without a closing mark."""
        if word == ".target":
            self._next()
            while self._accept(","):
                self._next()
        elif word == ".file":
            self._integer()
            self._next()
            while self._accept(","):
                self._integer()
        else:
            self._next()

    def _section(self) -> None:
        """Steps over a debug section."""
        self._next()
        self._next()
        self._expect("{")
        while self._next() != "}":
            pass

    # -- variables --------------------------------------------------------------------------------------------------

    def _variables(self, space: str, external: bool = False) -> Iterator[Variable]:
        """`.align 4 .b8 name[1024] = {...}, ...;` after the space."""
        align, element = self._type()
        while True:
            yield self._variable(space, align, element, external)
            if not self._accept(","):
                break
        self._expect(";")

    def _type(self) -> tuple[int, int]:
        """The alignment and the element size that stand before a variable's name."""
        align = 0
        size = 0
        while self._peek().startswith("."):
            word = self._next()[1:]
            if word == "align":
                align = self._integer()
            elif word in {"ptr", "attribute"} or word in {"global", "shared", "const", "local"}:
                if word == "attribute":
                    while self._next() != ")":
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

    def _variable(self, space: str, align: int, element: int, external: bool = False) -> Variable:
        name = self._declare(self._next(), space)
        count = 1
        unsized = False
        while self._accept("["):
            if self._accept("]"):
                unsized = True
                continue
            count *= self._integer()
            self._expect("]")
        size = 0 if unsized else count * element
        if size < 0 or size > 1 << 40:
            raise Malformed("a variable of impossible size")
        data, pointers = self._initialiser(element) if self._accept("=") else (None, ())
        if data is not None and unsized:
            size = len(data)
        return Variable(name, space, size, align, data, external, pointers, element)

    def _initialiser(self, element: int) -> tuple[bytes, tuple[tuple[int, str], ...]]:
        """The bytes of `{1, 2, symbol+4}` or of one value."""
        data = bytearray()
        pointers: list[tuple[int, str]] = []
        depth = 0
        while True:
            if self._accept("{"):
                depth += 1
                continue
            if self._accept("}"):
                depth -= 1
            else:
                value, symbol = self._constant()
                if symbol:
                    pointers.append((len(data), symbol))
                data += (value & ((1 << 8 * element) - 1)).to_bytes(element, "little")
            while depth and self._accept("}"):
                depth -= 1
            if depth == 0:
                return bytes(data), tuple(pointers)
            if not self._accept(","):
                raise Malformed("an initialiser of unexpected form")

    def _constant(self) -> tuple[int, str]:
        kind, text = self._kind(), self._peek()
        if kind == "float":
            self._at += 1
            return int(text[2:], 16), ""
        if kind == "word":
            self._at += 1
            if text == "generic":
                self._expect("(")
                text = self._next()
                self._expect(")")
            return (self._integer() if self._accept("+") else 0), text
        return self._integer(), ""

    def _declare(self, name: str, space: str) -> str:
        """The unique name of a variable or register: names inside braces may return in the next braces."""
        if not re.fullmatch(r"[%$_a-zA-Z.][\w.$%]*", name):
            raise Malformed(f"unexpected name {name[:40]!r}")
        if not self._scopes:
            if space != "reg" and name in self._module.variables:
                raise Malformed(f"{name[:80]!r} is declared twice")
            return name
        unique = name if len(self._scopes) == 1 else f"{name}#{self._scope_count}"
        self._scopes[-1][name] = unique
        if space == "reg":
            self._plain_registers.add(unique)
        return unique

    def _resolve(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name

    # -- functions --------------------------------------------------------------------------------------------------

    def _function(self, *, entry: bool) -> None:
        self._scopes = [{}]
        returns = self._parameters() if not entry and self._peek() == "(" else []
        name = self._next()
        parameters = self._parameters() if self._peek() == "(" else []
        known = self._module.functions.get(name)
        if known is not None and known.defined:
            raise Malformed(f"the function {name[:80]!r} is defined twice")
        function = Function(name, entry, parameters, returns)
        self._line = None
        while self._peek().startswith("."):
            self._performance_directive(function)
        if self._accept("{"):
            function.defined = True
            self._body(function)
        elif not self._accept(";"):
            raise Malformed("a function without a body")
        self._module.functions[name] = function
        self._scopes = []

    def _performance_directive(self, function: Function) -> None:
        word = self._next()
        if word in {".noreturn", ".explicitcluster", ".blocksareclusters"}:
            return
        if word == ".pragma":
            self._next()
            self._expect(";")
            return
        if word in {".maxntid", ".minnctapersm", ".maxnreg", ".reqntid", ".maxnctapersm", ".reqnctapercluster"}:
            product = self._integer()
            while self._accept(","):
                product *= self._integer()
            if word in {".maxntid", ".reqntid"}:
                function.most_threads = product
            return
        raise Malformed(f"unexpected {word[:40]!r} before a function's body")

    def _parameters(self) -> list[Variable]:
        self._expect("(")
        found: list[Variable] = []
        if self._accept(")"):
            return found
        while True:
            space = self._next()
            if space not in {".param", ".reg"}:
                raise Malformed(f"unexpected {space[:40]!r} in a parameter list")
            align, element = self._type()
            found.append(self._variable("param", align, element))
            if not self._accept(","):
                break
        self._expect(")")
        return found

    def _body(self, function: Function) -> None:
        depth = 1
        while depth:
            kind, word = self._kind(), self._peek()
            if word == "{" and kind == "mark":
                self._at += 1
                depth += 1
                self._open_scope()
            elif word == "}" and kind == "mark":
                self._at += 1
                depth -= 1
                if depth:
                    self._scopes.pop()
            elif word.startswith("."):
                self._body_directive(function)
            else:
                self._statement(function)

    def _open_scope(self) -> None:
        if len(self._scopes) >= MAX_SCOPES:
            raise Malformed("braces nested too deeply")
        self._scope_count += 1
        self._scopes.append({})

    def _body_directive(self, function: Function) -> None:
        word = self._next()
        if word == ".loc":
            self._location()
        elif word == ".reg":
            self._registers(function)
        elif word in _SPACES:
            function.variables.extend(self._variables(word[1:]))
        elif word == ".pragma":
            self._next()
            self._expect(";")
        else:
            raise Malformed(f"unexpected {word[:40]!r} in a function")

    def _location(self) -> None:
        """`.loc file line column[, function_name label, inlined_at file line column]`.

        Line 0 means that the compiler does not know: the line before stays. Code inlined from a header gets the line
        where the student's file calls it.
        """
        file, line, _ = self._integer(), self._integer(), self._integer()
        chosen = line if file in self._own_files else 0
        while self._accept(","):
            word = self._next()
            if word == "inlined_at":
                file, line, _ = self._integer(), self._integer(), self._integer()
                if not chosen and file in self._own_files:
                    chosen = line
            elif word == "function_name":
                self._next()
                if self._accept("+"):
                    self._integer()
            else:
                raise Malformed(f"unexpected {word[:40]!r} in a location")
        if chosen:
            self._line = chosen

    def _registers(self, function: Function) -> None:
        kind = self._next()[1:]
        if kind not in SIZES:
            raise Malformed(f"unknown register type .{kind[:40]}")
        while True:
            name = self._next()
            if self._accept("<"):
                count = self._integer()
                self._expect(">")
                if not 0 <= count <= MAX_TOKENS:
                    raise Malformed("too many registers")
                function.registers[name + "*"] = kind
            else:
                function.registers[self._declare(name, "reg")] = kind
            if not self._accept(","):
                break
        self._expect(";")

    def _statement(self, function: Function) -> None:
        word = self._next()
        if self._accept(":"):
            if self._accept(".branchtargets"):
                function.tables[word] = self._names()
            elif self._peek() in {".callprototype", ".calltargets"}:
                raise Unsupported("call through a pointer", self._line, "calls through a pointer are not emulated")
            else:
                function.body.append(Label(word))
            return
        guard = None
        if word.startswith("@"):
            word, guard = self._guard(word)
        if not re.fullmatch(r"[a-z][\w.:]*", word):
            raise Malformed(f"unexpected {word[:40]!r} in a function")
        operands = self._operands()
        function.body.append(Instruction(word, operands, guard, self._line))

    def _names(self) -> tuple[str, ...]:
        names = [self._next()]
        while self._accept(","):
            names.append(self._next())
        self._expect(";")
        return tuple(names)

    def _guard(self, word: str) -> tuple[str, Guard]:
        negated = word == "@" and self._accept("!")
        name = word[1:] or self._next()
        if not name.startswith("%") and not name[:1].isalpha():
            raise Malformed("a guard of unexpected form")
        return self._next(), Guard(Register(self._resolve(name)), negated)

    def _operands(self) -> tuple[Operand, ...]:
        operands: list[Operand] = []
        if self._accept(";"):
            return ()
        while True:
            operands.append(self._operand())
            if self._accept(";"):
                return tuple(operands)
            self._expect(",")

    def _operand(self) -> Operand:
        mark = self._peek()
        if self._kind() == "mark":
            if mark == "[":
                return self._address()
            if mark == "{":
                return self._vector()
            if mark == "(":
                return self._arguments()
        operand = self._scalar()
        if self._accept("|"):
            second = self._scalar()
            return Pair(_register_or_none(operand), _register_or_none(second))
        return operand

    def _scalar(self) -> Register | Immediate | Symbol:
        kind, text = self._kind(), self._peek()
        if kind == "float":
            self._at += 1
            return Immediate(int(text[2:], 16), 32 if text[1] in "fF" else 64)
        if kind == "word":
            self._at += 1
            name = self._resolve(text)
            if name.startswith("%") or text == "_" or name in self._plain_registers:
                return Register(name)
            if self._accept("+"):
                return Symbol(name, self._integer())
            return Symbol(name)
        if self._accept("!"):
            inner = self._scalar()
            if not isinstance(inner, Register):
                raise Malformed("a negation of something that is no predicate")
            return Register("!" + inner.name)
        return Immediate(self._integer())

    def _address(self) -> Address:
        self._expect("[")
        base: Register | Symbol | None = None
        offset = 0
        if self._kind() == "word":
            found = self._scalar()
            if isinstance(found, Immediate):
                raise Malformed("an address of unexpected form")
            base = Symbol(found.name) if isinstance(found, Symbol) else found
            offset = found.offset if isinstance(found, Symbol) else 0
            if self._accept("+"):
                offset += self._integer()
            elif self._peek() == "-":
                offset += self._integer()
        else:
            offset = self._integer()
        self._expect("]")
        return Address(base, offset)

    def _vector(self) -> Vector:
        self._expect("{")
        items: list[Register | Immediate | None] = []
        while True:
            item = self._scalar()
            if isinstance(item, Symbol):
                raise Malformed("a symbol inside a vector")
            items.append(None if isinstance(item, Register) and item.name == "_" else item)
            if self._accept("}"):
                return Vector(tuple(items))
            self._expect(",")

    def _arguments(self) -> Arguments:
        self._expect("(")
        names: list[str] = []
        if self._accept(")"):
            return Arguments(())
        while True:
            names.append(self._resolve(self._next()))
            if self._accept(")"):
                return Arguments(tuple(names))
            self._expect(",")


def _register_or_none(operand: Register | Immediate | Symbol) -> Register | None:
    if isinstance(operand, Register):
        return None if operand.name == "_" else operand
    raise Malformed("a pair of something that is no register")
