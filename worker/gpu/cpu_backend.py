"""The CPU device with the interface of a GPU, to test everything except the GPU itself.

It reports what a GPU would: no races, and an access out of bounds ends the launch. Times come from a formula, because
the CPU can't tell how fast a GPU would be.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels import device
from kernels.device import Buffer, Execution, Program
from kernels.judging.element_bits import DTYPES, bits, numbers
from kernels.launch import Launch
from kernels.measurement import Clocks, Environment
from kernels.verdict import Finding, Verdict, errors_of
from worker.gpu.backend import (
    GUARD_WORDS,
    Argument,
    Call,
    Code,
    DeviceFault,
    FaultKind,
    Kernel,
    Mapped,
    Memory,
    Product,
    Timed,
    Used,
)

_FIRST_PLACE, _APART = 1 << 40, 1 << 32
_MEMORY_WORDS = 1 << 28
_INSTRUCTIONS_A_SECOND = 20_000
_OWN_INSTRUCTIONS = 50_000_000
_MULTIPLY_MS, _LAUNCH_MS, _THREAD_MS = 0.005, 0.01, 1e-6
_MOST_THREADS, _SHARED_BYTES = 1024, 227 * 1024
_THREADS_OF_A_MULTIPROCESSOR, _BLOCKS_OF_A_MULTIPROCESSOR = 2048, 32
_FAULTS = {
    Verdict.OUT_OF_BOUNDS: FaultKind.ADDRESS,
    Verdict.TIME_LIMIT: FaultKind.TIME,
    Verdict.RESOURCE_LIMIT: FaultKind.RESOURCES,
    Verdict.RUNTIME_ERROR: FaultKind.TRAP,
}

_ENTRY = re.compile(r"^\.visible \.entry (?P<name>[\w$]+)\((?:(?!\.visible ).*\n)*?}\n", re.MULTILINE)
"""A kernel in the compiler's PTX. Other kernels of a module are skipped, because parsing them takes long."""

Words = NDArray[np.uint32]
Clock = Callable[[Launch], float]


def by_threads(launch: Launch) -> float:
    """A made-up time of a launch in ms, which grows with its threads."""
    return _LAUNCH_MS + _THREAD_MS * launch.threads * launch.blocks


@dataclass(slots=True)
class _Module:
    """A loaded module, whose variables keep their values between launches.

    named: variables requested by name, each with its own memory
    """

    code: Code
    programs: dict[str, Program] = field(default_factory=dict)
    state: dict[str, bytes] = field(default_factory=dict)
    named: dict[str, Memory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Handle:
    module: _Module
    program: Program


class CpuBackend:
    """Memory in arrays at made-up addresses, too far apart for one array to reach another.

    A guard zone is a separate array, so every access past the end of memory fails.
    """

    def __init__(self, compiler: str = "", clock: Clock = by_threads) -> None:
        """Load nothing yet. clock: time of a launch in ms."""
        self._compiler = compiler
        self._clock = clock
        self._arrays: dict[int, Words] = {}
        self._guarded: dict[int, tuple[Memory, Memory]] = {}
        self._next = _FIRST_PLACE
        self._modules: dict[int, _Module] = {}
        self._fault: DeviceFault | None = None
        self._busy_ms = 0.0

    @property
    def environment(self) -> Environment:
        """An environment of the class "cpu", whose speeds are never ranked."""
        return Environment(
            device="CPU device",
            device_class="cpu",
            cc="9.0",
            multiprocessors=1,
            memory_bytes=4 * _MEMORY_WORDS,
            max_sm_mhz=0,
            driver="",
            cupy="",
            compiler=self._compiler,
        )

    # -- memory --------------------------------------------------------------------------------------------------------

    def take(self, words: int, *, guarded: bool = False) -> Memory:
        in_use = sum(array.size for array in self._arrays.values())
        if in_use + words + guarded * 2 * GUARD_WORDS > _MEMORY_WORDS:
            raise DeviceFault(FaultKind.RESOURCES, "out of memory")
        memory = self._place(words)
        if guarded:
            self._guarded[memory.place] = self._place(GUARD_WORDS), self._place(GUARD_WORDS)
        return memory

    def guards(self, memory: Memory) -> tuple[Memory, Memory]:
        return self._guarded[memory.place]

    def release(self) -> None:
        kept = {memory.place for module in self._modules.values() for memory in module.named.values()}
        self._arrays = {place: array for place, array in self._arrays.items() if place in kept}
        self._guarded.clear()

    def reset(self) -> None:
        self.wait()
        self._modules.clear()
        self.release()

    def fill(self, memory: Memory, word: int) -> None:
        self._words(memory)[:] = word & 0xFFFF_FFFF

    def write(self, memory: Memory, values: NDArray[Any]) -> None:
        view = np.ascontiguousarray(values).reshape(-1).view(np.uint32)
        self._words(memory)[: view.size] = view

    def read(self, memory: Memory) -> NDArray[Any]:
        self.wait()
        return self._words(memory).copy()

    def _place(self, words: int) -> Memory:
        memory = Memory(self._next, words)
        self._arrays[memory.place] = np.zeros(words, np.uint32)
        self._next += _APART
        return memory

    def _words(self, memory: Memory) -> Words:
        places = list(self._arrays)
        at = bisect.bisect_right(places, memory.place) - 1
        array = self._arrays[places[at]] if at >= 0 else np.zeros(0, np.uint32)
        start = (memory.place - places[at]) // 4 if at >= 0 else 0
        if start + memory.words > array.size:
            raise ValueError("this memory was never allocated, or it was released")
        return array[start : start + memory.words]

    # -- kernels -------------------------------------------------------------------------------------------------------

    def load(self, code: Code, entry: str) -> Kernel:
        """Parse the PTX. Refuses modules that the CPU device doesn't support."""
        module = self._modules.setdefault(id(code), _Module(code))
        if entry not in module.programs:
            try:
                module.programs[entry] = _program(code.ptx, entry)
            except (device.Unsupported, device.Malformed) as reason:
                raise DeviceFault(FaultKind.RESOURCES, str(reason)) from reason
        return Kernel(entry, _Handle(module, module.programs[entry]))

    def variable(self, kernel: Kernel, name: str) -> Memory:
        """A variable of the kernel's module. From now on it has its own memory, which every launch gets."""
        handle: _Handle = kernel.handle
        module = handle.module
        if name not in module.named:
            known = handle.program.variables.get(name)
            if known is None:
                raise DeviceFault(FaultKind.OTHER, f"no variable {name}")
            memory = module.named[name] = self._place(-(-known.size // 4))
            held = (module.state.pop(name, None) or known.data or b"")[: known.size]
            self._words(memory).view(np.uint8)[: len(held)] = np.frombuffer(held, np.uint8)
        return module.named[name]

    def used(self, kernel: Kernel) -> Used:
        """The resources in the PTX, which doesn't contain registers."""
        variables = kernel.handle.program.variables.values()
        local = sum(variable.size for variable in variables if variable.space == "local")
        return Used(0, kernel.handle.program.static_shared, local)

    def blocks_per_multiprocessor(self, kernel: Kernel, threads: int, shared: int) -> int:  # noqa: ARG002 -- the interface's
        """Blocks by threads only."""
        warps = -(-threads // 32) * 32
        return min(_BLOCKS_OF_A_MULTIPROCESSOR, _THREADS_OF_A_MULTIPROCESSOR // warps)

    def launch(self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument]) -> None:
        """Run a kernel. A later `wait` raises its fault."""
        try:
            self._run(kernel, launch, arguments, _OWN_INSTRUCTIONS)
        except DeviceFault as fault:
            self._fault = self._fault or fault

    def timed(
        self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument], seconds: float, then: Sequence[Call] = ()
    ) -> Timed:
        """Run a kernel. `seconds` becomes a limit for each thread's instructions in each launch."""
        self.wait()
        calls = (Call(kernel, launch, tuple(arguments)), *then)
        for call in calls:
            self._run(call.kernel, call.launch, call.arguments, max(1, int(seconds * _INSTRUCTIONS_A_SECOND)))
        return self._took(sum(self._clock(call.launch) for call in calls))

    def multiply(self, product: Product) -> Timed:
        """Multiply with numpy."""
        self.wait()
        (rows, inner, columns), types = product.shape, product.types
        a, b = (
            numbers(self._words(memory).view(DTYPES[kind])[: height * width], kind).reshape(height, width).astype(float)
            for memory, kind, height, width in (
                (product.left, types.left, rows, inner),
                (product.right, types.right, inner, columns),
            )
        )
        with np.errstate(all="ignore"):
            found = bits((a @ b).reshape(-1), types.result)
        self._words(product.out).view(found.dtype)[: found.size] = found
        return self._took(_MULTIPLY_MS + _THREAD_MS * rows * columns)

    def load_library(self, product: Product) -> None: ...

    def wait(self) -> None:
        """Raise an earlier fault, after which the device stays unusable like a GPU. There is nothing to wait for."""
        if self._fault is not None:
            raise self._fault

    def clocks(self) -> Clocks:
        return Clocks()

    def busy_ms(self) -> float:
        return self._busy_ms

    def _took(self, ms: float) -> Timed:
        self._busy_ms += ms
        return Timed(ms, ms)

    def _run(self, kernel: Kernel, launch: Launch, arguments: Sequence[Argument], instructions: int) -> None:
        handle: _Handle = kernel.handle
        module = handle.module
        if launch.threads > _MOST_THREADS or handle.program.static_shared + launch.shared > _SHARED_BYTES:
            raise DeviceFault(FaultKind.RESOURCES, "no device can run this launch")
        used = {name: m for name, m in module.named.items() if name in handle.program.variables}
        given = [each.memory if isinstance(each, Mapped) else each for each in arguments]
        memories = dict.fromkeys([*(each for each in given if isinstance(each, Memory)), *used.values()])
        try:
            execution = device.run(
                handle.program,
                launch,
                [_argument(argument) for argument in arguments],
                [Buffer(_name(m), self._words(m).view(np.float32), initialised=True) for m in memories],
                device.Options(
                    budget=device.Budget(instructions),
                    symbols={name: _name(memory) for name, memory in used.items()},
                    state={n: held for n, held in module.state.items() if n in handle.program.variables},
                    observe=False,
                ),
            )
        except (device.Unsupported, device.Malformed) as reason:
            raise self._lost(DeviceFault(FaultKind.OTHER, str(reason))) from reason
        module.state.update(execution.state)
        for memory in memories:
            self._words(memory)[:] = execution.values[_name(memory)].view(np.uint32)
        self._judge(execution)

    def _judge(self, execution: Execution) -> None:
        """Raise a fault for findings that would stop a GPU."""
        found = errors_of(execution.findings)
        for verdict, kind in _FAULTS.items():
            for finding in found:
                if finding.kind is verdict:
                    raise self._lost(DeviceFault(kind, _sentence(finding)))
        # Barrier divergence raises nothing: a GPU either ignores it, or never ends.

    def _lost(self, fault: DeviceFault) -> DeviceFault:
        """The fault. It also fails all later operations, unless only the launch was refused."""
        if fault.lost:
            self._fault = fault
        return fault


@lru_cache(maxsize=32)
def _program(ptx: str, entry: str) -> Program:
    """A parsed kernel, cached because each job loads the judge's own kernels, which takes long."""
    program = device.load_program(_ENTRY.sub(lambda found: found[0] if found["name"] == entry else "", ptx), entry)
    device.check(program)
    return program


def _argument(argument: Argument) -> device.Argument:
    if isinstance(argument, Mapped):
        return replace(argument.map, operand=_name(argument.memory))
    return _name(argument) if isinstance(argument, Memory) else argument


def _name(memory: Memory) -> str:
    return f"{memory.place:x}+{memory.words}"


def _sentence(finding: Finding) -> str:
    return finding.message if finding.line is None else f"line {finding.line}: {finding.message}"
