"""Kernels that try to look correct, or to do harm, in a whole grade and on the GPU alone."""

from __future__ import annotations

import statistics

from bench.gpu.gpu_verdicts import Outcome, judge_alone
from bench.gpu.machine import Machine, grade_first, measured_between, measured_by
from bench.gpu.section import Data, Run, table
from bench.gpu.subjects import RIGHT, Cheat, cheats
from kernels.wording import plural
from worker.bench.backlog import Graded, work_off
from worker.contract.measure_work import MeasureRequest, MeasureResponse
from worker.gpu.spares import Spares

_WAYS = {"grade": "whole grade", "gpu": "GPU alone", "used": "used process"}
_TEXT = """\
`tests/cheats` has two kinds of kernels. A cheat tries to get a result accepted without computing it, to reach the
judge, or to cause damage. A trick is correct, and must not be faster than honest work. Each kernel is graded three
times. First it is graded like a submission, then twice by the GPU alone, without the CPU device's check. The second
time, the same process measures a correct kernel before, and again after if it goes on."""


def run(section: Run) -> None:
    """Run the whole grades first."""
    chosen = cheats()[: section.options.get("cheats")]
    rows: dict[str, Data] = {each.subject.name: {"kind": each.kind, "honesty": each.honesty} for each in chosen}
    machine = section.machine

    def graded(end: Graded) -> None:
        found = end.report.verdict.value if end.report else f"none: {end.error}"
        _keep(section, chosen, rows, chosen[end.number], "grade", found)

    with machine.gpu_places() as gpus:
        work_off([machine.work(each.subject) for each in chosen], machine.cache, gpus, told=graded)
    by_name = {each.subject.name: each for each in chosen}

    def alone(outcome: Outcome) -> None:
        cheat = by_name[outcome.subject.name]
        with section.lock:
            rows[cheat.subject.name]["seconds"] = round(outcome.seconds, 2)
        _keep(section, chosen, rows, cheat, "gpu", outcome.verdict)

    def used(outcome: Outcome) -> None:
        _keep(section, chosen, rows, by_name[outcome.subject.name], "used", outcome.verdict)

    subjects, after = [each.subject for each in chosen], list[float]()
    with machine.spares(3) as spares:
        judge_alone(machine, subjects, measured_by(spares), alone)
        right = right_request(machine, spares)
        judge_alone(machine, subjects, measured_between(spares, right, after), used)
        before = [speed.ms_median for _ in after if (speed := measured_by(spares)(right).measurement) is not None]
    section.keep([*_text(rows), "", _change(before, after)], {"rows": rows, "cheats": len(chosen), "after": after})


def right_request(machine: Machine, spares: Spares) -> MeasureRequest:
    """Return the request to measure a correct kernel."""
    asked: list[MeasureRequest] = []

    def measure(request: MeasureRequest) -> MeasureResponse:
        asked.append(request)
        return measured_by(spares)(request)

    grade_first(machine, RIGHT, measure)
    return asked[0]


def _change(before: list[float], after: list[float]) -> str:
    change = statistics.median(after) / statistics.median(before) - 1 if before and after else 0.0
    return (
        f"After {plural(len(after), 'kernel')} the process went on. There, the correct kernel's median time differs by"
        f" {change:+.2%} from new processes. The goal is at most 0.1 %."
    )


def _keep(section: Run, chosen: list[Cheat], rows: dict[str, Data], cheat: Cheat, by: str, found: str) -> None:
    name = cheat.subject.name
    expected = cheat.grade if by == "grade" else cheat.gpu
    as_said = "as expected" if found in expected else "NOT as expected"
    section.say(f"{name}, {_WAYS[by]}: {found}, {as_said}")
    with section.lock:
        rows[name][by] = {"expected": sorted(expected), "found": found}
        section.keep(_text(rows), {"rows": rows, "cheats": len(chosen)}, done=False)


def _text(rows: dict[str, Data]) -> list[str]:
    head = ["cheat", "kind", *_WAYS.values(), "s on the GPU alone"]
    cells = [
        [
            f"`{name}`",
            row["kind"] if row["honesty"] == "cheat" else f"{row['kind']} ({row['honesty']})",
            *(_cell(row.get(by)) for by in _WAYS),
            f"{row['seconds']:.2f}" if "seconds" in row else "-",
        ]
        for name, row in sorted(rows.items(), key=lambda item: (item[1]["honesty"], item[0]))
    ]
    return [_TEXT, "", *table(head, cells), "", *_sums(rows)]


def _cell(outcome: Data | None) -> str:
    if outcome is None:
        return "-"
    found, expected = outcome["found"], outcome["expected"]
    return found if found in expected else f"**{found}**, not {' or '.join(expected)}"


def _sums(rows: dict[str, Data]) -> list[str]:
    ways = [[row[by] for row in rows.values() if by in row] for by in _WAYS]
    cheating = {name: row for name, row in sorted(rows.items()) if row["honesty"] == "cheat"}
    accepted = [name for name, row in cheating.items() if row.get("grade", {}).get("found") == "accepted"]
    slipped = [name for name, row in cheating.items() if row.get("gpu", {}).get("found") == "accepted"]
    faults = sum(each["found"].startswith(("none", "system_error")) for way in ways for each in way)
    as_said = [f"{sum(each['found'] in each['expected'] for each in way)} of {len(way)}" for way in ways]
    sums = (
        f"Of {len(cheating)} cheats, the whole grade accepts {len(accepted)}{_named(accepted)}; the GPU alone would"
        f" accept {len(slipped)}{_named(slipped)}. Verdicts as expected: whole grade {as_said[0]}, GPU alone"
        f" {as_said[1]}, used process {as_said[2]}. System errors: {faults}."
    )
    return [sums]


def _named(names: list[str]) -> str:
    return f" ({', '.join(f'`{name}`' for name in names)})" if names else ""
