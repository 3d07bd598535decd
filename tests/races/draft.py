"""A program under construction, and the accesses, barriers and fences that its patterns are made of."""

from __future__ import annotations

import random

from tests.races.programs import Access, Array, BlockBarrier, Fence, If, Loop, PhaseStart, Statement, Style, WarpBarrier
from tests.races.trace import DEVICE, Scope

WIDTHS = (1, 2, 4, 8, 16)


class Draft:
    """A program under construction.

    right: whether to leave out the patterns that may race
    alive: the threads of each block below this number have not returned
    tile: a shared array that is written in full before all else
    small: few threads, for a program with many atomics, which take the oracle long
    """

    def __init__(self, rng: random.Random, *, right: bool = False, small: bool = False) -> None:
        self.rng = rng
        self.right = right
        self.threads = rng.choice((4, 8, 34) if small else (32, 32, 64, 64, 96, 128))
        self.blocks = rng.choice((1, 2, 2) if small else (1, 1, 2, 2, 3, 4))
        self.alive = self.threads
        self.arrays: list[Array] = []
        self.setup: list[Statement] = []
        self.body: list[Statement] = []
        self.phases: list[PhaseStart] = []
        self._offset = 0
        self._names = 0
        self._barriers = 0
        self.tile = self._written_tile()

    def add(self, *statements: Statement) -> None:
        self.body.extend(statements)

    def name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def shared(self, size: int) -> Array:
        self.arrays.append(Array(self.name("S"), (size + 15) // 16 * 16))
        return self.arrays[-1]

    def grid(self, size: int) -> Array:
        self.arrays.append(Array(self.name("G"), (size + 15) // 16 * 16, self._offset))
        self._offset += (size + 63) // 64 * 64
        return self.arrays[-1]

    def style(self, width: int) -> Style:
        styles: tuple[Style, ...] = ("plain", "plain", "ptx", "ptx", "generic", "volatile")
        return self.rng.choice(styles)

    def load(self, array: Array, index: str, width: int, style: Style | None = None) -> Access:
        return Access(array, index, width, False, style or self.style(width))

    def store(self, array: Array, index: str, width: int, style: Style | None = None) -> Access:
        return Access(array, index, width, True, style or self.style(width))

    def block_barrier(self) -> Statement:
        return BlockBarrier(self.rng.choice((0, 0, 0, 0, 1, 2, 3, 4)))

    def fence(self, scope: Scope = DEVICE) -> Fence:
        return Fence(scope, self.rng.randrange(4))

    def groups(self) -> list[int]:
        """Sizes of groups of threads that can meet: parts of a warp, a warp, the block."""
        within = [size for size in (2, 4, 8, 16, 32) if self.alive % size == 0]
        return [*within, self.threads] if self.threads not in within else within

    def meet(self, size: int) -> Statement:
        """What makes a group of that size meet; now and then more threads meet than have to."""
        if size > 32 or self.alive % size or self.rng.random() < 0.1:
            return self.block_barrier()
        if size == 32 or (self.alive % 32 == 0 and self.rng.random() < 0.1):
            return WarpBarrier()
        return WarpBarrier(mask(size))

    def space(self) -> tuple[Array, str]:
        """An array with 16 bytes for each thread, and where this block's part begins, in units of 16 bytes."""
        if self.rng.random() < 0.6:
            return self.tile, "0"
        return self.grid(16 * self.threads * self.blocks), f"b * {self.threads}"

    def own(self, first: str, width: int, number: str = "t") -> str:
        """The thread's own element."""
        return f"({first}) * {16 // width} + {number}"

    def near(self, first: str, width: int, of: int, group: int, start: str | None = None) -> str:
        """An element of `of` bytes in what a group of threads has, `width` bytes each; `start` is its first thread."""
        if start is None:
            start = f"(t - t % {group})" if group < self.threads else "0"
        start = f"({start}) * {width // of}" if width >= of else f"(({start}) >> {(of // width).bit_length() - 1})"
        count = group * width // of
        step = self.rng.randrange(count)
        pick = self.rng.choice(
            (
                f"(t + {step}) % {count}",
                f"(t * {self.rng.choice((3, 5, 7))} + {step}) % {count}",
                f"{step}",
                f"{count - 1} - t % {count}",
                f"(t ^ 1) % {count}",
            )
        )
        return f"({first}) * {16 // of} + {start} + {pick}"

    def widths(self, group: int, most: int = 16) -> tuple[int, int]:
        """Widths for a group's stores and loads; a load takes no more than what the group has."""
        width = self.rng.choice([each for each in (1, 2, 4, 4, 4, 8, 16) if each <= most])
        return width, self.rng.choice([each for each in (1, 2, 4, 4, 4, 8, 16) if (group * width) % each == 0])

    def counter(self, *, shared: bool, width: int = 4) -> Array:
        """Room for atomics, of which each block of the grid may have one; zero at first."""
        if not shared:
            return self.grid(16 * self.blocks)
        array = self.shared(16)
        zero = Access(array, "0", width, True, "plain", "0")
        self.setup.append(If("t == 0", [zero]))
        return array

    def barrier_number(self) -> int:
        self._barriers += 1
        return self._barriers

    def _written_tile(self) -> Array:
        """A shared array for most patterns, written in full before all else."""
        tile = self.shared(16 * self.threads)
        width = self.rng.choice((4, 8, 16))
        store = self.store(tile, f"k * {self.threads} + t", width)
        self.setup.append(Loop("k", 16 // width, [store], self.rng.random() < 0.5))
        self.add(self.block_barrier())
        return tile


def mask(size: int) -> str:
    """The lanes of a thread's own group of that size."""
    return f"(0xffffffff >> {32 - size}) << (t % 32 - t % {size})"
