"""The self-test of a worker: kernels with known verdicts, a known ratio of speeds, and this machine's isolation.

A worker with an incorrect verdict must not grade, because its verdicts on students' kernels would mean nothing.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.measurement import Environment
from kernels.report import Report
from kernels.verdict import CPU_DEVICE, Verdict
from kernels.wire import to_plain
from worker.sandbox.limits import Isolation

FOLDER = Path(__file__).with_name("kernels")
EXERCISE = "tiled"

HOST_MEMORY = "kernels on this device can read ordinary memory of the runner process"
_SPEED, _RATIO, _RANKED = "speed", "speed ratio", "ranked"
_NO_WORK = "Don't use this worker."
_ALLOW = "If you trust everyone who submits, --allow-missing-isolation lets it grade."


@dataclass(frozen=True, slots=True)
class SelfTestKernel:
    """One kernel of the test.

    what: continues "a kernel that"
    tile: None for the exercise's own
    needs_gpu: its mistake shows only at a size that is too large for the CPU device
    """

    name: str
    source: bytes
    what: str
    verdict: Verdict
    tile: int | None = None
    needs_gpu: bool = False


@dataclass(frozen=True, slots=True)
class SpeedRule:
    """Two kernels of the test, and their least ratio of speeds."""

    fast: str
    slow: str
    at_least: float


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the result for people: the expected and the actual outcome."""

    name: str
    expected: str
    found: str
    seconds: float
    ok: bool


@dataclass(frozen=True, slots=True)
class Held:
    """The isolation of one step's process: "compile", "run" or "measure". gaps: the missing isolation as text."""

    step: str
    isolation: Isolation
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Facts about the machine. environment: None without a GPU."""

    isolation: Mapping[str, Isolation]
    environment: Environment | None = None


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The outcome of a self-test.

    device: "cpu", or the GPU's name
    problems: for each failed check, its meaning and what to do next
    warnings: weak isolation that doesn't make the worker unfit
    ok: whether the worker may grade
    """

    device: str
    checks: tuple[Check, ...]
    isolation: tuple[Held, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    ok: bool
    environment: Environment | None = None


Grade = Callable[[SelfTestKernel], Report]
Progress = Callable[[str], None]


def selftest_kernels() -> tuple[tuple[SelfTestKernel, ...], SpeedRule]:
    """The kernels in order, and the rule for speeds."""
    table = tomllib.loads((FOLDER / "expected.toml").read_text("utf-8"))
    kernels = tuple(_kernel(name, entry) for name, entry in table["kernels"].items())
    return kernels, SpeedRule(**table["speed"])


def _kernel(name: str, entry: Mapping[str, Any]) -> SelfTestKernel:
    return SelfTestKernel(
        name=name,
        source=(FOLDER / f"{entry.get('file', name)}.cu").read_bytes(),
        what=entry["what"],
        verdict=Verdict(entry["verdict"]),
        tile=entry.get("tile"),
        needs_gpu=entry.get("needs_gpu", False),
    )


def run_selftest(
    grade: Grade,
    surroundings: Callable[[], Surroundings],
    *,
    gpu: bool = False,
    allow_gaps: bool = False,
    progress: Progress = lambda _: None,
) -> SelfTest:
    """Grade every kernel that this machine can run, and check the verdicts.

    surroundings: returns the steps' isolation; if it fails, that counts as a problem
    gpu: whether `grade` measures
    allow_gaps: the operator accepts missing isolation
    """
    kernels, rule = selftest_kernels()
    outcomes = [_outcome(kernel, grade, progress, gpu=gpu) for kernel in kernels if gpu or not kernel.needs_gpu]
    if gpu:
        reports = {outcome.kernel.name: outcome.report for outcome in outcomes}
        outcomes += [_measures(outcomes[0]), _ratio(rule, reports)]
    problems = [outcome.problem for outcome in outcomes if outcome.problem]
    progress("checking the isolation")
    try:
        found = surroundings()
    except Exception as error:  # noqa: BLE001 - the test reports any error that keeps the processes from starting
        found = Surroundings({})
        problems.append(f"The sandboxed processes don't start ({_said(error)}). {_NO_WORK} {_LOOK}")
    environment = found.environment
    held = tuple(Held(step, isolation, isolation.missing()) for step, isolation in found.isolation.items())
    gaps = [f"Step {each.step}: {gap}." for each in held for gap in each.gaps]
    if not allow_gaps:
        problems += [f"{gap} {_NO_WORK} {_ALLOW}" for gap in gaps]
    return SelfTest(
        device=environment.device if environment is not None else CPU_DEVICE,
        checks=tuple(outcome.check for outcome in outcomes),
        isolation=held,
        problems=tuple(problems),
        warnings=(*(gaps if allow_gaps else ()), *_warnings(environment)),
        ok=not problems and all(outcome.check.ok for outcome in outcomes),
        environment=environment,
    )


def to_json(result: SelfTest) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(result)
    return plain


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A check with its kernel and report. problem: "" if it passed."""

    kernel: SelfTestKernel
    check: Check
    report: Report | None = None
    problem: str = ""


def _outcome(kernel: SelfTestKernel, grade: Grade, progress: Progress, *, gpu: bool) -> _Outcome:
    progress(f"a kernel that {kernel.what}")
    started = time.monotonic()
    report = None
    try:
        report = grade(kernel)
        found = report.verdict.value
    except Exception as error:  # noqa: BLE001 - the test reports a failure and continues
        found = _said(error)
    ok = found == kernel.verdict.value
    check = Check(kernel.name, kernel.verdict.value, found, round(time.monotonic() - started, 3), ok)
    return _Outcome(kernel, check, report, "" if ok else _problem(kernel, found, report, gpu=gpu))


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


_LOOK = 'See docs/troubleshooting.md, "Grading doesn\'t start".'
_AGAIN = (
    "Reinstall Tilelab (`make clean`, then `make run`) and test again. If this does not help, send the output of "
    "--json to Tilelab's maintainers."
)
_DRIVER = "Check with `nvidia-smi` that the device is healthy and not in use. Then test again."


def _problem(kernel: SelfTestKernel, found: str, report: Report | None, *, gpu: bool) -> str:
    whom = f"{kernel.name}: a kernel that {kernel.what}"
    if report is None:
        return f"{whom} could not be graded ({found}). {_NO_WORK} {_LOOK}"
    if report.verdict is Verdict.SYSTEM_ERROR:
        return f"{whom} ended in a system error ({report.message}). {_NO_WORK} {_DRIVER if gpu else _LOOK}"
    if report.verdict is Verdict.ACCEPTED:
        return f"{whom} was accepted, so this worker passes incorrect kernels. {_NO_WORK} {_AGAIN}"
    if kernel.verdict is Verdict.ACCEPTED:
        also = f" {_DRIVER}" if gpu else ""
        return f"{whom} was not accepted ({found}: {report.message}) {_NO_WORK}{also} {_AGAIN}"
    return f"{whom} got {found} instead of {kernel.verdict}, so students would see false reasons. {_NO_WORK} {_AGAIN}"


def _measures(right: _Outcome) -> _Outcome:
    """Check that the first kernel, which is correct, got a speed that can be ranked."""
    found = right.report.measurement if right.report is not None else None
    if found is None:
        text, problem = "none", f"The accepted kernel got no speed. {_NO_WORK} {_DRIVER}"
    elif not found.ranked:
        why = " ".join(found.remarks)
        text, problem = "not ranked", f"The accepted kernel's speed is not ranked: {why} {_NO_WORK} {_DRIVER}"
    else:
        text, problem = _RANKED, ""
    check = Check(_SPEED, _RANKED, text, 0.0, not problem)
    return _Outcome(right.kernel, check, None, problem)


def _ratio(rule: SpeedRule, reports: Mapping[str, Report | None]) -> _Outcome:
    """Check that coalescing and tiling speed up a kernel, as on every device."""
    fast, slow = (_milliseconds(reports.get(name)) for name in (rule.fast, rule.slow))
    kernel = next(each for each in selftest_kernels()[0] if each.name == rule.slow)
    expected = f"{rule.at_least:g} times or more"
    if fast is None or slow is None:
        problem = f"Two speeds to compare are missing. {_NO_WORK} Correct the other problems first."
        return _Outcome(kernel, Check(_RATIO, expected, "none", 0.0, ok=False), None, problem)
    times = slow / fast
    ok = times >= rule.at_least
    problem = (
        f"The tiled kernel is only {times:.1f} times as fast as the uncoalesced one. Every device should show "
        f"{expected}, so these times can't be trusted. {_NO_WORK} {_DRIVER}"
    )
    return _Outcome(kernel, Check(_RATIO, expected, f"{times:.1f} times", 0.0, ok), None, "" if ok else problem)


def _milliseconds(report: Report | None) -> float | None:
    found = report.measurement if report is not None else None
    return found.ms_median if found is not None and found.ms_median > 0 else None


def _warnings(environment: Environment | None) -> Iterator[str]:
    if environment is not None and environment.host_memory:
        yield f"On this machine, {HOST_MEMORY}. This process runs for only one submission and has no secrets."
