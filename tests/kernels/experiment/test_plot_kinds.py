"""What each kind of plot shows, before it is drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.counters import Totals
from kernels.experiment.plot.chosen import choices, default_plots, plot
from kernels.experiment.plot.compared import comparison_plot
from kernels.experiment.plot.model import Chart, HeatMap, Join, Kind, NoPlot, Request
from kernels.experiment.plot.series import by_effect, front
from kernels.experiment.quantities import NoSuchQuantity, origin, quantity
from kernels.measurement import Clocks
from kernels.occupancy import Occupancy
from kernels.rendering.experiment import columns
from kernels.verdict import Verdict
from tests.kernels.experiment.made import failed, measured, result

SPEED, BOUND, LOADS = quantity("gflops"), quantity("bound"), quantity("loads")
MEASURED_NAIVE = 5406
"""GFLOPS of the naive product on an H200."""


def point(number: int, speed: float, **params: int):
    made = result(number, speed, params=params)
    assert made.modelled is not None
    assert made.counted is not None
    return replace(
        made,
        modelled=replace(made.modelled, device="NVIDIA H200 SXM", gflops=2 * speed),
        counted=replace(made.counted, totals=Totals(global_load_requests=100 + number, compute_to_memory=4.0)),
        occupancy=Occupancy(2, 64, 0.25 + 0.05 * number, "warps", cc="9.0"),
    )


BLOCKS = [
    point(n, 1000.0 * x + 10 * y + z, X=x, Y=y, Z=z)
    for n, (x, y, z) in enumerate((x, y, z) for x in (1, 2, 4) for y in (1, 2) for z in (1, 2))
]


def chart(results, *request, **more) -> Chart:
    made = plot(results, Request(*request, **more))
    assert isinstance(made, Chart)
    return made


def heat_map(results, *request, **more) -> HeatMap:
    made = plot(results, Request(*request, **more))
    assert isinstance(made, HeatMap)
    return made


def test_a_heat_map_has_the_best_of_the_rest():
    made = heat_map(BLOCKS, Kind.HEATMAP, "X", by="Y")
    assert (made.x.labels, made.y.labels) == (("1", "2", "4"), ("1", "2"))
    assert {cell.result.params["Z"] for cell in made.grids[0].cells} == {2}
    assert made.best == max(SPEED.of(each) or 0 for each in BLOCKS)
    assert made.value.note


def test_a_heat_map_chooses_the_axes_with_the_largest_effect():
    assert by_effect(BLOCKS, SPEED)[0] == "X"
    made = heat_map(BLOCKS, Kind.HEATMAP)
    assert (made.x.name, made.y.name) == ("X", "Y")


def test_a_heat_map_passes_over_an_axis_with_too_many_values():
    results = [point(n, 100.0 * n + 1, X=n, Y=n % 3, Z=n % 2) for n in range(60)]
    made = heat_map(results, Kind.HEATMAP)
    assert {made.x.name, made.y.name} == {"Y", "Z"}
    with pytest.raises(NoPlot):
        plot(results, Request(Kind.HEATMAP, "X"))


def test_where_less_is_better_the_best_is_the_lowest():
    made = heat_map(BLOCKS, Kind.HEATMAP, "X", "loads", "Y")
    assert made.best == 100
    assert made.grids[0].cells[0].result.number == 0


def test_a_heat_map_shows_where_no_point_is_accepted():
    broken = replace(failed(99, Verdict.RESOURCE_LIMIT), params={"X": 8, "Y": 1, "Z": 1})
    cells = heat_map([*BLOCKS, broken], Kind.HEATMAP, "X", by="Y").grids[0].cells
    assert [(cell.column, cell.row, cell.result.verdict) for cell in cells if cell.value is None] == [
        (3, 0, Verdict.RESOURCE_LIMIT)
    ]
    assert len(cells) == 7


def test_a_heat_map_may_have_panels():
    made = heat_map(BLOCKS, Kind.HEATMAP, "X", by="Y", panels="Z")
    assert [grid.name for grid in made.grids] == ["Z=1", "Z=2"]
    assert not made.value.note


def test_small_multiples_have_a_panel_for_each_value():
    made = chart(BLOCKS, Kind.MULTIPLES, "X", by="Y", panels="Z")
    assert [panel.name for panel in made.panels] == ["Z=1", "Z=2"]
    assert [[each.name for each in panel.series] for panel in made.panels] == [["Y=1", "Y=2"]] * 2
    assert [each.number for each in made.series] == [0, 1]


def test_a_series_keeps_its_look_in_all_panels():
    results = [each for each in BLOCKS if (each.params["Y"], each.params["Z"]) != (1, 1)]
    made = chart(results, Kind.MULTIPLES, "X", by="Y", panels="Z")
    looks = {(each.name, each.number) for panel in made.panels for each in panel.series}
    assert len(looks) == 2


def test_points_of_two_quantities_are_in_series_of_an_axis():
    made = chart(BLOCKS, x="occupancy", y="gflops", by="X")
    assert made.kind is Kind.SCATTER
    assert [(each.name, len(each.spots), each.join) for each in made.series] == [
        (f"X={x}", 4, Join.NONE) for x in (1, 2, 4)
    ]


def test_measured_against_modelled_has_a_diagonal():
    made = chart(BLOCKS, x="bound", y="gflops")
    assert made.diagonal
    assert all(spot.y < spot.x for spot in made.spots)
    assert all(spot.y_ends is not None and spot.x_ends is None for spot in made.spots)
    assert not chart(BLOCKS, x="occupancy", y="gflops").diagonal


def test_a_roofline_has_the_roof_of_the_modelled_device():
    made = chart(BLOCKS, Kind.ROOFLINE)
    assert made.roofs is not None
    assert made.roofs.device == "NVIDIA H200 SXM"
    assert {spot.x for spot in made.spots} == {4.0}
    assert len(made.spots) == len(BLOCKS)


def test_a_roofline_has_a_roof_for_each_memory():
    roofs = chart(BLOCKS, Kind.ROOFLINE).roofs
    assert roofs is not None
    assert [(each.name, round(each.gbs)) for each in roofs.memories] == [("memory", 4800), ("L2", 7000), ("L1", 33_454)]
    memory, _, cache = roofs.memories
    assert memory.slope < MEASURED_NAIVE < cache.slope  # at one operation for each access
    *slanted, flat = roofs.lines(0.1, 100)
    assert [line[0] for line in slanted] == [(0.1, 0.1 * each.slope) for each in roofs.memories]
    assert [line[1][1] for line in slanted] == [roofs.peak] * 3
    assert flat == (slanted[-1][1], (100, roofs.peak))


def test_a_front_has_the_points_that_no_other_beats():
    results = [
        replace(result(n, speed, loads=loads), params={"T": n})
        for n, (speed, loads) in enumerate([(10, 5), (20, 5), (30, 9), (25, 9), (5, 1), (5, 2)])
    ]
    assert [each.number for each in front(results, LOADS, SPEED)] == [4, 1, 2]
    made = chart(results, Kind.PARETO, "loads", "gflops")
    assert [(len(each.spots), each.faint) for each in made.series] == [(3, False), (3, True)]


def test_a_front_of_speed_and_energy_needs_the_power():
    power = replace(measured(100.0), clocks=Clocks(power_w=500.0))
    made = chart([replace(each, measurement=power) for each in BLOCKS], Kind.PARETO)
    assert made.x.quantity is not None
    assert (made.x.quantity.name, made.x.quantity.basis) == ("energy", "modelled")
    assert made.spots[0].x == pytest.approx(500 * power.ms_median)


def test_bars_stand_in_groups():
    made = chart(BLOCKS, Kind.BARS, "Y", by="X")
    assert made.x.labels == ("1", "2")
    assert [(each.name, [spot.x for spot in each.spots]) for each in made.series] == [
        (f"X={x}", [0, 1]) for x in (1, 2, 4)
    ]


def test_several_kernels_are_bars():
    made = chart([result(0, 10.0), result(0, 20.0, kernel="b.cu")])
    assert (made.kind, made.x.labels) == (Kind.BARS, ("a.cu", "b.cu"))


@pytest.mark.parametrize(
    "request_",
    [
        Request(Kind.HEATMAP, "X"),
        Request(Kind.HEATMAP, "X", by="Q"),
        Request(Kind.MULTIPLES),
        Request(Kind.MULTIPLES, by="X"),
        Request(Kind.LINE, "X", panels="Q"),
        Request(Kind.ROOFLINE, y="ms"),
        Request(Kind.SCATTER, "energy"),
        Request(Kind.SCATTER, by="Q"),
        Request(Kind.BARS, "Q"),
        Request(x="Q"),
    ],
)
def test_impossible_plots_are_refused(request_):
    with pytest.raises(NoPlot):
        plot([point(n, 100.0 * n, X=n) for n in (1, 2, 3)], request_)


def test_an_unknown_quantity_is_refused():
    with pytest.raises(NoSuchQuantity):
        plot(BLOCKS, Request(y="levitation"))


def test_nothing_is_drawn_without_an_accepted_point():
    with pytest.raises(NoPlot):
        plot([failed(0)], Request())
    assert not list(default_plots([failed(0)]))


def test_too_many_points_are_thinned_and_counted():
    many = [point(n, 1000.0 + n, X=n % 4, Y=n // 4) for n in range(4000)]
    made = chart(many, Kind.SCATTER, "occupancy", by="X")
    assert (len(made.spots), made.left_out) == (1000, 3000)
    assert {1000.0, 4999.0} <= {round(spot.y) for spot in made.spots}


@pytest.mark.parametrize(
    ("axes", "first"),
    [
        ({"X": (1, 2)}, Kind.BARS),
        ({"X": (1, 2, 4, 8)}, Kind.LINE),
        ({"X": (1, 2, 4, 8), "Y": (1, 2)}, Kind.HEATMAP),
        ({"Width": (1, 2, 4, 8), "Y": (1, 2)}, Kind.LINE),
    ],
)
def test_the_first_plot_suits_the_axes(axes, first):
    combinations: list[dict[str, int]] = [{}]
    for name, values in axes.items():
        combinations = [each | {name: value} for each in combinations for value in values]
    made = list(default_plots([point(n, 100.0 + n, **params) for n, params in enumerate(combinations)]))
    assert made[0].kind is first
    assert {Kind.ROOFLINE} <= {each.kind for each in made} or len(combinations) < 3


def test_four_axes_get_a_map_lines_and_panels():
    results = [point(n, 100.0 + n, **(each.params | {"W": 1 + n % 2})) for n, each in enumerate(BLOCKS)]
    kinds = [each.kind for each in default_plots(results)]
    assert {Kind.HEATMAP, Kind.LINE, Kind.MULTIPLES, Kind.SCATTER, Kind.ROOFLINE} <= set(kinds)


def test_a_quantity_says_where_its_numbers_are_from():
    origins = [origin(quantity(name), BLOCKS) for name in ("gflops", "bound", "occupancy", "loads")]
    assert origins == [
        "measured on H200",
        "modelled for NVIDIA H200 SXM",
        "modelled for compute capability 9.0",
        "counted on the CPU device",
    ]
    assert origin(SPEED, [result(0)]) == "measured"


def test_a_page_leaves_out_plots_in_which_all_points_are_the_same():
    same = [replace(each, occupancy=Occupancy(2, 64, 0.5, "warps", cc="9.0")) for each in BLOCKS]
    assert not any("ccupancy" in each.title for each in default_plots(same))
    assert any("ccupancy" in each.title for each in default_plots(BLOCKS))


def test_the_plots_of_a_page_have_different_titles():
    wanted = Request(Kind.LINE, "X", "gflops", "Z")
    plots = list(default_plots(BLOCKS, wanted))
    assert plots[0] == plot(BLOCKS, wanted)
    titles = [each.title for each in plots]
    assert len(set(titles)) == len(titles)


def test_two_experiments_are_two_series_with_a_key():
    slower = [point(n, 500.0 * x, X=x) for n, x in enumerate((1, 2, 4))]
    faster = [replace(each, kernel="other.cu") for each in slower[1:]]
    made = comparison_plot(slower, faster, ("before", "after"), SPEED)
    assert isinstance(made, Chart)
    assert [(each.name, len(each.spots)) for each in made.series] == [("A", 3), ("B", 2)]
    assert made.kernels == {"A": "before", "B": "after"}
    several = comparison_plot([*slower, *faster], slower, ("before", "after"), SPEED)
    assert isinstance(several, Chart)
    assert {each.name for each in several.series} == {"A a.cu", "A other.cu", "B"}


def test_letters_of_long_names_are_not_those_of_the_two_experiments():
    long = "submission-5d2c6e0f8a1b4c3d.cu"
    one = [replace(each, kernel=long) for each in BLOCKS]
    made = comparison_plot(one, [*one, *BLOCKS], ("before", "after"), SPEED)
    assert isinstance(made, Chart | HeatMap)
    assert made.kernels == {"A": "before", "B": "after", "C": f"B {long}"}


def test_a_kernel_that_is_named_as_a_letter_keeps_it():
    results = [replace(each, kernel=f"long-{'x' * 60}" if each.params["Y"] > 1 else "A") for each in BLOCKS]
    assert dict(plot(results, Request(Kind.BARS, "kernel")).kernels) == {"B": f"long-{'x' * 60}"}


def test_a_plot_offers_its_axes_and_the_quantities_with_values():
    offered = choices(BLOCKS)
    assert offered.axes == ("X", "Y", "Z")
    names = [each.name for each in offered.quantities]
    assert {"gflops", "bound", "occupancy", "loads"} <= set(names)
    assert not {"shared_conflicts", "global_load_requests", "energy"} & set(names)
    assert choices([failed(0)]).quantities == ()


def test_a_table_begins_with_what_the_experiment_asks_about():
    assert [each.name for each in columns(BLOCKS, "occupancy")] == ["occupancy", "gflops", "bound", "loads"]
    assert [each.name for each in columns([failed(0)], "gflops")] == ["bound", "occupancy", "loads"]
