"""Grades everything with a known verdict on this machine, compiled here, and prints what differs.

`python -m tests.gpu.verdicts`: the corpus, wrong and right, the cheats and the exercises' kernels go the whole
way of a submission, on the GPU too where they pass; the hostile sources go to the compiler. Exit code 1 if anything
differs.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernels.compile.compilation import DEFAULT_ARCH, Compilation
from kernels.exercise import find_exercise, list_exercises
from kernels.exercise.wrong_kernels import wrong_kernels
from kernels.report import Report
from kernels.verdict import Severity, Verdict
from tests.cheats.cases import Honesty, cheats
from worker.bench.backlog import Graded, encoded, text_of, work_off
from worker.bench.place_process import gpu_processes
from worker.contract.messages import CheckWork
from worker.gpu.nvml import NoGPU, gpus
from worker.sandbox.compile_child import CompileRequest, compile_in
from worker.sandbox.limits import COMPILE_LIMITS, SandboxFailure
from worker.sandbox.process import Child
from worker.supervision.cores import cores

EXPLAINED = Path(__file__).with_name("verdicts.toml")
TESTS = Path(__file__).resolve().parent.parent
CORPUS, HOSTILE = TESTS / "corpus", TESTS / "hostile"
PARTS = ("wrong", "right", "cheats", "solutions", "exercises", "hostile")
TILES = (8, 16, 32)
SEED = "5eed" * 8
NO_FILE = "/nonexistent/file"
_SLOWEST, _TELL_EVERY = 8, 100


@dataclass(frozen=True, slots=True)
class Subject:
    """One source whose verdict is known.

    expected: the verdicts that it may have; for a hostile one, also "compiles" or "any"
    cpu: the verdict of the CPU device alone, where that is another
    gpu: the verdict at the ranking size, where that is another; `verdicts.toml` says why
    lines: of which the leading finding must name one; any will do where there are none
    """

    part: str
    name: str
    source: bytes
    expected: tuple[str, ...]
    exercise: str = "tiled"
    tile: int | None = None
    lines: frozenset[int] = frozenset()
    cpu: str = ""
    gpu: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it. `difference` is empty where that is what was expected."""

    subject: Subject
    seconds: float
    difference: str = ""


def subjects(part: str) -> list[Subject]:
    """All of one part."""
    return list(_FINDERS[part]())


def _wrong() -> Iterator[Subject]:
    for entry in _table(CORPUS / "wrong.toml")["kernel"]:
        lines = {entry.get("line"), entry.get("other_line"), *entry.get("also", ())} - {None}
        source = (CORPUS / "wrong" / f"{entry['name']}.cu").read_bytes()
        expected = (entry["verdict"],)
        yield Subject("wrong", entry["name"], source, expected, entry["exercise"], lines=frozenset(lines))


def _right() -> Iterator[Subject]:
    """Each with every tile of the list that its exercise allows, else with the exercise's own."""
    explained = _table(EXPLAINED)
    for entry in _table(CORPUS / "right.toml")["kernel"]:
        name, exercise = entry["name"], find_exercise(entry["exercise"], ())
        source = (CORPUS / "right" / f"{name}.cu").read_bytes()
        gpu = explained.get(name, {}).get("verdict", "")
        tiles: list[int | None] = [tile for tile in TILES if tile in exercise.tiles]
        for tile in tiles or [None]:
            yield Subject("right", name, source, ("accepted",), exercise.name, tile, gpu=gpu)


def _cheats() -> Iterator[Subject]:
    for each in cheats(*Honesty):
        expected = tuple(verdict.value for verdict in each.grade)
        source = each.path.read_bytes()
        yield Subject("cheats", each.name, source, expected, each.exercise, each.tile, cpu=each.cpu.value)


def _solutions() -> Iterator[Subject]:
    for exercise in list_exercises():
        source = exercise.solution.read_bytes()
        yield Subject("solutions", exercise.name, source, ("accepted",), exercise.name)


def _exercises() -> Iterator[Subject]:
    """The incorrect kernels in the folders of exercises, and the correct ones next to their solutions."""
    for exercise in list_exercises():
        for file in sorted(exercise.root.glob("right/*.cu")):
            yield Subject("exercises", file.stem, file.read_bytes(), ("accepted",), exercise.name)
        for each in wrong_kernels(exercise):
            lines = frozenset([] if each.line is None else [each.line])
            expected = tuple(verdict.value for verdict in each.verdicts)
            yield Subject("exercises", each.name, each.file.read_bytes(), expected, exercise.name, lines=lines)


def _hostile() -> Iterator[Subject]:
    for name, entry in _table(HOSTILE / "expected.toml").items():
        source = (HOSTILE / "sources" / f"{name}.cu").read_bytes().replace(b"@FILE@", NO_FILE.encode())
        yield Subject("hostile", name, source, (entry["outcome"],))


_FINDERS: dict[str, Callable[[], Iterator[Subject]]] = {
    "wrong": _wrong,
    "right": _right,
    "cheats": _cheats,
    "solutions": _solutions,
    "exercises": _exercises,
    "hostile": _hostile,
}


def _table(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade, and print the table of differences."""
    asked = _asked(arguments)
    chosen = [each for part in asked.parts for each in subjects(part)][asked.first :: asked.every]
    try:
        found = () if asked.cpu else gpus()
    except NoGPU as reason:
        print(f"not run: {reason}")
        return 0
    gpu = next(iter(found), None)
    chosen = [_on(each, each.cpu if gpu is None else each.gpu) for each in chosen]
    arch, device_class = (gpu.arch, gpu.device_class) if gpu is not None else (DEFAULT_ARCH, "")
    alike = [each.index for each in found if each.device_class == device_class]
    began = time.monotonic()
    outcomes = _graded([each for each in chosen if each.part != "hostile"], arch, device_class, alike)
    with ThreadPoolExecutor(cores()) as pool:
        hostile = [each for each in chosen if each.part == "hostile"]
        outcomes += pool.map(lambda each: _compiled(each, arch), hostile)
    where = gpu.name if gpu is not None else "the CPU device"
    print("\n".join(_lines(outcomes, where, time.monotonic() - began)))
    return int(any(outcome.difference for outcome in outcomes))


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.verdicts", description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="part", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--first", type=int, default=0, help="leave out so many at the beginning")
    parser.add_argument("--every", type=int, default=1, help="only each n-th of them")
    parser.add_argument("--cpu", action="store_true", help="without a GPU")
    return parser.parse_args(arguments)


def _on(subject: Subject, other: str) -> Subject:
    return replace(subject, expected=(other,)) if other else subject


def _graded(chosen: list[Subject], arch: str, device_class: str, numbers: Sequence[int]) -> list[Outcome]:
    """The whole way, many at once.

    numbers: of the GPUs that measure
    """
    outcomes: list[Outcome] = []

    def ended(graded: Graded) -> None:
        subject, seconds = chosen[graded.number], graded.seconds
        difference = "" if _as_expected(subject, graded.report) else _in_words(graded)
        outcomes.append(Outcome(subject, seconds, difference))
        if difference:
            print(_difference(outcomes[-1]), file=sys.stderr, flush=True)
        if len(outcomes) % _TELL_EVERY == 0:
            print(f"{len(outcomes)} of {len(chosen)}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        works = [
            CheckWork(
                encoded(each.source),
                text_of(find_exercise(each.exercise, ())),
                arch,
                device_class,
                SEED,
                each.tile,
                evidence=False,
            )
            for each in chosen
        ]
        with contextlib.ExitStack() as stack:
            gpus = [stack.enter_context(gpu_processes(number, device_class, arch, cache)) for number in numbers]
            work_off(works, cache, gpus, told=ended)
    return outcomes


def _as_expected(subject: Subject, report: Report | None) -> bool:
    if report is None:
        return False
    if report.unmade_checks and Verdict.UNSUPPORTED in subject.expected:
        return True  # the CPU device could not read it, and a GPU went on
    if report.verdict.value not in subject.expected:
        return False
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    lines = {line for each in errors if each.kind is report.verdict for line in (each.line, each.other_line)}
    return not subject.lines or bool(subject.lines & lines)


def _in_words(graded: Graded) -> str:
    report = graded.report
    if report is None:
        return f"no verdict: {graded.error}"
    first = next(iter(report.findings), None)
    return report.verdict.value + ("" if first is None else f", line {first.line}: {first.message}")


def _compiled(subject: Subject, arch: str) -> Outcome:
    """A hostile source before the compiler, with no rules of the course in between."""
    began = time.monotonic()
    request = CompileRequest(subject.source.decode(), "MatrixMulKernel", arch, kernels=("MatrixMulKernel",))
    try:
        with Child("compile", COMPILE_LIMITS) as child:
            made = compile_in(child, request)
    except SandboxFailure as failure:
        return Outcome(subject, time.monotonic() - began, str(failure))
    (expected,) = subject.expected
    found = "compiles" if isinstance(made, Compilation) else made[0].kind.value
    refusals = {"compiles", *(Verdict.REJECTED, Verdict.COMPILE_ERROR, Verdict.RESOURCE_LIMIT)}
    right = found == expected or (expected == "any" and found in refusals)
    return Outcome(subject, time.monotonic() - began, "" if right else found)


def _difference(outcome: Outcome) -> str:
    subject = outcome.subject
    tile = f", tile {subject.tile}" if subject.tile is not None else ""
    expected = " or ".join(subject.expected)
    return f"DIFFERS {subject.part} {subject.name}{tile}: expected {expected}, got {outcome.difference[:300]}"


def _lines(outcomes: list[Outcome], where: str, seconds: float) -> Iterator[str]:
    """The slowest, the differences, and the sum of all."""
    yield f"slowest of {len(outcomes)} on {where}:"
    for each in sorted(outcomes, key=lambda outcome: -outcome.seconds)[:_SLOWEST]:
        yield f"  {each.seconds:6.2f} s  {each.subject.part} {each.subject.name}"
    differing = [outcome for outcome in outcomes if outcome.difference]
    for outcome in sorted(differing, key=lambda outcome: (outcome.subject.part, outcome.subject.name)):
        yield _difference(outcome)
    for part in PARTS:
        of_part = [outcome for outcome in outcomes if outcome.subject.part == part]
        if of_part:
            wrong = sum(bool(outcome.difference) for outcome in of_part)
            yield f"{part}: {len(of_part) - wrong} of {len(of_part)} as expected"
    yield f"{len(outcomes)} in {seconds:.0f} s; {len(differing)} differ"


if __name__ == "__main__":
    sys.exit(main())
