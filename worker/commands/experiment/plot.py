from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worker.commands.root import Exit, WrongUse, leave

if TYPE_CHECKING:
    from kernels.experiment.plot.model import Plot
    from worker.commands.experiment.saved_experiment import Opened

KINDS = ("line", "heatmap", "scatter", "roofline", "pareto", "multiples", "bars")


@click.command(epilog="Exit code: 0 drawn, 2 wrong use.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(KINDS), help="By default, a kind that suits the axes.")
@click.option("--x", metavar="NAME", default="", help="An axis, or a quantity if the plot has two.")
@click.option("--y", metavar="NAME", default="", help="What to draw: gflops, bound, loads, occupancy or a counter.")
@click.option("--by", metavar="AXIS", default="", help='The series, or the rows of a heat map; "kernel" for kernels.')
@click.option("--panels", metavar="AXIS", default="", help="One panel for each of its values.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="SVG, PNG or HTML file to write.")
def plot(folder: Path, kind: str | None, x: str, y: str, by: str, panels: str, output: Path | None) -> None:
    """Draw the points of DIR on the terminal, or as an SVG, PNG or HTML file.

    Without options, the plot of the experiment's file is drawn. By default, `y` is the measured speed. If nothing was
    measured, it's the speed of light.

    \b
    Examples:
      tilelab experiment plot my
      tilelab experiment plot my --x TILE_WIDTH -o speed.svg
      tilelab experiment plot my --x Width --y loads --by TILE_WIDTH -o loads.png
      tilelab experiment plot my --kind heatmap --x BX --by BY -o blocks.html
      tilelab experiment plot my --x bound --y gflops
    """
    from kernels.experiment.plot.chosen import default_plots
    from kernels.experiment.plot.chosen import plot as chosen
    from kernels.experiment.plot.model import Kind, NoPlot, Request
    from kernels.experiment.quantities import NoSuchQuantity
    from worker.commands.experiment.saved_experiment import opened, write

    if output is not None:
        check_ending(output, [*PICTURES, ".html"])
    found = opened(folder)
    try:
        request = Request(Kind(kind) if kind else None, x, y, by, panels)
        wanted = Request.from_plain(found.manifest.definition.get("plot"))
        first = next(default_plots(found.results, wanted), None) if request == Request() else None
        drawn = first or chosen(found.results, request)
    except (NoPlot, NoSuchQuantity) as error:
        raise WrongUse(str(error)) from error
    if output is None:
        click.echo(_text(drawn))
    else:
        write("--output", output, [_html(found, drawn) if output.suffix == ".html" else PICTURES[output.suffix](drawn)])
    leave(Exit.ACCEPTED)


def check_ending(output: Path, endings: Iterable[str]) -> None:
    if output.suffix not in endings:
        raise WrongUse(f"--output {output}: choose a name that ends in {', '.join(endings)}.")


def _text(drawn: Plot) -> str:
    from kernels.rendering.plot.terminal import plot_text
    from worker.commands.terminal import style_of

    return plot_text(drawn, style_of(sys.stdout))


def _html(opened: Opened, drawn: Plot) -> bytes:
    from kernels.rendering.page.experiment_page import render_experiment
    from worker.commands.experiment.local_run import facts

    return render_experiment(opened.manifest.definition, opened.results, facts(opened.manifest), [drawn]).encode()


def _svg(drawn: Plot) -> bytes:
    from kernels.rendering.page.charts.marks import standalone
    from kernels.rendering.page.charts.plot import plot_svg

    return standalone(plot_svg(drawn)).encode()


def _png(drawn: Plot) -> bytes:
    from kernels.rendering.plot.png import png

    return png(_svg(drawn).decode())


PICTURES: Mapping[str, Callable[[Plot], bytes]] = {".svg": _svg, ".png": _png}
"""The formats of a plot, by the ending of a file's name."""
