"""`tilelab experiment plot`: one quantity over one axis, as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from worker.commands.root import Exit, WrongUse, leave


@click.command(epilog="Exit code: 0 drawn, 2 wrong use.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--x", "across", required=True, metavar="AXIS", help="The axis from left to right.")
@click.option("--y", "name", help="What to draw: gflops, bound, loads, occupancy or a counter.")
@click.option("--by", metavar="AXIS", help='One line for each of its values; "kernel" for one a kernel.')
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="SVG file to write.")
def plot(folder: Path, across: str, name: str | None, by: str | None, output: Path) -> None:
    """Draw a quantity of DIR over an axis as an SVG file.

    By default, the measured speed is drawn. If nothing was measured, the speed of light is.

    \b
    Examples:
      tilelab experiment plot my --x TILE_WIDTH -o speed.svg
      tilelab experiment plot my --x Width --y loads --by TILE_WIDTH -o loads.svg
    """  # noqa: D301 - click reads the escape
    from kernels.experiment.series import NoLines
    from kernels.rendering.page.charts.series import standalone
    from kernels.rendering.page.experiment_page import chart
    from worker.commands.experiment.saved_experiment import opened, quantity_named, written

    if output.suffix != ".svg":
        raise WrongUse(f"--output {output}: plots are SVG files. Choose a name that ends in .svg.")
    found = opened(folder)
    what = quantity_named("--y", name, found.results)
    try:
        drawn = chart(found.results, across, what, by)
    except NoLines as error:
        raise WrongUse(str(error)) from error
    written("--output", output, standalone(drawn))
    leave(Exit.ACCEPTED)
