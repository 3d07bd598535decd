"""`tilelab exercises`: what there is to solve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from worker.commands.root import Exit, WrongUse, leave

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernels.exercise import Exercise, ExerciseError
    from kernels.ladder import Ladder, Rung


@click.command()
@click.argument("name", required=False)
@click.option("--starter", is_flag=True, help="Write the starter file of exercise NAME to standard output.")
@click.option("--ladder", is_flag=True, help="List the kernels of its ladder, from slow to fast.")
@click.option("--rung", type=int, help="Write the kernel of that rung of the ladder to standard output.")
@click.option(
    "--exercises", "folder", type=click.Path(path_type=Path), help="Folder with exercises of your own."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def exercises(
    name: str | None, starter: bool, ladder: bool, rung: int | None, folder: Path | None, as_json: bool
) -> None:
    """List the exercises, or show the handout of exercise NAME.

    A folder with a mistake in it is named after the others; the exit code is 2 then.

    \b
    Examples:
      tilelab exercises
      tilelab exercises tiled
      tilelab exercises tiled --starter > my.cu
      tilelab exercises tiled --ladder
    """  # noqa: D301 - click reads the escape
    extra = () if folder is None else (folder,)
    if starter + ladder + (rung is not None) > 1:
        raise WrongUse("Only one of --starter, --ladder and --rung can be given.")
    if name is None:
        option = "--starter" if starter else "--ladder" if ladder else "--rung" if rung is not None else None
        if option is not None:
            raise WrongUse(f"{option} needs the name of an exercise.")
        found, malformed = _all(extra)
        _list(found, as_json)
        for error in malformed:
            WrongUse(str(error)).show()
        leave(Exit.WRONG_USE if malformed else Exit.ACCEPTED)
    elif rung is not None:
        click.echo(_rung(_ladder(_find(name, extra)), rung).source, nl=False)
    elif ladder:
        _list_rungs(_ladder(_find(name, extra)), as_json)
    else:
        _one(_find(name, extra), starter, as_json)
    leave(Exit.ACCEPTED)


def _all(extra: tuple[Path, ...]) -> tuple[list[Exercise], list[ExerciseError]]:
    """Every exercise, by name, and what is wrong with those folders that hold none."""
    from kernels.exercise import ExerciseError, exercise_folders, load_exercise

    found: list[Exercise] = []
    malformed: list[ExerciseError] = []
    try:
        folders = sorted(exercise_folders(extra).items())
    except ExerciseError as error:
        raise WrongUse(str(error)) from error
    for _, folder in folders:
        try:
            found.append(load_exercise(folder))
        except ExerciseError as error:
            malformed.append(error)
    return found, malformed


def _find(name: str, extra: tuple[Path, ...]) -> Exercise:
    from kernels.exercise import ExerciseError, find_exercise

    try:
        return find_exercise(name, extra)
    except ExerciseError as error:
        raise WrongUse(str(error)) from error


def _list(found: Sequence[Exercise], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([_summary(exercise) for exercise in found]))
        return
    for exercise in found:
        click.echo(f"{click.style(exercise.name, bold=True)}: {exercise.title}")
        for declaration in (*declarations(exercise), signature(exercise)):
            click.echo(f"    {declaration}")
        click.echo(f"    tile {exercise.tile}, sizes {', '.join(_sizes(exercise))}")


def _one(exercise: Exercise, starter: bool, as_json: bool) -> None:
    if starter:
        click.echo(exercise.starter.read_text("utf-8"), nl=False)
    elif as_json:
        click.echo(json.dumps(_summary(exercise) | {"handout": exercise.handout.read_text("utf-8")}))
    else:
        click.echo(exercise.handout.read_text("utf-8"), nl=False)


def _ladder(exercise: Exercise) -> Ladder:
    from kernels.ladder import LadderError, read_ladder

    try:
        found = read_ladder(exercise)
    except LadderError as error:
        raise WrongUse(f"The ladder of {exercise.name} cannot be used: {error}.") from error
    if found is None:
        raise WrongUse(f"The exercise {exercise.name} has no ladder.")
    return found


def _rung(ladder: Ladder, number: int) -> Rung:
    from kernels.ladder import LadderError

    try:
        return ladder.rung(number)
    except LadderError as error:
        raise WrongUse(f"The ladder of {ladder.exercise}: {error}.") from error


def _list_rungs(ladder: Ladder, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([_rung_summary(rung) for rung in ladder.rungs]))
        return
    for rung in ladder.rungs:
        click.echo(f"{rung.number:2} {click.style(rung.title, bold=True)}: {rung.idea}")
        for device_class, figures in rung.figures.items():
            speeds = (
                f"{speed:,.0f} at {size:,} ({figures.cublas_share[size]:.1%} of cuBLAS)"
                for size, speed in figures.gflops.items()
            )
            click.echo(f"     {device_class}, GFLOPS: {', '.join(speeds)}")
        if not rung.figures:
            click.echo("     not measured yet")


def _rung_summary(rung: Rung) -> dict[str, Any]:
    return {
        "number": rung.number,
        "file": rung.file.name,
        "title": rung.title,
        "idea": rung.idea,
        "figures": {
            device_class: {"gflops": dict(figures.gflops), "cublas_share": dict(figures.cublas_share)}
            for device_class, figures in rung.figures.items()
        },
    }


def _summary(exercise: Exercise) -> dict[str, Any]:
    return {
        "name": exercise.name,
        "title": exercise.title,
        "kernel": signature(exercise),
        "globals": declarations(exercise),
        "sizes": list(exercise.sizes),
        "tile": exercise.tile,
        "tiles": list(exercise.tiles),
        "cases": [case.name for case in exercise.cases(exercise.tile)],
        "digest": exercise.digest,
    }


def declarations(exercise: Exercise) -> list[str]:
    """The module variables that a student's file has to hold."""
    bound = [operand.declaration for operand in exercise.operands if operand.binding == "global"]
    return [*bound, *(constant.declaration for constant in exercise.constants)]


def signature(exercise: Exercise) -> str:
    """The kernel as a student has to declare it."""
    parameters = ", ".join(f"{parameter.ctype} {parameter.name}" for parameter in exercise.parameters)
    return f"__global__ void {exercise.kernel}({parameters})"


def _sizes(exercise: Exercise) -> list[str]:
    """The sizes of the cases at the exercise's own tile, each once, in their order."""
    texts = (" x ".join(map(str, case.sizes.values())) for case in exercise.cases(exercise.tile))
    return list(dict.fromkeys(texts))
