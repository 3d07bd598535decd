from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from worker.commands.answer import Answer, answering

if TYPE_CHECKING:
    from kernels.experiment.templates import Template


@click.command()
@answering()
def templates() -> Answer:
    """List the experiments that come with Tilelab. Run them by name.

    \b
    Example:
      tilelab experiment run tile
    """
    from kernels.experiment.templates import templates as found

    return Answer(lambda: [_plain(each) for each in found()], lambda: _text(found()))


def _text(found: tuple[Template, ...]) -> str:
    from kernels.rendering.text_style import BOLD
    from kernels.wording import plural
    from worker.commands.terminal import style_of

    style = style_of(sys.stdout)
    lines = []
    for each in found:
        experiment = each.experiment
        first, *more = style.wrap(f"{each.name}: {experiment.question}", "", "    ")
        lines += [first.replace(each.name, style.paint(each.name, BOLD), 1), *more]
        axes = "; ".join(f"{axis.name} {', '.join(map(str, axis.values))}" for axis in experiment.axes)
        lines += style.wrap(f"{experiment.exercise}, {plural(each.points, 'point')}: {axes}", "    ")
    return "\n".join(lines)


def _plain(each: Template) -> dict[str, Any]:
    from kernels.experiment.definition import plain_definition

    experiment = each.experiment
    plain = plain_definition(experiment)
    return {
        "name": each.name,
        "title": experiment.name,
        "question": experiment.question,
        "expect": experiment.expect,
        "exercise": experiment.exercise,
        "kernels": list(each.kernels),
        "axes": plain["axes"],
        "points": each.points,
        "plot": plain.get("plot", {}),
    }
