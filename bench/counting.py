"""The cost of counting: the tiled kernel with and without counting, with and without the other checks."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from bench.device import Bench, Subject

KERNEL, WIDTH = "tiled", 256


@dataclass(frozen=True, slots=True)
class Cost:
    """Medians of the processor time of one launch, with all checks (`observe`) or without."""

    observe: bool
    plain: float
    counted: float

    @property
    def ratio(self) -> float:
        """How many times as long a counted launch takes."""
        return self.counted / self.plain


def costs(rounds: int, progress: Callable[[str], None]) -> tuple[Cost, Cost]:
    """Return the costs without checks and with them."""
    progress(f"counting: {KERNEL}, N={WIDTH}")
    bench = Bench()
    return _cost(bench, rounds, observe=False), _cost(bench, rounds, observe=True)


def _cost(bench: Bench, rounds: int, *, observe: bool) -> Cost:
    subjects = [Subject(KERNEL, WIDTH, observe, count) for count in (False, True)]
    samples = [[bench.time_once(subject)[0] for subject in subjects] for _ in range(rounds + 1)][1:]
    plain, counted = map(statistics.median, zip(*samples, strict=True))
    return Cost(observe, plain, counted)
