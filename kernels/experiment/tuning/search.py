"""A search for the best point: it learns from the points tried, and leaves out points that can't win.

All choices follow from the seed and the results. With the same results, a search makes the same choices again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from kernels.experiment.model import Design, Point
from kernels.experiment.quantities import quantity
from kernels.experiment.result import PointResult
from kernels.experiment.tuning.state import Stop, Tuning, limit
from kernels.experiment.tuning.surrogate import Floats, Lengths, Outlook, fitted
from kernels.verdict import Verdict

AT_ONCE = 8
"""The most points that are tried before their results count: an eighth of a small budget."""

_FIRST = 12
"""The most points that are tried before scores are predicted: a quarter of a small budget."""

_MOST_PREDICTED = 4000
"""Of a larger space, a sample of this size is predicted each time."""

_IN_VAIN = 48
"""If so many of the most promising points can't win, the search doesn't look for another one."""

_Model = Callable[[Sequence[int]], Sequence[PointResult]]


class Source(Protocol):
    """Where results come from. models: whether points can be modelled before they are tried."""

    models: bool

    def model(self, numbers: Sequence[int]) -> Sequence[PointResult]:
        """These points, counted and modelled."""

    def measure(self, numbers: Sequence[int]) -> Sequence[PointResult]:
        """These points with the value of the goal."""


def search(points: Sequence[Point], design: Design, source: Source) -> Iterator[Tuning]:
    """Try points until the budget is used or no point can win; gives the state after each few points."""
    state = _Search(points, design, source.model if source.models else None)
    while chosen := state.choose():
        state.learn(chosen, source.measure(chosen))
        yield state.tuning(None)
    yield state.tuning(state.stopped)


def next_points(points: Sequence[Point], design: Design, results: Sequence[PointResult]) -> list[int]:
    """The points that a search without models tries after these; none at the end.

    The order of the results changes nothing. So a search goes on from its stored results alone.
    """
    known = {result.number: result for result in results}
    state = _Search(points, design, model=None)
    state.learn(sorted(known), [known[number] for number in sorted(known)])
    return state.choose()


class _Search:
    """What is known of the points. model: counts and models points before they are tried, if it is possible."""

    def __init__(self, points: Sequence[Point], design: Design, model: _Model | None) -> None:
        self._coordinates = coordinates(points)
        self._goal = quantity(design.goal)
        self._budget = min(design.points, len(points))
        self._model = model
        self._order = random.Random(design.seed).sample(range(len(points)), len(points))  # noqa: S311 - it must repeat
        self._models: dict[int, PointResult] = {}
        self._tried: dict[int, PointResult] = {}
        self.stopped = Stop.BUDGET
        self._fitted: tuple[int, Lengths] | None = None

    def choose(self) -> list[int]:
        """The points to try next; none at the end."""
        wanted = min(AT_ONCE, max(1, self._budget // 8), self._budget - len(self._tried))
        chosen: list[int] = []
        in_vain = 0
        while len(chosen) < wanted and in_vain < _IN_VAIN:
            picked = self._pick(chosen, wanted - len(chosen))
            if not picked:
                break
            fit = self._fit(picked)
            in_vain += len(picked) - len(fit)
            chosen += fit
        if wanted:
            self.stopped = Stop.IN_VAIN if in_vain >= _IN_VAIN else Stop.NONE_LEFT
        else:
            self.stopped = Stop.BUDGET
        return chosen

    def _fit(self, picked: Sequence[int]) -> Sequence[int]:
        """The points that run and may win, by their models."""
        if self._model is None:
            return picked
        new = [number for number in picked if number not in self._models]
        self._models |= dict(zip(new, self._model(new), strict=True))
        hopeless = {*self._unfit(), *self._pruned()}
        return [number for number in picked if number not in hopeless]

    def learn(self, numbers: Sequence[int], results: Sequence[PointResult]) -> None:
        """Take the results of these points, which are now tried."""
        self._tried |= dict(zip(numbers, results, strict=True))

    def tuning(self, stopped: Stop | None) -> Tuning:
        scores = self._scores()
        return Tuning(
            goal=self._goal.name,
            space=len(self._order),
            budget=self._budget,
            tried=tuple(self._tried),
            modelled=len(self._models),
            pruned=tuple(self._pruned()),
            unfit=tuple(self._unfit()),
            best=max(scores, key=scores.__getitem__, default=None),
            stopped=stopped,
        )

    def _pick(self, chosen: Sequence[int], count: int) -> list[int]:
        """The most promising points that may still win, the best first."""
        closed = {*self._tried, *chosen, *self._unfit(), *self._pruned()}
        left = [number for number in self._order if number not in closed][:_MOST_PREDICTED]
        known = self._known()
        if len(self._tried) + len(chosen) < min(_FIRST, self._budget // 4) or len(set(known.values())) < 2:
            return left[:count]
        points, scores = self._coordinates[list(known)], np.array(list(known.values()))
        outlook = Outlook(points, scores, self._coordinates[[*chosen, *left]], self._lengths())
        for place in range(len(chosen)):
            outlook.believe(place)
        best = max(self._scores().values())
        picked: list[int] = []
        while len(picked) < min(count, len(left)):
            place = outlook.most_promising(best)
            picked.append(left[place - len(chosen)])
            outlook.believe(place)
        return picked

    def _lengths(self) -> Lengths:
        if self._fitted is None or self._fitted[0] != len(self._tried):
            scores = self._scores()
            found = fitted(self._coordinates[list(scores)], np.array(list(scores.values())))
            self._fitted = len(self._tried), found
        return self._fitted[1]

    def _known(self) -> dict[int, float]:
        """Each score or its estimate: for a pruned point its limit, for a failed one the worst score."""
        scores = self._scores()
        worst = min(scores.values(), default=0.0)
        failed = [number for number in (*self._unfit(), *self._tried) if number not in scores]
        return scores | dict.fromkeys(failed, worst) | self._pruned()

    def _scores(self) -> dict[int, float]:
        found = {number: self._score(self._goal.of(each)) for number, each in self._tried.items()}
        return {
            number: score
            for number, score in found.items()
            if score is not None and self._tried[number].verdict is Verdict.ACCEPTED
        }

    def _score(self, value: float | None) -> float | None:
        """More is better, and a ratio counts as much at each size."""
        if value is None:
            return None
        return math.log1p(max(0.0, value)) * (1 if self._goal.better == "more" else -1)

    def _unfit(self) -> list[int]:
        """Modelled points that the CPU device didn't accept."""
        return [number for number, each in self._models.items() if each.verdict is not Verdict.ACCEPTED]

    def _pruned(self) -> dict[int, float]:
        """Modelled points that can't win, with the best score that each could have.

        A model may be too strict for a whole kernel. So the limits rise by as much as a tried point passed its own.
        """
        limits = {number: self._score(limit(each, self._goal)) for number, each in self._models.items()}
        scores = self._scores()
        over = max((score - (limits.get(number) or score) for number, score in scores.items()), default=0.0)
        best = max(scores.values(), default=-math.inf)
        return {
            number: score + max(0.0, over)
            for number, score in limits.items()
            if score is not None and number not in self._tried and score + max(0.0, over) < best
        }


def coordinates(points: Sequence[Point]) -> Floats:
    """Where each point is: by axis, the place of its value from 0 to 1. Each kernel has a coordinate too."""
    columns = [_places([point.params[name] for point in points]) for name in points[0].params]
    kernels = sorted({point.kernel for point in points})
    if len(kernels) > 1:
        columns += [[float(point.kernel == kernel) for point in points] for kernel in kernels]
    return np.array(columns).T


def _places(values: Sequence[int]) -> list[float]:
    known = sorted(set(values))
    place = {value: number / max(1, len(known) - 1) for number, value in enumerate(known)}
    return [place[value] for value in values]
