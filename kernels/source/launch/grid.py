"""The grid for a launch comment that sets only a block. It follows from the steps from block to block."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import replace

from kernels.exercise import Exercise
from kernels.expression import Expression, ExpressionError
from kernels.launch import LaunchOverride
from kernels.source.launch.evidence import Evidence, aliases_of, read_evidence
from kernels.source.names import Names
from kernels.verdict import Finding, rejected

_BLOCK = "blockDim"


def with_grid(exercise: Exercise, names: Names, launch: LaunchOverride) -> LaunchOverride | Finding:
    """The launch with a grid for its block, because the exercise's grid is for the exercise's block.

    A finding if the kernel's blocks may be closer together than their extents.
    """
    if launch.block is None or launch.grid is not None or launch.tile is not None:
        return launch
    evidence = read_evidence(names, exercise.kernel)
    names, steps = evidence.names, evidence.step_texts()
    grid = [text.text for text in exercise.launch.grid]
    own = [*(text.text for text in launch.block), "1", "1"]
    for place, (axis, usual) in enumerate(zip("xyz", exercise.launch.block[: len(grid)], strict=False)):
        names.ask(_names_in(steps.get(axis, "")) - {exercise.tile_name, *exercise.macros})
        step = _known(exercise, names, steps.get(axis, ""))
        if not step and (line := _unread_line(exercise, evidence, axis)):
            return rejected(
                "Tilelab can't tell how far apart your blocks are. Add `grid=` to the launch comment.", line
            )
        step = step or own[place]
        if step != usual.text:
            grid[place] = re.sub(rf"(?<!\w){re.escape(usual.text)}(?!\w)", f"({step})", grid[place])
    if grid == [text.text for text in exercise.launch.grid]:
        return launch
    try:
        return replace(launch, grid=tuple(map(Expression.parse, grid)))
    except ExpressionError:  # The expression is too long.
        return launch


def _names_in(text: str) -> AbstractSet[str]:
    """The names in an expression; the text itself if it isn't one."""
    try:
        return Expression.parse(text).names
    except ExpressionError:
        return {text}


def _known(exercise: Exercise, names: Names, text: str) -> str:
    """The step if it has a value in every case; "" otherwise."""
    known = names.constants.values.keys() | names.varying
    return text if text == exercise.tile_name or _names_in(text) <= known else ""


def _unread_line(exercise: Exercise, evidence: Evidence, axis: str) -> int | None:
    """The line where a block index is multiplied by an unknown value.

    None if another product with the index shows the distance between blocks.
    """
    names = evidence.names
    extents = {name for name, of in aliases_of(names, _BLOCK) if of == axis}
    line = None
    for step in evidence.steps:
        texts = step.words
        if step.axis != axis or not texts:
            continue
        text = "".join(token.text for token in step.operand)
        if texts == [_BLOCK, ".", axis] or texts[0] in extents or _known(exercise, names, text):
            return None
        if len(texts) > 1 or text.endswith("()") or _has_own_value(names, texts[0]):
            line = line or step.operand[0].line
    return line


def _has_own_value(names: Names, name: str) -> bool:
    """Whether the file computes the name's value, and doesn't only pass on a parameter."""
    followed: set[str] = set()
    while name not in followed:
        values = re.findall(rf" {re.escape(name)} = (?:(\S+) [;,])?", names.code)
        alone = {*values} - {name, ""}
        if any(macro.name == name for macro in names.macros) or (values and len(alone) != 1):
            return True
        followed.add(name)
        name = alone.pop() if alone else name
    return False
