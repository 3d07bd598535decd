"""What is mutated: the kernels of the corpus, the hostile sources, and the PTX that the compiler makes of them."""

from __future__ import annotations

import functools
import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

from kernels.compile.bundle import header_texts
from kernels.compile.compilation import Compilation, compile_source
from kernels.exercise import Exercise, find_exercise
from kernels.judging.plan import make_plan
from kernels.source.source_file import Source, read_source

TESTS = Path(__file__).resolve().parents[1]
CACHE = TESTS.parent / "build" / "fuzz"
ARCH = "sm_90"
SEED = "f022" * 8
# Where the PTX of a kernel is run with blocks of one shape only, it must hold in small blocks too.
PTX_TILE = 8


@dataclass(frozen=True, slots=True)
class SourceSeed:
    """One file to start from, and the exercise that it is handed in for."""

    name: str
    exercise: str
    data: bytes


@dataclass(frozen=True, slots=True)
class PtxSeed:
    """One compiled kernel, and all that a check of it needs."""

    name: str
    exercise: str
    ptx: str
    entry: str


@functools.cache
def exercise_of(name: str) -> Exercise:
    """The exercise of that name."""
    return find_exercise(name, ())


@functools.cache
def source_seeds() -> tuple[SourceSeed, ...]:
    """Corpus and hostile sources, in a fixed order."""
    found = []
    for kind in ("right", "wrong"):
        table = tomllib.loads((TESTS / "corpus" / f"{kind}.toml").read_text(encoding="utf-8"))
        for entry in table["kernel"]:
            path = TESTS / "corpus" / kind / f"{entry['name']}.cu"
            found.append(SourceSeed(entry["name"], entry["exercise"], path.read_bytes()))
    hostile = sorted((TESTS / "hostile" / "sources").glob("*.cu"))
    found += [SourceSeed(path.stem, "tiled", path.read_bytes()) for path in hostile]
    return tuple(found)


def ptx_seeds(most: int) -> tuple[PtxSeed, ...]:
    """Up to `most` kernels of the corpus, compiled; what was compiled once is kept under build/."""
    corpus = [seed for seed in source_seeds() if (TESTS / "corpus" / "right" / f"{seed.name}.cu").exists()]
    chosen = corpus[:: max(1, len(corpus) // most)][:most]
    return tuple(made for made in map(_compiled, chosen) if made is not None)


def _compiled(seed: SourceSeed) -> PtxSeed | None:
    key = hashlib.sha256(seed.data + ARCH.encode()).hexdigest()[:16]
    kept = CACHE / f"{seed.name}-{key}.json"
    if kept.exists():
        return PtxSeed(**json.loads(kept.read_text(encoding="utf-8")))
    made = compiled(seed)
    if made is None:
        return None
    ready = PtxSeed(seed.name, seed.exercise, made.ptx, made.entry)
    CACHE.mkdir(parents=True, exist_ok=True)
    fields = {name: getattr(ready, name) for name in PtxSeed.__slots__}
    kept.write_text(json.dumps(fields), encoding="utf-8")
    return ready


def compiled(seed: SourceSeed) -> Compilation | None:
    """The kernel of a trusted file, compiled in this process."""
    exercise = exercise_of(seed.exercise)
    source = read_source(seed.data, exercise)
    if not isinstance(source, Source):
        return None
    plan = make_plan(exercise, source, PTX_TILE, SEED)
    made = compile_source(
        source.text,
        exercise.kernel,
        ARCH,
        source.defines(exercise, plan.tile, plan.cases[0].sizes),
        exercise.fmad,
        headers=header_texts(source.text, CACHE / "headers"),
        kernels=source.kernels,
    )
    return made if isinstance(made, Compilation) else None
