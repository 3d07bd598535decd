"""Lines of a plot, its picture, the page and the table in the terminal."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from kernels.experiment.plot.chosen import default_plots, plot
from kernels.experiment.plot.model import Kind, NoPlot, Request
from kernels.experiment.plot.series import lines, varied
from kernels.experiment.quantities import QUANTITIES
from kernels.rendering.experiment import NOTHING_MEASURED, results_text
from kernels.rendering.page.charts.marks import standalone
from kernels.rendering.page.charts.plot import plot_svg
from kernels.rendering.page.experiment_page import MOST_ROWS, render_experiment
from kernels.rendering.text_style import Style
from tests.kernels.experiment.made import failed, result

LOADS, SPEED = QUANTITIES["loads"], QUANTITIES["gflops"]
GRID = [
    result(number, params={"T": t, "N": n, "B": b}, loads=n // t * b)
    for number, (t, n, b) in enumerate((t, n, b) for t in (4, 8) for n in (64, 128, 256) for b in (1, 2))
]
DEFINITION = {"experiment": {"name": "a <name>"}}


def test_there_is_a_line_for_each_combination_of_the_other_axes():
    found = lines(GRID, "N", LOADS)
    assert [line.name for line in found] == ["T=4, B=1", "T=4, B=2", "T=8, B=1", "T=8, B=2"]
    assert [point.params["N"] for point in found[0].points] == [64, 128, 256]


def test_with_an_axis_of_its_own_a_line_has_the_best_of_the_rest():
    found = lines(GRID, "N", LOADS, "T")
    assert [line.name for line in found] == ["T=4", "T=8"]
    assert {point.params["B"] for line in found for point in line.points} == {1}


def test_several_kernels_are_several_lines():
    found = lines([result(0), result(1), result(0, kernel="b.cu")], "T", LOADS)
    assert [(line.name, len(line.points)) for line in found] == [("a.cu", 2), ("b.cu", 1)]


@pytest.mark.parametrize(("across", "what", "by"), [("X", LOADS, None), ("T", LOADS, "X"), ("T", SPEED, None)])
def test_what_cannot_be_drawn_is_refused(across, what, by):
    with pytest.raises(NoPlot):
        lines(GRID, across, what, by)


def test_points_without_a_value_leave_a_gap():
    found = lines([result(0), failed(1), result(2)], "T", LOADS)
    assert [point.params["T"] for point in found[0].points] == [1, 4]


def test_a_page_begins_with_the_question_and_the_plot_of_the_file():
    experiment = {"name": "a", "question": "How fast?", "expect": "Faster & faster."}
    page = render_experiment({"experiment": experiment, "plot": {"kind": "line", "x": "B", "y": "loads"}}, GRID, {})
    assert page.index("How fast?") < page.index("Faster &amp; faster.") < page.index("Global load requests over B")
    assert page.index("Global load requests over B") < page.index("Global load requests over N")


def test_a_plot_that_nothing_was_measured_for_is_left_out():
    made = list(default_plots(GRID, Request(Kind.LINE, "N", "cublas_share")))
    assert made == list(default_plots(GRID))
    assert made[0] == next(default_plots(GRID, Request(made[0].kind)))


def test_a_plot_is_a_picture_that_says_what_it_shows():
    text = standalone(plot_svg(plot(GRID, Request(Kind.LINE, "N", "loads", "T"))))
    root = ET.fromstring(text)
    assert root.tag.endswith("svg")
    assert {child.tag.rpartition("}")[2] for child in root} >= {"title", "desc", "style", "polyline", "g"}
    assert "counted" in text


def test_a_measured_point_has_its_interval():
    results = [result(n, 1000.0 * (n + 1)) for n in range(3)]
    drawn = [plot_svg(plot(results, Request(Kind.LINE, "T", name))) for name in ("gflops", "bound")]
    assert [picture.count('class="whisker"') for picture in drawn] == [3, 0]


def test_more_lines_than_can_be_told_apart_are_refused():
    many = [result(n, params={"T": n % 17, "B": n // 17}) for n in range(289)]
    with pytest.raises(NoPlot):
        plot(many, Request(Kind.LINE, "T", "loads"))
    assert "<svg" in render_experiment(DEFINITION, many, {})


@pytest.mark.parametrize("results", [[], [result(0)], GRID, [failed(0), result(1)], [result(n, 9e3) for n in range(3)]])
def test_a_page_has_all_points_and_only_our_markup(results):
    page = render_experiment(DEFINITION, results, {"Device": "CPU device", "Driver": ""})
    assert "a &lt;name&gt;" in page
    assert "Driver" not in page
    _, _, points = page.partition('<section aria-labelledby="points">')
    assert points.count("<tr>") == len(results) + 1


@pytest.mark.long("the short suite thins many points in test_plot_kinds.py")
def test_a_page_of_many_points_stays_small():
    one = result(0, 9000.0)
    many = [replace(one, number=n, params={"T": n % 100, "N": n // 100}) for n in range(20_000)]
    page = render_experiment(DEFINITION, many, {})
    _, _, points = page.partition('<section aria-labelledby="points">')
    assert points.count("<tr>") == MOST_ROWS + 1
    assert "20,000" in points
    assert len(page) < 3_000_000


def test_the_table_says_what_its_numbers_are():
    text = results_text("name", [result(0, 1000.0), result(1)], 3, Style(width=100))
    for word in ("measured", "modelled", "counted"):
        assert word in text
    assert NOTHING_MEASURED[:20] not in text
    assert NOTHING_MEASURED[:20] in results_text("name", [result(0)], 1, Style(width=100))


def test_axes_with_one_value_are_not_varied():
    assert varied(GRID) == ["T", "N", "B"]
    assert varied(GRID[:1]) == []
    assert varied([]) == []
