"""Parse the text of a PTX module into typed instructions.

The compiler wrote the text from a student's file, which may have inline assembly. So the text may be hostile. The
parser raises `Malformed` for any unexpected form and never guesses.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import takewhile

from kernels.device.ptx.features import feature, not_emulated
from kernels.device.ptx.module import (
    SIZES,
    Function,
    Guard,
    Immediate,
    Instruction,
    Label,
    Malformed,
    Module,
    Operand,
    Refusal,
    Register,
    Signature,
    Unsupported,
    Variable,
    sizes,
)
from kernels.device.ptx.operands import OperandReader, Scopes, check_name
from kernels.device.ptx.tokens import MAX_TOKENS, Tokens
from kernels.device.ptx.variables import VariableReader

SOURCE_NAME = "kernel.cu"
"""The name of the student's file in the texts of the compiler and the disassembler."""

_SPACES = {".global", ".const", ".shared", ".local", ".param"}
_LINKAGE = {".visible", ".extern", ".weak", ".common"}
_HINT = ".L2::cache_hint"
_OPCODE = re.compile(r"[a-z][\w.:]*")


def parse_module(text: str) -> Module:
    """Parse a PTX module. Raises Malformed for a text of an unexpected form."""
    return _ModuleReader(Tokens(text), _source_files(text)).module()


def _source_files(text: str) -> frozenset[int]:
    found = re.findall(r'^[ \t]*+\.file[ \t]++(\d{1,9})[ \t]++"([^"\n]*)"', text, re.MULTILINE)
    return frozenset(int(number) for number, path in found if path.rsplit("/", 1)[-1] == SOURCE_NAME)


def _without_policy(opcode: str, operands: tuple[Operand, ...]) -> tuple[str, tuple[Operand, ...]]:
    """Leave out the policy of a cache, which only changes the speed. It is the last operand."""
    if opcode.startswith("createpolicy."):
        return "mov.b64", (operands[0], Immediate(0))
    return (opcode.replace(_HINT, ""), operands[:-1]) if _HINT in opcode else (opcode, operands)


class _ModuleReader:
    """Parser for everything outside functions."""

    def __init__(self, tokens: Tokens, own_files: frozenset[int]) -> None:
        self._tokens = tokens
        self._own_files = own_files
        self._module = Module({}, {})
        self._assembly: list[_Assembly] = []
        self._variables = VariableReader(tokens, self._declare)

    def _declare(self, name: str) -> str:
        check_name(name)
        if name in self._module.variables:
            raise Malformed(f"{name[:80]!r} is declared twice")
        return name

    def module(self) -> Module:
        while self._tokens.left:
            self._declaration()
        _name_calls(self._module, self._assembly)
        return self._module

    def _declaration(self) -> None:
        word = self._tokens.peek()
        if word in {".version", ".target", ".address_size", ".file"}:
            self._tokens.next()
            self._directive_tail(word)
            return
        if word == ".section":
            self._section()
            return
        external = False
        while self._tokens.peek() in _LINKAGE:
            external |= self._tokens.next() == ".extern"
        word = self._tokens.next()
        if word in {".entry", ".func"}:
            self._function(entry=word == ".entry")
        elif word in _SPACES:
            for variable in self._variables.several(word[1:], external=external):
                self._module.variables[variable.name] = variable
        else:
            raise Malformed(f"unexpected {word[:40]!r} outside a function")

    def _directive_tail(self, word: str) -> None:
        if word == ".target":
            self._tokens.next()
            while self._tokens.accept(","):
                self._tokens.next()
        elif word == ".file":
            self._tokens.integer()
            self._tokens.next()
            while self._tokens.accept(","):
                self._tokens.integer()
        else:
            self._tokens.next()

    def _section(self) -> None:
        self._tokens.next()
        self._tokens.next()
        self._tokens.expect("{")
        while self._tokens.next() != "}":
            pass

    def _function(self, *, entry: bool) -> None:
        reader = _FunctionReader(self._tokens, self._own_files)
        function = reader.function(entry=entry)
        self._assembly.extend(reader.assembly)
        known = self._module.functions.get(function.name)
        if known is not None and known.defined:
            raise Malformed(f"the function {function.name[:80]!r} is defined twice")
        self._module.functions[function.name] = function


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the next instructions come from.

    lines: of the student's file, from the inner function to the kernel; empty if none is known
    helpers: a name of the function of each of these lines, "" for the kernel
    """

    lines: tuple[int, ...] = ()
    helpers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Assembly:
    """An instruction of inline assembly in a helper function, by its number in a function's body."""

    function: Function
    number: int
    place: _Place


def _name_calls(module: Module, assembly: list[_Assembly]) -> None:
    """Let findings name the call of a helper with one statement of assembly, as they do for a function of CUDA.

    Such a helper wraps an instruction, so its line says nothing about the kernel. It may have it from another helper.
    """
    statements: dict[str, set[int]] = {}
    for each in assembly:
        for helper, line in zip(each.place.helpers, each.place.lines, strict=True):
            statements.setdefault(helper, set()).add(line)
    for each in assembly:
        item, place = each.function.body[each.number], each.place
        inside = takewhile(lambda helper: helper and len(statements[helper]) == 1, place.helpers)
        if isinstance(item, Instruction):
            each.function.body[each.number] = replace(item, line=place.lines[len(list(inside))])


def _ends_with_barrier(function: Function) -> bool:
    last = function.body[-1] if function.body else None
    return isinstance(last, Instruction) and last.opcode.startswith(("bar.", "barrier."))


def _fill_lines(function: Function) -> None:
    """Give each instruction without a line the line of the next instruction that has one."""
    line = None
    for number in range(len(function.body) - 1, -1, -1):
        item = function.body[number]
        if not isinstance(item, Instruction):
            continue
        if item.line is None and line is not None:
            function.body[number] = replace(item, line=line)
        else:
            line = item.line


class _FunctionReader:
    def __init__(self, tokens: Tokens, own_files: frozenset[int]) -> None:
        self._tokens = tokens
        self._own_files = own_files
        self._scopes = Scopes()
        self._operands = OperandReader(tokens, self._scopes)
        self._variables = VariableReader(tokens, self._scopes.declare)
        self._line: int | None = None
        self._place = _Place()
        self._places: dict[tuple[int, ...], list[_Place]] = {}
        self._own = False
        self._library = False
        self.assembly: list[_Assembly] = []

    def function(self, *, entry: bool) -> Function:
        returns = self._parameters() if not entry and self._tokens.peek() == "(" else []
        name = self._tokens.next()
        parameters = self._parameters() if self._tokens.peek() == "(" else []
        function = Function(name, entry, parameters, returns)
        while self._tokens.peek().startswith("."):
            self._performance_directive(function)
        if self._tokens.accept("{"):
            function.defined = True
            try:
                self._body(function)
            except Malformed as error:
                error.line = self._line
                raise
            _fill_lines(function)
        elif not self._tokens.accept(";"):
            raise Malformed("a function without a body")
        return function

    def _performance_directive(self, function: Function) -> None:
        word = self._tokens.next()
        if word == ".blocksareclusters":
            function.bounds = replace(function.bounds, counts_clusters=True)
            return
        if word == ".explicitcluster":
            function.bounds = replace(function.bounds, needs_cluster=True)
            return
        if word == ".noreturn":
            return
        if word == ".pragma":
            self._tokens.next()
            self._tokens.expect(";")
            return
        if word in {
            ".maxntid",
            ".minnctapersm",
            ".maxnreg",
            ".reqntid",
            ".maxnctapersm",
            ".reqnctapercluster",
            ".maxclusterrank",
        }:
            numbers = [self._tokens.integer()]
            while self._tokens.accept(","):
                numbers.append(self._tokens.integer())
            self._bound(function, word, (*numbers, 1, 1)[:3])
            return
        raise Malformed(f"unexpected {word[:40]!r} before a function's body")

    def _bound(self, function: Function, word: str, numbers: tuple[int, ...]) -> None:
        if word == ".maxntid":
            function.bounds = replace(function.bounds, most_threads=math.prod(numbers))
        elif word == ".reqntid":
            function.bounds = replace(function.bounds, block=numbers)
        elif word == ".reqnctapercluster":
            function.bounds = replace(function.bounds, cluster=numbers)
        elif word == ".maxclusterrank":
            function.bounds = replace(function.bounds, most_in_cluster=numbers[0])

    def _parameters(self, variables: VariableReader | None = None) -> list[Variable]:
        self._tokens.expect("(")
        found: list[Variable] = []
        if self._tokens.accept(")"):
            return found
        while True:
            space = self._tokens.next()
            if space not in {".param", ".reg"}:
                raise Malformed(f"unexpected {space[:40]!r} in a parameter list")
            found.append((variables or self._variables).parameter())
            if not self._tokens.accept(","):
                break
        self._tokens.expect(")")
        return found

    def _body(self, function: Function) -> None:
        depth = 1
        labels = self._tokens.inner_labels()
        while depth:
            kind, word = self._tokens.kind(), self._tokens.peek()
            if word == "{" and kind == "mark":
                self._tokens.next()
                depth += 1
                self._scopes.open()
                for label in labels.get(self._tokens.place, ()):  # a branch may come before its label
                    self._scopes.declare(label)
            elif word == "}" and kind == "mark":
                self._tokens.next()
                depth -= 1
                if depth:
                    self._scopes.close()
            elif word.startswith("."):
                self._body_directive(function)
            else:
                self._statement(function)

    def _body_directive(self, function: Function) -> None:
        word = self._tokens.next()
        if word == ".loc":
            self._location(function)
        elif word == ".reg":
            self._registers(function)
        elif word in _SPACES:
            function.variables.extend(self._variables.several(word[1:]))
        elif word == ".pragma":
            self._tokens.next()
            self._tokens.expect(";")
        else:
            raise Malformed(f"unexpected {word[:40]!r} in a function")

    def _location(self, function: Function) -> None:
        """Parse `.loc file line column[, function_name label, inlined_at file line column]`.

        Line 0 means that the compiler doesn't know the line: the last line stays. Code inlined from a header gets the
        line in the student's file that calls it. The compiler first gives the place of a call, then what it inlined.
        """
        here, helper = self._triple(), ""
        call: tuple[int, ...] = ()
        while self._tokens.accept(","):
            word = self._tokens.next()
            if word == "inlined_at":
                call = self._triple()
            elif word == "function_name":
                helper = self._tokens.next()
                if self._tokens.accept("+"):
                    self._tokens.integer()
            else:
                raise Malformed(f"unexpected {word[:40]!r} in a location")
        around = self._around(call)
        place = self._own_place(here, helper)
        self._own = bool(place.lines)
        self._library = here[0] not in self._own_files
        place = _Place(place.lines + around.lines, place.helpers + around.helpers) if place.lines else around
        if place not in (known := self._places.setdefault(here, [])):
            known.append(place)
        if place.lines:
            self._place, self._line = place, place.lines[0]
        elif _ends_with_barrier(function):
            # Compilers often move the head of a loop behind the barrier at its end. Its line would be misleading there.
            self._place, self._line = place, None

    def _around(self, call: tuple[int, ...]) -> _Place:
        """The place of a call. The compiler gives the calls around it only the first time, so there may be several.

        Then it is the one nearest to the last place.
        """

        def common(place: _Place) -> int:
            pairs = zip(reversed(place.lines), reversed(self._place.lines), strict=False)
            return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))

        known = self._places.get(call)
        return self._own_place(call, "") if known is None else max(reversed(known), key=common)

    def _triple(self) -> tuple[int, ...]:
        return self._tokens.integer(), self._tokens.integer(), self._tokens.integer()

    def _own_place(self, place: tuple[int, ...], helper: str) -> _Place:
        """A place by its file and line, if it is in the student's file."""
        return _Place(place[1:2], (helper,)) if place and place[1] and place[0] in self._own_files else _Place()

    def _registers(self, function: Function) -> None:
        kind = self._tokens.next()[1:]
        if kind not in SIZES:
            raise Malformed(f"unknown register type .{kind[:40]}")
        while True:
            name = self._tokens.next()
            if self._tokens.accept("<"):
                count = self._tokens.integer()
                self._tokens.expect(">")
                if not 0 <= count <= MAX_TOKENS:
                    raise Malformed("too many registers")
                function.registers[name + "*"] = kind
            else:
                function.registers[self._scopes.declare(name, register=True)] = kind
            if not self._tokens.accept(","):
                break
        self._tokens.expect(";")

    def _statement(self, function: Function) -> None:
        word = self._tokens.next()
        if self._tokens.accept(":"):
            word = self._scopes.resolve(word)
            if self._tokens.accept(".branchtargets"):
                function.tables[word] = self._names()
            elif self._tokens.accept(".callprototype"):
                function.prototypes[word] = self._prototype()
            elif self._tokens.accept(".calltargets"):
                reason = "Calls through a pointer with a list of targets are not emulated."
                raise Unsupported(".calltargets", self._line, reason)
            else:
                function.body.append(Label(word))
            return
        guard = None
        if word.startswith("@"):
            word, guard = self._guard(word)
        if not _OPCODE.fullmatch(word):
            raise Malformed(f"unexpected {word[:40]!r} in a function")
        start = self._tokens.place
        try:
            operands = self._operands.all(single=word.endswith(".f32"))
        except Malformed:
            if feature(word) is None:
                raise
            # some of these have operands of an unusual form
            self._tokens.skip(start, ";")
            word, operands = "refuse", (Refusal(word, not_emulated(word)),)
        inlined = self._place.lines if len(self._place.lines) > 1 else ()
        if inlined and self._own and self._tokens.in_assembly(start):
            self.assembly.append(_Assembly(function, len(function.body), self._place))
        word, operands = _without_policy(word, operands)
        function.body.append(Instruction(word, operands, guard, self._line, inlined, self._library))

    def _prototype(self) -> Signature:
        """Parse `(.param .b32 _) _ (.param .b64 _);`, the signature of a call through a pointer."""
        unnamed = VariableReader(self._tokens, lambda name: name)
        returns = self._parameters(unnamed) if self._tokens.peek() == "(" else []
        self._tokens.next()
        parameters = self._parameters(unnamed) if self._tokens.peek() == "(" else []
        self._tokens.accept(".noreturn")
        self._tokens.expect(";")
        return sizes(returns), sizes(parameters)

    def _names(self) -> tuple[str, ...]:
        names = [self._scopes.resolve(self._tokens.next())]
        while self._tokens.accept(","):
            names.append(self._scopes.resolve(self._tokens.next()))
        self._tokens.expect(";")
        return tuple(names)

    def _guard(self, word: str) -> tuple[str, Guard]:
        negated = word == "@" and self._tokens.accept("!")
        name = word[1:] or self._tokens.next()
        if not name.startswith("%") and not name[:1].isalpha():
            raise Malformed("a guard of unexpected form")
        return self._tokens.next(), Guard(Register(self._scopes.resolve(name)), negated)
