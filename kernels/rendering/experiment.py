"""Results of an experiment as text for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernels.evidence import Basis
from kernels.experiment.comparison import Comparison, Pair, Repeated
from kernels.experiment.quantities import Quantity, quantity, speed_of
from kernels.experiment.result import PointResult
from kernels.experiment.tuning.state import Stop, Tuning
from kernels.rendering.measured_numbers import ms_text, share_text, speed_text
from kernels.rendering.table import short, table
from kernels.rendering.text_safety import cut, safe
from kernels.rendering.text_style import BOLD, DIM, Style
from kernels.verdict import CPU_DEVICE, Verdict
from kernels.wording import part_of, percent, plural, sizes_text

NOTHING_MEASURED = "Nothing was measured: only a GPU has a speed. Counts and models are from the CPU device."
NO_POINT_MEASURED = "No point was measured."


def columns(results: Sequence[PointResult], asked: str = "") -> list[Quantity]:
    """What a table of these results shows: the measured speed where there is one, bound, occupancy and loads.

    asked: the quantity that the experiment asks about, which comes first
    """
    speed = speed_of(list(results))
    wanted = quantity(asked) if asked else None
    first = [wanted] if wanted is not None and any(wanted.of(result) is not None for result in results) else []
    found = [*first, *([speed] if speed is not None else []), *map(quantity, ("bound", "occupancy", "loads"))]
    return list({each.name: each for each in found}.values())


def results_text(name: str, results: Sequence[PointResult], points: int, style: Style, asked: str = "") -> str:
    found = point_table(results, asked=asked)
    head = f"{safe(name)}: {len(results):,} of {plural(points, 'point')}"
    lines = [style.paint(cut(head, style.width), BOLD), ""]
    if results:
        lines += _table(found, style)
        lines += ["", *style.wrap(verdicts_text(results))]
        for failure in _failures(results):
            lines += style.wrap(failure, "  ", "    ")
    if not any(column.basis is Basis.MEASURED for column in found.columns):
        lines += style.wrap(nothing_measured(results))
    return "\n".join(lines)


def nothing_measured(results: Sequence[PointResult]) -> str:
    """Why no point has a speed: none was accepted, or there was no GPU."""
    accepted = any(result.verdict is Verdict.ACCEPTED for result in results)
    return NOTHING_MEASURED if accepted else NO_POINT_MEASURED


def verdicts_text(results: Sequence[PointResult]) -> str:
    """How many points have which verdict."""
    return verdict_counts_text(Counter(result.verdict for result in results))


def verdict_counts_text(counts: Mapping[Verdict, int]) -> str:
    return f"Verdicts: {', '.join(f'{count:,} {verdict.words}' for verdict, count in counts.items())}."


def fixed_sizes(results: Sequence[PointResult]) -> str:
    """The sizes that no axis varies: `Width=2,048`; "" for none."""
    return sizes_text(
        {
            name: value
            for name, value in (results[0].sizes if results else {}).items()
            if name not in results[0].params and all(result.sizes.get(name) == value for result in results)
        }
    )


def _failures(results: Sequence[PointResult]) -> list[str]:
    """For each verdict but accepted, its first point and why."""
    first = {result.verdict: result for result in reversed(results) if result.verdict is not Verdict.ACCEPTED}
    several = len({result.kernel for result in results}) > 1
    said = []
    for each in sorted(first.values(), key=lambda each: each.number):
        line = each.finding.line if each.finding is not None else None
        place = f", line {line}" if line else ""
        said.append(f"{_point(each, several)}{place}: {safe(each.message)}")
    return said


def _point(each: PointResult | Repeated, several: bool) -> str:
    kernel = safe(each.kernel) if several else ""
    return ", ".join(part for part in (kernel, params_text(each.params)) if part)


def params_text(params: Mapping[str, int]) -> str:
    """A point's values: `TILE_WIDTH=16, Width=2048`."""
    return ", ".join(f"{name}={value}" for name, value in params.items())


def value_text(quantity: Quantity, value: float | None) -> str:
    """A number of a quantity, without its unit; "" for none."""
    if value is None:
        return ""
    if quantity.name == "occupancy":
        return percent(value)
    if quantity.name == "cublas_share":
        return share_text(value)
    if quantity.name == "ms":
        return ms_text(value)
    return short(value) if quantity.basis == "counted" and float(value).is_integer() else speed_text(value)


def interval_text(quantity: Quantity, result: PointResult) -> str:
    """The 95 % interval of a measured value; "" for none."""
    ends = quantity.interval(result)
    return " to ".join(value_text(quantity, end) for end in ends) if ends is not None else ""


@dataclass(frozen=True, slots=True)
class PointRow:
    """A point in a table.

    why: the finding, with its line; "" for none
    numbers: the value of each quantity with its interval, "" for none
    """

    kernel: str
    values: tuple[str, ...]
    verdict: str
    why: str
    numbers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PointTable:
    """The numbers of points. several: whether they differ in their kernel."""

    axes: tuple[str, ...]
    columns: tuple[Quantity, ...]
    several: bool
    rows: tuple[PointRow, ...]


def point_table(results: Sequence[PointResult], most: int | None = None, asked: str = "") -> PointTable:
    shown, names = columns(results, asked), tuple(results[0].params) if results else ()
    rows = []
    for result in results[:most]:
        line = f"Line {result.finding.line}: " if result.finding is not None and result.finding.line else ""
        why = f"{line}{result.finding.message}" if result.finding is not None else ""
        numbers = tuple((value_text(what, what.of(result)), interval_text(what, result)) for what in shown)
        values = tuple(f"{result.params[name]:,}" for name in names)
        rows.append(PointRow(result.kernel, values, result.verdict.words, why, numbers))
    return PointTable(names, tuple(shown), len({result.kernel for result in results}) > 1, tuple(rows))


def _table(found: PointTable, style: Style) -> list[str]:
    heads = [("kernel", "", "<")] * found.several + [(name, "", ">") for name in found.axes] + [("verdict", "", "<")]
    for column in found.columns:
        measured = column.basis is Basis.MEASURED
        named = column.unit if measured else ", ".join(filter(None, (column.name, column.speed_unit)))
        heads += [(named, column.basis.value, ">"), *([("95 % interval", "", "<")] if measured else [])]
    rows = []
    for row in found.rows:
        cells = [*([safe(row.kernel)] * found.several), *row.values, row.verdict]
        for what, (value, interval) in zip(found.columns, row.numbers, strict=True):
            cells += [value, *([interval] if what.basis is Basis.MEASURED else [])]
        rows.append(cells)
    titles, bases, align = zip(*heads, strict=True)
    lines = table([titles, bases, *rows], "".join(align))
    return [*(style.paint(line, DIM) for line in lines[:2]), *lines[2:]]


def comparison_text(comparison: Comparison, names: tuple[str, str], style: Style) -> str:
    what = comparison.quantity
    head = f"{safe(names[1])} over {safe(names[0])}: {what.title.lower()}, {what.basis}"
    several = len({pair.kernel for pair in comparison.pairs}) > 1
    titles = [*(["kernel"] if several else []), "point", "first", "second", "ratio", "95 % interval", ""]
    rows = [[*([safe(pair.kernel)] if several else []), *pair_cells(pair, what)] for pair in comparison.pairs]
    lines = [cut(line, style.width) for line in table([titles, *rows], ("<" if several else "") + "<>>><<")]
    said = [style.paint(cut(head, style.width), BOLD), "", style.paint(lines[0], DIM), *lines[1:], ""]
    said += style.wrap(overall_text(comparison))
    for count, name in ((comparison.only_first, names[0]), (comparison.only_second, names[1])):
        if count:
            said += style.wrap(f"{plural(count, 'point')} only in {safe(name)}.")
    return "\n".join(said)


def unlike_text(first: Sequence[PointResult], second: Sequence[PointResult], exercises: tuple[str, str]) -> str:
    """What differs between two experiments apart from their kernels: exercise, sizes and devices; "" for nothing."""
    found = (exercises, (fixed_sizes(first), fixed_sizes(second)), (_devices(first), _devices(second)))
    said = [f"{one or 'no fixed size'} and {other or 'no fixed size'}" for one, other in found if one != other]
    return f"Not the same in both: {'; '.join(said)}." if said else ""


def _devices(results: Sequence[PointResult]) -> str:
    measured = {result.device for result in results if result.measurement is not None}
    names = sorted(measured or {result.device for result in results})
    return ", ".join("CPU device" if name == CPU_DEVICE else name.upper() for name in names)


def overall_text(comparison: Comparison) -> str:
    complete = [pair for pair in comparison.pairs if pair.complete]
    if not complete:
        return f"No point has this in both: {comparison.quantity.title.lower()}, {comparison.quantity.basis}."
    left_out = [pair for pair in complete if not pair.in_mean]
    zeros = f"{sum(pair.differs for pair in left_out):,} of {plural(len(left_out), 'point')}"
    if comparison.ratio is None or comparison.interval is None:
        return f"There is no ratio, because each pair of values has a 0. {zeros} differ."
    low, high = comparison.interval
    what = f"Over {plural(len(complete) - len(left_out), 'point')}, the ratio is {comparison.ratio:.4f}"
    said = [f"{what}, with a 95 % interval from {low:.4f} to {high:.4f}."]
    said += [f"{zeros} with a value of 0 differ."] if left_out else []
    said += [] if comparison.differs else ["No difference shown."]
    return " ".join(said)


def pair_cells(pair: Pair, what: Quantity) -> list[str]:
    """The point, both values, their ratio with its interval, and whether they differ."""
    interval = f"{pair.interval[0]:.4f} to {pair.interval[1]:.4f}" if pair.interval is not None else ""
    verdict = "" if not pair.complete else "differs" if pair.differs else "same"
    return [
        params_text(pair.params),
        value_text(what, pair.first),
        value_text(what, pair.second),
        f"{pair.ratio:.4f}" if pair.ratio is not None else "",
        interval or ("exact" if pair.complete else ""),
        verdict,
    ]


def repeated_text(found: Sequence[Repeated], style: Style) -> str:
    """Which points of a repeated run agree with the first."""
    differing = [each for each in found if each.differences]
    several = len({each.kernel for each in found}) > 1
    lines = style.wrap(f"{len(found) - len(differing):,} of {plural(len(found), 'point')} agree with the first run.")
    for each in differing:
        lines += style.wrap(f"{_point(each, several)}: {'; '.join(each.differences)}", "  ")
    return "\n".join(lines)


def tuning_text(tuning: Tuning, results: Sequence[PointResult], *, on_server: bool = False) -> str:
    """A search in a few sentences: what it tried and left out, and why it stopped. on_server: it goes on by itself."""
    goal = quantity(tuning.goal)
    tried = part_of(len(tuning.tried), tuning.space, "point")
    said = [f"Search for the best {goal.title.lower()}: {tried} tried."]
    if tuning.modelled:
        said.append(f"{plural(tuning.modelled, 'point')} modelled first.")
    if tuning.pruned:
        said.append(f"{len(tuning.pruned):,} left out: even their speed of light is below the best.")
    if tuning.unfit:
        said.append(f"{len(tuning.unfit):,} not accepted, which don't use the budget.")
    if tuning.stopped is not None or not on_server:
        said.append(_ending(tuning))
    best = next((result for result in results if result.number == tuning.best), None)
    if best is None:
        return " ".join((*said, f"No point has this: {goal.title.lower()}, {goal.basis}."))
    several = f"{safe(best.kernel)} with " if len({result.kernel for result in results}) > 1 else ""
    value = f"{value_text(goal, goal.of(best))} {goal.unit}"
    return " ".join((*said, f"Best: {several}{params_text(best.params)}, {value} ({goal.basis})."))


def _ending(tuning: Tuning) -> str:
    if tuning.stopped is Stop.BUDGET:
        return f"Stopped: the budget of {plural(tuning.budget, 'point')} is used."
    if tuning.stopped is Stop.NONE_LEFT:
        return "Stopped: no other point can win."
    if tuning.stopped is Stop.IN_VAIN:
        return "Stopped: the most promising points can't win, by their models."
    return "Not finished: run the same command to go on."
