"""The asynchronous copies for which the present phase of each barrier waits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.device.barriers.ordering import Counts
from kernels.device.state.accesses import Part
from kernels.device.state.space import Shape


class PhaseBytes:
    """For each barrier by its variable and byte offset, and each block: bytes that are expected, and that have come.

    A third number is of threads whose other copies are still under way.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._tallies: dict[tuple[str, int], NDArray[np.int64]] = {}

    def expect(self, part: Part, more: Counts) -> None:
        self._add(0, part, more)

    def bring(self, part: Part, more: Counts) -> None:
        self._add(1, part, more)

    def hold(self, part: Part, more: Counts) -> None:
        self._add(2, part, more)

    def _add(self, row: int, part: Part, more: Counts) -> None:
        columns = part.copies(self._shape)[1]
        for offset in np.unique(part.offsets).tolist():
            here = part.offsets == offset
            tally = self._tallies.setdefault(
                (part.allocation.name, offset), np.zeros((3, self._shape.blocks), np.int64)
            )
            np.add.at(tally[row], columns[here], more[here])

    def needed(self, part: Part) -> NDArray[np.bool_]:
        """Whether the phase of each thread's barrier isn't over because of copies.

        These are under way, or bytes are missing or came early.
        """
        expected, came, under_way = self._of_part(part)
        needed: NDArray[np.bool_] = (expected != came) | (under_way > 0)
        return needed

    def missing(self, part: Part) -> NDArray[np.bool_]:
        """Whether bytes must still come before the phase of each thread's barrier is over."""
        expected, came, _ = self._of_part(part)
        missing: NDArray[np.bool_] = expected > came
        return missing

    def _of_part(self, part: Part) -> NDArray[np.int64]:
        columns = part.copies(self._shape)[1]
        found = np.zeros((3, len(part.lanes)), np.int64)
        for offset in np.unique(part.offsets).tolist():
            if (tally := self._tallies.get((part.allocation.name, offset))) is not None:
                here = part.offsets == offset
                found[:, here] = tally[:, columns[here]]
        return found

    def clear(self, part: Part) -> None:
        """Begin the next phase of each thread's barrier."""
        columns = part.copies(self._shape)[1]
        for offset in np.unique(part.offsets).tolist():
            if (tally := self._tallies.get((part.allocation.name, offset))) is not None:
                tally[:, columns[part.offsets == offset]] = 0

    def of(self, name: str, offset: int, column: int) -> tuple[int, int]:
        """Return the bytes that a barrier's phase expects, and those that have come."""
        tally = self._tallies.get((name, offset))
        return (0, 0) if tally is None else (int(tally[0, column]), int(tally[1, column]))
