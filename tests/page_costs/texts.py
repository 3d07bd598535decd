"""Sources and experiment files of legal size that may make a page slow."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kernels.source.paste.decoding import LARGEST_SOURCE
from kernels.verdict import Finding, Verdict
from tests.kernels.facts_of import at
from tests.regexes.attacks import ALIKE, attacks
from tests.regexes.patterns import patterns

HEAD = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {\n"
CORPUS = Path(__file__).parents[1] / "corpus" / "wrong"
_ODD = ("\u202e", "é", "`", "```\n", "//!tilelab ", "#if 1\n", "/*", '"', "\t", "\r\n", "__shared__ float a[4];\n")
_LINES = ("for(;;){\n", "a[i]=b[j];\n", "s+=a*b;\n", "__syncthreads();\n", "if(x<y)\n", "}\n", "a=a*a;\n", "\n")
_SAID = (
    (Verdict.DATA_RACE, "T(0,0) reads `{0}[0][1]` at line 3. T(1,0) writes it in the same phase."),
    (Verdict.WRONG_ANSWER, "`P[0][0]` is 1, not 4 (16 of 16 elements incorrect). One tile is left out: k = 0 to 15."),
    (Verdict.WRONG_ANSWER, "`P[0][0]` is -4, not 4 (16 of 16 elements incorrect). In 1 of 2 failing cases: {0}."),
    (Verdict.OUT_OF_BOUNDS, "T(0,0) reads `{0}[17][0]`, which is outside the array (256 elements)."),
    (Verdict.UNINITIALIZED_READ, "T(0,0) reads `{0}[0][1]` before any thread has written it."),
    (Verdict.BARRIER_DIVERGENCE, "Some threads of the block wait here, others never come."),
    (Verdict.TIME_LIMIT, "The loop here runs too long."),
    (Verdict.INPUT_MODIFIED, "`{0}[0][1]` changed from 1 to 2."),
    (Verdict.REJECTED, "`main` can't be graded."),
)  # fmt: skip


def source(chance: random.Random) -> str:
    """A source: a kernel whose lines repeat, or pieces that repeat, up to the largest size."""
    size = int(LARGEST_SOURCE * chance.choice((0.1, 0.5, 0.95)))
    parts, used = [HEAD] if chance.random() < 0.7 else [], len(HEAD)
    while used < size:
        piece = _piece(chance)
        most = (size - used) // len(piece.encode()) or 1
        times = most if chance.random() < 0.5 else chance.randint(1, min(most, 2_000))
        parts.append(piece * times)
        used += len(piece.encode()) * times
    return "".join(parts).encode()[: LARGEST_SOURCE - 1].decode("utf-8", "ignore") or HEAD


def _piece(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.2:
        return chance.choice(ALIKE)
    if kind < 0.5:
        return "".join(chance.choices((*_LINES, *_ODD), k=chance.randint(1, 6)))
    if kind < 0.7:
        return chance.choice(_corpus())
    return "".join(chance.choice(_attacks()))


@cache
def _corpus() -> Sequence[str]:
    return [path.read_text() for path in sorted(CORPUS.glob("*.cu"))]


@cache
def _attacks() -> Sequence[tuple[str, str]]:
    found = [each for pattern in patterns() for each in attacks(pattern.text, pattern.flags)]
    return [(before, piece) for before, piece in found if "\0" not in before + piece]


def finding(chance: random.Random, text: str) -> Finding:
    """A mistake somewhere in the text."""
    kind, said = chance.choice(_SAID)
    last = text.count("\n") + 1
    line = chance.randint(1, last) if kind is not Verdict.WRONG_ANSWER else None
    name = chance.choice(("a", "P", "Mds", "a" * 300, "x_1"))
    other = chance.randint(1, last) if kind in (Verdict.DATA_RACE, Verdict.BARRIER_DIVERGENCE) else None
    example = at(f"{name}[{chance.randint(0, 40)}][{chance.randint(0, 40)}]")
    return Finding(kind, said.format(name), line, other, 100, example)


KERNEL = "".join(f"#define A{number} 1\n" for number in range(6)) + HEAD + "  P[0] = A0 + A1 + A2 + A3 + A4 + A5;\n}\n"
"""For an experiment with up to six axes."""


def experiment(chance: random.Random) -> str:
    """An experiment's file: many axes, values, constraints and comparisons."""
    axes = [
        f"A{number} = [{', '.join(map(str, range(1, chance.choice((2, 10, 100, 1_000)) + 1)))}]"
        for number in range(chance.randint(1, 6))
    ]
    compared = chance.choice(("A0 > 0", "A0 * A0 >= 1", "A0 < A0 + 1", "(((A0))) > 0", "A0 < 0", "0 < A0 < 2000"))
    rule = " and ".join([compared] * chance.choice((1, 10, 100, 1_000)))
    rules = [f'"r{number}" = "{rule}"' for number in range(chance.choice((0, 1, 8, 64)))]
    if chance.random() < 0.2:
        rules.append(chance.choice(("a.", '"a".')) * chance.choice((10, 1_000, 20_000)) + "a = 1")
    text = "\n".join(
        (
            "[experiment]", 'name = "costly"', 'exercise = "tiled"', 'kernels = ["a.cu"]', "[axes]", *axes,
            "[constraints]", *rules,
        )
    )  # fmt: skip
    return text if len(text) < 100_000 else text[:100_000]
