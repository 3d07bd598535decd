"""The ladder of the tiled exercise: its table, its files, where a speed stands on it, and every kernel's verdict."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from kernels.exercise import Exercise, find_exercise
from kernels.ladder import Figures, Ladder, LadderError, Rung, modelled_place, parse_ladder, place, read_ladder
from kernels.verdict import Verdict
from tests.marks import linux, some_of
from tests.worker.in_process import graded, made
from tests.worker.kept_processes import KeptProcesses
from worker.steps.grading import Job, grade

_REACHES = re.compile(r"^// Reaches (\d+) GFLOPS at Width=(\d+) on an (\w+), (\d+\.\d) % of cuBLAS\.$", re.MULTILINE)
# Beside an edge everywhere, with rows that begin at multiples of 16 bytes and without, and with no edge at all.
_CASES = {1: "integers_left", 13: "real", 67: "integers_left", 68: "permutation", 128: "integers_right"}


EXERCISES = {"tiled": 12, "tensor-cores": 7}
"""The exercises with a ladder, and the fewest rungs."""


@pytest.fixture(scope="module")
def tiled() -> Exercise:
    return find_exercise("tiled")


@pytest.fixture(scope="module", params=EXERCISES)
def exercise(request: pytest.FixtureRequest) -> Exercise:
    return find_exercise(request.param)


@pytest.fixture(scope="module")
def ladder(exercise: Exercise) -> Ladder:
    found = read_ladder(exercise)
    assert found is not None
    return found


def _rungs(name: str) -> list[Rung]:
    found = read_ladder(find_exercise(name))
    return list(found.rungs) if found else []


def test_every_file_is_a_rung_and_every_rung_a_file(exercise: Exercise, ladder: Ladder) -> None:
    files = sorted((exercise.root / "ladder").iterdir())
    assert [rung.file for rung in ladder.rungs] == files
    assert len(files) >= EXERCISES[exercise.name]


def test_rungs_stand_in_the_order_of_their_speeds(exercise: Exercise, ladder: Ladder) -> None:
    (size,) = set(exercise.ranking.values())
    for device_class in {name for rung in ladder.rungs for name in rung.figures}:
        measured = [rung for rung in ladder.rungs if device_class in rung.figures]
        for lower, upper in pairwise(measured):
            assert lower.figures[device_class].at(size) < upper.figures[device_class].at(size), upper.title


def test_figures_agree_with_each_other(exercise: Exercise, ladder: Ladder) -> None:
    """The speed of cuBLAS that speeds and shares imply is one speed, as far as the shares' digits tell."""
    lowest: dict[tuple[str, int], float] = {}
    highest: dict[tuple[str, int], float] = {}
    for rung in ladder.rungs:
        for device_class, figures in rung.figures.items():
            assert set(exercise.ranking.values()) <= figures.gflops.keys() <= {2048, 4096, 8192}
            for size, share in figures.cublas_share.items():
                key, gflops = (device_class, size), figures.gflops[size]
                lowest[key] = max(lowest.get(key, 0), gflops / (share + 0.0005))
                highest[key] = min(highest.get(key, math.inf), gflops / (share - 0.0005))
    for key, low in lowest.items():
        assert low < 1.04 * highest[key], key


@pytest.mark.parametrize("rung", _rungs("tiled"), ids=lambda rung: rung.file.stem)
def test_a_file_says_its_idea_and_the_figures_of_the_table(rung: Rung) -> None:
    assert rung.source.startswith("// Idea: ")
    said = _REACHES.findall(rung.source)
    assert len(re.findall("Reaches", rung.source)) == len(said)
    figures = rung.figures.get("h200")
    if figures is None:
        assert said == []
    else:
        share = f"{100 * figures.cublas_share[2048]:.1f}"
        assert said == [(f"{figures.gflops[2048]:.0f}", "2048", "H200", share)]


@pytest.mark.one_in(5, "the first of those here; make test-all has the others")
@pytest.mark.parametrize(
    "rung", some_of(_rungs("tiled"), 3, lambda rung: rung.file.stem, "the short suite has a third of the rungs")
)
def test_a_rung_is_accepted_without_a_finding(rung: Rung, tiled: Exercise, tmp_path: Path) -> None:
    definition = (tiled.root / "exercise.toml").read_text("utf-8")
    cases = "".join(
        f'[[cases]]\nsizes = {{ Width = {width} }}\ninputs = ["{kind}"]\n' for width, kind in _CASES.items()
    )
    report = graded(made(tmp_path, definition[: definition.index("[[cases]]")] + cases), rung.source)
    assert (report.verdict, report.findings, report.warnings) == (Verdict.ACCEPTED, (), ())
    assert report.resources is not None
    assert report.resources.local_bytes == 0, "registers are spilled"


@pytest.mark.parametrize(
    "rung", some_of(_rungs("tensor-cores"), 7, lambda rung: rung.file.stem, "the short suite has the first rung")
)
def test_a_rung_on_tensor_cores_is_accepted_without_a_finding(rung: Rung, tmp_path: Path) -> None:
    assert rung.source.startswith("// Idea: ")
    report = graded(find_exercise("tensor-cores"), rung.source, cache=tmp_path)
    assert (report.verdict, report.findings, report.warnings) == (Verdict.ACCEPTED, (), ())
    assert report.resources is not None
    assert report.resources.local_bytes == 0, "registers are spilled"


def test_the_ladder_is_outside_the_digest(tiled: Exercise, tmp_path: Path) -> None:
    bare = made(tmp_path, (tiled.root / "exercise.toml").read_text("utf-8"))
    assert read_ladder(bare) is None
    assert bare.digest == tiled.digest


def _ladder(*speeds: float | None) -> Ladder:
    """Rungs with these speeds at 2048, half of them at 1024; None for one that was not measured."""
    rungs = tuple(
        Rung(
            number,
            Path(f"{number:02}_x.cu"),
            f"rung {number}",
            f"idea {number}",
            {} if speed is None else {"h200": Figures({1024: speed / 2, 2048: speed}, {})},
        )
        for number, speed in enumerate(speeds, 1)
    )
    return Ladder("x", rungs)


@pytest.mark.parametrize(
    ("gflops", "size", "below", "above"),
    [
        (50, 2048, None, 1),
        (100, 2048, 1, 2),
        (150, 2048, 1, 2),
        (395, 2048, 2, 4),
        (397, 2048, 4, None),
        (400, 2048, 4, None),
        (1e6, 2048, 4, None),
        (150, 1024, 2, 4),
        (150, 64, 2, 4),
        (150, 100_000, 1, 2),
        (148, 1448, 1, 2),
        (151, 1448, 2, 4),
    ],
)
def test_where_a_speed_stands(gflops: float, size: int, below: int | None, above: int | None) -> None:
    """The third rung was not measured; between sizes a speed follows the size's logarithm."""
    found = place(_ladder(100, 200, None, 400), "h200", gflops, size)
    assert found is not None
    assert (found.device_class, found.size, found.gflops) == ("h200", size, gflops)
    assert (found.below and found.below.rung.number) == below
    assert (found.above and found.above.rung.number) == above


@pytest.mark.parametrize(("gflops", "level"), [(99.1, True), (100.9, True), (102, False), (98, False)])
def test_a_speed_that_a_repeat_could_have_had_is_level_with_its_rung(gflops: float, level: bool) -> None:
    found = place(_ladder(100, 200), "h200", gflops, 2048)
    assert found is not None
    assert found.level is level


@linux
@pytest.mark.long("some seconds for each rung; the model itself has tests in test_light.py")
@pytest.mark.parametrize("rung", _rungs("tiled"), ids=lambda rung: rung.file.stem)
def test_a_rung_has_the_modelled_speed_of_the_table(rung: Rung, kept: KeptProcesses, cache: Path) -> None:
    job = Job(rung.file.read_bytes(), find_exercise("tiled"), "sm_90", "5eed", cache, evidence=True)
    (bound,) = grade(job, kept.stages()).evidence.light
    assert {bound.sizes["Width"]: bound.gflops} == pytest.approx(rung.figures["h200"].modelled, rel=0.01)


@pytest.mark.parametrize(
    ("gflops", "below", "above"), [(400, None, 1), (5_574, 4, 5), (8_361, 6, 7), (9_556, 7, 8), (70_000, 14, None)]
)
def test_where_the_model_puts_a_kernel(gflops: float, below: int | None, above: int | None) -> None:
    ladder = Ladder("tiled", tuple(_rungs("tiled")))
    found = modelled_place(ladder, "h200", gflops, 2048)
    assert found is not None
    assert (found.below and found.below.rung.number, found.above and found.above.rung.number) == (below, above)
    assert modelled_place(ladder, "h200", gflops, 4096) is None, "nothing is modelled there"


def test_a_step_has_the_speed_at_that_size() -> None:
    found = place(_ladder(100, 200), "h200", 60, 1024)
    assert found is not None
    assert found.below is not None
    assert found.above is not None
    assert (found.below.gflops, found.above.gflops) == (50, 100)


def test_neighbours_may_change_places_at_another_size() -> None:
    ladder = _ladder(100, 200)
    late = replace(ladder.rungs[1], figures={"h200": Figures({1024: 10, 2048: 200}, {})})
    found = place(Ladder("x", (ladder.rungs[0], late)), "h200", 20, 1024)
    assert found is not None
    assert found.below is not None
    assert found.above is not None
    assert (found.below.rung.number, found.above.rung.number) == (2, 1)


def test_no_place_on_a_device_that_nothing_was_measured_on(ladder: Ladder) -> None:
    assert place(ladder, "abacus", 100, 2048) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[01_a", "not TOML"),
        ("01_a = 1", "a rung is a table"),
        ('[naive]\ntitle = "t"\nidea = "i"', "two digits"),
        ('[01_b]\ntitle = "t"\nidea = "i"', "no file ladder/01_b.cu"),
        ('[02_a]\ntitle = "t"\nidea = "i"', "be numbered 01"),
        ('[01_a]\nidea = "i"', "'title' is missing"),
        ('[01_a]\ntitle = "t"\nidea = 3', "'idea' is missing, or is not text"),
        ('[01_a]\ntitle = "t"\nidea = "i"\nh200 = 3', "tables of device classes"),
        ('[01_a]\ntitle = "t"\nidea = "i"\n[01_a.h200]\ngflops = { 1 = 2 }', "gflops and cublas_share"),
        (
            '[01_a]\ntitle = "t"\nidea = "i"\n[01_a.h200]\ngflops = { 1 = 2 }\ncublas_share = { 2 = 1 }',
            "must have the same sizes",
        ),
        (
            '[01_a]\ntitle = "t"\nidea = "i"\n[01_a.h200]\ngflops = { x = 2 }\ncublas_share = { x = 1 }',
            "'x' is not a size",
        ),
        (
            '[01_a]\ntitle = "t"\nidea = "i"\n[01_a.h200]\ngflops = { 1 = 0 }\ncublas_share = { 1 = 1 }',
            "greater than 0",
        ),
        ('[01_a]\ntitle = "t"\nidea = "i"\n[01_a.h200]\ngflops = {}\ncublas_share = {}', "given by size"),
    ],
)
def test_a_table_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    for name in ("01_a.cu", "02_a.cu"):
        (tmp_path / name).touch()
    with pytest.raises(LadderError, match=message):
        parse_ladder(text, "x", tmp_path)


def test_a_rung_by_its_number(ladder: Ladder) -> None:
    assert ladder.rung(1) is ladder.rungs[0]
    with pytest.raises(LadderError, match="no rung 0"):
        ladder.rung(0)
