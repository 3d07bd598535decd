"""The same kernels graded repeatedly: how much the figures differ, and whether their order changes."""

from __future__ import annotations

import itertools
import statistics

from bench.gpu.machine import (
    Known,
    Measure,
    grade_again,
    grade_first,
    measured_by,
    measured_in_one,
    measured_quietly,
    speed_at,
)
from bench.gpu.section import Data, Run, percent, table
from bench.gpu.subjects import Subject, ladder

ROUNDS = 10
WIDTHS = (2048, 4096)
MOST_SPREAD = 0.003

_KINDS = "quiet", "busy", "used"
Times = dict[str, dict[int, list[float]]]

_TEXT = """\
Each rung of both ladders is compiled and checked once. Then {rounds} rounds follow, each with one measurement of every
rung with new inputs. **Quiet** means that nothing else runs on the machine. **Busy** means that the next processes
start at the same time, as in a busy worker. Each measurement then has a new process. **Used** means that one process
measures all rungs in turn. The coefficient of variation, cv, is the standard deviation of the {rounds} medians divided
by their mean."""


def run(section: Run) -> None:
    """Measure rounds on a quiet machine, then on a busy one."""
    rounds, machine = section.options.get("rounds", ROUNDS), section.machine
    data: Data = {"rounds": rounds, **{kind: {} for kind in _KINDS}}
    known = _check(section, measured_quietly(machine))
    if section.options.get("quiet", 1):
        _measure(section, "quiet", known, measured_quietly(machine), rounds, data)
    with machine.spares() as spares:
        _measure(section, "busy", known, measured_by(spares), rounds, data)
    with measured_in_one(machine) as measure:
        _measure(section, "used", known, measure, rounds, data)
    section.keep(_text(data), data)


def _check(section: Run, measure: Measure) -> dict[str, tuple[Subject, Known]]:
    known = {}
    for subject in (*ladder(), *ladder("tensor-cores"))[-section.options.get("rungs", 99) :]:
        report, made = grade_first(section.machine, subject, measure)
        if report.measurement is None:
            section.say(f"{subject.name} is left out: {report.verdict}: {report.message}")
            continue
        known[subject.name] = subject, made
    section.say(f"{len(known)} rungs compiled and checked")
    return known


def _measure(
    section: Run, kind: str, known: dict[str, tuple[Subject, Known]], measure: Measure, rounds: int, data: Data
) -> None:
    times: Times = {name: {} for name in known}
    for number in range(1, rounds + 1):
        for name, (subject, made) in known.items():
            report = grade_again(section.machine, subject, made, measure)
            if report.measurement is None:
                section.say(f"{name}: {report.verdict}: {report.message}")
                continue
            for width in {*WIDTHS, *report.measurement.sizes.values()}:
                found = speed_at(report.measurement, width)
                if found is not None:
                    times[name].setdefault(width, []).append(found[0])
        data[kind] = times
        section.say(f"{kind}: round {number} of {rounds}")
        section.keep(_text(data), data, done=False)


def cv(values: list[float]) -> float:
    return statistics.stdev(values) / statistics.mean(values) if len(values) > 1 else 0.0


def _orders(times: Times, width: int) -> int:
    """Return in how many different orders the kernels finished, over all rounds."""
    columns = [each[width] for each in times.values() if width in each]
    rounds = min(map(len, columns), default=0)
    orders = {tuple(sorted(range(len(columns)), key=lambda i: columns[i][number])) for number in range(rounds)}
    return len(orders)


def _swaps(times: Times, width: int) -> list[str]:
    """Return pairs of kernels that aren't always in the same order."""
    known = [(name, each[width]) for name, each in times.items() if width in each]
    return [
        f"{one} and {other}"
        for (one, ones), (other, others) in itertools.combinations(known, 2)
        if len({a < b for a, b in zip(ones, others, strict=False)}) > 1
    ]


def _text(data: Data) -> list[str]:
    lines = [_TEXT.format(rounds=data["rounds"])]
    for kind in _KINDS:
        times: Times = data.get(kind, {})
        widths = sorted({width for each in times.values() for width in each})
        if not widths:
            continue
        head = ["rung", *(cell for width in widths for cell in (f"ms at {width}", "cv", "range"))]
        rows = [[name, *(cell for width in widths for cell in _cells(each.get(width)))] for name, each in times.items()]
        spreads = [cv(each[width]) for each in times.values() for width in each]
        good = sum(spread <= MOST_SPREAD for spread in spreads)
        lines += ["", f"**{kind.capitalize()}**", "", *table(head, rows), ""]
        lines.append(
            f"Largest cv {percent(max(spreads), 2)}; {good} of {len(spreads)} are at most {percent(MOST_SPREAD)}."
        )
        for width in widths:
            swaps = _swaps(times, width)
            said = "the same in every round" if not swaps else f"changes between {'; '.join(swaps)}"
            lines.append(f"Order at {width}: {said} (orders in all rounds: {_orders(times, width)}).")
    return lines


def _cells(values: list[float] | None) -> list[str]:
    if not values:
        return ["-", "-", "-"]
    spread = max(values) / min(values) - 1
    return [f"{statistics.median(values):.4g}", percent(cv(values), 2), percent(spread, 2)]
