"""The experiments that come with Tilelab: each runs, and counts what the course's formulas say."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner

from kernels.exercise import find_exercise
from kernels.experiment.definition import from_plain_definition, plain_definition
from kernels.experiment.templates import Template, template_files, templates
from tests.marks import linux
from worker.commands.root import Exit, tilelab

Values = Mapping[str, int]
Expected = Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """A template's first and last point at small sizes, and what the course says of its points.

    values: tile, sizes and macros of a point with the name of its kernel
    """

    axes: tuple[str, ...]
    expected: Callable[[Values, str], Expected]
    arch: str = "sm_90"


def tiled_loads(values: Values, kernel: str = "") -> Expected:
    tile = values["TILE_WIDTH"]
    return {"global_load_requests": 2 * values["Width"] ** 3 / tile / min(32, tile**2)}


def naive_or_tiled(values: Values, kernel: str) -> Expected:
    naive = {"global_load_requests": values["Width"] ** 3 / 16}
    return naive if kernel == "naive.cu" else tiled_loads(values)


def coarsened(values: Values, kernel: str) -> Expected:
    factor, tile = values["COARSE_FACTOR"], 32
    return {"global_load_requests": values["Width"] ** 3 * (1 + factor) / (32 * tile * factor)}


def swapped(values: Values, kernel: str) -> Expected:
    requests = values["Width"] ** 3 / 16
    return {"global_load_requests": requests, "global_load_sectors": requests / 2 * (33 if values["SWAPPED"] else 5)}


def padded(values: Values, kernel: str) -> Expected:
    ways = math.gcd(32, values["PAD"])
    return {"shared_store_conflicts": (ways - 1) * values["Width"] ** 3 / (16 * 32)}


def occupancy(values: Values, kernel: str) -> Expected:
    blocks = {4: 16, 8: 16, 16: 6, 32: 1}[values["TILE_WIDTH"]]
    threads = max(32, values["TILE_WIDTH"] ** 2)
    return {"occupancy": blocks * threads / 1536}


def spare(values: Values, kernel: str) -> Expected:
    tile, kilobytes = values["TILE_WIDTH"], values["SPARE"] + 2 * values["TILE_WIDTH"] ** 2 * 4 / 1024 + 1
    blocks = min(2048 // tile**2, int(228 / kilobytes), 32)
    return {"occupancy": blocks * tile**2 / 2048, **tiled_loads(values)}


def reduced(values: Values, kernel: str) -> Expected:
    by = 32 if kernel == "interleaved.cu" else values["BLOCK_SIZE"]
    return {"divergent_branches": 3 * values["n"] / by}


def three_kinds(values: Values, kernel: str) -> Expected:
    warps, mixed = values["n"] / 32, kernel == "mixed_warps.cu"
    return {"divergent_branches": 2 * warps * mixed, "global_load_sectors": warps * (4 if mixed else 12)}


def turned(values: Values, kernel: str) -> Expected:
    requests = values["Width"] ** 3 / (32 * 32)
    return {"global_load_sectors": requests * (4 + (4 if values["TURNED"] else 32))}


def blocks(values: Values, kernel: str) -> Expected:
    return {"global_load_requests": values["Width"] ** 3 * (1 + values["TX"]) / (32 * values["BX"] * values["TX"])}


def rungs(values: Values, kernel: str) -> Expected:
    number, cube = int(kernel[:2]), values["Width"] ** 3
    tile = {2: 32, 3: 8, 6: 32, 7: 16, 8: 32}.get(number)
    if tile is not None:
        return {"global_load_requests": cube / (16 * tile)}
    return {"global_load_requests": cube / 16} if number in {1, 4, 5} else {}


CASES = {
    "blocks": Case(("BX=32", "BY=8,16", "TX=4", "TY=2,4", "Width=128"), blocks),
    "boundary-checks": Case(("Width=128",), tiled_loads),
    "coalescing": Case(("Width=64",), swapped),
    "coarsening": Case(("COARSE_FACTOR=1,8", "Width=256"), coarsened),
    "corner-turning": Case(("Width=128",), turned),
    "divergence": Case(("rounds=1", "n=960"), three_kinds),
    "ladder-size": Case((), rungs),
    "naive-tiled": Case(("Width=128",), naive_or_tiled),
    "occupancy": Case(("TILE_WIDTH=4,32", "Width=64"), occupancy, "sm_86"),
    "occupancy-speed": Case(("TILE_WIDTH=8", "SPARE=0,44", "Width=64"), spare),
    "padding": Case(("PAD=0,8", "Width=128"), padded),
    "reduction": Case(("BLOCK_SIZE=512", "n=4096"), reduced),
    "size": Case(("TILE_WIDTH=16", "Width=128,256"), tiled_loads),
    "tile": Case(("TILE_WIDTH=4,32", "Width=128"), tiled_loads),
    "tile-size": Case(("TILE_WIDTH=4,32", "Width=64"), tiled_loads),
}


_OTHERS = pytest.mark.long("the short suite runs one template")


def run(name: str, tmp_path, *words: str) -> list[dict[str, Any]]:
    command = ["experiment", "run", name, "--device", "cpu", "--out", str(tmp_path / "out"), "--json", *words]
    done = CliRunner().invoke(tilelab, command)
    assert done.exit_code == Exit.ACCEPTED, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["points"]
    return found


def differing(template: str, point: Mapping[str, Any]) -> Expected | None:
    """What the course says of a point where its counts differ; None for a point of which it says nothing."""
    exercise = find_exercise(next(each for each in templates() if each.name == template).experiment.exercise)
    values = {exercise.tile_name: point["tile"], **point["sizes"], **point["params"]}
    found = {"occupancy": point["occupancy"]["share"], **point["counted"]["totals"]}
    expected = CASES[template].expected(values, point["kernel"])
    if not expected:
        return None
    return {name: value for name, value in expected.items() if found[name] != pytest.approx(value)}


@linux
@pytest.mark.parametrize(
    "name",
    [name if name == "tile" else pytest.param(name, marks=_OTHERS) for name in template_files() if CASES[name].axes],
)
def test_the_first_and_the_last_point_count_what_the_course_says(name, tmp_path):
    case = CASES[name]
    words = [word for axis in case.axes for word in ("-a", axis)]
    points = run(name, tmp_path, "--arch", case.arch, *words)
    assert [point["verdict"] for point in points] == ["accepted"] * 2
    assert [differing(name, point) for point in points] == [{}] * 2


@pytest.mark.parametrize("template", templates(), ids=lambda each: each.name)
def test_a_template_says_what_it_asks_and_shows(template: Template):
    experiment = template.experiment
    assert experiment.question.endswith("?")
    assert experiment.expect.endswith(".")
    assert experiment.plot is not None
    assert experiment.plot.kind is not None
    assert experiment.plot.x
    assert from_plain_definition(plain_definition(experiment)) == experiment


def test_each_kernel_belongs_to_a_template():
    found = templates()
    kernels = {file.name for file in found[0].file.parent.glob("*.cu")}
    assert kernels == {kernel for each in found for kernel in each.experiment.kernels}


def test_a_name_that_is_not_a_template_is_refused_with_the_nearest():
    done = CliRunner().invoke(tilelab, ["experiment", "run", "tlie", "--device", "cpu"])
    assert done.exit_code == Exit.WRONG_USE
    assert "`tile`" in done.stderr


def test_a_file_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tile").write_text("not a kernel")
    done = CliRunner().invoke(tilelab, ["experiment", "run", "tile", "--device", "cpu"])
    assert done.exit_code == Exit.WRONG_USE


def test_templates_are_listed():
    done = CliRunner().invoke(tilelab, ["experiment", "templates"])
    assert done.exit_code == Exit.ACCEPTED
    for each in templates():
        assert each.experiment.question in " ".join(done.stdout.split())
    listed = json.loads(CliRunner().invoke(tilelab, ["experiment", "templates", "--json"]).stdout)
    assert [each["name"] for each in listed] == list(template_files())
    assert listed[0]["points"] == 44
    assert listed[0]["plot"] == {"kind": "heatmap", "x": "TX", "by": "TY"}
