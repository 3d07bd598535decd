"""A run that notes which copies fill the first block's shared memory asynchronously, and what reads it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from kernels.device.execution.executor import Options, run
from kernels.device.execution.lower import LoweredStep, groups_left
from kernels.device.execution.schedule import Budget
from kernels.device.memory.placement import Argument, Buffer
from kernels.device.ptx.program import Program
from kernels.device.state.accesses import Access, Kind
from kernels.device.state.machine import Machine, Unwatched
from kernels.device.state.mask import Mask
from kernels.launch import Launch
from kernels.verdict import Verdict

_BUDGET = Budget(100_000)
_MOST_EVENTS = 100_000
_WORD = 4
_COMMIT = "cp.async.commit_group"
_WAITS = {"cp.async.wait_group", "cp.async.wait_all"}

Words = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Filled:
    """Part of shared memory that copies filled.

    first, last: its first and last byte within the array
    source: the variable in global memory; "" if all that was copied is zeros, as outside of a tensor
    offsets: the bytes of it at which the copied words begin, ascending
    """

    line: int | None
    array: str
    first: int
    last: int
    source: str
    offsets: Words

    def joined(self, other: Filled) -> Filled:
        both = np.union1d(self.offsets, other.offsets)
        source = self.source or other.source
        return replace(
            self, first=min(self.first, other.first), last=max(self.last, other.last), source=source, offsets=both
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """An instruction reads these bytes of an array in shared memory: the first one of each word."""

    line: int | None
    array: str
    offsets: Words


@dataclass(frozen=True, slots=True)
class Settled:
    """All threads wait for all of their copies."""

    line: int | None


Step = Filled | Reading | Settled


@dataclass(frozen=True, slots=True)
class _Event:
    """Accesses by one instruction, word by word.

    batch: the copies of a tile may be many instructions; between two tiles, threads commit or arrive at a barrier
    """

    pc: int
    kind: Kind
    shared: bool
    array: str
    words: Words
    lanes: Words
    batch: int


def filling(
    program: Program,
    launch: Launch,
    arguments: Sequence[Argument],
    buffers: Sequence[Buffer],
    *,
    symbols: Mapping[str, str] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    state: Mapping[str, bytes] | None = None,
) -> tuple[tuple[Step, ...], bool]:
    """Run the first cluster, and return what happened in its order, and whether it ran to its end.

    The arguments are as in `kernels.device.run`.

    raise (Unsupported): the kernel needs a feature that the CPU device doesn't emulate
    """
    watch, ended = _Watch(program), False
    with suppress(_TooMuchError):
        execution = run(
            program,
            launch,
            arguments,
            buffers,
            Options(
                budget=_BUDGET,
                symbols=symbols or {},
                shapes=shapes or {},
                state=state or {},
                blocks=range(launch.cluster_blocks),
                observe=False,
                watch=watch,
                wrap=watch.wrap,
            ),
        )
        ended = not any(finding.kind is Verdict.TIME_LIMIT for finding in execution.findings)
    lines = [item.line for item in program.instructions]
    return tuple(_joined(_steps(watch.events, lines))), ended


class _TooMuchError(Exception): ...


class _Watch(Unwatched):
    def __init__(self, program: Program) -> None:
        self._program = program
        self._batch = 0
        self._machine: Machine | None = None
        self.events: list[_Event | Settled] = []

    def start(self, machine: Machine) -> None:
        self._machine = machine

    def wrap(self, step: LoweredStep) -> LoweredStep:
        item = self._program.instructions[step.pc]
        if item.opcode not in {_COMMIT, *_WAITS}:
            return step

        def run(machine: Machine, mask: Mask | None) -> None:
            if item.opcode == _COMMIT:
                self._batch += 1
            elif mask is None and not groups_left(item):
                self.events.append(Settled(item.line))
            step.run(machine, mask)

        return replace(step, run=run)

    def arrive(self, key: Hashable, mask: Mask | None, shift: int = 0, *, releases: bool = True) -> None:  # noqa: ARG002
        self._batch += 1

    def record(self, access: Access) -> None:
        kind, space = access.where.kind, access.allocation.space
        reads = kind is Kind.READ and space in {"shared", "global"}
        if not (reads or (kind is Kind.COPY and space == "shared")):
            return
        if len(self.events) >= _MOST_EVENTS:
            raise _TooMuchError
        assert self._machine is not None
        shape = self._machine.shape
        words, lanes = access.cells(shape, _WORD)
        if space == "shared":
            first = access.columns(lanes, shape, _WORD) == 0
            words, lanes = words[first], lanes[first]
        if words.size:
            event = _Event(access.where.pc, kind, space == "shared", access.allocation.name, words, lanes, self._batch)
            self.events.append(event)


def _steps(events: Iterable[_Event | Settled], lines: Sequence[int | None]) -> Iterator[tuple[Step, int]]:
    """What each instruction did at once, with its batch."""
    for pc, together in groupby(events, lambda event: event.pc if isinstance(event, _Event) else None):
        if pc is None:
            yield from ((each, 0) for each in together if isinstance(each, Settled))
            continue
        made = [each for each in together if isinstance(each, _Event)]
        copies = [each for each in made if each.kind is Kind.COPY]
        for array, parts in _by(copies, lambda event: event.array):
            words, lanes = (np.concatenate(each) for each in zip(*((e.words, e.lanes) for e in parts), strict=True))
            # In a cluster, other blocks may read while a box of the first block is outside of its tensor.
            read = [(each, each.words[np.isin(each.lanes, lanes)]) for each in made if each.kind is Kind.READ]
            read = [(each, words) for each, words in read if words.size]
            source = next((each.array for each, _ in read if not each.shared), "")
            offsets = np.unique(np.concatenate([words for _, words in read])) * _WORD if read else np.zeros(0, np.int64)
            first, last = int(words.min()) * _WORD, (int(words.max()) + 1) * _WORD - 1
            yield Filled(lines[pc], array, first, last, source, offsets), parts[0].batch
        if not copies:
            for each in made:
                if each.shared:
                    yield Reading(lines[pc], each.array, np.unique(each.words) * _WORD), each.batch


def _by(events: Iterable[_Event], key: Callable[[_Event], str]) -> Iterator[tuple[str, list[_Event]]]:
    for name, together in groupby(sorted(events, key=key), key):
        yield name, list(together)


def _joined(steps: Iterable[tuple[Step, int]]) -> Iterator[Step]:
    """Join the copies of a batch that bring parts of the same matrix, unless something reads in between."""
    waiting: dict[tuple[int, str, str], Filled] = {}
    for step, batch in steps:
        if isinstance(step, Filled):
            key = batch, step.array, step.source
            waiting[key] = waiting[key].joined(step) if key in waiting else step
            continue
        yield from waiting.values()
        waiting.clear()
        yield step
    yield from waiting.values()
