from __future__ import annotations

import re

import pytest
from markupsafe import Markup

from kernels.experiment.plot.model import Chart, Join, Kind, Panel, Roof, Roofs, Scale, Series, Spot
from kernels.experiment.quantities import quantity
from kernels.rendering.page import numbers
from kernels.rendering.page.bounds import occupancy_view
from kernels.rendering.page.charts import svg
from kernels.rendering.page.charts.plot import plot_svg
from kernels.rendering.page.links import linked, typeset
from kernels.rendering.page.listing.margin import listing
from kernels.rendering.page.listing.syntax import coloured
from kernels.rendering.plot.axes import Axis, decades
from tests.kernels.page.page_text import read
from tests.kernels.page.sample import ANALYSIS, LINES, SOURCE


def spots(picture: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r'data-at="(\S+) (\S+)"', picture)]


def line_points(picture: str, kind: str) -> list[tuple[float, float]]:
    (points, *_) = re.findall(rf'<polyline class="{kind}" points="([^"]+)"', picture)
    return [(float(x), float(y)) for x, y in (point.split(",") for point in points.split())]


def roofline(ratio: float, *speeds: float, device: str = "GPU", peak: float = 1000, slope: float = 10) -> Markup:
    """A device with one memory, and spots of the same ratio."""
    roofs = Roofs(device, peak, (Roof("memory", 4 * slope, "</text><script>"),))
    panel = Panel("", (Series(0, '"', tuple(Spot(ratio, speed, "<b>&") for speed in speeds), Join.NONE),))
    x, y = Scale("x", quantity("compute_to_memory")), Scale("y", quantity("bound"))
    return plot_svg(Chart(Kind.ROOFLINE, "Roofline", x, y, (panel,), roofs=roofs), width=520)


@pytest.mark.parametrize(("value", "share"), [(0.0, 0.0), (1, 0.0), (10, 0.5), (100, 1.0), (1000, 1.0)])
def test_an_axis_draws_what_lies_beyond_an_end_there(value, share):
    assert Axis(1, 100, logarithmic=True).share(value) == pytest.approx(share)


def test_an_axis_of_decades_has_one_at_least():
    assert decades(10, 10).ticks == (10, 100)
    assert decades(0.2, 30).ticks == pytest.approx([0.1, 1, 10, 100])


@pytest.mark.parametrize("ratio", [0.25, 1, 16, 55, 500])
def test_the_kernel_stands_on_the_roof(ratio):
    chart = roofline(ratio, min(66_908, 1200 * ratio), peak=66_908, slope=1200)
    ((x, y),) = spots(chart)
    (left, low), (knee, top) = line_points(chart, "roof")
    if ratio < 66_908 / 1200:
        assert y == pytest.approx(low + (x - left) / (knee - left) * (top - low), abs=1)
    else:
        assert y == pytest.approx(top, abs=0.2)
        assert x > knee


def test_the_roof_has_its_knee_where_memory_is_no_longer_the_limit():
    (_, _), (knee, _) = line_points(roofline(1, 10), "roof")
    ((at, _),) = spots(roofline(100, 10))
    assert knee == at


def test_the_last_label_of_an_axis_is_not_cut():
    chart = roofline(10_000, 10)
    labels = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">([\d,]+)<', chart)
    place, label = max(labels, key=lambda each: float(each[0]))
    assert label == "10,000"
    assert float(place) + 4 * len(label) <= 520


def test_a_speed_of_light_above_the_roof_is_drawn_at_the_same_ratio():
    (x, y), (at, above) = spots(roofline(1, 10, 70))
    assert x == at
    assert above < y


def test_occupancy_is_drawn_as_steps_through_the_block():
    page = occupancy_view(ANALYSIS)
    assert page is not None
    assert page.drawing is not None
    steps = re.findall(r'<polyline points="([^"]+)"', page.drawing)[0].split()
    assert "{:g},{:g}".format(*spots(page.drawing)[-1]) in steps
    assert not read(page.drawing).wrong


def test_bars_stay_within_their_room():
    widths = [
        float(width) for width in re.findall(r'class="value" width="([\d.]+)"', svg.bar(7) + svg.bar(-1) + svg.bar(0.5))
    ]
    assert widths == [100, 0, 50]


def test_words_in_charts_are_escaped():
    chart = roofline(1, 10, device="<b>")
    assert "<b>" not in chart
    assert "<script>" not in chart
    assert not read(chart).wrong


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (numbers.count(1_048_576), "1,048,576"),
        (numbers.count(15.515), "15.52"),
        (numbers.count(float("nan")), "–"),
        (numbers.short(999_999), "999,999"),
        (numbers.short(2_621_440), "2.621 M"),
        (numbers.short(17_179_869_184), "17.18 G"),
        (numbers.ratio(4.0), "4"),
        (numbers.ratio(8.5), "8.5"),
        (numbers.percent(0.5), "50 %"),
        (numbers.percent(0.125), "13 %"),
        (numbers.percent(0.0004), "< 0.1 %"),
        (numbers.percent(0.004), "0.4 %"),
        (numbers.percent(0.9999), "99.9 %"),
        (numbers.percent(1), "100 %"),
        (numbers.percent(0), "0 %"),
        (numbers.milliseconds(1.8), "1.80 ms"),
        (numbers.milliseconds(0.00719), "0.00719 ms"),
        (numbers.milliseconds(0), "0 ms"),
        (numbers.gflops(8128.4), "8,128 GFLOPS"),
        (numbers.gflops(37.5), "37.5 GFLOPS"),
        (numbers.size(2048), "2 KiB"),
        (numbers.size(3 * 2**20), "3 MiB"),
        (numbers.departure(0.125), "+12.5 %"),
        (numbers.departure(7), "8 ×"),
    ],
)
def test_numbers_look_alike_everywhere(made, shown):
    assert made.replace(numbers.SPACE, " ") == shown


def test_formulas_are_typeset_and_escaped():
    assert typeset("2 x N^3 / 16") == "2 × N<sup>3</sup> / 16"
    assert "<i>" not in typeset("<i>")


def test_lines_named_in_a_sentence_are_links():
    assert linked("Line 3 and line 9.", 5) == '<a class="to" href="#L3">Line\N{NO-BREAK SPACE}3</a> and line 9.'
    assert linked("<b>", 5, 2) == '&lt;b&gt; (<a class="to" href="#L2">line\N{NO-BREAK SPACE}2</a>)'
    assert linked("Write `a<b>`.", 5) == "Write <code>a&lt;b&gt;</code>."
    assert linked(f"Write `{'<' * 24}`.", 5).count('class="long"') == 0
    assert linked(f"Write `{'<' * 25}`.", 5).count('class="long"') == 1
    assert linked("See line 2.", 5, 2).count(">line\N{NO-BREAK SPACE}2<") == 1


def test_pieces_of_the_source_join_to_the_source():
    hostile = 'a /* open\n"b\\\n#define X "//"\n// end */ __syncthreads();\n/*'
    assert "\n".join("".join(piece.text for piece in line) for line in coloured(hostile)) == hostile
    assert [piece.kind for piece in coloured("int x; // y")[0]] == ["keyword", "", "comment"]


def test_shares_of_the_cost_add_up_and_the_worst_line_is_the_hottest():
    lines = listing(SOURCE, LINES)
    assert max(lines, key=lambda line: line.heat).number == 13
    cells = {line.number: {cell.view: cell for cell in line.cells} for line in lines if line.cells}
    assert [chip.text for chip in cells[13]["cost"].chips] == ["4-way conflict"]
    assert cells[9]["shared"].values[2] == "8-way"
    assert not cells[9]["global"].bad
    assert cells[8]["branches"].values[:2] == ("34,816", "2,048")
