"""`tilelab experiment`: its verbs live in modules of their own."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

from worker.commands.root import Verbs

_VERBS: Mapping[str, str] = {
    "cancel": "Cancel an experiment on a server.",
    "compare": "Compare two experiments point by point.",
    "export": "Write the results as CSV, JSON, Parquet or T4.",
    "fetch": "Fetch the results of a server's experiment into a folder.",
    "import": "Read a cache file of Kernel Tuner into a folder.",
    "list": "List the experiments on a course's server.",
    "plot": "Draw a quantity over an axis as SVG.",
    "repeat": "Run an experiment again, and check whether its figures agree.",
    "retry": "Run again what ended in a system error on a server.",
    "run": "Run an experiment, or resume it.",
    "show": "Show the results of an experiment.",
    "status": "Show an experiment on a server.",
    "submit": "Start an experiment on a course's server.",
    "templates": "List the experiments that come with Tilelab.",
}

_ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "import": ("import_cache", "import_cache"),  # a module can't have this name
    "cancel": ("status", "cancel"),
    "list": ("list", "list_"),
    "retry": ("status", "retry"),
}
"""Verbs with another module or name: the module's, and the command's."""


class ExperimentVerbs(Verbs):
    verbs = _VERBS
    package = "worker.commands.experiment"

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _ELSEWHERE:
            module, name = _ELSEWHERE[cmd_name]
            command: click.Command = getattr(importlib.import_module(f"{self.package}.{module}"), name)
            return command
        return super().get_command(ctx, cmd_name)


@click.group(cls=ExperimentVerbs)
def experiment() -> None:
    """Vary a kernel's tile, macros or size, and see what each point costs.

    \b
    Examples:
      tilelab experiment run tile
      tilelab experiment run my.cu -a TILE_WIDTH=8,16,32
      tilelab experiment plot my --x TILE_WIDTH --y bound -o bound.svg
    """
