"""Plots as SVG, as PNG and as text, all from the same definition."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.experiment.plot.charts import MOST_SERIES
from kernels.experiment.plot.chosen import plot
from kernels.experiment.plot.model import Chart, HeatMap, Kind, Plot, Request, Scale
from kernels.experiment.quantities import quantity
from kernels.rendering.page import render
from kernels.rendering.page.charts import marks
from kernels.rendering.page.charts.plot import WIDTH, plot_svg
from kernels.rendering.plot.axes import steps
from kernels.rendering.plot.labels import bases_of, number_of, numbers_of, tick, title_of
from kernels.rendering.plot.png import png
from kernels.rendering.plot.terminal import MARKS, PLAIN_MARKS, plot_text
from kernels.rendering.text_safety import width
from kernels.rendering.text_style import Style
from kernels.verdict import Verdict
from tests.kernels.experiment.made import failed, result
from tests.kernels.experiment.test_plot_kinds import BLOCKS, point

BROKEN = replace(failed(99, Verdict.RESOURCE_LIMIT), params={"X": 8, "Y": 1, "Z": 1})
REQUESTS = {
    "line": Request(Kind.LINE, "X", by="Y"),
    "heatmap": Request(Kind.HEATMAP),
    "maps": Request(Kind.HEATMAP, "X", by="Y", panels="Z"),
    "scatter": Request(Kind.SCATTER),
    "diagonal": Request(Kind.SCATTER, "bound"),
    "roofline": Request(Kind.ROOFLINE),
    "pareto": Request(Kind.PARETO),
    "multiples": Request(Kind.MULTIPLES),
    "bars": Request(Kind.BARS),
    "counted": Request(Kind.LINE, "X", "loads", "Y"),
}


@pytest.fixture(params=REQUESTS)
def drawn(request) -> Plot:
    return plot([*BLOCKS, BROKEN], REQUESTS[request.param])


def shown_titles(made: Plot) -> list[str]:
    return [title_of(made.value)] if isinstance(made, HeatMap) else [title_of(made.y), title_of(made.x)]


def test_a_picture_is_whole_and_says_what_it_shows(drawn):
    text = marks.standalone(plot_svg(drawn))
    root = ET.fromstring(text)
    words = "".join(root.itertext())
    for title in shown_titles(drawn):
        assert title in words
    assert any(basis.value in words for basis in bases_of(drawn))


def test_every_point_of_a_picture_has_its_values(drawn):
    spots = re.findall(r'<g class="spot" data-at="[-0-9. ]+"><title>([^<]+)</title>', plot_svg(drawn))
    _, rows = numbers_of(drawn)
    assert len(spots) == len(rows)
    assert all(spots)


def test_a_picture_stays_within_its_frame(drawn):
    picture = plot_svg(drawn)
    box = re.search(r'viewBox="0 0 (\d+) (\d+)"', picture)
    assert box is not None
    wide, high = int(box[1]), int(box[2])
    for x, y in re.findall(r'data-at="(\S+) (\S+)"', picture):
        assert 0 <= float(x) <= wide
        assert 0 <= float(y) <= high


@pytest.mark.parametrize("columns", [40, 80, 100])
@pytest.mark.parametrize("unicode", [False, True])
def test_text_fits_the_terminal(drawn, columns, unicode):
    lines = plot_text(drawn, Style(width=columns, unicode=unicode)).splitlines()
    assert max(map(width, lines)) <= columns
    assert unicode or "\n".join(lines).isascii()
    said = " ".join(" ".join(lines).split())
    for title in shown_titles(drawn)[:1]:
        assert title in said


def test_text_has_colours_only_where_the_terminal_has(drawn):
    plain, painted = (plot_text(drawn, Style(colour=colour, width=80, unicode=True)) for colour in (False, True))
    assert "\033[" not in plain
    assert "\033[" in painted


def test_a_png_has_two_pixels_for_each_unit(drawn):
    picture = plot_svg(drawn)
    box = re.search(r'viewBox="0 0 (\d+) (\d+)"', picture)
    data = png(marks.standalone(picture))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert box is not None
    assert struct.unpack(">II", data[16:24]) == (2 * int(box[1]), 2 * int(box[2]))


def test_the_words_of_a_png_are_drawn():
    with_words = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="20"><text y="15">8,154 ×</text></svg>'
    assert len(png(with_words)) > len(png(with_words.replace("8,154 ×", "")))


def test_a_name_that_could_be_markup_is_a_name():
    made = plot([result(0, kernel="<b>.cu"), result(0, kernel="&.cu")], Request())
    picture = plot_svg(made)
    assert "<b>" not in picture
    ET.fromstring(marks.standalone(picture))
    assert "\033" not in plot_text(plot([result(0, kernel="\033[1m.cu"), result(0)], Request()), Style())


def test_a_heat_map_marks_the_best_and_what_is_not_accepted():
    made = plot([*BLOCKS, BROKEN], Request(Kind.HEATMAP, "X", by="Y"))
    picture = plot_svg(made)
    assert picture.count('class="best"') == 2
    assert picture.count('class="none"') == 1
    text = plot_text(made, Style(unicode=True))
    assert text.count("★") == 2
    assert "×" in text


def test_the_page_has_the_colours_of_a_picture():
    style = render.stylesheet()
    for number, colour in enumerate(marks.COLOURS):
        assert f"--c{number}: light-dark({colour}," in style
    for number, colour in enumerate(marks.HEAT):
        assert f".plot .h{number} {{ fill: {colour}; }}" in style


def test_a_heat_map_keeps_its_order_without_colour():
    shades = [_luminance(colour) for colour in marks.HEAT]
    assert shades == sorted(shades, reverse=True)
    for number, shade in enumerate(shades):
        ink = _luminance("#1e2125") if number <= marks.LIGHT_UNTIL else 1.0
        assert (max(shade, ink) + 0.05) / (min(shade, ink) + 0.05) >= 4.5


def test_a_series_can_be_seen_on_paper():
    assert all(1.05 / (_luminance(colour) + 0.05) >= 4.5 for colour in marks.COLOURS)


def test_fonts_have_their_licence():
    folder = Path(png.__code__.co_filename).with_name("fonts")
    assert {each.suffix for each in folder.iterdir()} == {".ttf", ".txt"}


@pytest.mark.parametrize(
    ("most", "found"), [(0, [0, 1]), (9193, [0, 2000, 4000, 6000, 8000, 10000]), (1, [0, 0.2, 0.4, 0.6, 0.8, 1])]
)
def test_the_lines_of_a_grid_are_round(most, found):
    assert steps(most) == pytest.approx(found)


@pytest.mark.parametrize("most", [1.1, 2.2, 3, 13.2, 15, 27.5, 140, 1100])
def test_the_lines_of_a_grid_for_whole_things_are_whole(most):
    found = steps(most, whole=True)
    assert all(each.is_integer() for each in found)
    assert found[-2] < most <= found[-1]


@pytest.mark.parametrize("most", [0.55, 1.1, 2.2, 13.2, 0.13, 27.5])
def test_the_lines_of_a_grid_end_with_its_axis(most):
    assert steps(steps(most)[-1]) == steps(most)


@pytest.mark.parametrize(("name", "most"), [("loads", 13.2), ("cublas_share", 0.13)])
def test_a_label_of_a_grid_is_exact(name, most):
    scale = Scale("x", quantity(name))
    factor = 100 if name == "cublas_share" else 1
    assert [float(tick(scale, each).rstrip(" %")) for each in steps(most)] == pytest.approx(
        [factor * each for each in steps(most)]
    )


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_no_kernel_of_a_ladder_loses_its_name():
    results = [result(0, 100.0 * (n + 1), kernel=f"{n:02}_a_rung_of_the_ladder") for n in range(13)]
    picture = plot_svg(plot(results, Request()))
    names = {
        "".join(each.itertext())
        for each in ET.fromstring(marks.standalone(picture)).iter()
        if each.tag.endswith("text")
    }
    assert {each.kernel for each in results} <= names
    assert picture.count("rotate(") == 13
    assert plot_svg(plot(results[:3], Request(Kind.LINE, "kernel"))).count("rotate(") in {0, 3}


@pytest.mark.parametrize("kind", [Kind.LINE, Kind.MULTIPLES, Kind.ROOFLINE, Kind.BARS])
@pytest.mark.parametrize("long", ["best-ece408-f26-tiled.cu", "submission-" + "094048dc5c1f2a77" * 8 + ".cu"])
def test_long_names_are_whole_and_inside_the_picture(kind, long):
    results = [replace(each, kernel=f"{each.kernel[:1]}-{long}") for each in BLOCKS]
    picture = plot_svg(plot(results, Request(kind, by="" if kind is Kind.ROOFLINE else "kernel")))
    root = ET.fromstring(marks.standalone(picture))
    high = float(root.get("height", "0"))
    keys = [each for each in root.iter() if each.get("class", "").startswith("key ")]
    for key in keys:
        lines = [each for each in key.iter() if each.tag.endswith("text")]
        assert "".join(line.text or "" for line in lines).replace(" ", "") == key.get("data-name", "").replace(" ", "")
        for line in lines:
            assert float(line.get("x", "0")) + 7.2 * len(line.text or "") <= WIDTH
            assert float(line.get("y", "0")) <= high
    assert len({key.get("data-name") for key in keys}) == len(keys)


def test_kernels_with_long_names_get_letters_with_a_key():
    results = [replace(each, kernel=f"{each.kernel[:1]}-{'x' * (60 * (each.params['Y'] - 1))}") for each in BLOCKS]
    made = plot(results, Request(Kind.BARS, "kernel"))
    assert dict(made.kernels) == {"A": f"a-{'x' * 60}"}
    assert {each.name.partition(",")[0] for each in made.spots} == {"a-", "A"} if isinstance(made, Chart) else False
    drawn = "".join(ET.fromstring(marks.standalone(plot_svg(made))).itertext())
    assert f"A: a-{'x' * 60}" in drawn
    assert f"A: a-{'x' * 60}" in plot_text(made, Style(width=100))


def test_all_series_of_a_plot_can_be_told_apart():
    looks = {(number % len(marks.COLOURS), marks.mark(number, 0, 0)) for number in range(MOST_SERIES)}
    assert len(looks) == MOST_SERIES
    assert len({marks.mark(number, 0, 0) for number in range(12)}) == 12, "also without colour"
    lines = {(number % len(marks.COLOURS), marks.joined(number, [(0, 0), (1, 1)])) for number in range(12)}
    assert len(lines) == 12
    for signs in (MARKS, PLAIN_MARKS):
        assert len(set(signs)) >= MOST_SERIES


def test_cells_and_ticks_are_short_numbers():
    times = plot([point(n, 100.0 + 33.3 * n, X=n % 3, Y=n // 3) for n in range(9)], Request(Kind.HEATMAP, y="ms"))
    assert isinstance(times, HeatMap)
    assert all(len(number_of(times.value, cell.value or 0)) <= 7 for cell in times.grids[0].cells)
    share = Scale("x", quantity("cublas_share"))
    assert [tick(share, value) for value in (0.2, 1.0)] == ["20 %", "100 %"]
    loads = Scale("x", quantity("loads"))
    assert [tick(loads, value) for value in (0.0, 500.0, 2.5e6, 1.25e7)] == ["0", "500", "2.5 M", "12.5 M"]
