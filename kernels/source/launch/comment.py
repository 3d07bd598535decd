"""A file's launch comment, and the check of the names in it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernels.exercise import Exercise
from kernels.expression import value_of
from kernels.launch import LaunchError, LaunchOverride, parse_launch_comment
from kernels.source.names import Names
from kernels.source.text import Comment
from kernels.verdict import Finding, Severity, Verdict, rejected
from kernels.wording import did_you_mean

_MOST_NAMED = 40
# Almost a launch comment. Prose about Tilelab has no key with a value right after the name.
_NEARLY = re.compile(r"[\s*]*+/?[!@#]?\s*+tilelab[\s:,]++(?:grid|block|shared|cluster|tile)\s*=", re.IGNORECASE)


def find_launch_comment(comments: Iterable[Comment]) -> LaunchOverride | Finding | None:
    """The settings of the file's launch comment; a finding for a second or unreadable comment."""
    found: LaunchOverride | None = None
    for comment in comments:
        if not comment.whole_line:
            continue
        try:
            override = parse_launch_comment(comment.text, comment.line)
        except LaunchError as error:
            return rejected(str(error), error.line)
        if override is not None and found is not None:
            message = f"This is a second launch comment. The first is at line {found.line}. Keep one."
            return rejected(message, override.line)
        found = found or override
    return found


def unread_launch_comments(comments: Iterable[Comment]) -> tuple[Finding, ...]:
    """A warning about a comment that looks like a launch comment and isn't one."""
    line = next((comment.line for comment in comments if _NEARLY.match(comment.text)), None)
    if line is None:
        return ()
    message = (
        "This comment looks like a launch comment but has no effect. The exercise sets the launch. "
        "Begin the comment with `//!tilelab`, on a separate line."
    )
    return (Finding(Verdict.REJECTED, message, line, severity=Severity.WARNING),)


def check_names(launch: LaunchOverride, exercise: Exercise, names: Names) -> Finding | None:
    """A finding for an unknown name, or a tile that isn't one number for all cases."""
    maps = [each.name for launched in exercise.launches for each in launched.parameters if each.map is not None]
    if unknown := launch.maps - set(maps):
        message = f"The launch comment describes `{min(unknown)}`, but the exercise has no tensor map of this name."
        return rejected(f"{message} Its tensor maps: {', '.join(maps) or 'none'}.", launch.line)
    constants = names.constants
    used = {name for expression in launch.expressions() for name in expression.names}
    own = used - {exercise.tile_name} | (launch.tile.names if launch.tile is not None else set())
    own -= (constants.derived.keys() - constants.unsure) | {*exercise.sizes, *exercise.size_macros}
    names.ask(own)
    if launch.tile is not None and value_of(launch.tile.text, constants.values) is None:
        message = f"`tile=` needs a number or a constant of your file. `{launch.tile.text}` isn't one."
        return rejected(message, launch.line)
    known = {*exercise.sizes, *exercise.macro_names, *constants.values, *constants.derived, *names.varying}
    if used <= known:
        return None
    name = min(used - known)
    declared = next((macro.line for macro in names.macros if macro.name == name), None)
    declared = declared or names.line(name)
    usable = f"sizes, the tile, and integer macros and constants of the file: {', '.join(sorted(known)[:_MOST_NAMED])}"
    if declared is not None:
        return rejected(
            f"The launch comment uses `{name}`, which isn't an integer with one value (line {declared}). "
            f"Write its value instead. The comment may use {usable}.",
            launch.line,
        )
    return rejected(
        f"The launch comment uses `{name}`, which is unknown.{did_you_mean(name, known, 0.75)} It may use {usable}.",
        launch.line,
    )
