"""A backlog like a course's: verdicts per minute, the GPU's load meanwhile, and the bottleneck."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import asdict

from bench.gpu.repeatability import MOST_SPREAD, cv
from bench.gpu.section import Data, Run, percent, table
from bench.gpu.subjects import MIXTURE, Subject, backlog
from worker.bench.backlog import Backlog, Graded, work_off
from worker.bench.throughput import binds, throughput

SUBMISSIONS = 300
LEAST_A_MINUTE, LEAST_BUSY = 240, 0.9
_FOR_SPREAD = 5
"""Gradings of a kernel from which its spread is counted."""

_STEPS: Mapping[str, str] = {
    "compile": "compiling",
    "run": "checking, and counting with evidence",
    "other": "measuring, starting its processes, and the benchmark",
}

_SHARES: Mapping[str, str] = {
    "busy": "required kernels ran",
    "handling": "a process prepared or judged",
    "waiting": "waited for a process",
    "idle": "no kernel",
}

_TEXT = """\
{number} submissions in mixed order, each with a different text, at the workplaces of a worker's slots. Each is compiled
and checked in its own processes. A process that measures goes on after an accepted kernel. Each GPU has three slots:
while one measures, another prepares the next kernel.

{mixture}"""


def run(section: Run) -> None:
    """Run without evidence, then with it, on all GPUs of the machine."""
    number = section.options.get("submissions", SUBMISSIONS)
    subjects, data = backlog(number), Data(number=number)
    data["one GPU"] = _with_one(section)
    kinds = [("without evidence", False)]
    if section.options.get("evidence", 1):
        kinds.append(("with evidence", True))
    for name, evidence in kinds:
        data[name] = _figures(subjects, _work_off(section, subjects, name, evidence))
        section.keep(_text(data), data, done=name == kinds[-1][0])


def _work_off(section: Run, subjects: list[Subject], name: str, evidence: bool) -> Backlog:
    machine = section.machine
    works = [machine.work(subject, evidence=evidence) for subject in subjects]
    ends = itertools.count(1)

    def told(_: Graded) -> None:
        if (end := next(ends)) % 20 == 0 or end == len(works):
            section.say(f"{name}: {end} of {len(works)}")

    with machine.gpu_places() as gpus:
        return work_off(works, machine.cache, gpus, section.options.get("slots"), told)


def _figures(subjects: list[Subject], done: Backlog) -> Data:
    found = throughput(done)
    wrong = [
        f"{subject.name}: {each.error or each.verdict}, not {subject.expected}"
        for subject, each in zip(subjects, done.graded, strict=True)
        if each.verdict.value != subject.expected
    ]
    by_kind: dict[str, list[float]] = {}
    for subject, each in zip(subjects, done.graded, strict=True):
        by_kind.setdefault(subject.name, []).append(each.busy_ms)
    return {
        **asdict(found),
        "busy": found.busy,
        "binds": binds(found),
        "spread": _spread(subjects, done),
        "unexpected": wrong,
        "busy_ms_by_kind": {kind: sum(each) / len(each) for kind, each in by_kind.items()},
        "steps": [
            [each.number, step.gpu, step.begun, step.ready, step.ended, step.result.busy_ms]
            for each in done.graded
            for step in each.steps
        ],
    }


def _spread(subjects: list[Subject], done: Backlog) -> list[Data]:
    """Return how much the ranking speeds of the same kernel differ in one backlog, for each kernel."""
    times: dict[tuple[str, int], list[float]] = {}
    for subject, each in zip(subjects, done.graded, strict=True):
        if each.report is not None and each.report.measurement is not None:
            times.setdefault((subject.name, subject.variant), []).append(each.report.measurement.ms_median)
    return [
        {"kernel": name, "variant": variant, "ms": all_ms, "cv": cv(all_ms)}
        for (name, variant), all_ms in sorted(times.items())
        if len(all_ms) >= _FOR_SPREAD
    ]


def _text(data: Data) -> list[str]:
    mixture = "\n".join(f"- {share:.0%} {kind}" for kind, share in MIXTURE.items())
    lines = [_TEXT.format(number=data["number"], mixture=mixture)]
    done = {name: data[name] for name in ("without evidence", "with evidence") if name in data}
    for name, found in done.items():
        lines += ["", f"**{name.capitalize()}**", "", *_one(found), *_times(data, name)]
    least = LEAST_A_MINUTE * max(len(found["lanes"]) for found in done.values())
    reached = all(found["per_minute"] >= least and found["busy"] >= LEAST_BUSY for found in done.values())
    asked = f"{least} verdicts a minute, and each GPU busy for {LEAST_BUSY:.0%} of the time"
    return [*lines, "", f"The goal: {asked}. {'Reached' if reached else 'Not reached'}."]


def _with_one(section: Run) -> Data:
    """Return the results of the same run with one GPU; empty if this is that run."""
    kept = section.file.with_name(f"{section.name}.json")
    if len(section.machine.gpus) == 1 or not kept.exists():
        return {}
    found: Data = json.loads(kept.read_text(encoding="utf-8"))["data"]
    return found


def _times(data: Data, name: str) -> list[str]:
    one = data["one GPU"].get(name)
    if one is None:
        return []
    ratio = data[name]["per_minute"] / one["per_minute"]
    return [
        "",
        f"**{ratio:.2f} times** the verdicts a minute of one GPU ({one['per_minute']:.0f}, with {one['cores']} cores).",
    ]


def _one(found: Data) -> list[str]:
    number = found["submissions"]
    gpus = [
        [f"GPU {gpu}", lane["kernels"], *(percent(lane[key]) for key in _SHARES)]
        for gpu, lane in enumerate(found["lanes"])
    ]
    used = sum(found["cpu_seconds"].values())
    steps = [
        [_STEPS.get(step, step), f"{seconds:.1f}", percent(seconds / used), f"{seconds / number:.2f}"]
        for step, seconds in found["cpu_seconds"].items()
    ]
    speed = f"**{found['per_minute']:.0f} verdicts a minute** ({number} in {found['seconds']:.1f} s)."
    middle = f"The median submission took {found['latency']:.2f} s from start to end."
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(found["verdicts"].items()))
    cores = f"The {found['cores']} cores were in use for {percent(found['cores_busy'], 0)} of the time."
    unexpected = "; ".join(found["unexpected"][:10])
    spreads = [each["cv"] for each in found["spread"]]
    good = sum(spread <= MOST_SPREAD for spread in spreads)
    repeated = f"{len(spreads)} kernels were graded at least {_FOR_SPREAD} times"
    if spreads:
        largest = percent(max(spreads), 2)
        repeated += f". The largest cv of a speed is {largest}. {good} are at most {percent(MOST_SPREAD)}"
    return [
        f"{speed} {middle} {found['binds']}",
        "",
        *table(["", "kernels", *_SHARES.values()], gpus),
        "",
        *table(["processor time", "s", "share", "s a submission"], steps),
        "",
        f"{cores} Verdicts: {verdicts}.",
        f"{repeated}.",
        f"Not as expected: {unexpected}." if unexpected else "Every verdict is as expected.",
    ]
