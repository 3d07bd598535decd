"""Makes the numbered cases of a run: the same seed and number always give the same case."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.fuzz import ptx_mutations, source_mutations
from tests.fuzz.cases import Case, Layer
from tests.fuzz.seeds import PtxSeed, SourceSeed

_BLOCKS = ((8, 8), (8, 8), (16, 16), (16, 2), (33, 1), (1, 1), (8, 16))
_TILES = (None, None, None, 8, 16, 32, 1, 7)


@dataclass(frozen=True, slots=True)
class Shares:
    """How the cases are shared out: of each hundred `ptx` are PTX texts; of those texts one in `check` is judged,
    of the sources one in `grade` goes the whole way."""

    ptx: int = 60
    check: int = 25
    grade: int = 100


def make_case(
    seed: str, number: int, sources: tuple[SourceSeed, ...], texts: tuple[PtxSeed, ...], shares: Shares
) -> Case:
    """The case of that number."""
    random = Random(f"{seed}:{number}")
    if random.randrange(100) < shares.ptx:
        return _ptx(random, texts, shares)
    start = random.choice(sources)
    others = [random.choice(sources).data for _ in range(2)]
    grading = random.randrange(shares.grade) == 0
    # Few changes leave much that compiles; the whole way is for those.
    data = source_mutations.mutated(random, start.data, others, gentle=grading)
    layer = Layer.GRADE if grading else Layer.SOURCE
    return Case(layer, data, start.exercise, random.choice(_TILES) if not grading else None)


def _ptx(random: Random, texts: tuple[PtxSeed, ...], shares: Shares) -> Case:
    start = random.choice(texts)
    text = ptx_mutations.mutated(random, start.ptx, [random.choice(texts).ptx])
    return Case(
        layer=Layer.CHECK if random.randrange(shares.check) == 0 else Layer.RUN,
        data=text.encode("utf-8", "replace"),
        exercise=start.exercise,
        tile=random.choice((None, None, 0, 16)),
        entry=start.entry,
        block=random.choice(_BLOCKS),
        schedule=random.choice(("lockstep", "lockstep", "lockstep", "warp_serial")),
    )
