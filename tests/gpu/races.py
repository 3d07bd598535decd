"""Compares the races that the CPU device finds with those that compute-sanitizer's racecheck finds on a GPU.

Racecheck watches each kernel in a process of its own.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from kernels import device
from kernels.device.state.element_names import plain_name
from kernels.judging.inputs import Matrix, make_inputs
from kernels.judging.judge import arguments, buffers, constants, full_budget
from kernels.judging.plan import CasePlan
from kernels.verdict import Finding, Severity, Verdict
from tests.gpu.prepare import CORPUS, Folder, Prepared, compile_corpus, read, write
from tests.gpu.result import Machine, NotRun, Result
from tests.gpu.sanitizer import PROGRAM, watch

REASONS = Path(__file__).parent / "races.toml"
_FINDINGS = "races.json"
_REPORTS = "racecheck.json"
_SIZE_GOAL = 40
_AT_ONCE = 8


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
    endless = {name for name, verdict in expected_verdicts().items() if verdict == Verdict.TIME_LIMIT}
    kernels = (one_case(kernel) for kernel in made.kernels if kernel.name not in endless)
    chosen = tuple(kernel for kernel in kernels if kernel is not None)
    found = {kernel.stem: _shared_races(folder, kernel) for kernel in chosen}
    emulated = tuple(kernel for kernel in chosen if found[kernel.stem] is not None)
    write(folder, Folder(made.compiler, made.architecture, emulated))
    (folder / _FINDINGS).write_text(json.dumps(found), encoding="utf-8")


def cases_of(kernel: Prepared) -> list[CasePlan]:
    """The cases that can be launched, in the order of their distance from a size that takes two tiles."""
    cases = [case for case in kernel.plan.cases if case.on_cpu and case.launch is not None]
    return sorted(cases, key=lambda case: abs(max(case.sizes.values()) - _SIZE_GOAL))


def with_case(kernel: Prepared, case: CasePlan) -> Prepared:
    return replace(kernel, plan=replace(kernel.plan, cases=(case,)))


def one_case(kernel: Prepared) -> Prepared | None:
    """The kernel with its first case only."""
    return next((with_case(kernel, case) for case in cases_of(kernel)), None)


def executed(folder: Path, kernel: Prepared, inputs: dict[str, Matrix]) -> tuple[device.Program, device.Execution]:
    """Run the only case on the CPU device.

    raise (Unsupported, Malformed): the device doesn't know an instruction
    """
    (case,) = kernel.plan.cases
    assert case.launch is not None
    program = device.load_program((folder / f"{kernel.stem}.ptx").read_text(encoding="utf-8"), kernel.entry)
    execution = device.run(
        program,
        case.launch,
        arguments(case),
        buffers(case, inputs),
        device.Options(
            budget=full_budget(case),
            symbols=kernel.named(case.symbols),
            state=kernel.named(constants(case)),
            warp_races=Severity.ERROR,
        ),
    )
    return program, execution


def _shared_races(folder: Path, kernel: Prepared) -> int | None:
    """How many pairs of lines race in shared memory on the CPU device; None where it does not know an instruction."""
    (case,) = kernel.plan.cases
    try:
        program, execution = executed(folder, kernel, make_inputs(case, seed=1))
    except (device.Unsupported, device.Malformed):
        return None
    shared = {plain_name(name) for name, each in program.variables.items() if each.space == "shared"}
    races = (each for each in execution.findings if each.kind is Verdict.DATA_RACE)
    return sum(_variable(each) in shared for each in races)


def _variable(finding: Finding) -> str:
    """The variable that a finding's example is an element of."""
    element = finding.example.element if finding.example is not None else None
    return (element or "").split("[")[0]


def run(folder: Path) -> None:
    """Let racecheck watch every kernel, some at once."""
    kernels = read(folder).kernels
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        counts = pool.map(lambda kernel: watch("racecheck", folder, kernel), kernels)
        found = dict(zip([kernel.stem for kernel in kernels], counts, strict=True))
    (folder / _REPORTS).write_text(json.dumps(found), encoding="utf-8")


def rows(folder: Path) -> list[Row]:
    """What both found, kernel by kernel."""
    ours = json.loads((folder / _FINDINGS).read_text(encoding="utf-8"))
    theirs = json.loads((folder / _REPORTS).read_text(encoding="utf-8"))
    expected = expected_verdicts()
    return [
        Row(kernel.name, expected.get(kernel.name, "accepted"), ours[kernel.stem], theirs[kernel.stem])
        for kernel in read(folder).kernels
    ]


def expected_verdicts() -> dict[str, str]:
    return {entry["name"]: entry["verdict"] for entry in _entries()}


def expected_mistakes() -> dict[str, str]:
    return {entry["name"]: entry.get("mistake", "") for entry in _entries()}


def _entries() -> list[dict[str, str]]:
    entries: list[dict[str, str]] = tomllib.loads((CORPUS / "wrong.toml").read_text(encoding="utf-8"))["kernel"]
    return entries


def page(found: Sequence[Row], reasons: Mapping[str, str]) -> list[str]:
    """Two tables: sums by expected verdict, and every disagreement with its reason."""
    lines = [
        "| expected verdict | kernels | both find a race | neither does | they differ | racecheck did not finish |",
        "|---|---|---|---|---|---|",
        *(_sum(verdict, [row for row in found if row.expected == verdict]) for verdict in _verdicts(found)),
        _sum("**all**", found),
        "",
        "| kernel | expected verdict | CPU device: pairs of lines | racecheck: hazards | why they differ |",
        "|---|---|---|---|---|",
    ]
    for row in found:
        if row.theirs is not None and not row.agrees:
            why = reasons.get(row.name, "")
            lines.append(f"| `{row.name}` | {row.expected} | {row.ours} | {row.theirs} | {why} |")
    return lines


def _verdicts(found: Sequence[Row]) -> list[str]:
    order = [verdict.value for verdict in Verdict]
    return sorted({row.expected for row in found}, key=order.index)


def _sum(title: str, found: Sequence[Row]) -> str:
    ended = [row for row in found if row.theirs is not None]
    same = [row for row in ended if row.agrees]
    both = sum(bool(row.ours) for row in same)
    numbers = len(found), both, len(same) - both, len(ended) - len(same), len(found) - len(ended)
    return f"| {title} | {' | '.join(map(str, numbers))} |"


def compare(folder: Path, machine: Machine, day: dt.date) -> Result:
    """Let racecheck watch every kernel and put what it finds beside ours; raises NotRun where it cannot."""
    if shutil.which(PROGRAM) is None:
        raise NotRun(f"no {PROGRAM} here")
    run(folder)
    found = rows(folder)
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    different = [row.name for row in found if row.theirs is not None and not row.agrees]
    unexplained = [name for name in different if name not in reasons]
    lines = [f"{name}: they differ about races, and nothing says why" for name in unexplained]
    total = f"racecheck on {len(found)} kernels: {len(different)} disagreements, {len(unexplained)} unexplained"
    text = "\n".join([_INTRODUCTION.format(made_on=machine.made_on(day)), *page(found, reasons), ""])
    return Result(text, (*lines, total), bool(unexplained))


_INTRODUCTION = """\
# Data races on the CPU device, compared with racecheck

This page shows how far the CPU device and NVIDIA's racecheck find the same data races in shared memory.

Racecheck is a tool of compute-sanitizer, and runs on a GPU. The kernels are all of `tests/corpus` that compile, correct
or not, each at one size. Racecheck examines shared memory only, so races in global memory don't count here. It doesn't
finish if a kernel fails or hangs on the GPU. The comparison leaves out kernels that run forever. It also leaves out
kernels with instructions that the CPU device doesn't know.

`make test-gpu` makes this comparison and writes this page.

{made_on}
"""
