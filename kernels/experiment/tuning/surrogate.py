"""A Gaussian process: predicts the score of points that weren't tried, and how far off the prediction may be.

Points are near each other if their coordinates are. How much each coordinate matters follows from the scores: those
lengths are taken that explain them best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LENGTHS = (0.15, 0.3, 0.6, 1.2, 2.4, 5.0)
"""Of a coordinate, whose range is 1: over a short length scores change much."""

_NOISES = (1e-3, 1e-2, 1e-1)
"""What coordinates don't explain, as a share of the scores' variance."""

_ROUNDS = 3
_MOST_FITTED = 200
"""Of more points, this many decide about the lengths."""

_ERF = np.vectorize(math.erf, otypes=[float])


@dataclass(frozen=True, slots=True)
class Lengths:
    """How far scores are alike, by coordinate, and how much they scatter."""

    each: tuple[float, ...]
    noise: float

    def alike(self, one: Floats, other: Floats) -> Floats:
        """The covariance of two sets of points, by Matérn with 5/2."""
        one, other = one / np.array(self.each), other / np.array(self.each)
        squares = (one**2).sum(1)[:, None] + (other**2).sum(1) - 2 * one @ other.T
        far = np.sqrt(5 * np.maximum(squares, 0))
        covariance: Floats = (1 + far + far**2 / 3) * np.exp(-far)
        return covariance

    def factor(self, points: Floats) -> Floats:
        covariance = self.alike(points, points)
        covariance[np.diag_indices(len(points))] += self.noise
        return np.asarray(np.linalg.cholesky(covariance), np.float64)


def fitted(points: Floats, scores: Floats) -> Lengths:
    """The likeliest lengths, found one coordinate after the other."""
    step = -(-len(points) // _MOST_FITTED)
    points, scores = points[::step], _standard(scores[::step])
    best = Lengths((1.2,) * points.shape[1], 1e-2)
    likeliest = _likelihood(best, points, scores)
    for _ in range(_ROUNDS):
        before = best
        for place in range(len(best.each) + 1):
            for value in _LENGTHS if place < len(best.each) else _NOISES:
                trial = _changed(best, place, value)
                if (found := _likelihood(trial, points, scores)) > likeliest:
                    best, likeliest = trial, found
        if best == before:
            break
    return best


class Outlook:
    """What the known scores say of other points."""

    def __init__(self, known: Floats, scores: Floats, others: Floats, lengths: Lengths) -> None:
        self._others, self._lengths = others, lengths
        factor, alike = lengths.factor(known), lengths.alike(known, others)
        self._unit = float(scores.std()) or 1.0
        self._explained = np.linalg.solve(factor, alike)
        self._expected = np.linalg.solve(factor, _standard(scores)) @ self._explained
        self._expected = self._expected * self._unit + scores.mean()
        self._variance = 1 - (self._explained**2).sum(0)
        self._believed: list[int] = []

    def believe(self, place: int) -> None:
        """Take this point's expected score for its score. Points near it are then less unsure."""
        alike = self._lengths.alike(self._others[[place]], self._others)[0]
        rest = alike - self._explained[:, place] @ self._explained
        row = rest / math.sqrt(max(self._variance[place], 0) + self._lengths.noise)
        self._explained = np.vstack([self._explained, row])
        self._variance = self._variance - row**2
        self._believed.append(place)

    def most_promising(self, best: float) -> int:
        """The point that is expected to gain most on the best score, of those not yet believed."""
        spread = np.sqrt(np.maximum(self._variance, 1e-9)) * self._unit
        sure = (self._expected - best) / spread
        density = np.exp(-(sure**2) / 2) / math.sqrt(2 * math.pi)
        gain = (self._expected - best) * (1 + _ERF(sure / math.sqrt(2))) / 2 + spread * density
        gain[self._believed] = -math.inf
        return int(np.argmax(gain))


def _standard(scores: Floats) -> Floats:
    found: Floats = (scores - scores.mean()) / (scores.std() or 1.0)
    return found


def _changed(lengths: Lengths, place: int, value: float) -> Lengths:
    if place == len(lengths.each):
        return replace(lengths, noise=value)
    return replace(lengths, each=(*lengths.each[:place], value, *lengths.each[place + 1 :]))


def _likelihood(lengths: Lengths, points: Floats, scores: Floats) -> float:
    """The logarithm of the scores' likelihood. Lengths far from a coordinate's range need a better reason."""
    factor = lengths.factor(points)
    explained = np.linalg.solve(factor, scores)
    prior = sum(math.log(length) ** 2 for length in lengths.each) / 4
    return float(-(explained @ explained) / 2 - np.log(np.diag(factor)).sum()) - prior
