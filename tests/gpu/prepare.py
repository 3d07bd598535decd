"""Compiles all kernels that are compared and writes them into a folder, for a machine that may have no compiler."""

from __future__ import annotations

import contextlib
import json
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from kernels.compile import nvrtc
from kernels.compile.bundle import header_texts
from kernels.compile.compilation import Compilation, compile_source
from kernels.compile.diagnostics import Resources
from kernels.exercise import Exercise, find_exercise, list_exercises
from kernels.judging.plan import Plan, make_plan
from kernels.source.source_file import Source, read_source
from kernels.verdict import Finding
from kernels.wire import from_plain, to_plain
from worker.steps.source import read as read_with_compiler
from worker.steps.stages import SandboxedStages

PROBES = Path(__file__).parent / "probes"
CORPUS = Path(__file__).parent.parent / "corpus"
TILES = (8, 16, 32)
_INDEX = "kernels.json"

T = TypeVar("T")


class NotTaken(ValueError):
    """A kernel that should be right is refused or does not compile; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A kernel that is to be compared, with one tile."""

    name: str
    path: Path
    exercise: Exercise
    tile: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """One kernel compiled with one tile, and the cases that this compilation serves.

    Its code lies beside the index as STEM.ptx and STEM.cubin.

    names: variable of the module as the source calls it -> as the compiler does
    """

    name: str
    stem: str
    entry: str
    plan: Plan
    names: Mapping[str, str]
    resources: Resources

    def named(self, values: Mapping[str, T]) -> dict[str, T]:
        """What belongs to variables of the module, under the compiler's names."""
        return {self.names[name]: value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Folder:
    """What a prepared folder holds.

    compiler: the version of NVRTC
    """

    compiler: str
    architecture: str
    kernels: tuple[Prepared, ...]


def prepare(folder: Path, architecture: str) -> Folder:
    """Compile everything into `folder`; raises NVRTCUnavailable and NotTaken."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as headers:
        kernels = tuple(compile_one(folder, Path(headers), architecture, each) for each in right_kernels())
    made = Folder(nvrtc.installed_version(), architecture, kernels)
    write(folder, made)
    return made


def compile_corpus(
    folder: Path,
    architecture: str,
    kinds: Sequence[str] = ("wrong", "right"),
    *,
    wanted: Callable[[Mapping[str, Any]], bool] = lambda entry: True,
) -> Folder:
    """Compile every wanted kernel of the corpus that compiles, with its exercise's own tile."""
    folder.mkdir(parents=True, exist_ok=True)
    kernels = []
    with tempfile.TemporaryDirectory() as headers:
        for kind in kinds:
            entries = tomllib.loads((CORPUS / f"{kind}.toml").read_text(encoding="utf-8"))["kernel"]
            for entry in filter(wanted, entries):
                exercise = find_exercise(entry["exercise"])
                path = CORPUS / kind / f"{entry['name']}.cu"
                chosen = Chosen(entry["name"], path, exercise, exercise.tile)
                with contextlib.suppress(NotTaken):
                    kernels.append(compile_one(folder, Path(headers), architecture, chosen))
    return Folder(nvrtc.installed_version(), architecture, tuple(kernels))


def write(folder: Path, made: Folder) -> None:
    """Write the index of a folder whose kernels are there."""
    (folder / _INDEX).write_text(json.dumps(to_plain(made)), encoding="utf-8")


def read(folder: Path) -> Folder:
    """What was prepared in `folder`."""
    return from_plain(Folder, json.loads((folder / _INDEX).read_text(encoding="utf-8")))


PlanOf = Callable[[Exercise, Source, int], Plan]
"""Exercise, source and tile to what is to be run."""


def _own_plan(exercise: Exercise, source: Source, tile: int) -> Plan:
    return make_plan(exercise, source, tile, seed="0")


def right_kernels() -> Iterator[Chosen]:
    """Every kernel with every tile: the exercises' solutions, the corpus of right kernels, the probes."""
    for exercise in list_exercises():
        for tile in _tiles(exercise):
            yield Chosen(f"{exercise.name}: solution.cu", exercise.solution, exercise, tile)
    for entry in tomllib.loads((CORPUS / "right.toml").read_text(encoding="utf-8"))["kernel"]:
        exercise = find_exercise(entry["exercise"])
        for tile in _tiles(exercise):
            yield Chosen(entry["name"], CORPUS / "right" / f"{entry['name']}.cu", exercise, tile)
    naive = find_exercise("naive")
    for path in sorted(PROBES.glob("*.cu")):
        yield Chosen(f"probe: {path.stem}", path, naive, naive.tile)


def _tiles(exercise: Exercise) -> list[int]:
    return [tile for tile in TILES if tile in exercise.tiles]


@dataclass(frozen=True, slots=True)
class _Task:
    """A file in the form of a submission."""

    source: bytes
    exercise: Exercise
    arch: str
    cache: Path
    tile: int | None


def _source(task: _Task) -> Source | tuple[Finding, ...]:
    """The source, which needs the compiler only if its text alone doesn't give all values."""
    alone = read_source(task.source, task.exercise)
    if isinstance(alone, Source) and not alone.plan.asked:
        return alone
    with SandboxedStages() as stages:
        return read_with_compiler(task, stages)


def compile_one(
    folder: Path, headers: Path, architecture: str, chosen: Chosen, plan_of: PlanOf = _own_plan
) -> Prepared:
    """Compile one kernel into the folder; raises NotTaken."""
    name, exercise = chosen.name, chosen.exercise
    source = _source(_Task(chosen.path.read_bytes(), exercise, architecture, headers, chosen.tile))
    if not isinstance(source, Source):
        raise NotTaken(f"{name} is not taken: {source[0].message}")
    plan = plan_of(exercise, source, chosen.tile)
    served = plan.cases[0].module
    plan = replace(plan, cases=tuple(case for case in plan.cases if case.module == served))
    made = compile_source(
        source.text,
        exercise.kernel,
        architecture,
        source.defines(exercise, plan.tile, plan.cases[0].sizes),
        exercise.fmad,
        plan.module_symbols,
        headers=header_texts(source.text, headers),
        kernels=source.kernels,
    )
    if not isinstance(made, Compilation):
        raise NotTaken(f"{name} does not compile: {made[0].message}")
    stem = f"{name.replace(': ', '-').removesuffix('.cu')}-{chosen.tile}"
    (folder / f"{stem}.ptx").write_text(made.ptx, encoding="utf-8")
    (folder / f"{stem}.cubin").write_bytes(made.cubin)
    return Prepared(name, stem, made.entry, plan, made.globals, made.resources)
