"""Kernels that try to look correct, or to do harm, in a whole grade and on the GPU alone."""

from __future__ import annotations

import contextlib

from bench.gpu.gpu_verdicts import Outcome, judge_alone
from bench.gpu.section import Data, Run, table
from bench.gpu.subjects import Cheat, cheats
from worker.bench.backlog import Graded, work_off

_TEXT = """\
`tests/cheats` has two kinds of kernels. A cheat tries to get a result accepted without computing it, to reach the
judge, or to cause damage. A trick is correct, and must not be faster than honest work. Each kernel is graded twice:
like a submission, and by the GPU alone, without the CPU device's check."""


def run(section: Run) -> None:
    """Run the whole grades first."""
    chosen = cheats()[: section.options.get("cheats")]
    rows: dict[str, Data] = {each.subject.name: {"kind": each.kind, "honesty": each.honesty} for each in chosen}
    machine = section.machine

    def graded(end: Graded) -> None:
        found = end.report.verdict.value if end.report else f"none: {end.error}"
        _keep(section, chosen, rows, chosen[end.number], "grade", found)

    with contextlib.closing(machine.place()) as place:
        work_off([machine.work(each.subject) for each in chosen], machine.cache, [place], told=graded)
    by_name = {each.subject.name: each for each in chosen}

    def alone(outcome: Outcome) -> None:
        cheat = by_name[outcome.subject.name]
        with section.lock:
            rows[cheat.subject.name]["seconds"] = round(outcome.seconds, 2)
        _keep(section, chosen, rows, cheat, "gpu", outcome.verdict)

    with machine.spares(3) as spares:
        judge_alone(machine, [each.subject for each in chosen], spares, alone)
    section.keep(_text(rows), {"rows": rows, "cheats": len(chosen)})


def _keep(section: Run, chosen: list[Cheat], rows: dict[str, Data], cheat: Cheat, by: str, found: str) -> None:
    name = cheat.subject.name
    as_said = "as expected" if found in getattr(cheat, by) else "NOT as expected"
    section.say(f"{name}, {'whole grade' if by == 'grade' else 'GPU alone'}: {found}, {as_said}")
    with section.lock:
        rows[name][by] = {"expected": sorted(getattr(cheat, by)), "found": found}
        section.keep(_text(rows), {"rows": rows, "cheats": len(chosen)}, done=False)


def _text(rows: dict[str, Data]) -> list[str]:
    head = ["cheat", "kind", "whole grade", "GPU alone", "s on the GPU alone"]
    cells = [
        [
            f"`{name}`",
            row["kind"] if row["honesty"] == "cheat" else f"{row['kind']} ({row['honesty']})",
            _cell(row.get("grade")),
            _cell(row.get("gpu")),
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
    whole = [row["grade"] for row in rows.values() if "grade" in row]
    alone = [row["gpu"] for row in rows.values() if "gpu" in row]
    cheating = {name: row for name, row in sorted(rows.items()) if row["honesty"] == "cheat"}
    accepted = [name for name, row in cheating.items() if row.get("grade", {}).get("found") == "accepted"]
    slipped = [name for name, row in cheating.items() if row.get("gpu", {}).get("found") == "accepted"]
    faults = sum(each["found"].startswith(("none", "system_error")) for each in (*whole, *alone))
    as_said = [sum(each["found"] in each["expected"] for each in side) for side in (whole, alone)]
    sums = (
        f"Of {len(cheating)} cheats, the whole grade accepts {len(accepted)}{_named(accepted)}; the GPU alone would"
        f" accept {len(slipped)}{_named(slipped)}. {as_said[0]} of {len(whole)} verdicts of the whole grade and"
        f" {as_said[1]} of {len(alone)} of the GPU alone are as expected. System errors: {faults}."
    )
    return [sums]


def _named(names: list[str]) -> str:
    return f" ({', '.join(f'`{name}`' for name in names)})" if names else ""
