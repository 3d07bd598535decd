"""A large site at a deadline: how long students wait, what binds, and what to buy. A simulation with measured costs.

python -m bench.site [--students N] [--check]
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.site.model import (
    DISPATCHER,
    GPUS,
    PERIOD,
    PORTAL,
    RECORDER,
    SLOTS,
    Costs,
    Night,
    Outcome,
    Run,
    Site,
    simulated,
)
from bench.table import table

COSTS = Costs(submission=0.009, page=0.014, dispatch=0.018, record=0.017, path=0.25, check=0.6, count=0.6, measure=0.25)
"""Where each is from stands in docs/large-site.md."""

SMALLEST = Site(web_cores=1, dispatchers=1, recorders=1, slots=2, gpus=1)
STUDENTS = (1_000, 10_000)

_FIELDS = {PORTAL: "web_cores", DISPATCHER: "dispatchers", RECORDER: "recorders", SLOTS: "slots", GPUS: "gpus"}
_LONGEST = 30.0
"""The wait in seconds that 95 of 100 attempts in the last period may have."""


@dataclass(frozen=True, slots=True)
class Bought:
    """A site, and a night on it."""

    site: Site
    outcome: Outcome

    @property
    def last(self) -> int:
        """The last period in which anyone submits."""
        return max(int(each.submitted_at // PERIOD) for each in self.outcome.attempts)

    def waits(self, period: int) -> list[float]:
        return [each.waited for each in self.outcome.attempts if each.submitted_at // PERIOD == period]

    def busy(self, period: int) -> dict[str, float]:
        return {name: periods.get(period, 0.0) for name, periods in self.outcome.busy.items()}

    @property
    def binds(self) -> tuple[str, float]:
        """The station that is closest to its limit in the last period, and its share of busy time."""
        return max(self.busy(self.last).items(), key=lambda each: each[1])


def main() -> None:
    """Simulate, then print."""
    parser = argparse.ArgumentParser(prog="python -m bench.site", description=__doc__)
    parser.add_argument("--students", type=int, action="append", help=f"instead of {STUDENTS}; may be repeated")
    parser.add_argument("--check", action="store_true", help="compare the model with a real small site on this machine")
    asked = parser.parse_args()
    if asked.check:
        print(_checked())
        return
    for students in asked.students or STUDENTS:
        night = Night(students)
        steps = list(purchases(night))
        print(f"{students:,} students, {len(steps[-1].outcome.attempts):,} attempts\n")
        print(_steps(steps), end="\n\n")
        print(_night(steps[-1]), end="\n\n\n")


def purchases(night: Night) -> Iterator[Bought]:
    """The smallest site, and then again and again one with twice as much of what binds, until the waits are short."""
    site = SMALLEST
    while True:
        bought = Bought(site, simulated(night, site, COSTS))
        yield bought
        if _most(bought.waits(bought.last)) <= _LONGEST:
            return
        name = _FIELDS[bought.binds[0]]
        site = replace(site, **{name: 2 * getattr(site, name)})


def _steps(steps: Sequence[Bought]) -> str:
    rows = []
    for each in steps:
        name, busy = each.binds
        servers = [f"{getattr(each.site, field)}" for field in _FIELDS.values()]
        rows.append((*servers, *_in_words(each.waits(each.last)), f"{name}, {busy:.0%}"))
    return table((*_FIELDS, "median s", "95 % s", "longest s", "binds in the last period"), rows)


def _night(bought: Bought) -> str:
    """The last hour: waits, and how busy each station was."""
    rows = []
    for period in range(bought.last - 5, bought.last + 1):
        waits, busy = bought.waits(period), bought.busy(period)
        minutes = int(PERIOD / 60) * (bought.last + 1 - period)
        rows.append(
            (f"{minutes} min", f"{len(waits):,}", *_in_words(waits), *(f"{busy[name]:.0%}" for name in _FIELDS))
        )
    return table(("before the end", "attempts", "median s", "95 % s", "longest s", *_FIELDS), rows)


def _in_words(waits: Sequence[float]) -> tuple[str, str, str]:
    if not waits:
        return "-", "-", "-"
    return f"{statistics.median(waits):.1f}", f"{_most(waits):.1f}", f"{max(waits):.1f}"


def _most(waits: Sequence[float]) -> float:
    """The wait that 95 of 100 don't exceed."""
    return sorted(waits)[int(0.95 * (len(waits) - 1))]


def _checked() -> str:
    """The fairness bench of the queue, on this machine and in the model."""
    from bench.queue import fairness

    with tempfile.TemporaryDirectory(prefix="tilelab-bench-") as folder:
        real, _ = fairness.run(Path(folder))
    costs = replace(COSTS, check=real["step_seconds"], count=0.0)
    rows = []
    for name, burst in (("without", 0), ("with", real["burst"])):
        modelled = statistics.median(burst_waits(costs, real["others"], burst))
        measured = real["waits"]["at once"][name]
        words = f"{real['others']} at once, {name} a burst of {real['burst']}"
        rows.append((words, f"{measured:.2f}", f"{modelled:.2f}", f"{modelled / measured:.2f}x"))
    return table(("median wait, s", "measured", "modelled", "ratio"), rows)


def burst_waits(costs: Costs, others: int, burst: int) -> list[float]:
    """The waits of some students who submit one each at the same moment, behind one with a burst; two slots."""
    run = Run(replace(SMALLEST, slots=2), costs, passing=0.0, pages=0, dice=random.Random(1))
    for _ in range(burst):
        run.submit(0)
    for person in range(1, 1 + others):
        run.clock.after(4.0, partial(run.submit, person))
    return [each.waited for each in run.outcome().attempts if each.person]


if __name__ == "__main__":
    main()
