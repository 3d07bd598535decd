from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.values import Array


class Mask:
    """The threads that take part, if not all of the chunk do."""

    __slots__ = ("_alike", "_columns", "_digest", "_flat", "_rows", "array", "count")

    def __init__(self, array: NDArray[np.bool_], count: int) -> None:
        self.array = array
        self.count = count
        self._flat: NDArray[np.intp] | None = None
        self._rows: NDArray[np.intp] | None = None
        self._columns: NDArray[np.intp] | None = None
        self._digest: int | None = None
        self._alike: bool | None = None

    @property
    def flat(self) -> NDArray[np.intp]:
        """Return the numbers of the threads, row by row."""
        if self._flat is None:
            self._flat = np.flatnonzero(self.array)
        return self._flat

    @property
    def alike(self) -> bool:
        """Whether the same threads of every block take part."""
        if self._alike is None:
            self._alike = bool((self.array == self.array[:, :1]).all())
        return self._alike

    @property
    def digest(self) -> int:
        if self._digest is None:
            self._digest = hash(self.array.tobytes())
        return self._digest

    def pick(self, array: Array) -> Array:
        """Return the elements of the threads that take part. The array may have a single row or column."""
        picked: Array
        if array.shape == self.array.shape:
            picked = array.reshape(-1)[self.flat]
        elif array.size == 1:
            picked = array.reshape(-1)
        elif array.shape[1] == 1:
            if self._rows is None:
                self._rows = self.flat // self.array.shape[1]
            picked = array[:, 0][self._rows]
        else:
            if self._columns is None:
                self._columns = self.flat % self.array.shape[1]
            picked = array[0][self._columns]
        return picked
