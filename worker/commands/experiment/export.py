from __future__ import annotations

from pathlib import Path

import click

from worker.commands.root import Exit, WrongUse, leave


@click.command(epilog="Exit code: 0 written, 2 wrong use.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "json", "parquet", "t4"]),
    default="csv",
    show_default=True,
    help="A table, or the autotuning community's format T4.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write; standard output by default.")
def export(folder: Path, kind: str, output: Path | None) -> None:
    """Write the points of DIR as a tidy table: one row a point, one column a value.

    \b
    Examples:
      tilelab experiment export my > my.csv
      tilelab experiment export my --format parquet -o my.parquet
      tilelab experiment export my --format t4 -o my.json
    """
    from kernels.experiment.export import csv_parts, json_parts, t4_parts
    from worker.commands.experiment.saved_experiment import opened, print_or_write, write

    if kind == "parquet" and output is None:
        raise WrongUse("--format parquet: this format isn't text. Name a file with -o.")
    found = opened(folder)
    if kind == "parquet" and output is not None:
        from kernels.experiment.parquet import to_parquet

        write("--output", output, [to_parquet(found.results)])
    elif kind == "t4":
        print_or_write(output, t4_parts(found.results, found.manifest.versions))
    else:
        parts = csv_parts if kind == "csv" else json_parts
        print_or_write(output, parts(found.results))
    leave(Exit.ACCEPTED)
