"""Turn a module into one flat program: expand calls, number registers, find basic blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from kernels.device.ptx.module import (
    SIZES,
    Address,
    Arguments,
    Function,
    Guard,
    Instruction,
    Label,
    Malformed,
    Module,
    Operand,
    Pair,
    Refusal,
    Register,
    Signature,
    Symbol,
    Unsupported,
    Variable,
    Vector,
    is_special,
)
from kernels.device.ptx.parser import parse_module
from kernels.device.ptx.pointers import function_addresses, with_addresses
from kernels.device.ptx.program import Program, basic_blocks

_Names = tuple[str, ...]
MAX_INSTRUCTIONS = 200_000
MAX_CALLS = 10_000
MOST_BYTES = {"global": 256 << 20, "const": 1 << 20, "shared": 256 << 10, "local": 512 << 10, "param": 64 << 10}
_TOO_LONG = "The kernel is too long once its calls are expanded."
_CHOICE = "%choice"
_REFUSED = {
    "malloc": "Memory that a kernel allocates itself (`new`, `malloc`) is not emulated.",
    "free": "Memory that a kernel frees itself (`delete`, `free`) is not emulated.",
    "cudaLaunchDeviceV2": "Kernels that launch kernels are not emulated.",
    "cudaGetParameterBufferV2": "Kernels that launch kernels are not emulated.",
    "cudaCGSynchronize": "The launch isn't cooperative, so blocks can't wait for each other.",
}
_BUILTINS = {"vprintf": "call.printf", "__assertfail": "call.assert"}


@lru_cache(maxsize=8)
def load_program(ptx: str, entry: str) -> Program:
    """Parse PTX and prepare the kernel called `entry`. A process that checks a kernel also counts it.

    raise (Malformed): no compiler writes such a text
    raise (Unsupported): the CPU device doesn't emulate a feature
    """
    module = parse_module(ptx)
    function = module.functions.get(entry)
    if function is None or not function.entry or not function.defined:
        raise Malformed(f"the compiled text holds no kernel {entry[:80]!r}")
    return _Expansion(module).program(function)


@dataclass(frozen=True, slots=True)
class _Call:
    """The call whose body is expanded.

    stack: the functions around it
    end: the label after the body; None for the kernel itself
    lines: of this call and those around it, up to the kernel's
    """

    stack: tuple[str, ...]
    end: str | None
    lines: tuple[int, ...] = ()


class _Expansion:
    """Inline the bodies of called functions.

    Each call gets its own registers and local memory, so a flat program needs no call stack. Recursion is refused.

    A call through a pointer becomes a branch to all functions that fit. A function fits if its address is used as a
    value. If one of them can't be emulated, only a thread that reaches it is refused.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self._instructions: list[Instruction] = []
        self._targets: dict[str, int] = {}
        self._tables: dict[str, tuple[str, ...]] = {}
        self._variables: dict[str, Variable] = dict(module.variables)
        self._calls = 0
        self._functions: dict[str, Function] = {}
        self._addresses = function_addresses(module)
        self._callees: dict[str, tuple[int, ...]] = {}

    def _width(self, name: str) -> int:
        """Return the declared width of a register. Its name starts with the name of its call."""
        prefix, _, own = name.rpartition(":")
        declared = self._functions[prefix and prefix + ":"].registers
        kind = declared.get(own) or declared.get(own.rstrip("0123456789") + "*")
        if kind is None:
            raise Malformed(f"the register {own[:40]!r} is not declared")
        return 1 if kind == "pred" else SIZES[kind] * 8

    def program(self, kernel: Function) -> Program:
        for parameter in kernel.parameters:
            self._variables[parameter.name] = parameter
        self._expand(kernel, "", {}, _Call((), None))
        self._instructions.append(Instruction("exit", (), None, None))
        registers: dict[str, int] = {}
        for instruction in self._instructions:
            for name in (*instruction.results, *instruction.reads):
                registers.setdefault(name, len(registers))
        self._check_jumps()
        self._check_sizes()
        return Program(
            kernel.name,
            tuple(self._instructions),
            registers,
            tuple(self._width(name) for name in registers),
            self._targets,
            self._tables,
            basic_blocks(self._instructions, self._targets),
            tuple(kernel.parameters),
            kernel.bounds,
            {name: with_addresses(each, self._addresses) for name, each in self._variables.items()},
            self._addresses,
            self._callees,
        )

    def _check_jumps(self) -> None:
        for item in self._instructions:
            if item.head not in {"bra", "brx"}:
                continue
            place = item.operands[-1] if len(item.operands) == (1 if item.head == "bra" else 2) else None
            name = place.name if isinstance(place, Symbol) else ""
            labels = (name,) if item.head == "bra" else self._tables.get(name, ("",))
            if any(label not in self._targets for label in labels):
                raise Malformed("a branch to nowhere")

    def _check_sizes(self) -> None:
        """Limit the memory of a thread, a block and the module before any is allocated."""
        asked = Counter[str]()
        for variable in self._variables.values():
            asked[variable.space] += variable.size
        for space, size in asked.items():
            if size > MOST_BYTES[space]:
                most = MOST_BYTES[space]
                message = f"The kernel asks for {size:,} bytes of {space} memory. At most {most:,} are emulated."
                raise Unsupported(f".{space}", None, message)

    def _expand(self, function: Function, prefix: str, bound: dict[str, str], call: _Call) -> None:
        names = dict(bound)
        self._functions[prefix] = function
        for variable in function.variables:
            if variable.space in {"local", "param"}:
                names[variable.name] = prefix + variable.name
            unique = names.get(variable.name, variable.name)
            self._variables[unique] = variable
        labels = {item.name for item in function.body if isinstance(item, Label)}
        for table, targets in function.tables.items():
            self._tables[prefix + table] = tuple(prefix + target for target in targets)
        rename = _Renaming(prefix, names, labels | set(function.tables), call.lines)
        for item in function.body:
            if isinstance(item, Label):
                if prefix + item.name in self._targets:
                    raise Malformed("a label is declared twice")
                self._targets[prefix + item.name] = len(self._instructions)
            else:
                self._add(rename.instruction(item), function, call)

    def _add(self, instruction: Instruction, function: Function, call: _Call) -> None:
        head = instruction.head
        if head == "call":
            self._call(instruction, function, call)
            return
        if head == "ret" and call.end is not None:
            instruction = replace(instruction, opcode="bra", operands=(Symbol(call.end),))
        self._append(instruction)

    def _append(self, instruction: Instruction) -> None:
        if len(self._instructions) >= MAX_INSTRUCTIONS:
            raise Unsupported("call", instruction.line, _TOO_LONG)
        self._instructions.append(instruction)

    def _refuse(self, construct: str, line: int | None, reason: str) -> None:
        """Refuse only this place, because threads may never execute it."""
        self._append(Instruction("refuse", (Refusal(construct, reason),), None, line))

    def _call(self, instruction: Instruction, function: Function, call: _Call) -> None:
        line = instruction.line
        if instruction.guard is not None:
            raise Unsupported(instruction.opcode, line, "Calls under a predicate are not emulated.")
        lists = [operand.names for operand in instruction.operands if isinstance(operand, Arguments)]
        symbols = [operand for operand in instruction.operands if isinstance(operand, Symbol)]
        pointers = [operand for operand in instruction.operands if isinstance(operand, Register)]
        if len(symbols) != 1 or len(pointers) > 1 or len(lists) > 2:
            raise Malformed("a call of unexpected form")
        around = instruction.inlined or (() if line is None else (line,))
        inner = replace(call, stack=(*call.stack, function.name), lines=around)
        if pointers:
            signature = function.prototypes.get(symbols[0].name)
            if signature is None:
                raise Malformed("a call through a pointer without its prototype")
            returned, passed = _arguments(lists, bool(signature[0]))
            self._dispatch(pointers[0], signature, returned, passed, line, inner)
            return
        callee = self._module.functions.get(symbols[0].name)
        if callee is None:
            raise Malformed("a call of a function that is not declared")
        returned, passed = _arguments(lists, bool(callee.returns))
        if callee.defined:
            self._body(callee, returned, passed, line, inner)
        else:
            self._builtin(callee.name, returned, passed, line)

    def _prefix(self, line: int | None) -> str:
        if self._calls >= MAX_CALLS:
            raise Unsupported("call", line, _TOO_LONG)
        self._calls += 1
        return f"{self._calls}:"

    def _body(self, function: Function, returned: _Names, passed: _Names, line: int | None, call: _Call) -> None:
        if function.name in call.stack:
            self._refuse("call", line, "A function that calls itself (recursion) is not emulated.")
            return
        if len(passed) != len(function.parameters) or len(returned) != len(function.returns):
            raise Malformed("a call that does not fit its function")
        prefix = self._prefix(line)
        end = f"{prefix}end"
        formal = [variable.name for variable in (*function.parameters, *function.returns)]
        bound = dict(zip(formal, (*passed, *returned), strict=True))
        self._expand(function, prefix, bound, replace(call, end=end))
        self._targets[end] = len(self._instructions)

    def _dispatch(
        self, pointer: Register, signature: Signature, returned: _Names, passed: _Names, line: int | None, call: _Call
    ) -> None:
        """Emit a call through a pointer: the bodies of all possible functions, one after the other."""
        fitting = [name for name in self._addresses if self._module.functions[name].signature == signature]
        prefix = self._prefix(line)
        self._functions[prefix] = Function(prefix, False, [], [], registers={_CHOICE: "u32"})
        choice, table, end = Register(prefix + _CHOICE), Symbol(f"{prefix}table"), f"{prefix}end"
        labels = tuple(f"{prefix}{number}" for number in range(len(fitting)))
        self._tables[table.name] = labels
        self._callees[table.name] = tuple(self._addresses[name] for name in fitting)
        self._append(Instruction("callee.u32", (choice, pointer, table), None, line))
        self._append(Instruction("brx.idx", (choice, table), None, line))
        for label, name in zip(labels, fitting, strict=True):
            self._targets[label] = len(self._instructions)
            self._body(self._module.functions[name], returned, passed, line, call)
            self._append(Instruction("bra", (Symbol(end),), None, line))
        self._targets[end] = len(self._instructions)

    def _builtin(self, name: str, returned: _Names, passed: _Names, line: int | None) -> None:
        opcode = _BUILTINS.get(name)
        if opcode is None:
            reason = _REFUSED.get(name, f"The function `{name}` is not emulated.")
            self._refuse(f"call {name}", line, reason)
            return
        self._append(Instruction(opcode, (Arguments(returned), Arguments(passed)), None, line))


def _arguments(lists: list[_Names], returns: bool) -> tuple[_Names, _Names]:
    """Split the names in a call's parentheses into results and arguments."""
    returned = lists[0] if returns and lists else ()
    return returned, lists[-1] if len(lists) > returns else ()


class _Renaming:
    """Unique names for the registers, labels and variables of one call."""

    def __init__(self, prefix: str, variables: Mapping[str, str], labels: set[str], lines: tuple[int, ...]) -> None:
        self._prefix = prefix
        self._variables = variables
        self._labels = labels
        self._lines = lines

    def instruction(self, item: Instruction) -> Instruction:
        guard = item.guard and Guard(self._register(item.guard.register), item.guard.negated)
        operands = tuple(self._operand(operand) for operand in item.operands)
        inner = item.inlined or (() if item.line is None else (item.line,))
        inlined = inner + self._lines if inner and self._lines else item.inlined
        return Instruction(item.opcode, operands, guard, item.line, inlined, item.library)

    def _register(self, register: Register) -> Register:
        name = register.name
        if not self._prefix or name == "_" or is_special(name):
            return register
        mark = "!" if name.startswith("!") else ""
        return Register(mark + self._prefix + name.lstrip("!"))

    def _symbol(self, symbol: Symbol) -> Symbol:
        name = symbol.name
        if name in self._labels:
            return Symbol(self._prefix + name, symbol.offset)
        return Symbol(self._variables.get(name, name), symbol.offset)

    def _operand(self, operand: Operand) -> Operand:
        if isinstance(operand, Register):
            return self._register(operand)
        if isinstance(operand, Symbol):
            return self._symbol(operand)
        if isinstance(operand, Address):
            base = operand.base
            if base is None:
                return operand
            renamed = self._register(base) if isinstance(base, Register) else self._symbol(base)
            return Address(renamed, operand.offset)
        if isinstance(operand, Vector):
            return Vector(tuple(self._register(i) if isinstance(i, Register) else i for i in operand.items))
        if isinstance(operand, Pair):
            return Pair(*(item and self._register(item) for item in (operand.first, operand.second)))
        if isinstance(operand, Arguments):
            return Arguments(tuple(self._variables.get(name, name) for name in operand.names))
        return operand
