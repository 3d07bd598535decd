"""One case in a device's memory: its matrices, and its kernel's arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kernels.exercise import Role
from kernels.judging.compare import POISON
from kernels.judging.element_bits import DTYPES
from kernels.judging.inputs import Matrix
from kernels.judging.operand_plan import Argument as PlannedArgument
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan, LaunchPlan
from worker.contract.measure_work import WireCode
from worker.gpu.backend import Argument, Backend, Call, Code, DeviceFault, FaultKind, Kernel, Mapped, Memory, Timed

_EMPTY = frozenset({Role.OUTPUT, Role.SCRATCH})
POISON_WORD = int(np.array([POISON]).view(np.uint32)[0])
"""Outputs are filled with this value before a launch. So are the bytes after a matrix up to a whole word."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A compilation on the device.

    globals: mangled names of module variables, by their names in the source
    others: the kernels that are launched after the first, by their names in the source
    """

    kernel: Kernel
    globals: Mapping[str, str]
    others: Mapping[str, Kernel] = field(default_factory=dict)


class Modules:
    """The compilations of a job. Each is loaded on first use until the process ends, so its variables keep values."""

    def __init__(self, backend: Backend, codes: Sequence[WireCode]) -> None:
        self._backend = backend
        self._codes = codes
        self._loaded: dict[int, Loaded] = {}

    def __getitem__(self, number: int) -> Loaded:
        """The compilation `CasePlan.module`. Raises DeviceFault if the device refuses it."""
        if number not in self._loaded:
            code = self._codes[number]
            whole = Code(code.ptx, code.cubin_bytes)
            kernel = self._backend.load(whole, code.entry)
            others = {name: self._backend.load(whole, entry) for name, entry in code.others.items()}
            self._loaded[number] = Loaded(kernel, code.globals, others)
        return self._loaded[number]


@dataclass(frozen=True, slots=True)
class Operands:
    """The matrices of a case.

    memories: by name; matrices that are module variables use the module's memory
    guarded: all other matrices, which have guard zones
    constants: module variables of one int, with their values before the first launch
    then: the launches after the first
    solution: of the exercise's solution, for the operation SOLUTION
    """

    case: CasePlan
    kernel: Kernel
    memories: Mapping[str, Memory]
    guarded: tuple[MatrixPlan, ...]
    arguments: tuple[Argument, ...]
    constants: tuple[tuple[Memory, int], ...]
    solution: Operands | None = None
    then: tuple[Call, ...] = ()

    def timed(self, backend: Backend, seconds: float) -> Timed:
        """Run all launches and wait for their end. Raises like `Backend.timed`."""
        launch = self.case.launch
        assert launch is not None, "only a case that can be launched is run"
        return backend.timed(self.kernel, launch, self.arguments, seconds, self.then)

    @property
    def outputs(self) -> tuple[MatrixPlan, ...]:
        """The matrices that are empty before a launch."""
        return tuple(matrix for matrix in self.case.matrices if matrix.role in _EMPTY)

    @property
    def guards(self) -> list[tuple[MatrixPlan, Memory]]:
        """The guarded matrices with their memory."""
        return [(matrix, self.of(matrix)) for matrix in self.guarded]

    def of(self, matrix: MatrixPlan) -> Memory:
        return self.memories[matrix.name]

    def read(self, backend: Backend, matrix: MatrixPlan) -> Matrix:
        """The elements of a matrix on the device, in the order of memory."""
        values: Matrix = backend.read(self.of(matrix))[: matrix.words].view(DTYPES[matrix.type])
        return values[: matrix.elements]


def write(backend: Backend, memory: Memory, values: Matrix) -> None:
    """Copy a matrix to the device, in the order of memory."""
    if values.nbytes % 4:
        whole = np.full(memory.words, POISON_WORD, np.uint32)
        whole.view(np.uint8)[: values.nbytes] = values.view(np.uint8)
        values = whole
    backend.write(memory, values)


def place(backend: Backend, loaded: Loaded, case: CasePlan) -> Operands:
    """Allocate the case's memory. The caller fills it.

    raise (DeviceFault): RESOURCES if the device has too little memory, or a variable is too small
    """
    memories: dict[str, Memory] = {}
    guarded = []
    for matrix in case.matrices:
        if matrix.symbol is None:
            memories[matrix.name] = backend.take(matrix.words, guarded=True)
            guarded.append(matrix)
            continue
        memories[matrix.name] = backend.variable(loaded.kernel, loaded.globals[matrix.symbol])
        if memories[matrix.name].words < matrix.words:
            raise DeviceFault(FaultKind.RESOURCES, f"{matrix.symbol} is too small for this size")
    return Operands(
        case=case,
        kernel=loaded.kernel,
        memories=memories,
        guarded=tuple(guarded),
        arguments=_arguments(case, memories),
        constants=tuple(
            (backend.variable(loaded.kernel, loaded.globals[constant.symbol]), constant.value & 0xFFFF_FFFF)
            for constant in case.constants
        ),
        then=tuple(
            # the kernel of the first launch may be launched again
            Call(loaded.others.get(each.kernel, loaded.kernel), each.launch, _arguments(each, memories))
            for each in case.then
        ),
    )


def _arguments(launched: CasePlan | LaunchPlan, memories: Mapping[str, Memory]) -> tuple[Argument, ...]:
    return tuple(_argument(each, memories) for each in launched.arguments)


def _argument(planned: PlannedArgument, memories: Mapping[str, Memory]) -> Argument:
    if planned.map is not None:
        return Mapped(planned.map, memories[planned.map.operand])
    return memories[planned.matrix] if planned.matrix is not None else planned.value


def place_all(backend: Backend, modules: Modules, solution: Modules, case: CasePlan) -> Operands:
    """The case's memory, and for the operation SOLUTION as much again for the solution. Raises like `place`."""
    operands = place(backend, modules[case.module], case)
    if case.solution is None:
        return operands
    return replace(operands, solution=place(backend, solution[case.module], case.by_solution()))
