"""Reads an experiment's file: every field typed, unknown fields refused, and each error with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from kernels.experiment.axes import DEVICE, AxisError, axis, device_classes, parse_values
from kernels.experiment.constraint import Constraint
from kernels.experiment.model import (
    MOST_AXES,
    MOST_POINTS,
    MOST_TRIED,
    Axis,
    Design,
    DesignKind,
    Experiment,
    Measure,
    OnServer,
)
from kernels.experiment.plot.model import KERNEL, Kind, Request
from kernels.experiment.quantities import NoSuchQuantity, quantity
from kernels.expression import ExpressionError
from kernels.measurement.median import FEWEST
from kernels.toml_text import read_toml
from kernels.wording import did_you_mean

LADDER = "ladder"
"""In place of a list of kernels: all rungs of the exercise's ladder."""

MOST_CONSTRAINTS = 64
MOST_REPEATS = 1000
LONGEST_TEXT = 200
_NARROWEST, _WIDEST = 0.05, 5
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d{1,3})?) ?%", re.ASCII)
_MOST_CHARACTERS = 100_000
_MOST_NUMBER = 10**18
_TABLES = ("experiment", "axes", "constraints", "design", "measure", "plot")
_PLOT = ("kind", "x", "y", "by", "panels")
_FIELDS: Mapping[DesignKind, tuple[str, ...]] = {
    DesignKind.GRID: (),
    DesignKind.RANDOM: ("points", "seed"),
    DesignKind.LIST: ("rows",),
    DesignKind.TUNE: ("points", "seed", "goal"),
}
_ON_SERVER = {
    "submission": re.compile(r"[0-9A-Za-z]{1,32}"),
    "best": re.compile(r"[a-z0-9][a-z0-9._-]{0,59}/[a-z0-9][a-z0-9._-]{0,59}"),
}
_LABEL = re.compile(r"[\w.+-](?:[\w .+-]{0,21}[\w.+-])?")
_HEADER = re.compile(r"\s*\[\[?\s*([\w.\"-]+)\s*\]")


class DefinitionError(ValueError):
    """An experiment that can't be used. line: of the mistake; 0 for the file as a whole."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}" if line else reason)
        self.line = line
        self.reason = reason


def read_definition(text: str) -> Experiment:
    """The experiment that a file describes; raises DefinitionError."""
    if len(text) > _MOST_CHARACTERS:
        raise DefinitionError(0, f"The file has more than {_MOST_CHARACTERS:,} characters.")
    try:
        data = read_toml(text)
    except ValueError as error:
        line = re.search(r"at line (\d+)", str(error))
        reason = re.sub(r" \(at [^()]*\)", "", str(error).partition(";")[0])
        raise DefinitionError(int(line[1]) if line else 0, f"This isn't TOML: {reason}.") from None
    return _Reader(text, data).experiment()


def plain_definition(experiment: Experiment) -> dict[str, Any]:
    design = experiment.design
    texts = {"question": experiment.question, "expect": experiment.expect}
    by_kind: Mapping[DesignKind, dict[str, Any]] = {
        DesignKind.GRID: {},
        DesignKind.RANDOM: {"points": design.points, "seed": design.seed},
        DesignKind.LIST: {"rows": [dict(row) for row in design.rows]},
        DesignKind.TUNE: {"points": design.points, "seed": design.seed, "goal": design.goal},
    }
    return {
        "experiment": {
            "name": experiment.name,
            "exercise": experiment.exercise,
            "kernels": LADDER if experiment.ladder else _plain_kernels(experiment),
            **{key: text for key, text in texts.items() if text},
        },
        "axes": {
            **{axis.name: list(axis.values) for axis in experiment.axes},
            **({DEVICE: list(experiment.devices)} if experiment.devices else {}),
        },
        "constraints": {str(number): each.text for number, each in enumerate(experiment.constraints, 1)},
        "design": {"kind": design.kind.value, **by_kind[design.kind]},
        "measure": _plain_measure(experiment.measure),
        **({"plot": experiment.plot.to_plain()} if experiment.plot else {}),
    }


def _plain_kernels(experiment: Experiment) -> list[str | dict[str, str]]:
    there = experiment.on_server
    return [there[name].to_plain() if name in there else name for name in experiment.kernels]


def _plain_measure(measure: Measure) -> dict[str, Any]:
    plain: dict[str, Any] = {"counts": measure.counts}
    if measure.repeats:
        plain["repeats"] = measure.repeats
    if measure.interval:
        plain["interval"] = f"{measure.interval:g} %"
    return plain


def from_plain_definition(data: Mapping[str, Any]) -> Experiment:
    """The experiment back; raises DefinitionError."""
    return _Reader("", data).experiment()


def line_of(text: str, table: str, key: str) -> int:
    """The line of a field in a file's text. A missing field has its table's line, a missing table 0."""
    return _Reader(text, {}).line(table, key)


class _Reader:
    def __init__(self, text: str, data: Mapping[str, Any]) -> None:
        self._lines = text.split("\n")
        self._data = data

    def experiment(self) -> Experiment:
        self._only("", self._data, _TABLES)
        head = self._table("experiment", ("name", "exercise", "kernels", "question", "expect"))
        table = self._table("axes")
        devices = self._devices(table.get(DEVICE))
        if len(table) > MOST_AXES:
            raise self._error("", "axes", f"An experiment has at most {MOST_AXES} axes.")
        axes = tuple(self._axis(name, values) for name, values in table.items() if not (devices and name == DEVICE))
        names = {axis.name for axis in axes}
        kernels = self._kernels(head)
        constraints = self._table("constraints")
        if len(constraints) > MOST_CONSTRAINTS:
            raise self._error("", "constraints", f"An experiment has at most {MOST_CONSTRAINTS} constraints.")
        return Experiment(
            name=self._text("experiment", head, "name"),
            exercise=self._text("experiment", head, "exercise"),
            kernels=tuple(kernels),
            axes=axes,
            constraints=tuple(self._constraint(name, text, names) for name, text in constraints.items()),
            design=self._design(names),
            measure=self._measure(),
            on_server={name: each for name, each in kernels.items() if each is not None},
            ladder=head.get("kernels") == LADDER,
            question=self._text("experiment", head, "question") if "question" in head else "",
            expect=self._text("experiment", head, "expect") if "expect" in head else "",
            plot=self._plot(names),
            devices=devices,
        )

    def _kernels(self, head: Mapping[str, Any]) -> Mapping[str, OnServer | None]:
        """The name of each kernel, with where a server has it; None for a file."""
        given = head.get("kernels")
        if given == LADDER:
            return {}
        if not isinstance(given, list) or not given:
            raise self._error("experiment", "kernels", f'Expected a list of files, or "{LADDER}".')
        found: dict[str, OnServer | None] = {}
        for each in given:
            there = None if isinstance(each, str) else self._on_server(each)
            name = self._file(each) if there is None else there.name
            if name in found:
                raise self._error("experiment", "kernels", "A kernel is in the list twice.")
            found[name] = there
        return found

    def _file(self, name: str) -> str:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not name.strip() or "\0" in name:
            reason = f"`{name}` isn't a file in the experiment's folder or below it."
            raise self._error("experiment", "kernels", reason)
        return name

    def _on_server(self, given: object) -> OnServer:
        rest = dict(given) if isinstance(given, dict) else {}
        label = rest.pop("label", None)
        if label is not None and not (isinstance(label, str) and _LABEL.fullmatch(label)):
            raise self._error("experiment", "kernels", "A label has 1 to 23 letters, digits, spaces and . _ + -")
        if len(rest) == 1:
            ((key, value),) = rest.items()
            pattern = _ON_SERVER.get(key)
            if pattern is not None and isinstance(value, str) and pattern.fullmatch(value):
                return OnServer(**{key: value}, label=label or "")
        reason = 'Expected a file, { submission = "ID" } or { best = "COURSE/ASSIGNMENT" }.'
        raise self._error("experiment", "kernels", reason)

    def _axis(self, name: str, given: object) -> Axis:
        try:
            if isinstance(given, str):
                return axis(name, parse_values(given))
            if isinstance(given, int) and not isinstance(given, bool):
                return axis(name, (self._number("axes", name, given),))
            if isinstance(given, list):
                return axis(name, tuple(self._number("axes", name, value) for value in given))
        except AxisError as error:
            raise self._error("axes", name, f"{error}.") from None
        raise self._error("axes", name, 'Expected a list of whole numbers, or a range such as "512:4096:*2".')

    def _devices(self, given: object) -> tuple[str, ...]:
        try:
            return device_classes(given)
        except AxisError as error:
            raise self._error("axes", DEVICE, f"{error}.") from None

    def _constraint(self, name: str, text: object, names: set[str]) -> Constraint:
        if not isinstance(text, str):
            raise self._error("constraints", name, 'Expected a condition, such as "BM * BN <= 1024".')
        try:
            found = Constraint.parse(text)
        except ExpressionError as error:
            raise self._error("constraints", name, f"`{text[:80]}`: {error}.") from None
        if unknown := sorted(found.names - names):
            hint = did_you_mean(unknown[0], names)
            raise self._error("constraints", name, f"`{unknown[0]}` isn't an axis.{hint}")
        return found

    def _design(self, names: set[str]) -> Design:
        table = self._table("design", ("kind", "points", "seed", "rows", "goal"))
        try:
            kind = DesignKind(table.get("kind", "grid"))
        except ValueError:
            kinds = ", ".join(f'"{design_kind}"' for design_kind in DesignKind)
            raise self._error("design", "kind", f"Expected one of {kinds}.") from None
        for key in table.keys() - {"kind"}:
            if key not in _FIELDS[kind]:
                raise self._error("design", key, f'The design "{kind}" has no `{key}`.')
        points = self._number("design", "points", table.get("points", 0))
        most = {DesignKind.RANDOM: MOST_POINTS, DesignKind.TUNE: MOST_TRIED}.get(kind)
        if most is not None and not 1 <= points <= most:
            raise self._error("design", "points", f"Expected 1 to {most:,} points.")
        rows = self._rows(table.get("rows"), names) if kind is DesignKind.LIST else ()
        goal = self._goal(table) if kind is DesignKind.TUNE else ""
        return Design(kind, points, self._number("design", "seed", table.get("seed", 0)), rows, goal)

    def _goal(self, table: Mapping[str, Any]) -> str:
        name = self._text("design", table, "goal")
        try:
            return quantity(name).name
        except NoSuchQuantity as error:
            raise self._error("design", "goal", str(error)) from None

    def _rows(self, given: object, names: set[str]) -> tuple[Mapping[str, int], ...]:
        if not isinstance(given, list) or not given or len(given) > MOST_POINTS:
            raise self._error("design", "rows", f"Expected a list of 1 to {MOST_POINTS:,} tables.")
        for row in given:
            if not isinstance(row, dict) or set(row) != names:
                wanted = ", ".join(sorted(names))
                raise self._error("design", "rows", f"Each row needs a value for each axis: {wanted}.")
        return tuple({name: self._number("design", "rows", value) for name, value in row.items()} for row in given)

    def _measure(self) -> Measure:
        table = self._table("measure", ("counts", "repeats", "interval"))
        counts = table.get("counts", True)
        if not isinstance(counts, bool):
            raise self._error("measure", "counts", "Expected true or false.")
        repeats = self._number("measure", "repeats", table.get("repeats", FEWEST))
        if not FEWEST <= repeats <= MOST_REPEATS:
            raise self._error("measure", "repeats", f"Expected {FEWEST} to {MOST_REPEATS:,} repeats.")
        if "repeats" in table and "interval" in table:
            reason = "Give `repeats` or `interval`: the interval decides how many repeats there are."
            raise self._error("measure", "interval", reason)
        return Measure(counts, repeats if "repeats" in table else 0, self._interval(table))

    def _interval(self, table: Mapping[str, Any]) -> float:
        """In percent; 0 if the file gives none."""
        if "interval" not in table:
            return 0.0
        given = table["interval"]
        match = _PERCENT.fullmatch(given) if isinstance(given, str) else None
        if match is None or not _NARROWEST <= (percent := float(match[1])) <= _WIDEST:
            reason = f'Expected "{_NARROWEST} %" to "{_WIDEST} %", such as "0.3 %".'
            raise self._error("measure", "interval", reason)
        return percent

    def _plot(self, axes: set[str]) -> Request | None:
        table = self._table("plot", _PLOT)
        given = {key: self._text("plot", table, key) for key in table}
        if "kind" in given and given["kind"] not in tuple(Kind):
            raise self._error("plot", "kind", f"Expected one of {', '.join(Kind)}.")
        for key in given.keys() - {"kind"}:
            self._check_direction(key, given[key], axes | {KERNEL})
        return Request.from_plain(given)

    def _check_direction(self, key: str, name: str, axes: set[str]) -> None:
        """Of a plot: `y` is a quantity, `x` an axis or a quantity, anything else an axis."""
        if key != "y" and name in axes:
            return
        if key in {"by", "panels"}:
            raise self._error("plot", key, f"`{name}` isn't an axis.{did_you_mean(name, axes)}")
        try:
            quantity(name)
        except NoSuchQuantity as error:
            raise self._error("plot", key, str(error)) from None

    def _table(self, name: str, fields: tuple[str, ...] = ()) -> Mapping[str, Any]:
        """A table of the file, empty if absent; with fields, no others may be in it."""
        table = self._data.get(name, {})
        if not isinstance(table, dict):
            raise self._error("", name, f"Expected a table: [{name}].")
        if fields:
            self._only(name, table, fields)
        return table

    def _only(self, table: str, data: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in data:
            if key not in known:
                what = f"[{table}]" if table else "an experiment's file"
                raise self._error(table, key, f"`{key}` isn't a field of {what}.{did_you_mean(key, known)}")

    def _text(self, table: str, data: Mapping[str, Any], key: str) -> str:
        value = data.get(key)
        if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TEXT:
            raise self._error(table, key, f"Expected `{key}` as a text of 1 to {LONGEST_TEXT} characters.")
        return value

    def _number(self, table: str, key: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_NUMBER:
            raise self._error(table, key, f"Expected whole numbers from 0 to {_MOST_NUMBER:,}.")
        return value

    def _error(self, table: str, key: str, reason: str) -> DefinitionError:
        return DefinitionError(self.line(table, key), reason)

    def line(self, table: str, key: str) -> int:
        """The line of a field; of its table if the field is missing; 0 if both are."""
        here, found = "", 0
        for number, line in enumerate(self._lines, 1):
            if header := _HEADER.match(line):
                here = header[1].strip('"')
                if here in (table, key):
                    found = found or number
            elif _sets(line, table, key, here):
                return number
        return found


def _sets(line: str, table: str, key: str, here: str) -> bool:
    """Whether a line gives a field its value, also as `table.key = ...` or `table = { ... }`."""
    name, field = re.escape(table), rf"\"?{re.escape(key)}\"?"
    if here == table and re.match(rf"\s*{field}\s*=", line):
        return True
    return bool(table) and here == "" and bool(re.match(rf"\s*{name}(\s*\.\s*{field})?\s*=", line))
