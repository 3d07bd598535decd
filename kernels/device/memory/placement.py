"""The layout of a kernel's memory: operands, variables, parameters, and the memory of each block and thread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.ptx.module import Malformed, Unsupported, Variable
from kernels.device.ptx.program import Program
from kernels.device.state.element_names import plain_name
from kernels.device.state.machine import address_of
from kernels.device.state.space import Allocation, Memory, Shape, Tensor
from kernels.device.state.values import Value, uniform
from kernels.exercise.tensor_map import TensorMap
from kernels.launch import Launch

CHUNK_LANES = 16_384
_DYNAMIC_ALIGN = 1024
_CHUNK_BYTES = 64 << 20
_MAX_THREAD_BYTES = 512 << 10


@dataclass(frozen=True, slots=True)
class Buffer:
    """An operand in global memory, with `columns` per row for a matrix.

    values: elements of 1, 2, 4 or 8 bytes
    planes: of a three-dimensional operand
    initialised: whether the kernel may read it before writing it
    valid: otherwise, for each word a bit for each byte that an earlier launch wrote; None for none
    """

    name: str
    values: NDArray[Any]
    initialised: bool
    columns: int = 0
    planes: int = 0
    valid: NDArray[np.uint8] | None = None


Argument = str | int | float | TensorMap
"""Of a kernel: the name of a buffer whose address it is, a number, or a tensor map."""

_MAP_BYTES = 128


class Layout:
    """The memory of one launch.

    observe: whether to follow what has been written; if not, everything counts as written
    """

    def __init__(
        self, program: Program, launch: Launch, shapes: Mapping[str, tuple[int, ...]], *, observe: bool
    ) -> None:
        self._program = program
        self._launch = launch
        self._shapes = shapes
        self._observe = observe
        self._globals = Memory()
        self._placed: dict[str, Allocation] = {}

    # -- memory of the whole launch -----------------------------------------------------------------------------------

    def place(
        self,
        arguments: Sequence[Argument],
        buffers: Sequence[Buffer],
        symbols: Mapping[str, str],
        state: Mapping[str, bytes],
        followed: frozenset[str],
    ) -> None:
        """Place operands, module variables and arguments; see `kernels.device.run`.

        followed: variables that are watched from the start, not only once the kernel writes to them
        """
        self._placed = {buffer.name: self._place_buffer(buffer) for buffer in buffers}
        self._place_variables({name: self._placed[buffer] for name, buffer in symbols.items()})
        self._place_arguments(arguments)
        for name, data in state.items():
            self._globals.by_name[name].fill(data)
        for allocation in self._globals.by_name.values():
            allocation.followed = allocation.name in followed

    def contents(self, buffer: Buffer) -> NDArray[Any]:
        return self._placed[buffer.name].words.view(buffer.values.dtype)[: buffer.values.size]

    def unwritten(self, buffers: Sequence[Buffer]) -> dict[str, NDArray[np.bool_]]:
        """Return which elements of 8 or 16 bits lack a written byte. In larger elements, their value shows it."""
        found: dict[str, NDArray[np.bool_]] = {}
        for buffer in buffers:
            valid = self._placed[buffer.name].valid
            if valid is not None and buffer.values.itemsize < 4:
                written = np.unpackbits(valid[:, np.newaxis], axis=1, count=4, bitorder="little").reshape(-1)
                elements = written[: buffer.values.nbytes].reshape(-1, buffer.values.itemsize)
                found[buffer.name] = elements.min(axis=1) == 0
        return found

    def valid(self, buffers: Sequence[Buffer]) -> dict[str, NDArray[np.uint8]]:
        """Return `Buffer.valid` for a later launch."""
        masks = {buffer.name: self._placed[buffer.name].valid for buffer in buffers}
        return {name: mask for name, mask in masks.items() if mask is not None}

    def writers(self, buffer: Buffer) -> frozenset[int]:
        return frozenset(self._placed[buffer.name].writers)

    def variables(self) -> dict[str, bytes]:
        """Return the contents of the module variables that the kernel wrote to."""
        return {
            name: allocation.words.tobytes()
            for name, allocation in self._globals.by_name.items()
            if allocation.writers and allocation.name not in self._placed
        }

    def missed(self) -> frozenset[str]:
        """Return the variables that were read before the device knew that the kernel writes to them."""
        return frozenset(each.name for each in self._globals.by_name.values() if each.missed)

    def _place_buffer(self, buffer: Buffer) -> Allocation:
        view = buffer.values.reshape(-1).view(np.uint8)
        words = np.concatenate((view, np.zeros(-view.size % 4, np.uint8))).view(np.uint32)
        allocation = self._globals.place(
            buffer.name, "global", view.size, (), initialised=buffer.initialised or not self._observe, words=words
        )
        if allocation.valid is not None and buffer.valid is not None:
            allocation.valid[:] = buffer.valid
        allocation.element = buffer.values.itemsize
        if buffer.planes:
            rows = buffer.values.size // (buffer.planes * buffer.columns)
            allocation.shape = (buffer.planes, rows, buffer.columns)
        elif buffer.columns:
            allocation.shape = (buffer.values.size // buffer.columns, buffer.columns)
        else:
            allocation.shape = (buffer.values.size,)
        return allocation

    def _place_variables(self, bound: Mapping[str, Allocation]) -> None:
        """Place module variables in global and constant memory. A variable that is an operand gets the operand's
        memory.
        """
        for name, allocation in bound.items():
            if name not in self._program.variables:
                raise Malformed(f"the compiled text holds no variable {name[:80]!r}")
            self._globals.by_name[name] = allocation
        # A variable may hold the address of one that is placed later.
        pointers: list[tuple[Allocation, int, str]] = []
        for name, variable in self._program.variables.items():
            if variable.space not in {"global", "const"} or name in bound:
                continue
            allocation = self._place_variable(self._globals, name, variable, ())
            pointers += [(allocation, offset, symbol) for offset, symbol in variable.pointers]
        for allocation, offset, symbol in pointers:
            target = self._globals.by_name.get(symbol)
            if target is not None:
                cell = allocation.words.view(np.uint8)[offset : offset + 8]
                address = target.start + int.from_bytes(cell.tobytes(), "little") & (1 << 64) - 1
                cell[:] = np.frombuffer(address.to_bytes(8, "little"), np.uint8)[: cell.size]

    def _place_variable(self, memory: Memory, name: str, variable: Variable, copies: tuple[int, ...]) -> Allocation:
        if variable.size > _CHUNK_BYTES:
            raise Unsupported(
                f".{variable.space} {plain_name(name)}", None, f"`{plain_name(name)}` is too large for the CPU device."
            )
        initialised = not self._observe or variable.space in {"global", "const"}
        allocation = memory.place(
            name, variable.space, variable.size, copies, initialised=initialised, align=variable.align
        )
        allocation.writable = variable.space != "const"
        allocation.element = variable.element
        self._give_shape(allocation)
        # PTX declares shared arrays as bytes. If the source's declaration isn't known, alignment shows larger
        # elements.
        if not allocation.shape and variable.space == "shared" and variable.element == 1 and variable.align >= 4:
            allocation.element = 4
        if variable.data:
            allocation.fill(variable.data[: variable.size])
        return allocation

    def _give_shape(self, allocation: Allocation) -> None:
        """Give a variable the shape of its declaration, if that is known."""
        shape = self._shapes.get(plain_name(allocation.name), ())
        elements = math.prod(shape)
        if elements > 0 and shape and allocation.size % elements == 0:
            allocation.shape = shape
            allocation.element = allocation.size // elements

    def _place_arguments(self, arguments: Sequence[Argument]) -> None:
        """Place the kernel's own parameters, which are constants of the launch."""
        parameters = self._program.parameters
        if len(arguments) != len(parameters):
            raise Malformed("the kernel's number of parameters differs from the exercise's")
        for parameter, argument in zip(parameters, arguments, strict=True):
            allocation = self._globals.place(parameter.name, "const", parameter.size, (), initialised=True)
            allocation.writable = False
            if isinstance(argument, TensorMap):
                if parameter.size != _MAP_BYTES:
                    raise Malformed("a parameter that can't hold the exercise's tensor map")
                tensor = Tensor(argument, self._placed[argument.operand])
                if argument.memory > tensor.memory.size:
                    raise Malformed("a tensor map of more memory than its operand has")
                # No access fits into it, so each is seen.
                allocation.size, allocation.tensor = 0, tensor
                continue
            if isinstance(argument, str):
                data = self._placed[argument].start.to_bytes(8, "little")
            elif isinstance(argument, float):
                data = (np.float64 if parameter.size == 8 else np.float32)(argument).tobytes()
            else:
                data = (argument & ((1 << 8 * parameter.size) - 1)).to_bytes(parameter.size, "little")
            allocation.fill(data[: parameter.size])

    # -- memory of each block -----------------------------------------------------------------------------------------

    def columns(self) -> int:
        """Return how many blocks run side by side."""
        variables = self._program.variables.values()
        shared = self._program.static_shared + self._launch.shared
        local = sum(variable.size for variable in variables if variable.space == "local")
        if local > _MAX_THREAD_BYTES:
            raise Unsupported("local memory", None, f"Each thread would need {local:,} bytes of local memory.")
        own = sum(variable.size for variable in variables if variable.space in {"local", "param"})
        by_memory = _CHUNK_BYTES // max(1, shared + own * self._launch.threads)
        columns = max(1, min(CHUNK_LANES // self._launch.threads, by_memory))
        # The blocks of a cluster always run side by side.
        cluster = self._launch.cluster_blocks
        return min(max(1, columns // cluster) * cluster, self._launch.blocks)

    def chunk(self, shape: Shape) -> Memory:
        """Return the memory of blocks that run side by side: the launch's, and their own shared and local memory."""
        memory = Memory()
        memory.share(self._globals)
        self._place_per_block(memory, shape)
        for allocation in memory.by_name.values():
            allocation.clustered = allocation.space == "shared" and self._launch.cluster_blocks > 1
        return memory

    def address(self, memory: Memory, name: str) -> Value:
        allocation = memory.by_name.get(name)
        variable = self._program.variables.get(name)
        if allocation is None or variable is None:
            raise Malformed(f"the compiled text holds no variable {name[:80]!r}")
        if variable.space == "param":
            return uniform(address_of(allocation.space, allocation.start), 64)
        return uniform(allocation.start, 32 if variable.space == "shared" else 64)

    def _place_per_block(self, memory: Memory, shape: Shape) -> None:
        dynamic: Allocation | None = None
        own = {parameter.name for parameter in self._program.parameters}
        for name, variable in self._program.variables.items():
            if variable.space == "shared" and variable.external:
                if dynamic is None:
                    dynamic = memory.place(
                        name,
                        "shared",
                        self._launch.shared,
                        (shape.blocks,),
                        initialised=not self._observe,
                        align=_DYNAMIC_ALIGN,
                    )
                    dynamic.element = 0
                    self._give_shape(dynamic)
                memory.by_name[name] = dynamic
            elif variable.space == "shared":
                self._place_variable(memory, name, variable, (shape.blocks,))
            elif variable.space in {"local", "param"} and name not in own:
                self._place_variable(memory, name, variable, (shape.threads, shape.blocks))
