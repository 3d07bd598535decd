"""Reads small submissions for the exercise `tiled` and says what became of them."""

from __future__ import annotations

from kernels.exercise import find_exercise
from kernels.source.names import Evaluations
from kernels.source.source_file import Source, read_source
from kernels.verdict import Finding, Verdict

TILED = find_exercise("tiled")
BODY = "{ P[0] = Width; }\n"
KERNEL = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) " + BODY


def taken(text: str | bytes) -> Source:
    result = read_source(text.encode() if isinstance(text, str) else text, TILED)
    assert isinstance(result, Source), result
    return result


def refused(text: str | bytes) -> list[Finding]:
    result = read_source(text.encode() if isinstance(text, str) else text, TILED)
    assert isinstance(result, list)
    assert result
    assert {finding.kind for finding in result} == {Verdict.REJECTED}
    return result


def answered(**values: tuple[int, ...]) -> Evaluations:
    """The compiler's answer, the same for every case."""
    return Evaluations({frozenset(): values})


def only(text: str | bytes) -> Finding:
    findings = refused(text)
    assert len(findings) == 1, findings
    return findings[0]
