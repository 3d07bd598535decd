"""Experiments on small sizes, set up as the command does it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernels.experiment.axes import parse_axis
from kernels.experiment.templates import FOLDER
from worker.experiment.manifest import DeviceUsed, Manifest
from worker.experiment.plan import Plan
from worker.experiment.setup import Machine, set_up

SAMPLE = FOLDER / "tiled.cu"
KERNEL = SAMPLE.read_text("utf-8")
HERE = Machine(DeviceUsed(), "sm_90")

FILE = """\
[experiment]
name = "tile and width"
exercise = "tiled"
kernels = ["tiled.cu"]

[axes]
TILE_WIDTH = [4, 8]
Width = [16, 32]

[constraints]
fits = "Width % TILE_WIDTH == 0"
"""


def experiment(folder: Path, text: str = FILE, kernels: Mapping[str, str] | None = None) -> Path:
    """The file of an experiment, with its kernels next to it."""
    for name, kernel in (kernels or {"tiled.cu": KERNEL}).items():
        (folder / name).write_text(kernel, "utf-8")
    file = folder / "my.toml"
    file.write_text(text, "utf-8")
    return file


def planned(
    folder: Path, *axes: str, text: str = KERNEL, exercise: str | None = None, machine: Machine = HERE
) -> tuple[Manifest, Plan]:
    """A run of one kernel with axes of the command line."""
    file = folder / "my.cu"
    file.write_text(text, "utf-8")
    return set_up(file, [parse_axis(axis) for axis in axes], exercise, machine)
