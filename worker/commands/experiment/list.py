from __future__ import annotations

import sys

import click

from worker.commands.answer import Answer, answering
from worker.commands.portal.connection import EXITS, portal


@click.command(name="list", epilog=EXITS)
@click.option("--course", help="The course's short name.  [default: your only active one]")
@answering("Print the experiments as one JSON object.")
def list_(course: str | None) -> Answer:
    """List the experiments on your course's server: your own and shared ones and, for course staff, all.

    \b
    Examples:
      tilelab experiment list
      tilelab experiment list --course demo --json
    """
    from kernels.rendering.table import table
    from kernels.rendering.text_safety import cut, safe
    from kernels.rendering.text_style import DIM
    from kernels.wire import to_plain
    from worker.client.experiments import listed
    from worker.commands.experiment.submit import only_course
    from worker.commands.terminal import style_of

    with portal() as asked:
        name = course or only_course(asked)
        found, page = listed(asked, name), f"{asked.url}/courses/{name}/experiments"

    def text() -> str:
        style = style_of(sys.stdout)
        if not found.experiments:
            return "No experiments yet. Start one with `tilelab experiment submit FILE`."
        rows = [
            (
                safe(one.id),
                safe(one.state),
                f"{one.ended:,} of {one.points:,}",
                safe(one.created_at[:10]),
                safe(one.name),
            )
            for one in found.experiments
        ]
        first, *rest = table([("id", "state", "points", "started", "name"), *rows], "<<><<")
        lines = [style.paint(first, DIM), *(cut(line, style.width) for line in rest)]
        return "\n".join([*lines, *([f"Older ones: {page}"] if found.next else [])])

    return Answer(lambda: to_plain(found), text)
