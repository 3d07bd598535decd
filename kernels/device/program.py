"""Turns a module into one flat program: calls expanded, registers numbered, basic blocks found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from kernels.device.ptx import (
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
    Register,
    Symbol,
    Unsupported,
    Variable,
    Vector,
)
from kernels.device.ptx_parser import parse_module

MAX_INSTRUCTIONS = 200_000
MAX_CALLS = 10_000
MOST_BYTES = {
    "global": 256 << 20,
    "const": 1 << 20,
    "shared": 256 << 10,
    "local": 512 << 10,
    "param": 64 << 10,
}
_BUILTINS = {"vprintf": "call.printf", "__assertfail": "call.assert"}
_BARRIERS = re.compile(r"bar\.sync|bar\.red\.|barrier\.(cta\.)?(sync|red)")
_WARP_SYNCS = re.compile(r"bar\.warp\.sync|shfl\.sync|vote\.sync|match\.\w+\.sync|redux\.sync|activemask")
_NO_RESULT = re.compile(
    r"(st|bra|brx|bar\.sync|bar\.warp|barrier\.sync|barrier\.cta\.sync|membar|fence|red|ret|exit|trap|brkpt|nanosleep"
    r"|cp|prefetch|prefetchu|discard|applypriority|pmevent|griddepcontrol|call|stmatrix|bar\.arrive)(\.|$)"
)
ENDS = {"ret", "exit", "trap", "brkpt", "call.assert"}


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions [start, end) that run one after the other; only the last may jump or wait."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A kernel ready to run.

    registers: register name -> number
    widths: the width in bits of each register, by number
    targets: label -> index of the instruction behind it
    parameters: the kernel's own parameters, in order
    most_threads: how many threads a block may have by `__launch_bounds__`, or 0
    variables: everything with an address, by name
    """

    name: str
    instructions: tuple[Instruction, ...]
    registers: Mapping[str, int]
    widths: tuple[int, ...]
    targets: Mapping[str, int]
    tables: Mapping[str, tuple[str, ...]]
    blocks: tuple[Block, ...]
    parameters: tuple[Variable, ...]
    most_threads: int
    variables: Mapping[str, Variable]

    @property
    def static_shared(self) -> int:
        """Bytes of shared memory that the kernel declares itself."""
        return sum(v.size for v in self.variables.values() if v.space == "shared" and not v.external)


def load_program(ptx: str, entry: str, source_name: str = "kernel.cu") -> Program:
    """Reads PTX and prepares the kernel called `entry`.

    raise (Malformed): the text is not what the compiler writes
    raise (Unsupported): the kernel needs something that the CPU device does not know
    """
    module = parse_module(ptx, source_name)
    function = module.functions.get(entry)
    if function is None or not function.entry or not function.defined:
        raise Malformed(f"the compiled text holds no kernel {entry[:80]!r}")
    return _Expansion(module).program(function)


def is_barrier(instruction: Instruction) -> bool:
    """Whether all threads of the block meet here."""
    return bool(_BARRIERS.match(instruction.opcode))


def is_warp_sync(instruction: Instruction) -> bool:
    """Whether the named lanes of the warp meet here."""
    return bool(_WARP_SYNCS.match(instruction.opcode))


def is_jump(instruction: Instruction) -> bool:
    """Whether control may leave the straight line here."""
    head = instruction.opcode.split(".", 1)[0]
    return head in {"bra", "brx"} or instruction.opcode in ENDS or head in ENDS


def results(instruction: Instruction) -> tuple[str, ...]:
    """The names of the registers that an instruction writes."""
    if not instruction.operands or _NO_RESULT.match(instruction.opcode):
        return ()
    first = instruction.operands[0]
    return tuple(_registers_in(first)) if not isinstance(first, Address) else ()


def reads(instruction: Instruction) -> tuple[str, ...]:
    """The names of the registers that an instruction reads, its guard's included."""
    found: list[str] = []
    if instruction.guard is not None:
        found.append(instruction.guard.register.name)
    has_result = bool(results(instruction))
    for position, operand in enumerate(instruction.operands):
        if has_result and position == 0:
            continue
        found.extend(_registers_in(operand))
    return tuple(found)


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


class _Expansion:
    """Puts the bodies of called functions where they are called.

    Every call gets registers and local memory of its own, so a flat program needs no call stack; recursion and calls
    through pointers are refused.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self._instructions: list[Instruction] = []
        self._targets: dict[str, int] = {}
        self._tables: dict[str, tuple[str, ...]] = {}
        self._variables: dict[str, Variable] = dict(module.variables)
        self._calls = 0
        self._functions: dict[str, Function] = {}

    def _width(self, name: str) -> int:
        """The declared width of a register, whose name starts with that of its call."""
        prefix, _, own = name.rpartition(":")
        declared = self._functions[prefix and prefix + ":"].registers
        kind = declared.get(own) or declared.get(own.rstrip("0123456789") + "*")
        if kind is None:
            raise Malformed(f"the register {own[:40]!r} is not declared")
        return 1 if kind == "pred" else SIZES[kind] * 8

    def program(self, kernel: Function) -> Program:
        for parameter in kernel.parameters:
            self._variables[parameter.name] = parameter
        self._expand(kernel, "", {}, (), None)
        self._instructions.append(Instruction("exit", (), None, None))
        registers: dict[str, int] = {}
        for instruction in self._instructions:
            for name in (*results(instruction), *reads(instruction)):
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
            _blocks(self._instructions, self._targets),
            tuple(kernel.parameters),
            kernel.most_threads,
            self._variables,
        )

    def _check_jumps(self) -> None:
        """Every branch leads to a label that exists."""
        for item in self._instructions:
            head = item.opcode.split(".", 1)[0]
            if head not in {"bra", "brx"}:
                continue
            place = item.operands[-1] if len(item.operands) == (1 if head == "bra" else 2) else None
            name = place.name if isinstance(place, Symbol) else ""
            labels = (name,) if head == "bra" else self._tables.get(name, ("",))
            if any(label not in self._targets for label in labels):
                raise Malformed("a branch to nowhere")

    def _check_sizes(self) -> None:
        """Bounds what one thread, one block and the module may ask for before any of it is made."""
        asked = Counter[str]()
        for variable in self._variables.values():
            asked[variable.space] += variable.size
        for space, size in asked.items():
            if size > MOST_BYTES[space]:
                most = MOST_BYTES[space]
                message = (
                    f"the kernel asks for {size:,} bytes of {space} memory; at most {most:,} are emulated"
                )
                raise Unsupported(f".{space}", None, message)

    def _expand(
        self, function: Function, prefix: str, bound: dict[str, str], stack: tuple[str, ...], end: str | None
    ) -> None:
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
        rename = _Renaming(prefix, names, labels | set(function.tables))
        for item in function.body:
            if isinstance(item, Label):
                if prefix + item.name in self._targets:
                    raise Malformed("a label is declared twice")
                self._targets[prefix + item.name] = len(self._instructions)
            else:
                self._add(rename.instruction(item), function, stack, end)

    def _add(
        self, instruction: Instruction, function: Function, stack: tuple[str, ...], end: str | None
    ) -> None:
        head = instruction.opcode.split(".", 1)[0]
        if head == "call":
            self._call(instruction, (*stack, function.name))
            return
        if head == "ret" and end is not None:
            instruction = Instruction("bra", (Symbol(end),), instruction.guard, instruction.line)
        if len(self._instructions) >= MAX_INSTRUCTIONS:
            raise Unsupported("call", instruction.line, "the kernel is too long once its calls are expanded")
        self._instructions.append(instruction)

    def _call(self, instruction: Instruction, stack: tuple[str, ...]) -> None:
        line = instruction.line
        lists = [operand for operand in instruction.operands if isinstance(operand, Arguments)]
        callee = next((operand for operand in instruction.operands if isinstance(operand, Symbol)), None)
        function = self._module.functions.get(callee.name) if callee else None
        if callee is None or function is None or instruction.guard is not None:
            raise Unsupported(instruction.opcode, line, "calls through a pointer are not emulated")
        returned = lists[0].names if function.returns and lists else ()
        passed = lists[-1].names if len(lists) > bool(function.returns) else ()
        if not function.defined:
            self._builtin(callee.name, returned, passed, line)
            return
        if callee.name in stack:
            raise Unsupported(
                instruction.opcode, line, "a function that calls itself (recursion) is not emulated"
            )
        if len(passed) != len(function.parameters) or len(returned) != len(function.returns):
            raise Malformed("a call that does not fit its function")
        if self._calls >= MAX_CALLS:
            raise Unsupported(instruction.opcode, line, "the kernel is too long once its calls are expanded")
        self._calls += 1
        prefix = f"{self._calls}:"
        end = f"{prefix}end"
        formal = [variable.name for variable in (*function.parameters, *function.returns)]
        self._expand(function, prefix, dict(zip(formal, (*passed, *returned), strict=True)), stack, end)
        self._targets[end] = len(self._instructions)

    def _builtin(
        self, name: str, returned: tuple[str, ...], passed: tuple[str, ...], line: int | None
    ) -> None:
        opcode = _BUILTINS.get(name)
        if opcode is None:
            raise Unsupported(f"call {name}", line, f"the CPU device does not know the function `{name}`")
        operands = (Arguments(returned), Arguments(passed))
        self._instructions.append(Instruction(opcode, operands, None, line))


class _Renaming:
    """Gives one call's registers, labels and variables names of their own."""

    def __init__(self, prefix: str, variables: Mapping[str, str], labels: set[str]) -> None:
        self._prefix = prefix
        self._variables = variables
        self._labels = labels

    def instruction(self, item: Instruction) -> Instruction:
        guard = item.guard and Guard(self._register(item.guard.register), item.guard.negated)
        return Instruction(
            item.opcode, tuple(self._operand(each) for each in item.operands), guard, item.line
        )

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


_SPECIAL = re.compile(
    r"!?%(tid|ntid|ctaid|nctaid|laneid|warpid|nwarpid|smid|nsmid|gridid|clock|clock_hi|clock64|globaltimer\w*"
    r"|lanemask_\w+|dynamic_smem_size|total_smem_size|envreg\d+|cluster\w*|is_explicit_cluster"
    r"|reserved_smem\w*|aggr_smem_size|current_graph_exec|pm\d+\w*)(\.[xyzw])?"
)


@lru_cache(maxsize=4096)
def is_special(name: str) -> bool:
    """Whether a name is that of one of the device's own registers, such as `%tid.x`."""
    return bool(_SPECIAL.fullmatch(name))


def _blocks(instructions: list[Instruction], targets: Mapping[str, int]) -> tuple[Block, ...]:
    """Cuts the program where control may arrive, leave or wait.

    A warp-wide operation starts a block of its own, so that threads can wait in front of it for the others.
    """
    starts = {0, *targets.values()}
    for index, instruction in enumerate(instructions):
        if is_jump(instruction) or is_barrier(instruction):
            starts.add(index + 1)
        elif is_warp_sync(instruction):
            starts.update((index, index + 1))
    ordered = sorted(start for start in starts if start < len(instructions))
    ends = [*ordered[1:], len(instructions)]
    return tuple(Block(start, end) for start, end in zip(ordered, ends, strict=True))
