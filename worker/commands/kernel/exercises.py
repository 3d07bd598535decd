from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from worker.commands.answer import Answer, answering
from worker.commands.root import Exit, WrongUse, leave

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernels.exercise import Exercise, ExerciseError
    from kernels.ladder import Ladder, Rung


@click.command()
@click.argument("name", required=False)
@click.argument("checked", metavar="[DIR]", required=False)
@click.option("--starter", is_flag=True, help="Write the starter file of NAME to standard output.")
@click.option("--ladder", is_flag=True, help="List the reference kernels of NAME, from slow to fast.")
@click.option("--rung", type=int, help="Write the reference kernel with this number to standard output.")
@click.option("--exercises", "folder", type=click.Path(path_type=Path), help="Folder with your own exercises.")
@answering()
def exercises(
    name: str | None, checked: str | None, starter: bool, ladder: bool, rung: int | None, folder: Path | None
) -> Answer:
    """List the exercises, or show the handout of exercise NAME.

    `check DIR` grades the kernels of the exercise in folder DIR: solution, starter and incorrect kernels. The exit
    code is 1 if one of them gets another verdict than it must.

    Exercises with mistakes come last, with the reason. The exit code is then 2.

    \b
    Examples:
      tilelab exercises
      tilelab exercises tiled
      tilelab exercises tiled --starter > my.cu
      tilelab exercises tiled --ladder
      tilelab exercises check ./mine
    """
    extra = () if folder is None else (folder,)
    if starter + ladder + (rung is not None) > 1:
        raise WrongUse("Use only one of --starter, --ladder and --rung.")
    if name == "check" and checked is not None:
        from worker.commands.kernel.exercise_check import check_folder

        return check_folder(checked)
    if checked is not None:
        raise WrongUse(f"Only `tilelab exercises check` takes a folder: {checked}.")
    if name is None:
        option = "--starter" if starter else "--ladder" if ladder else "--rung" if rung is not None else None
        if option is not None:
            raise WrongUse(f"{option} needs the NAME of an exercise.")
        return _listed(*_all(extra))
    if rung is not None:
        _write(_rung(_ladder(_find(name, extra)), rung).source)
    if ladder:
        rungs = _ladder(_find(name, extra)).rungs
        return Answer([_rung_summary(one) for one in rungs], "\n".join(map(_rung_text, rungs)))
    exercise = _find(name, extra)
    if starter:
        _write(exercise.starter.read_text("utf-8"))
    handout = exercise.handout.read_text("utf-8")
    return Answer(_summary(exercise) | {"handout": handout}, lambda: _handout_text(exercise, handout))


def _handout_text(exercise: Exercise, handout: str) -> str:
    """The handout for a terminal; unchanged if its phases have a mistake, which `check` reports."""
    from kernels.exercise import ExerciseError
    from kernels.phases.handout import handout_phases
    from kernels.rendering.phases import render_handout

    try:
        return render_handout(handout, handout_phases(handout, exercise, exercise.handout))
    except ExerciseError:
        return handout


def _write(file: str) -> NoReturn:
    """Print a file unchanged, even with --json, and end the command."""
    click.echo(file, nl=False)
    leave(Exit.ACCEPTED)


def _all(extra: tuple[Path, ...]) -> tuple[list[Exercise], list[ExerciseError]]:
    """All exercises by name, and the mistakes in folders that can't be loaded."""
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


def _listed(found: Sequence[Exercise], malformed: Sequence[ExerciseError]) -> Answer:
    return Answer(
        lambda: [_summary(exercise) for exercise in found],
        lambda: "\n".join(map(_text, found)),
        Exit.WRONG_USE if malformed else Exit.ACCEPTED,
        [f"tilelab: {error}" for error in malformed],
    )


def _text(exercise: Exercise) -> str:
    lines = [
        *declarations(exercise),
        *signatures(exercise),
        f"tile {exercise.tile}, sizes {', '.join(_sizes(exercise))}",
    ]
    title = f"{click.style(exercise.name, bold=True)}: {exercise.title}"
    return "\n".join([title, *(f"    {line}" for line in lines)])


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


def _rung_text(rung: Rung) -> str:
    lines = [f"{rung.number:2} {click.style(rung.title, bold=True)}: {rung.idea}"]
    for device_class, figures in rung.figures.items():
        speeds = (
            f"{speed:,.0f} at {size:,} ({100 * figures.cublas_share[size]:.1f} % of cuBLAS)"
            for size, speed in figures.gflops.items()
        )
        lines.append(f"     {device_class}, GFLOPS: {', '.join(speeds)}")
    return "\n".join(lines if rung.figures else [*lines, "     not measured yet"])


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
        "kernel": signatures(exercise)[0],
        "launches": [launch.kernel for launch in exercise.launches],
        "kernels": signatures(exercise),
        "globals": declarations(exercise),
        "sizes": list(exercise.sizes),
        "tile": exercise.tile,
        "tiles": list(exercise.tiles),
        "cases": [case.name for case in exercise.cases(exercise.tile)],
        "digest": exercise.digest,
    }


def declarations(exercise: Exercise) -> list[str]:
    """The module variables that a student's file must declare."""
    bound = [operand.declaration for operand in exercise.operands if operand.binding.is_variable]
    return [*bound, *(constant.declaration for constant in exercise.constants)]


def signatures(exercise: Exercise) -> list[str]:
    """The declarations of the kernels that a student's file must have."""
    from kernels.source.kernel import expected_parameters

    return [f"__global__ void {name}({expected_parameters(each)})" for name, each in exercise.kernels.items()]


def _sizes(exercise: Exercise) -> list[str]:
    texts = (" x ".join(map(str, case.sizes.values())) for case in exercise.cases(exercise.tile))
    return list(dict.fromkeys(texts))
