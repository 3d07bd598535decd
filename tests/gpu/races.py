"""Compares the races that the CPU device finds with those that compute-sanitizer's racecheck finds on a GPU.

`prepare FOLDER` where there is a compiler, `run FOLDER` on the GPU machine (racecheck watches each kernel in a process
of its own), `compare FOLDER` where you like.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from kernels import device
from kernels.inputs import make_inputs
from kernels.judge import arguments, buffers, full_budget
from kernels.plan import CasePlan
from kernels.verdict import Severity, Verdict
from tests.gpu.prepare import CORPUS, Folder, Prepared, compile_corpus, read, write

REASONS = Path(__file__).parent / "races.toml"
_FINDINGS = "races.json"
_REPORTS = "racecheck.json"
_SIZE_GOAL = 40
_SECONDS = 60
_AT_ONCE = 8
_SUMMARY = re.compile(r"RACECHECK SUMMARY: (\d+) hazards? displayed \((\d+) errors?, (\d+) warnings?\)")
_FAILED = re.compile(r"GPUError|Error: process didn't terminate|timed out")


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel: races in shared memory that either side found. `theirs` is None where racecheck could not end."""

    name: str
    expected: str
    ours: int
    theirs: int | None

    @property
    def agrees(self) -> bool:
        """Whether both find a race, or neither does."""
        return self.theirs is not None and bool(self.ours) == bool(self.theirs)


def prepare(folder: Path, architecture: str) -> None:
    """Compile the whole corpus, one case of each kernel, and keep what the CPU device finds in it."""
    made = compile_corpus(folder, architecture)
    endless = {name for name, verdict in _expected().items() if verdict == Verdict.TIME_LIMIT}
    kernels = (_one_case(kernel) for kernel in made.kernels if kernel.name not in endless)
    chosen = tuple(kernel for kernel in kernels if kernel is not None)
    write(folder, Folder(made.compiler, made.architecture, chosen))
    found = {kernel.stem: _shared_races(folder, kernel) for kernel in chosen}
    (folder / _FINDINGS).write_text(json.dumps(found), encoding="utf-8")


def _one_case(kernel: Prepared) -> Prepared | None:
    """The kernel with one case only: of those that can be launched, the one nearest to a size that takes two tiles."""
    cases = [case for case in kernel.plan.cases if case.on_cpu and case.launch is not None]
    if not cases:
        return None
    best = min(cases, key=lambda case: abs(max(case.sizes.values()) - _SIZE_GOAL))
    return replace(kernel, plan=replace(kernel.plan, cases=(best,)))


def _shared_races(folder: Path, kernel: Prepared) -> int:
    """How many pairs of lines race in shared memory on the CPU device; -1 where it cannot run the kernel."""
    (case,) = kernel.plan.cases
    assert case.launch is not None
    text = (folder / f"{kernel.stem}.ptx").read_text(encoding="utf-8")
    try:
        execution = device.run(
            device.load_program(text, kernel.entry),
            case.launch,
            arguments(case),
            buffers(case, make_inputs(case, seed=1)),
            budget=full_budget(case),
            symbols=kernel.symbols,
            warp_races=Severity.ERROR,
        )
    except (device.Unsupported, device.Malformed):
        return -1
    races = [each for each in execution.findings if each.kind is Verdict.DATA_RACE]
    return sum(not _global(each.example.element if each.example else None, case) for each in races)


def _global(element: str | None, case: CasePlan) -> bool:
    return element is not None and element.split("[")[0] in {matrix.name for matrix in case.matrices}


def run(folder: Path) -> None:
    """Let racecheck watch every kernel, some at once."""
    kernels = read(folder).kernels
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = dict(
            zip([k.stem for k in kernels], pool.map(lambda k: _racecheck(folder, k), kernels), strict=True)
        )
    (folder / _REPORTS).write_text(json.dumps(found), encoding="utf-8")


def _racecheck(folder: Path, kernel: Prepared) -> int | None:
    """How many hazards it shows; None where it comes to no end, as where the kernel does not or is stopped."""
    command = ["compute-sanitizer", "--tool", "racecheck", "--print-limit", "2", sys.executable, "-m"]
    process = subprocess.Popen(
        [*command, "tests.gpu.profile", str(folder), kernel.stem],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    summary = _SUMMARY.search(output)
    return None if summary is None or _FAILED.search(output) else int(summary[1])


def rows(folder: Path) -> list[Row]:
    """What both found, kernel by kernel."""
    ours = json.loads((folder / _FINDINGS).read_text(encoding="utf-8"))
    theirs = json.loads((folder / _REPORTS).read_text(encoding="utf-8"))
    expected = _expected()
    return [
        Row(kernel.name, expected.get(kernel.name, "accepted"), ours[kernel.stem], theirs[kernel.stem])
        for kernel in read(folder).kernels
    ]


def _expected() -> dict[str, str]:
    entries = tomllib.loads((CORPUS / "wrong.toml").read_text(encoding="utf-8"))["kernel"]
    return {entry["name"]: entry["verdict"] for entry in entries}


def page(found: Sequence[Row], reasons: Mapping[str, str]) -> list[str]:
    """The table: a line of sums, then every disagreement with its reason."""
    both = sum(row.agrees and bool(row.ours) for row in found)
    neither = sum(row.agrees and not row.ours for row in found)
    differ = len(found) - both - neither
    lines = [
        f"{len(found)} kernels: both find a race in {both}, neither in {neither}, they differ in {differ}.",
        "",
        "| kernel | expected verdict | CPU device: pairs of lines | racecheck: hazards | why they differ |",
        "|---|---|---|---|---|",
    ]
    for row in found:
        if not row.agrees:
            theirs = "did not end" if row.theirs is None else row.theirs
            why = reasons.get(row.name, "")
            lines.append(f"| {row.name} | {row.expected} | {row.ours} | {theirs} | {why} |")
    return lines


def main() -> None:
    """Prepare, run or compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.races", description=__doc__)
    parser.add_argument("do", choices=["prepare", "run", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default="sm_90")
    asked = parser.parse_args()
    if asked.do == "prepare":
        prepare(asked.folder, asked.arch)
    elif asked.do == "run":
        run(asked.folder)
    else:
        reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
        print("\n".join(page(rows(asked.folder), reasons)))


if __name__ == "__main__":
    main()
