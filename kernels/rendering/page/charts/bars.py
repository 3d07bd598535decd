"""Groups of bars: one group for each value of an axis, one bar for each series."""

from __future__ import annotations

from kernels.experiment.plot.model import Chart, Panel
from kernels.rendering.page.charts import marks, svg
from kernels.rendering.page.charts.axes import Axes
from kernels.rendering.plot.labels import number_of, spot_text

_SHARE = 0.76
"""Of a group's room, the part with bars."""
_LETTER = 7.2


def bars(chart: Chart, panel: Panel, axes: Axes) -> list[str]:
    """All bars with their values and intervals. Series differ in colour and in the mark at the foot of the bar."""
    room = axes.frame.width / max(1, len(chart.x.labels)) * _SHARE
    several = len(panel.series) > 1
    wide = min(72.0, room / len(panel.series))
    longest = max(len(number_of(chart.y, spot.y)) for spot in chart.spots)
    drawn = []
    for place, series in enumerate(panel.series):
        body = ""
        for spot in series.spots:
            middle = axes.x(spot.x) + (place - (len(panel.series) - 1) / 2) * wide
            top, bottom = axes.y(spot.y), axes.frame.bottom
            bar = f'<rect x="{middle - 0.46 * wide:.1f}" y="{top:.1f}" width="{0.92 * wide:.1f}"'
            bar += f' height="{bottom - top:.1f}" fill="currentColor" class="column"/>'
            if spot.y_ends is not None:
                ends = [(middle, axes.y(end)) for end in spot.y_ends]
                bar += f'<polyline class="over" points="{svg.path(ends)}"/>'
            if _LETTER * longest <= wide:
                highest = min(top, *map(axes.y, spot.y_ends or (spot.y,)))
                bar += svg.text(middle, highest - 6, number_of(chart.y, spot.y), kind="strong", anchor="middle")
            if several and bottom - top > 22:
                bar += f'<g class="in">{marks.mark(series.number, middle, bottom - 11, 0.9)}</g>'
            body += marks.spot(spot_text(chart, spot), middle, top, bar)
        drawn.append(marks.group(series.number, series.name, body))
    return drawn
