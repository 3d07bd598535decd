"""The question about a file's block if it is unknown, and the launch comments that answer it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kernels.exercise import Exercise
from kernels.expression import value_of
from kernels.launch import MOST_THREADS
from kernels.source.launch.evidence import Evidence
from kernels.source.launch.tile_names import Candidate
from kernels.verdict import Finding, rejected
from kernels.wording import listed

_MOST_NAMED = 4
_FEWER_THREADS = ("16", "16")


def question(exercise: Exercise, evidence: Evidence, known: Sequence[Candidate]) -> Finding:
    """Ask which name is the tile, and offer the lines that answer."""
    shown = known[:_MOST_NAMED]
    named = [f"`{each.name}` = {listed([*map(str, each.values)], 'or')} (line {each.line})" for each in shown]
    lines = _lines_by_steps(exercise, evidence, known) or _lines_by_names(exercise, shown)
    message = (
        f"Which block does your kernel need? It doesn't use `{exercise.tile_name}`; it has {listed(named)}. "
        f"Add the line {listed([f'`{line}`' for line in lines], 'or')}."
    )
    return rejected(message, shown[0].line)


def _lines_by_steps(exercise: Exercise, evidence: Evidence, known: Sequence[Candidate]) -> list[str]:
    """The launch comments that agree with the steps from block to block; none if the steps are unreadable."""
    names, steps = evidence.names, evidence.step_texts()
    known_values = names.constants.values
    values = [value_of(steps.get(axis, ""), known_values) for axis in "xy"]
    if len(exercise.launch.block) < 2 or values[0] is None or values[1] is None:
        return []
    by = [steps["x"], steps["y"]]
    same, threads = values[0] == values[1], values[0] * values[1]
    others = [each for each in known if each.name not in by and len(each.values) == 1]
    strides = [each.name for each in others if names.mentions(f"+ = {each.name}")]  # as in `row += BLOCK_ROWS`
    lines = []
    if not names.mentions("threadIdx . y"):
        whole = [each.name for each in known if each.values == (threads,)]
        blocks = [[name] for name in (*strides, *whole, "*".join(by))][:1]
    elif same:
        lines = [f"//!tilelab tile={by[0]}"] if fits(exercise, values[0]) else []
        blocks = [[by[0], name] for name in strides if 0 < (value_of(name, known_values) or 0) < values[0]]
    else:
        blocks = [by]
    return lines + [_launch_line(exercise, block, by) for block in blocks if _launchable(block, known_values)]


def _launchable(block: Sequence[str], names: Mapping[str, int]) -> bool:
    return 1 <= math.prod(value_of(text, names) or 0 for text in block) <= MOST_THREADS


def _lines_by_names(exercise: Exercise, shown: Sequence[Candidate]) -> list[str]:
    """A launch comment for each name used as a tile, or for each name if none is."""
    likely = [each for each in shown if each.strong] or shown
    lines = []
    for each in likely:
        # A launch comment can't name a function, or a template parameter with several values.
        plain = len(each.values) == 1 and each.name.isidentifier()
        fitting = [value for value in each.values if fits(exercise, value)]
        lines += [f"//!tilelab tile={each.name if plain else value}" for value in fitting]
    return lines or [_launch_line(exercise, _FEWER_THREADS, [likely[0].name])]


def fits(exercise: Exercise, tile: int) -> bool:
    """Whether blocks of this tile can be launched."""
    return 1 <= tile <= exercise.largest_tile and 1 <= block_threads(exercise, tile) <= MOST_THREADS


def block_threads(exercise: Exercise, tile: int) -> int:
    """Threads of the exercise's block, as far as the tile determines them."""
    names = {**exercise.macros, exercise.tile_name: tile}
    extents = [value_of(text.text, names) for text in exercise.launch.block]
    return math.prod(extent for extent in extents if extent is not None)


def largest_fitting(exercise: Exercise) -> int:
    return next((tile for tile in range(exercise.largest_tile, 1, -1) if fits(exercise, tile)), 1)


def _launch_line(exercise: Exercise, block: Sequence[str], steps: Sequence[str]) -> str:
    """A launch comment with this block, and a grid with these steps; the last step serves further axes."""
    grid = [
        text.text.replace(exercise.tile_name, steps[min(axis, len(steps) - 1)])
        for axis, text in enumerate(exercise.launch.grid)
    ]
    return f"//!tilelab block=({', '.join(block)}) grid=({', '.join(grid)})"
