"""Reading an experiment: what a file means, and the line that each mistake is at."""

from __future__ import annotations

import pytest

from kernels.experiment.axes import AxisError, parse_axis
from kernels.experiment.definition import DefinitionError, read_definition
from kernels.experiment.model import Axis, DesignKind
from kernels.experiment.points import TooManyPoints, points

FILE = """\
[experiment]
name = "tile and width"
exercise = "tiled"
kernels = ["tiled.cu"]

[axes]
TILE_WIDTH = [4, 8, 16]
Width = "512:4096:*2"

[constraints]
fits = "Width % TILE_WIDTH == 0 and TILE_WIDTH * TILE_WIDTH <= 256"
"""


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("T=4,8,16", (4, 8, 16)),
        ("T=1:4", (1, 2, 3, 4)),
        ("T=64:256:+64", (64, 128, 192, 256)),
        ("T=512:4095:*2", (512, 1024, 2048)),
        ("T=1, 4:6, 9", (1, 4, 5, 6, 9)),
    ],
)
def test_an_axis_is_numbers_and_ranges(text, values):
    assert parse_axis(text) == Axis("T", values)


@pytest.mark.parametrize(
    "text",
    ["T", "T=", "1T=4", "T=4,4", "T=4:2", "T=0:8:*2", "T=1:9:*1", "T=1:9:+0", "T=1:9999999", "T=x", "T=-1"],
)
def test_an_axis_that_cannot_be_read_is_refused(text):
    with pytest.raises(AxisError):
        parse_axis(text)


def test_a_grid_is_every_valid_combination():
    experiment = read_definition(FILE)
    assert experiment.axes == (Axis("TILE_WIDTH", (4, 8, 16)), Axis("Width", (512, 1024, 2048, 4096)))
    found = points(experiment)
    assert len(found) == 12
    assert found[0].params == {"TILE_WIDTH": 4, "Width": 512}


def test_a_sample_repeats_with_its_seed():
    text = FILE + '[design]\nkind = "random"\npoints = 5\nseed = 3\n'
    experiment = read_definition(text)
    assert experiment.design.kind is DesignKind.RANDOM
    assert points(experiment) == points(read_definition(text))
    assert len({tuple(each.params.values()) for each in points(experiment)}) == 5
    assert points(experiment) != points(read_definition(text.replace("seed = 3", "seed = 4")))


def test_a_sample_of_a_space_too_large_to_list():
    axes = "\n".join(f'{name} = "1:1000"' for name in "ABC")
    text = f'[experiment]\nname = "n"\nexercise = "tiled"\nkernels = ["a.cu"]\n[axes]\n{axes}\n'
    with pytest.raises(TooManyPoints):
        points(read_definition(text))
    sample = points(read_definition(text + '[design]\nkind = "random"\npoints = 100\n'))
    assert len({tuple(each.params.values()) for each in sample}) == 100


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('name = "tile and width"', "name = 3", 2),
        ('kernels = ["tiled.cu"]', 'kernels = ["../tiled.cu"]', 4),
        ('kernels = ["tiled.cu"]', 'kernels = ["/etc/passwd"]', 4),
        ('kernels = ["tiled.cu"]', "kernels = []", 4),
        ('kernels = ["tiled.cu"]', "", 1),
        ("[4, 8, 16]", "[]", 7),
        ("[4, 8, 16]", "[4, 8.5]", 7),
        ("[4, 8, 16]", "[4, -8]", 7),
        ("[4, 8, 16]", "[true]", 7),
        ('"512:4096:*2"', '"512:4096:*1"', 8),
        ("[axes]", "[axis]", 6),
        ("TILE_WIDTH *", "TILE *", 11),
        ("TILE_WIDTH <= 256", "TILE_WIDTH", 11),
        ("TILE_WIDTH <= 256", "__import__('os') <= 256", 11),
        ("[axes]", "[axes", 6),
    ],
)
def test_a_mistake_is_named_with_its_line(old, new, line):
    with pytest.raises(DefinitionError) as refused:
        read_definition(FILE.replace(old, new, 1))
    assert refused.value.line == line
