"""Reads a submission: one CUDA C++ file with the exercise's kernel, by the rules of the course.

The rules are lexical and there for good messages. What they let through that does not compile is the compiler's to
report, and safety is the sandbox's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kernels.exercise import Exercise
from kernels.expression import Expression, ExpressionError
from kernels.headers import HEADERS, HeaderKind, header_text
from kernels.launch import LaunchOverride
from kernels.source.conditions import seen_items
from kernels.source.constants import Macro, declaration_line, find_constants, find_macros
from kernels.source.globals import check_globals, global_lines
from kernels.source.kernel import check_kernel, find_kernels
from kernels.source.launch_comment import check_names, find_launch_comment, unread_launch_comments
from kernels.source.rules import check_blanks, check_host_code, check_includes, check_lines
from kernels.source.text import Comment, Token, scan
from kernels.verdict import Finding, Verdict

__all__ = ["HEADERS", "LARGEST_SOURCE", "HeaderKind", "Source", "header_text", "read_source"]

LARGEST_SOURCE = 64 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """A submission that the source rules let through.

    text: what to compile: without a byte order mark, every line ended by one newline character, lines as handed in
    launch: what its `//!tilelab` comment sets, if it has one
    macros: its object-like integer macros and integer constants, for launch expressions
    derived: those whose values follow from sizes, the tile or the exercise's macros
    declares_tile: whether it declares the tile's name for itself, so that it must not be given one
    own_tile: the tile it fixes for itself, by its declaration or `tile=` in its launch comment; None where it leaves
        the tile open, or declares one whose value only the compiler knows
    kernels: the names of its `__global__` functions
    own_macros: those of the exercise's macros that it declares, so that it must not be given them
    globals: the lines of the module variables that the exercise fills or sets
    warnings: what is likely a mistake and keeps nothing from being graded
    """

    text: str
    launch: LaunchOverride | None
    macros: Mapping[str, int]
    declares_tile: bool
    own_tile: int | None
    kernels: tuple[str, ...]
    warnings: tuple[Finding, ...] = ()
    own_macros: frozenset[str] = frozenset()
    globals: Mapping[str, int] = field(default_factory=dict)
    derived: Mapping[str, Expression] = field(default_factory=dict)

    def tile(self, exercise: Exercise, asked: int | None = None) -> int:
        """The tile that cases and launch are built around: the file's own, else the one asked for, else the default."""
        if self.own_tile is not None:
            return self.own_tile
        return exercise.tile if asked is None else asked

    def defines(self, exercise: Exercise, tile: int, sizes: Mapping[str, int]) -> dict[str, str]:
        """The macros to compile it with for one case: the tile, unless it declares its own, and sizes."""
        given = {} if self.declares_tile else {exercise.tile_name: str(tile)}
        given |= {name: str(value) for name, value in exercise.macros.items() if name not in self.own_macros}
        return given | {name: str(value) for name, value in exercise.defines(sizes).items()}

    def launch_names(self, exercise: Exercise, tile: int, sizes: Mapping[str, int]) -> dict[str, int]:
        """What the names in launch expressions stand for; sizes win over macros, and the tile over both."""
        names = exercise.names(tile, sizes, self.macros)
        for name, expression in self.derived.items():
            # a division by a size, for example, need not have a value in every case
            with suppress(ExpressionError):
                names.setdefault(name, expression.evaluate(names))
        return names


def read_source(data: bytes, exercise: Exercise) -> Source | list[Finding]:
    """Read a submission, or say why it cannot be taken: findings of kind `rejected`."""
    text = _decode(data)
    if isinstance(text, Finding):
        return [text]
    seen = seen_items(scan(text))
    tokens = [entry.item for entry in seen if isinstance(entry.item, Token)]
    macros = find_macros(seen)
    kernels = find_kernels(tokens)
    findings = [*check_includes(seen, text.split("\n")), *check_lines(seen)]
    findings += [*check_host_code(tokens), *check_blanks(tokens)]
    findings += _list(check_kernel(exercise, kernels, macros, tokens))
    given = frozenset({exercise.tile_name, *exercise.macros, *exercise.size_macros})
    known = find_constants(macros, tokens, given)
    constants = known.values
    findings += _check_size_macros(exercise, macros, tokens)
    own_macros = {name: declaration_line(name, macros, tokens) for name in exercise.macros}
    findings += _check_macros(exercise, own_macros, constants)
    findings += check_globals(exercise, macros, tokens)
    comments = [entry.item for entry in seen if isinstance(entry.item, Comment)]
    launch = find_launch_comment(comments)
    if isinstance(launch, LaunchOverride):
        launch = check_names(launch, exercise, known, macros, tokens) or launch
    if isinstance(launch, Finding):
        return [*findings, launch]
    warnings = unread_launch_comments(comments) if launch is None else ()
    declared_at = declaration_line(exercise.tile_name, macros, tokens)
    tile = _own_tile(launch, constants, constants.get(exercise.tile_name) if declared_at else None)
    findings += _list(_check_tile(exercise, tile, launch.line if launch and launch.tile else declared_at))
    names = tuple(dict.fromkeys(kernel.name for kernel in kernels))
    return findings or Source(
        text=text,
        launch=launch,
        macros=constants,
        declares_tile=declared_at is not None,
        own_tile=tile,
        kernels=names,
        warnings=warnings,
        own_macros=frozenset(name for name, line in own_macros.items() if line is not None),
        globals=global_lines(exercise, tokens),
        derived=known.derived,
    )


def _list(finding: Finding | None) -> list[Finding]:
    return [] if finding is None else [finding]


def _decode(data: bytes) -> str | Finding:
    """The text with plain newlines, or why the file is no text that can be graded."""
    if len(data) > LARGEST_SOURCE:
        return _rejected(f"The file is too long: at most {LARGEST_SOURCE:,} bytes (64 KiB) are taken.")
    data = data.removeprefix(_BYTE_ORDER_MARK)
    if not data.strip():
        return _rejected("The file is empty. Hand in the .cu file with your kernel.")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        return _rejected(
            "The file is not text: it holds zero bytes. Hand in the .cu source, saved as UTF-8, not a compiled "
            "program or a file saved as UTF-16.",
            line,
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _rejected(
            f"The file is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}, line {line}, cannot be "
            "read. Save it as UTF-8 in your editor.",
            line,
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _own_tile(
    launch: LaunchOverride | None, constants: Mapping[str, int], declared: int | None
) -> int | None:
    """The tile a file fixes for itself: in its launch comment, else by its declaration."""
    if launch is None or launch.tile is None:
        return declared
    return launch.tile.evaluate(constants)


def _check_tile(exercise: Exercise, tile: int | None, line: int | None) -> Finding | None:
    """Refuse a tile that no case could be built around."""
    if tile is None or 1 <= tile <= exercise.largest_tile:
        return None
    message = f"The tile is {tile} here; this exercise takes tiles from 1 to {exercise.largest_tile}."
    return _rejected(message, line)


def _check_macros(
    exercise: Exercise, lines: Mapping[str, int | None], constants: Mapping[str, int]
) -> list[Finding]:
    """Refuse a value that no launch could be built with."""
    findings = []
    for name, line in lines.items():
        largest, value = exercise.largest_macros[name], constants.get(name)
        if line is None or (value is not None and 1 <= value <= largest):
            continue
        what = "has no plain number as its value" if value is None else f"is {value}"
        message = f"`{name}` {what} here; the launch needs one from 1 to {largest}."
        findings.append(_rejected(message, line))
    return findings


def _check_size_macros(exercise: Exercise, macros: Sequence[Macro], tokens: list[Token]) -> list[Finding]:
    """Refuse sizes that a file sets although each case sets them anew."""
    lines = {name: declaration_line(name, macros, tokens) for name in exercise.size_macros}
    return [
        _rejected(
            f"`{name}` is set anew for every case. Put its definition between `#ifndef {name}` and `#endif`, "
            "so that it only serves your own tests.",
            line,
        )
        for name, line in lines.items()
        if line is not None
    ]


def _rejected(message: str, line: int | None = None) -> Finding:
    return Finding(Verdict.REJECTED, message, line=line)
