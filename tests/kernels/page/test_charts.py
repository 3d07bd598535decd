from __future__ import annotations

import math
import re

import pytest

from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg
from kernels.rendering.page.charts.axes import Axis
from kernels.rendering.page.charts.occupancy import occupancy_chart
from kernels.rendering.page.charts.roofline import Mark, Roof, attainable, roofline
from kernels.rendering.page.links import linked, typeset
from kernels.rendering.page.listing.margin import listing
from kernels.rendering.page.listing.syntax import coloured
from tests.kernels.page.page_text import read
from tests.kernels.page.sample import LINES, SOURCE


def dots(chart: str, kind: str) -> list[tuple[float, float]]:
    found = re.findall(rf'<circle class="{kind}" cx="([\d.]+)" cy="([\d.]+)"', chart)
    return [(float(x), float(y)) for x, y in found]


def line_points(chart: str, kind: str) -> list[tuple[float, float]]:
    (points,) = re.findall(rf'<polyline class="{kind}" points="([^"]+)"', chart)
    return [(float(x), float(y)) for x, y in (point.split(",") for point in points.split())]


@pytest.mark.parametrize(("value", "place"), [(0.0, 10.0), (1, 10.0), (10, 15.0), (100, 20.0), (1000, 20.0)])
def test_an_axis_draws_what_lies_beyond_an_end_there(value, place):
    assert Axis(1, 100, 10, 20).place(value) == pytest.approx(place)


def test_an_axis_of_decades_has_one_at_least():
    assert Axis.of_decades(10, 10, 0, 1).decades() == [10, 100]
    assert Axis.of_decades(0.2, 30, 0, 1).decades() == pytest.approx([0.1, 1, 10, 100])


@pytest.mark.parametrize("ratio", [0.25, 1, 16, 55, 500])
def test_the_kernel_stands_on_the_roof(ratio):
    speed = attainable(ratio, 66_908, 1200)
    chart = roofline("H200", 66_908, [Roof("memory", 1200)], Mark("here", ratio, speed))
    left, knee, right = line_points(chart, "roof")
    ((x, y),) = dots(chart, "point")
    if ratio < 66_908 / 1200:
        share = (x - left[0]) / (knee[0] - left[0])
        assert y == pytest.approx(left[1] + share * (knee[1] - left[1]), abs=1)
    else:
        assert y == pytest.approx(knee[1], abs=0.2)
    assert knee[1] == right[1]
    assert left[0] <= x <= right[0]


def test_the_roof_has_its_knee_where_memory_is_no_longer_the_limit():
    chart = roofline("GPU", 1000, [Roof("memory", 10)], Mark("here", 1, 10))
    left, knee, right = line_points(chart, "roof")
    decades = math.log10(1000)  # from 0.1 to the decade above 150
    assert decades > 0
    across = (knee[0] - left[0]) / (right[0] - left[0])
    assert across == pytest.approx(math.log10(100 / 0.1) / math.log10(1000 / 0.1), abs=0.01)


def test_a_speed_of_light_beside_the_roof_is_drawn_at_the_same_ratio():
    chart = roofline("GPU", 1000, [Roof("memory", 10)], Mark("here", 1, 10), 70)
    ((x, y),), ((at, above),) = dots(chart, "point"), dots(chart, "ring")
    assert x == at
    assert above < y


def test_occupancy_is_drawn_as_steps_through_the_block():
    curve = [(threads, min(1.0, threads / 512)) for threads in range(32, 1025, 32)]
    chart = occupancy_chart(curve, (256, 0.5), (512, 1.0))
    points, ((x, y),), ((_, best),) = line_points(chart, "roof"), dots(chart, "point"), dots(chart, "ring")
    assert (x, y) in points
    assert best < y
    assert not read(chart).wrong


def test_bars_stay_within_their_room():
    widths = [
        float(width) for width in re.findall(r'class="value" width="([\d.]+)"', svg.bar(7) + svg.bar(-1) + svg.bar(0.5))
    ]
    assert widths == [100, 0, 50]


def test_words_in_charts_are_escaped():
    chart = roofline("<b>&", 1000, [Roof("</text><script>", 10)], Mark('"', 1, 10))
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
