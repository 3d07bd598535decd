"""What is said of a speed's place on a ladder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.evidence import Evidence, Light
from kernels.exercise import find_exercise
from kernels.ladder import Figures, Ladder, Rung, read_ladder
from kernels.rendering.ladder import modelled_standing, standing
from kernels.report import Report
from kernels.verdict import Verdict
from tests.kernels.measured import H200, measurement


def ladder(*speeds: float, device_class: str = "h200") -> Ladder:
    return Ladder(
        "x",
        tuple(
            Rung(number, Path("x.cu"), f"title {number}", f"idea {number}", {device_class: Figures({2048: speed}, {})})
            for number, speed in enumerate(speeds, 1)
        ),
    )


@pytest.mark.parametrize(
    ("gflops", "sentences"),
    [
        (
            8_500,
            (
                "Between rung 2 (title 2: 8,160) and rung 3 (title 3: 9,255) of the reference ladder.",
                "Next idea: idea 3.",
            ),
        ),
        (
            8_134,
            (
                "Level with rung 2 (title 2: 8,160), below rung 3 (title 3: 9,255) of the reference ladder.",
                "Next idea: idea 3.",
            ),
        ),
        (
            3.5,
            ("Below rung 1 (title 1: 486), the slowest measured rung of the reference ladder.", "Next idea: idea 1."),
        ),
        (9_250, ("Level with rung 3 (title 3: 9,255), the fastest measured rung of the reference ladder.",)),
        (20_000, ("Above rung 3 (title 3: 9,255), the fastest measured rung of the reference ladder.",)),
    ],
)
def test_the_place_and_the_next_idea(gflops, sentences):
    assert standing(ladder(486, 8_160, 9_255), measurement(gflops=gflops)) == sentences


def test_a_cube_has_one_size_and_other_products_have_none():
    assert standing(ladder(100), measurement(sizes={"A": 2048, "B": 2048}))
    assert standing(ladder(100), measurement(sizes={"A": 2048, "B": 1024})) == ()


@pytest.mark.parametrize(
    "found",
    [None, measurement(gflops=None), measurement(ranked=False, remarks=("Too fast.",))],
    ids=["no GPU", "no product", "not ranked"],
)
def test_what_cannot_be_compared_has_no_place(found):
    assert standing(ladder(100), found) == ()


def test_without_a_ladder_or_figures_of_that_device_nothing_is_said():
    assert standing(None, measurement()) == ()
    assert standing(ladder(100, device_class="t4"), measurement()) == ()


def test_the_real_ladder_places_its_own_kernels():
    """On the device that it was measured on, each rung is level with itself or a neighbour as fast."""
    found = read_ladder(find_exercise("tiled"))
    assert found is not None
    for rung in found.rungs:
        if H200.device_class in rung.figures:
            gflops = rung.figures[H200.device_class].at(2048)
            assert standing(found, measurement(gflops=gflops))[0].startswith("Level with")


def test_an_accepted_kernel_without_a_measurement_has_its_place_by_the_model():
    light = Light("NVIDIA H200 SXM", {"Width": 2048}, (), "l1_data", 1.8, 9_556.0)
    report = Report(Verdict.ACCEPTED, "", "tiled", "cpu", "sm_90", 16, evidence=Evidence(light=(light,)))
    found = modelled_standing(read_ladder(find_exercise("tiled")), report)
    assert "rung 7" in found
    assert "8,162 GFLOPS" in found
    assert "larger tiles" in found
    assert modelled_standing(ladder(500.0), report) == "", "its ladder has no modelled speeds"
    assert modelled_standing(read_ladder(find_exercise("tiled")), replace(report, verdict=Verdict.DATA_RACE)) == ""
