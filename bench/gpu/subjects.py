"""The kernels to measure: rows of the reference, the ladder, and a backlog like a course's."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernels.exercise import find_exercise
from worker.bench.rounds import ladder as known_kernels

HERE = Path(__file__).parent
KERNELS = HERE / "kernels"
CORPUS = HERE.parent.parent / "tests" / "corpus"


@dataclass(frozen=True, slots=True)
class Subject:
    """One source file.

    expected: its verdict; "" if unknown
    variant: number of the kernel among those with this name: its texts differ only in names and comments
    """

    name: str
    source: bytes
    exercise: str = "tiled"
    tile: int | None = None
    expected: str = "accepted"
    variant: int = 0


RIGHT = Subject("tiled, 32x32", find_exercise("tiled").solution.read_bytes(), tile=32)


@dataclass(frozen=True, slots=True)
class Reference:
    """One row of the reference. `gflops` by Width."""

    subject: Subject
    gflops: Mapping[int, float] = field(default_factory=dict)


def references() -> list[Reference]:
    """Return the rows, in order."""
    rows = tomllib.loads((HERE / "reference.toml").read_text(encoding="utf-8"))["row"]
    return [Reference(_subject(row), {int(n): speed for n, speed in row["gflops"].items()}) for row in rows]


def cublas_reference() -> dict[int, float]:
    """Return GFLOPS of cuBLAS by Width."""
    whole = tomllib.loads((HERE / "reference.toml").read_text(encoding="utf-8"))
    return {int(n): speed for n, speed in whole["cublas"]["gflops"].items()}


def _subject(row: Mapping[str, str]) -> Subject:
    source = row["source"]
    if source.startswith("solution of "):
        text = find_exercise(source.removeprefix("solution of "), ()).solution.read_bytes()
    elif source == "top of the ladder":
        text = ladder()[-1].source
    else:
        text = (KERNELS / source).read_bytes()
    tile = row.get("tile")
    return Subject(row["name"], text, row["exercise"], int(tile) if tile is not None else None)


def ladder(exercise: str = "tiled") -> list[Subject]:
    """Return the rungs, the lowest first."""
    known = known_kernels(find_exercise(exercise))
    return [Subject(name, source, exercise) for name, source in known.items()]


@dataclass(frozen=True, slots=True)
class Cheat:
    """A kernel that tries to be accepted, or to do harm.

    kind: what it tries
    honesty: "cheat" if it must not be accepted; "trick" if it is correct
    gpu: the verdicts that the GPU may give
    grade: the verdicts that a grade may give
    """

    subject: Subject
    kind: str
    honesty: str
    gpu: frozenset[str]
    grade: frozenset[str]


def cheats() -> list[Cheat]:
    """Return the kernels of `tests/cheats`; cheats come before tricks."""
    from tests.cheats.cases import Honesty
    from tests.cheats.cases import cheats as listed

    return [
        Cheat(
            Subject(each.name, each.path.read_bytes(), each.exercise, each.tile),
            each.kind,
            each.honesty.value,
            frozenset(each.gpu),
            frozenset(each.grade),
        )
        for each in listed(*Honesty)
    ]


def corpus() -> list[Subject]:
    """Return every kernel of `tests/corpus`, with its required verdict and its exercise's own tile."""
    found = []
    for kind in ("wrong", "right"):
        for entry in tomllib.loads((CORPUS / f"{kind}.toml").read_text(encoding="utf-8"))["kernel"]:
            text = (CORPUS / kind / f"{entry['name']}.cu").read_bytes()
            found.append(Subject(entry["name"], text, entry["exercise"], None, entry.get("verdict", "accepted")))
    return found


MIXTURE: Mapping[str, float] = {
    "tiled": 0.5,
    "naive": 0.15,
    "top": 0.10,
    "conflicts": 0.05,
    "wrong, found on the CPU": 0.10,
    "wrong, found on the GPU": 0.10,
}
"""The mixture of a backlog."""


def backlog(number: int, seed: int = 4) -> list[Subject]:
    """Return that many submissions in a mixed order, no two with the same text."""
    numbers = random.Random(seed)
    kinds = [kind for kind, share in MIXTURE.items() for _ in range(round(share * number))]
    kinds += ["tiled"] * (number - len(kinds))
    numbers.shuffle(kinds)
    makers = {kind: _endless(kind) for kind in MIXTURE}
    return [_signed(next(makers[kind]), place) for place, kind in enumerate(kinds[:number])]


def _signed(subject: Subject, place: int) -> Subject:
    """Add a student's name."""
    line = f"// submitted by student {place:03d}\n".encode()
    return replace(subject, source=line + subject.source)


def _endless(kind: str) -> Iterator[Subject]:
    """Yield sources of one kind in turn, with different names each time."""
    turn = 0
    while True:
        for variant, subject in enumerate(_KINDS[kind]()):
            turn += 1
            yield replace(subject, name=kind, source=_renamed(subject.source, turn), variant=variant)


_NAMES: tuple[Mapping[str, str], ...] = (
    {},
    {"Mds": "As", "Nds": "Bs", "Pvalue": "sum"},
    {"Mds": "tileM", "Nds": "tileN", "Row": "r", "Col": "c"},
    {"Mds": "sM", "Nds": "sN", "Pvalue": "acc", "ph": "m", "Row": "row", "Col": "col"},
)


def _renamed(source: bytes, turn: int) -> bytes:
    text = source.decode()
    for name, other in _NAMES[turn % len(_NAMES)].items():
        if not re.search(rf"\b{other}\b", text):
            text = re.sub(rf"\b{name}\b", other, text)
    return text.encode()


def _of(exercise: str) -> str:
    return find_exercise(exercise, ()).solution.read_text(encoding="utf-8")


def _kernel(name: str) -> bytes:
    return (KERNELS / name).read_bytes()


def _tiled() -> list[Subject]:
    corpus = ("tiled_padded_rows", "tiled_ternary_padding", "tiled_backwards")
    texts = [(CORPUS / "right" / f"{name}.cu").read_bytes() for name in corpus]
    solution = _of("tiled").encode()
    return [Subject("", text, tile=tile) for text in (solution, solution, *texts) for tile in (16, 32, 8)]


def _naive() -> list[Subject]:
    return [Subject("", _kernel(name)) for name in ("naive_16.cu", "naive_32.cu")]


def _top() -> list[Subject]:
    return ladder()[-2:]


def _conflicts() -> list[Subject]:
    return [Subject("", (CORPUS / "right" / "tiled_transposed_tiles.cu").read_bytes(), tile=32)]


def _wrong_on_cpu() -> list[Subject]:
    """Return typical mistakes: a missing barrier, no zeros past the edge, an unknown name, no bounds check."""
    text = _of("tiled")
    head, tail = text.rsplit("__syncthreads();", 1)
    return [
        Subject("", (head + tail).encode(), tile=16, expected="data_race"),
        Subject("", text.replace(": 0.0f;", ": 1.0f;").encode(), tile=16, expected="wrong_answer"),
        Subject("", text.replace("int tx =", "int t =").encode(), tile=16, expected="compile_error"),
        Subject("", _of("tiled-square").encode(), tile=16, expected="out_of_bounds"),
    ]


def _wrong_on_gpu() -> list[Subject]:
    """Return kernels that are correct at every size on the CPU device, but not on the GPU."""
    text = _of("tiled")
    phases = "int phases = (Width + TILE_WIDTH - 1) / TILE_WIDTH;"
    row = "int Row = blockIdx.y * TILE_WIDTH + ty;"
    assert phases in text
    assert row in text
    one_less = text.replace(phases, f"{phases}\n    if (Width > 1000) phases -= 1;")
    not_the_lower_half = text.replace(row, f"{row}\n    if (Row > 1024) Row = 1024;")
    return [
        Subject("", one_less.encode(), tile=32, expected="wrong_answer"),
        Subject("", not_the_lower_half.encode(), tile=16, expected="wrong_answer"),
    ]


_KINDS = {
    "tiled": _tiled,
    "naive": _naive,
    "top": _top,
    "conflicts": _conflicts,
    "wrong, found on the CPU": _wrong_on_cpu,
    "wrong, found on the GPU": _wrong_on_gpu,
}
