"""What a thread knows about threads of other warps and blocks: vector clocks, as coarse as the order allows.

Knowledge of a block has an interval between its barriers, and a time in it for each thread. A thread
with this knowledge comes after everything that the block did in earlier intervals. It also comes after everything that
each thread did up to its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.ptx.module import Unsupported
from kernels.device.state.accesses import Strength


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """The clocks of all threads of a chunk at one moment. Arrays with one column hold for every block.

    They are never changed, so an access can keep its moment.

    blocks: the numbers of the blocks in the grid
    interval: for each block, how many barriers it has passed
    time: each thread's own time since the last of them
    rows: for each thread, the known times of the lanes of its warp; None if none is known
    others: what each thread knows of other warps and blocks; None for nothing
    pending: by scope, what each thread saw released and has not yet acquired with a fence
    """

    blocks: NDArray[np.int64]
    interval: NDArray[np.int64]
    time: Times
    rows: Times | None
    others: Ids | None
    pending: dict[Strength, Ids]

    @property
    def alike(self) -> bool:
        same = self.time.shape[1] == 1 and (self.rows is None or self.rows.shape[2] == 1)
        level = bool((self.interval == self.interval[0]).all())
        return same and level and self.others is None and not self.pending


Times = NDArray[np.int32]
Ids = NDArray[np.int32]
NOTHING = 0
_BARRIERS = -(1 << 40)


def barriers_of(block: Any) -> Any:
    """Return the number under which knowledge of the barriers that a block's threads made is kept."""
    return _BARRIERS - block


_MOST_ENTRIES = 5_000_000


def too_often(instruction: str) -> Unsupported:
    """Return why a kernel with too many atomics and fences isn't checked."""
    message = (
        "The CPU device can't check this kernel for races: atomics and fences order its threads too often. "
        "Use fewer of them, or let each thread do more between two."
    )
    return Unsupported(instruction, None, message)


class Knowledge:
    """All knowledge of one launch, by number. Equal numbers mean equal knowledge; 0 means none."""

    def __init__(self) -> None:
        self._all: list[Mapping[int, tuple[int, Times]]] = [{}]
        self._joined: dict[tuple[int, int], int] = {}
        self._entries = 0

    def of(self, number: int) -> Mapping[int, tuple[int, Times]]:
        """Return block -> the interval and the times that are known of it."""
        return self._all[number]

    def add(self, blocks: Mapping[int, tuple[int, Times]]) -> int:
        self._entries += len(blocks)
        if self._entries > _MOST_ENTRIES:
            raise too_often("fence")
        self._all.append(blocks)
        return len(self._all) - 1

    def join(self, *numbers: int) -> int:
        total = NOTHING
        for number in numbers:
            if total == NOTHING:
                total = number
            elif number not in {NOTHING, total}:
                total = self._join(min(total, number), max(total, number))
        return total

    def _join(self, one: int, other: int) -> int:
        key = one, other
        if key not in self._joined:
            merged = dict(self._all[one])
            changed = False
            for block, (interval, times) in self._all[other].items():
                before = merged.get(block)
                after = _latest(before, (interval, times))
                changed |= after is not before
                merged[block] = after
            self._joined[key] = self.add(merged) if changed else one
        return self._joined[key]

    def extend(self, number: int, block: int, latest: tuple[int, Times]) -> int:
        """Return knowledge joined with the interval and the times of a block."""
        known = self._all[number]
        before = known.get(block)
        after = _latest(before, latest)
        return number if after is before else self.add({**known, block: after})

    def join_all(self, ones: Ids, others: Ids) -> Ids:
        pairs, inverse = np.unique(
            np.stack(np.broadcast_arrays(ones, others)).reshape(2, -1), axis=1, return_inverse=True
        )
        made = np.array([self.join(int(one), int(other)) for one, other in pairs.T], np.int32)
        return made[inverse].reshape(np.broadcast_shapes(ones.shape, others.shape))

    def without(self, number: int, block: int) -> int:
        known = self._all[number]
        if block not in known:
            return number
        rest = {each: what for each, what in known.items() if each != block}
        return self.add(rest) if rest else NOTHING


def _latest(one: tuple[int, Times] | None, other: tuple[int, Times]) -> tuple[int, Times]:
    if one is None or one[0] < other[0]:
        return other
    if one[0] > other[0] or one[1] is other[1]:
        return one
    times = np.maximum(one[1], other[1])
    return one if (times == one[1]).all() else (one[0], times)


def distinct(numbers: Ids) -> list[int]:
    """Return the numbers in a list, each once, in order. For a few threads, faster than numpy."""
    return sorted(set(numbers.tolist()))
