"""Stretches of steps that load floats and add up products, run as one step if nothing is left to check.

The inner loop of most kernels is such a stretch. Between two of its steps, values are in the cache and in no register.
Only what is left at its end is tested for NaN, and all of it at once for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from kernels.device.arithmetic.edges import canonical32
from kernels.device.arithmetic.opcode import Function
from kernels.device.arithmetic.rounding.exactness import INEXACT, clear, raised
from kernels.device.execution.lower import LoweredStep
from kernels.device.execution.steps import Sum
from kernels.device.memory.access import FloatLoad
from kernels.device.memory.locate import Found, known_place
from kernels.device.state.machine import EMPTY, Machine
from kernels.device.state.mask import Mask
from kernels.device.state.values import from_array

_FLOAT = np.dtype(np.float32)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps of a code block. `quick` runs all of them at once, or does nothing and returns False."""

    steps: tuple[LoweredStep, ...]
    quick: Callable[[Machine, Mask | None], bool] | None


def stretches(steps: Sequence[LoweredStep]) -> tuple[Stretch, ...]:
    """Cut the steps of a code block into stretches."""
    parts = (tuple(group) for _, group in groupby(steps, lambda step: step.quick is not None))
    # One after the other, parts that can't run at once are one stretch.
    tried = groupby(((part, _quick(part)) for part in parts), lambda each: each[1])
    return tuple(Stretch(tuple(step for part, _ in group for step in part), quick) for quick, group in tried)


def _quick(steps: Sequence[LoweredStep]) -> _Sums | None:
    loads = [step.quick for step in steps if isinstance(step.quick, FloatLoad)]
    targets = {step.quick.target for step in steps if step.quick is not None}
    # Loads move, so no address may come from the stretch. A single sum gains nothing.
    if not targets or len(steps) - len(loads) < 2 or not targets.isdisjoint(load.register for load in loads):
        return None
    return _Sums(steps)


@dataclass(frozen=True, slots=True)
class _Act:
    """One step: `function` of the registers `sources`, or a load.

    spent: the registers that nothing needs afterwards
    load: the number of the load in its stretch; -1 for a function
    """

    target: int
    function: Function | None
    sources: tuple[int, ...] = ()
    spent: tuple[int, ...] = ()
    load: int = -1


class _Sums:
    """All loads and sums of a stretch as one step.

    It is for all threads of the chunk, once the places of all loads are known. If a sum is inexact, the steps are run
    one by one, because their functions round a fused sum once.
    """

    def __init__(self, steps: Sequence[LoweredStep]) -> None:
        self._loads: list[FloatLoad] = []
        self._acts = tuple(self._ordered(steps))
        self._inputs: set[int] = set()
        self._sums: set[int] = set()
        self._loaded: set[int] = set()
        for act in self._acts:
            self._inputs.update(set(act.sources) - self._sums - self._loaded)
            for known in (self._sums, self._loaded):
                known.difference_update(act.spent, (act.target,))
            (self._loaded if act.function is None else self._sums).add(act.target)
        self._spent = {number for act in self._acts for number in act.spent} - self._sums - self._loaded

    def _ordered(self, steps: Sequence[LoweredStep]) -> Iterator[_Act]:
        """Yield each load just before the first sum that needs it."""
        waiting: dict[int, _Act] = {}
        for step in steps:
            part = step.quick
            assert part is not None
            needed = (*part.sources, part.target) if isinstance(part, Sum) else (part.target,)
            yield from (waiting.pop(number) for number in needed if number in waiting)
            if isinstance(part, Sum):
                yield _Act(part.target, part.function, part.sources, step.spent)
            else:
                waiting[part.target] = _Act(part.target, None, load=len(self._loads))
                self._loads.append(part)
        yield from waiting.values()

    def __call__(self, machine: Machine, mask: Mask | None) -> bool:
        places = None if mask is not None or machine.rounds else self._places(machine)
        if places is None:
            return False
        registers = machine.registers
        values = {number: registers[number].dense(_FLOAT) for number in self._inputs}
        clear(INEXACT)
        for act in self._acts:
            if act.function is None:
                values[act.target] = places[act.load].readers[0]().view(_FLOAT)
                continue
            values[act.target] = act.function(*[values[number] for number in act.sources])
            for number in act.spent:
                del values[number]
        if raised(INEXACT):
            machine.rounds = True
            return False
        for number in self._sums:
            registers[number] = from_array(canonical32(values[number]))
        for number in self._loaded:
            registers[number] = from_array(values[number])
        for number in self._spent:
            registers[number] = EMPTY
        self._note(machine, places)
        return True

    def _places(self, machine: Machine) -> list[Found] | None:
        places: list[Found] = []
        for load in self._loads:
            place = known_place(machine.registers[load.register], load.pc)
            if place is None:
                return None
            places.append(place)
        return places

    def _note(self, machine: Machine, places: Sequence[Found]) -> None:
        for load, place in zip(self._loads, places, strict=True):
            if load.count is not None:
                load.count(machine, None)
            if place.access is not None and place.allocation.followed:
                machine.races.record(place.access)
