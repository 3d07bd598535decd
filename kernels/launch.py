"""The launch of a kernel: the exercise's rule, a submission's launch comment, the limits of the hardware."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernels.expression import Expression, ExpressionError

EXAMPLE = "//!tilelab block=(32,8) grid=(ceil(Width/32), ceil(Width/32)) shared=0"

_MARK = re.compile(r"\s*!\s*tilelab\b", re.IGNORECASE)
_KEY = re.compile(r"(?<![^\s=,()])([^\s=,()]+)\s*=", re.ASCII)
_DIM3 = re.compile(r"dim3\s*(\(.*\))", re.DOTALL)
_KEYS = ("grid", "block", "shared", "cluster", "tile")
_SINGLE = {"shared", "tile", "swizzle"}
_OF_MAPS = {"box": 5, "swizzle": 1}
"""Keys for a tensor map, as in `box.NAME`, and the most numbers that they take."""
MOST_THREADS = 1024
SHARED_BYTES = 48 * 1024
"""Shared memory of one block, without the opt-in that only host code can make."""
_BLOCK_LIMITS = (1024, 1024, 64)
_GRID_LIMITS = (2**31 - 1, 65535, 65535)
MOST_IN_CLUSTER = 8
"""On every device with clusters. More need an attribute that only host code can set."""

Triple = tuple[Expression, ...]


class LaunchError(ValueError):
    """A launch that can't be read or has no value; the message is for the student."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch in numbers: grid, block and cluster in x, y, z, and the bytes of dynamic shared memory.

    cluster: in blocks; a launch without clusters has clusters of one block
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    cluster: tuple[int, int, int] = (1, 1, 1)

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def cluster_blocks(self) -> int:
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    @property
    def text(self) -> str:
        """`4 x 4 blocks of 16 x 16 threads`, and the cluster if there is one."""
        text = f"{_extent(self.grid, 'block')} of {_extent(self.block, 'thread')}"
        return text if self.cluster_blocks == 1 else f"{text}, in clusters of {_extent(self.cluster, 'block')}"


def cluster_problem(launch: Launch, declared: Sequence[int]) -> str:
    """Why no device starts the clusters of a launch; "" if it can.

    declared: the kernel's `__cluster_dims__`; empty without it
    """
    cluster = triple(declared) if declared else launch.cluster
    if declared and launch.cluster not in {cluster, (1, 1, 1)}:
        return (
            f"`__cluster_dims__` demands clusters of {_extent(cluster, 'block')}, and the launch comment asks for"
            f" {_extent(launch.cluster, 'block')}. Leave one of them out, or make them equal."
        )
    blocks = cluster[0] * cluster[1] * cluster[2]
    if blocks > MOST_IN_CLUSTER:
        return f"A cluster of {_extent(cluster, 'block')} is too large. It may have at most {MOST_IN_CLUSTER} blocks."
    for axis, have, each in zip("xyz", launch.grid, cluster, strict=True):
        if have % each:
            return (
                f"The grid isn't a multiple of the cluster. grid.{axis} is {have:,}, and the cluster has"
                f" {_extent(cluster, 'block')}. Round the grid up in a launch comment, and guard the blocks past the"
                " end."
            )
    return ""


def launch_text(number: int, kernels: Sequence[str]) -> str:
    """The sentence that names one of several launches, counted from 1."""
    return f"This is launch {number} of {len(kernels)}, `{kernels[number - 1]}`."


def _extent(extent: tuple[int, int, int], noun: str) -> str:
    """x, and y and z if they exceed 1."""
    last = max((axis for axis in (1, 2) if extent[axis] > 1), default=0)
    text = " x ".join(f"{number:,}" for number in extent[: last + 1])
    return f"{text} {noun}" if text == "1" else f"{text} {noun}s"


@dataclass(frozen=True, slots=True)
class LaunchOverride:
    """The settings of a submission's `//!tilelab` comment on `line`; None keeps the exercise's rule.

    tile: the tile of the cases, for a file whose tile has another name or is a template argument
    boxes, swizzles: of tensor maps, by the names of the exercise's parameters
    """

    line: int
    grid: Triple | None = None
    block: Triple | None = None
    shared: Expression | None = None
    tile: Expression | None = None
    cluster: Triple | None = None
    boxes: Mapping[str, Triple] = field(default_factory=dict)
    swizzles: Mapping[str, Expression] = field(default_factory=dict)

    @property
    def maps(self) -> frozenset[str]:
        """The tensor maps that the comment changes."""
        return frozenset({*self.boxes, *self.swizzles})

    @property
    def lines(self) -> dict[str, int]:
        """The launch keys that the comment sets, each with its line."""
        given = {"grid": self.grid, "block": self.block, "shared": self.shared, "cluster": self.cluster}
        return {key: self.line for key, value in given.items() if value is not None}

    def expressions(self) -> Triple:
        """Every expression that the comment gives for the launch."""
        shared = (self.shared,) if self.shared else ()
        of_maps = (*(side for box in self.boxes.values() for side in box), *self.swizzles.values())
        return (*(self.grid or ()), *(self.block or ()), *shared, *(self.cluster or ()), *of_maps)


@dataclass(frozen=True, slots=True)
class LaunchRule:
    """A launch as expressions of size names, macros and the tile."""

    grid: Triple
    block: Triple
    shared: Expression
    line: int | None = None
    cluster: Triple = ()

    def override(self, launch: LaunchOverride | None) -> LaunchRule:
        """This rule with the submission's keys."""
        if launch is None:
            return self
        return LaunchRule(
            grid=launch.grid or self.grid,
            block=launch.block or self.block,
            shared=launch.shared or self.shared,
            line=launch.line,
            cluster=launch.cluster or self.cluster,
        )

    def resolve(self, env: Mapping[str, int]) -> Launch:
        """The launch for these sizes, macros and tile.

        raise LaunchError: an expression has no value, or no device supports the launch
        """
        grid, block, cluster = (
            triple([self._value(key, expression, env) for expression in extents])
            for key, extents in (("grid", self.grid), ("block", self.block), ("cluster", self.cluster))
        )
        launch = Launch(grid, block, self._value("shared", self.shared, env), cluster)
        if problem := _problem(launch):
            raise LaunchError(f"No GPU can launch this: {problem}.", self.line)
        if problem := cluster_problem(launch, ()):
            raise LaunchError(problem, self.line)
        return launch

    def _value(self, key: str, expression: Expression, env: Mapping[str, int]) -> int:
        try:
            return expression.evaluate(env)
        except ExpressionError as error:
            message = f"The launch's {key} `{expression.text}` has no value: {error}."
            raise LaunchError(message, self.line) from None


def triple(values: Sequence[int]) -> tuple[int, int, int]:
    """x, y, z; missing ones are 1."""
    x, y, z = [*values, 1, 1, 1][:3]
    return x, y, z


def _problem(launch: Launch) -> str | None:
    """Why no device supports this launch, for any kernel. Memory and registers depend on the kernel."""
    extents = (
        ("block", launch.block, _BLOCK_LIMITS),
        ("grid", launch.grid, _GRID_LIMITS),
        ("cluster", launch.cluster, _GRID_LIMITS),
    )
    for what, sizes, limits in extents:
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if size < 1:
                return f"{what}.{axis} is {size:,}, but must be at least 1"
            if size > limit:
                return f"{what}.{axis} is {size:,}, and a device allows at most {limit:,}"
    if launch.threads > MOST_THREADS:
        x, y, z = launch.block
        return f"a block of ({x},{y},{z}) has {launch.threads:,} threads, and a device allows at most {MOST_THREADS:,}"
    if launch.shared < 0:
        return f"shared is {launch.shared:,} bytes, but must not be negative"
    return None


def is_launch_comment(line: str) -> bool:
    """Whether a line of a source has a launch comment, even a malformed one."""
    return any(_MARK.match(part) for part in line.split("//")[1:])


def parse_launch_comment(comment: str, line: int) -> LaunchOverride | None:
    """Read the text of a `//` comment (without the slashes); None if it isn't a launch comment.

    A second `//` begins a remark.

    raise LaunchError: it starts like a launch comment and can't be read
    """
    mark = _MARK.match(comment)
    if mark is None:
        return None
    body = comment[mark.end() :].partition("//")[0]
    matches = list(_KEY.finditer(body))
    if not matches or body[: matches[0].start()].strip():
        raise LaunchError(_malformed("it has no key such as `block=`"), line)
    values: dict[str, Triple] = {}
    of_maps: dict[str, dict[str, Triple]] = {kind: {} for kind in _OF_MAPS}
    for match, following in zip(matches, [*matches[1:], None], strict=True):
        key = match.group(1)
        value = body[match.end() : following.start() if following else len(body)].strip(" \t,;")
        kind, _, name = key.partition(".")
        of_map = kind in _OF_MAPS and name.isidentifier()
        if key not in _KEYS and not of_map:
            known = ", ".join([*_KEYS, *(f"{each}.NAME" for each in _OF_MAPS)])
            raise LaunchError(_malformed(f"`{key[:40]}` is not one of {known}"), line)
        known_values, place = (of_maps[kind], name) if of_map else (values, key)
        if place in known_values:
            raise LaunchError(_malformed(f"`{key}` is given twice"), line)
        known_values[place] = _read_value(key, value, line)
    shared, tile = (next(iter(values.get(key, ())), None) for key in ("shared", "tile"))
    swizzles = {name: given[0] for name, given in of_maps["swizzle"].items()}
    return LaunchOverride(
        line, values.get("grid"), values.get("block"), shared, tile, values.get("cluster"), of_maps["box"], swizzles
    )


def parse_dimensions(text: str, most: int = 3) -> Triple:
    """Read `(32, 8)` or `256`: one to `most` expressions. Raise ExpressionError."""
    parts = _split(text)
    if not 1 <= len(parts) <= most:
        needed = "one to three numbers: x, y, z" if most == len(_BLOCK_LIMITS) else f"1 to {most} numbers"
        raise ExpressionError(f"it must have {needed}")
    return tuple(Expression.parse(part) for part in parts)


def _read_value(key: str, value: str, line: int) -> Triple:
    kind = key.partition(".")[0]
    if constructed := _DIM3.fullmatch(value):
        raise LaunchError(_malformed(f"{key}=`{value[:60]}`: write `{key}={constructed[1][:60]}`"), line)
    if key == "tile" and not value:
        raise LaunchError(_malformed("`tile=` needs a number or a constant of your file"), line)
    if kind not in _SINGLE and re.match(r"[^(]+,", value):
        raise LaunchError(_malformed(f"put parentheses around the numbers, as in `{key}=({value[:60]})`"), line)
    try:
        return (Expression.parse(value),) if kind in _SINGLE else parse_dimensions(value, _OF_MAPS.get(kind, 3))
    except ExpressionError as error:
        raise LaunchError(_malformed(f"{key}=`{value[:60]}`: {error}"), line) from None


def _split(text: str) -> list[str]:
    """The parts of `(a, b, c)` at its outer commas, or the whole text without outer parentheses.

    raise (ExpressionError): a parenthesis isn't closed
    """
    text = text.strip()
    parts = [""]
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and position < len(text) - 1:
            return [text]
        if depth == 1 and character == ",":
            parts.append("")
        elif 0 < position < len(text) - 1:
            parts[-1] += character
    if depth > 0:
        raise ExpressionError("a `(` has no matching `)`")
    return parts if text.startswith("(") else [text]


def _malformed(reason: str) -> str:
    return f"The launch comment can't be read: {reason}. Example: `{EXAMPLE}`."
