"""The chart of a history: attempts as points with links, and the best so far as a line.

Positions across are percentages, so the chart fills any width and its text keeps its size.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from kernels.exercise.model import Metric
from kernels.experiment.plot.model import Scale
from kernels.experiment.quantities import quantity_of
from kernels.rendering.page.charts import svg
from kernels.rendering.plot.axes import Axis, quantity_axis
from kernels.rendering.plot.labels import tick
from server.history.queries import Attempt

_HEIGHT, _TOP, _BOTTOM = 260, 26, 196
_WRONG = 222
_MARGIN = 5.0
"""Before the first and after the last point, in percent."""
_FINE = 10
"""Units of the line's drawing in a percent."""
_LETTER, _GAP = 7.5, 8
_MANY = 60
"""Above this number, points need more than a phone's width, and the chart scrolls there."""
_NUMBERED = 8
"""The most numbers below the chart. A phone has room for them."""

_CROSS = '<path class="cross" d="M-4-4 4 4M-4 4 4-4"/>'


def chart(attempts: Sequence[Attempt], best: float | None, metric: Metric, *, modelled: bool) -> Markup | None:
    """Draw these attempts; None if fewer than two attempts, or none with a value. best: of earlier ones."""
    values = _values(attempts)
    if not values or len(attempts) < 2:
        return None
    up = quantity_axis(values if best is None else [*values, best])
    body = [f'<line class="grid" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>' for y in (_y(up, each) for each in up.ticks)]
    body += _foot(attempts)
    points = [(_across(i, len(attempts)), each) for i, each in enumerate(attempts)]
    body.append(_best_line(points, up, metric, best))
    body += [_point(x, each, up) for x, each in points]
    title = (
        "Progress over submissions and checks" if not modelled else "Modelled speed of light of submissions and checks"
    )
    names = [*_axis(up, metric), *_names(attempts, modelled=modelled)]
    left = round(_LETTER * max(len(name) for _, name in names)) + _GAP
    axis = [svg.text(left - _GAP, y, name, anchor="end") for y, name in names]
    kind = "progress-chart many" if len(attempts) > _MANY else "progress-chart"
    return Markup(  # noqa: S704 - made of escaped parts
        f'<div class="{kind}" role="group" aria-label="{svg.words(title)}">'
        f'<svg class="chart axis" viewBox="0 0 {left} {_HEIGHT}">{"".join(axis)}</svg>'
        f'<svg class="chart progress">{"".join(body)}</svg></div>'
    )


def _values(attempts: Sequence[Attempt]) -> list[float]:
    return [attempt.value for attempt in attempts if attempt.value is not None and attempt.value > 0]


def _best(values: Sequence[float], metric: Metric) -> float | None:
    better = min if metric is Metric.TIME else max
    return better(values) if values else None


def _across(place: int, count: int) -> float:
    """In percent of the chart's width."""
    return _MARGIN + place * (100 - 2 * _MARGIN) / max(1, count - 1)


def _y(up: Axis, value: float) -> float:
    return _BOTTOM - up.share(value) * (_BOTTOM - _TOP)


def _axis(up: Axis, metric: Metric) -> list[tuple[float, str]]:
    """The unit, and the labels of the grid lines, with their heights."""
    what = quantity_of(metric)
    scale = Scale(what.title, what)
    return [(_TOP - 12, what.unit), *((_y(up, value) + 4, tick(scale, value)) for value in up.ticks)]


def _names(attempts: Sequence[Attempt], *, modelled: bool) -> list[tuple[float, str]]:
    """The labels of the rows below the grid, with their heights."""
    without = any(attempt.value is None for attempt in attempts)
    none = [(_WRONG + 4, "no value" if modelled else "no speed")] if without else []
    return [*none, (_HEIGHT - 12, "No.")]


def _foot(attempts: Sequence[Attempt]) -> list[str]:
    every = -(-len(attempts) // _NUMBERED)
    return [
        f'<text x="{_across(place, len(attempts)):.2f}%" y="{_HEIGHT - 12}" text-anchor="middle">'
        f"{attempts[place].number}</text>"
        for place in range(0, len(attempts), every)
    ]


def _best_line(points: Sequence[tuple[float, Attempt]], up: Axis, metric: Metric, best: float | None) -> str:
    """A line of steps: the best so far. best: the best before the first point."""
    drawn: list[tuple[float, float]] = []
    for x, each in points:
        if each.value is not None and each.value > 0:
            risen = _best([each.value, *([] if best is None else [best])], metric)
            if best is not None and risen != best:
                drawn.append((_FINE * x, _y(up, best)))
            best = risen
        if best is not None:
            drawn.append((_FINE * x, _y(up, best)))
    return (
        f'<svg viewBox="0 0 {100 * _FINE} {_HEIGHT}" preserveAspectRatio="none" width="100%" height="100%">'
        f"{svg.line('roof', *drawn)}</svg>"
    )


def _point(x: float, attempt: Attempt, up: Axis) -> str:
    """A point with a link for pointers only: the table has the same links for keyboards and screen readers."""
    if attempt.value is not None and attempt.value > 0:
        counts, y = attempt.counts, _y(up, attempt.value)
        mark = svg.dot("point counts" if counts else "point", 0, 0, 6 if counts else 5)
        said = f"No. {attempt.number}: {attempt.shown}"
    else:
        y = _WRONG
        mark = svg.dot("point open", 0, 0, 4) if attempt.entry.verdict is None else _CROSS
        said = f"No. {attempt.number}: {_word(attempt)}"
    return (
        f'<a href="/submissions/{attempt.public_id}" tabindex="-1" aria-hidden="true">'
        f'<title>{svg.words(said)}</title><svg x="{x:.2f}%" y="{y:.1f}" overflow="visible">{mark}</svg></a>'
    )


def _word(attempt: Attempt) -> str:
    verdict = attempt.entry.verdict
    if attempt.shown:
        return f"{attempt.shown}, not ranked"
    if verdict is not None:
        return verdict.words
    return "cancelled" if attempt.entry.cancelled else "no verdict yet"
