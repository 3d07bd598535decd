"""A file's launch comment: found among its comments, and checked against the names that it may use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from kernels.exercise import Exercise
from kernels.expression import ExpressionError
from kernels.launch import LaunchError, LaunchOverride, parse_launch_comment
from kernels.source.names import Names
from kernels.source.text import Comment
from kernels.verdict import Finding, Severity, Verdict

_MOST_NAMED = 40
# Nearly a launch comment; prose about Tilelab has no key with a value right after its name.
_NEARLY = re.compile(r"[\s*]*+/?[!@#]?\s*+tilelab[\s:,]++(?:grid|block|shared|tile)\s*=", re.IGNORECASE)


def find_launch_comment(comments: Iterable[Comment]) -> LaunchOverride | Finding | None:
    """What the file's launch comment sets; a finding where there are two, or one cannot be read."""
    found: LaunchOverride | None = None
    for comment in comments:
        if not comment.whole_line:
            continue
        try:
            override = parse_launch_comment(comment.text, comment.line)
        except LaunchError as error:
            return _rejected(str(error), error.line)
        if override is not None and found is not None:
            message = f"There is a second launch comment here; the first is on line {found.line}. Keep one."
            return _rejected(message, override.line)
        found = found or override
    return found


def unread_launch_comments(comments: Iterable[Comment]) -> tuple[Finding, ...]:
    """A warning where a comment looks like a launch comment and is none; of a file that has no real one."""
    line = next((comment.line for comment in comments if _NEARLY.match(comment.text)), None)
    if line is None:
        return ()
    message = (
        "This comment looks like a launch comment but is not read, so the kernel is launched as the exercise says: "
        "write it on a line of its own that begins with `//!tilelab`."
    )
    return (Finding(Verdict.REJECTED, message, line, severity=Severity.WARNING),)


def unread_names(launch: LaunchOverride, exercise: Exercise, names: Names) -> list[str]:
    """The names in a launch comment that the file declares and only the compiler can evaluate."""
    used = {name for text in launch.expressions() for name in text.names} - {exercise.tile_name}
    used |= launch.tile.names if launch.tile is not None else set()
    derived = names.constants.derived.keys() - names.constants.unsure
    unread = sorted(used - derived - {*exercise.sizes, *exercise.size_macros})
    return [name for name in unread if names.line(name) is not None and names.values(name) is None]


def check_names(launch: LaunchOverride, exercise: Exercise, names: Names) -> Finding | None:
    """A finding for a name that stands for nothing, or a tile that is not one number for all cases."""
    constants = names.constants
    if launch.tile is not None:
        try:
            launch.tile.evaluate(constants.values)
        except ExpressionError:
            return _rejected(
                f"`tile=` needs a number or a constant of your file. `{launch.tile.text}` isn't one.",
                launch.line,
            )
    known = {
        *exercise.sizes,
        *exercise.size_macros,
        *exercise.macros,
        *constants.values,
        *constants.derived,
        *names.varying,
        exercise.tile_name,
    }
    unknown = sorted({name for expression in launch.expressions() for name in expression.names} - known)
    if not unknown:
        return None
    name = unknown[0]
    declared = next((macro.line for macro in names.macros if macro.name == name), None)
    declared = declared or names.line(name)
    usable = f"sizes, the tile and the file's integer macros and constants: {', '.join(sorted(known)[:_MOST_NAMED])}"
    if declared is not None:
        return _rejected(
            f"The launch comment uses `{name}`, but `{name}` is not a plain integer with one value "
            f"(line {declared}). Write out what it stands for. The comment may use {usable}.",
            launch.line,
        )
    meant = _nearest(name, known)
    return _rejected(
        f"The launch comment uses `{name}`, which is not known.{f' Is `{meant}` meant?' if meant else ''} "
        f"It may use {usable}.",
        launch.line,
    )


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    folded = {each.casefold(): each for each in sorted(known)}
    near = get_close_matches(name.casefold(), folded, 1, 0.75)
    return folded[near[0]] if near else None


def _rejected(message: str, line: int | None) -> Finding:
    return Finding(Verdict.REJECTED, message, line=line)
