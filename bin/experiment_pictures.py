"""Draw the pictures of experiments in the docs. `make pictures` runs this.

For counted and modelled pictures, the templates run on the CPU device. Measured pictures need results of a GPU, in a
folder with a folder for each template. Without these results, they stay.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
_TILELAB = Path(sys.executable).with_name("tilelab")


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture. run, plot: the options of both commands; run: None for results of a GPU."""

    name: str
    template: str
    plot: tuple[str, ...] = ()
    run: tuple[str, ...] | None = ()


PICTURES = (
    Picture("template-tile", "tile", ("--y", "loads")),
    Picture("template-reduction", "reduction"),
    Picture("template-divergence", "divergence"),
    Picture("template-occupancy", "occupancy", run=("--arch", "sm_86")),
    Picture("template-tile-size", "tile-size", run=None),
    Picture("template-coarsening", "coarsening", run=None),
    Picture("template-coalescing", "coalescing", run=None),
    Picture("template-padding", "padding", ("--y", "gflops"), run=None),
    Picture("template-occupancy-speed", "occupancy-speed", run=None),
    Picture("template-ladder-size", "ladder-size", run=None),
    Picture("template-blocks", "blocks", ("--kind", "heatmap", "--x", "TX", "--by", "TY"), run=None),
    Picture("blocks-heat-map", "blocks", ("--kind", "heatmap"), run=None),
    Picture("blocks-roofline", "blocks", ("--kind", "roofline"), run=None),
    Picture("speed-over-size", "size", ("--x", "Width", "--y", "gflops", "--by", "TILE_WIDTH"), run=None),
)


def main() -> None:
    """Draw what can be drawn, and say what stays."""
    parser = argparse.ArgumentParser(prog="bin.experiment_pictures")
    parser.add_argument("measured", nargs="?", type=Path, help="folder with results of a GPU")
    measured = parser.parse_args().measured
    with tempfile.TemporaryDirectory() as name:
        for picture in PICTURES:
            if picture.run is not None:
                folder = Path(name) / picture.template
                _tilelab("run", picture.template, "--device", "cpu", "--out", str(folder), *picture.run)
            elif measured is None or not (measured / picture.template / "manifest.json").is_file():
                print(f"{picture.name} stays: no results of {picture.template} from a GPU")
                continue
            else:
                folder = measured / picture.template
            _tilelab("plot", str(folder), *picture.plot, "-o", str(IMAGES / f"{picture.name}.svg"))
            print(f"{picture.name} is drawn", flush=True)


def _tilelab(*words: str) -> None:
    subprocess.run([_TILELAB, "experiment", *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
