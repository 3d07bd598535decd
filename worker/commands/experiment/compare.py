from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worker.commands.answer import Answer, answering
from worker.commands.root import WrongUse

if TYPE_CHECKING:
    from kernels.experiment.quantities import Quantity
    from worker.commands.experiment.saved_experiment import Opened


@click.command(epilog="Exit code: 0 compared, 2 wrong use.")
@click.argument("first", metavar="FIRST", type=click.Path(path_type=Path))
@click.argument("second", metavar="SECOND", type=click.Path(path_type=Path))
@click.option("--y", "name", help="What to compare: gflops, bound, loads, occupancy or a counter.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="SVG or PNG file for a plot of both.")
@answering("Print all pairs and the ratio as one JSON object.")
def compare(first: Path, second: Path, name: str | None, output: Path | None) -> Answer:
    """Compare two folders: SECOND over FIRST, for each point that both have.

    By default, the measured speeds are compared. If nothing was measured, the speeds of light are.

    \b
    Examples:
      tilelab experiment compare before after
      tilelab experiment compare before after --y loads
      tilelab experiment compare before after -o both.svg
    """
    from kernels.evidence import Basis
    from kernels.experiment.comparison import compare as compared
    from kernels.rendering.experiment import comparison_text, unlike_text
    from kernels.rendering.text_safety import safe
    from kernels.wire import to_plain
    from worker.commands.experiment.saved_experiment import opened, quantity_named
    from worker.commands.terminal import style_of

    one, other = opened(first), opened(second)
    what = quantity_named(name, [*one.results, *other.results])
    if what.needs_gpu and what.basis is not Basis.MEASURED:
        raise WrongUse(f"--y: `{what.name}` comes from one sample of the power, so it can't be compared.")
    found = compared(one.results, other.results, what)
    if not found.pairs:
        raise WrongUse(f"{first} and {second} have no point in common.")
    if output is not None:
        _draw(output, one, other, what)
    unlike = unlike_text(one.results, other.results, (one.manifest.exercise.name, other.manifest.exercise.name))
    data = {
        "quantity": what.name,
        "basis": what.basis.value,
        "ratio": found.ratio,
        "interval": found.interval,
        "differs": found.differs,
        "unlike": unlike,
        "pairs": [{**to_plain(pair), "differs": pair.differs} for pair in found.pairs],
    }

    def text() -> str:
        style = style_of(sys.stdout)
        said = comparison_text(found, (str(first), str(second)), style)
        return "\n".join((said, *(style.wrap(safe(unlike)) if unlike else ())))

    return Answer(data, text)


def _draw(output: Path, one: Opened, other: Opened, what: Quantity) -> None:
    from kernels.experiment.plot.compared import comparison_plot
    from kernels.experiment.plot.model import NoPlot
    from worker.commands.experiment.plot import PICTURES, check_ending
    from worker.commands.experiment.saved_experiment import write

    check_ending(output, PICTURES)
    names = f"{one.folder.path}", f"{other.folder.path}"
    try:
        drawn = comparison_plot(one.results, other.results, names, what)
    except NoPlot as error:
        raise WrongUse(str(error)) from error
    write("--output", output, [PICTURES[output.suffix](drawn)])
