"""Launches that no multiprocessor has room for."""

from __future__ import annotations

import pytest

from kernels.compile.diagnostics import Resources
from kernels.exercise import find_exercise
from kernels.judging.limits import launch_finding
from kernels.judging.plan import CasePlan, make_plan
from kernels.source.source_file import Source, read_source
from kernels.verdict import Verdict

TILED = find_exercise("tiled")
KERNEL = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {}\n"


def case_of(comment: str) -> CasePlan:
    source = read_source(f"// mine\n{comment}\n{KERNEL}".encode(), TILED)
    assert isinstance(source, Source)
    return make_plan(TILED, source, None, "00").cases[0]


def needs(*, registers: int = 32, shared: int = 0, cluster: tuple[int, ...] = ()) -> Resources:
    return Resources(registers, shared, 0, 0, 0, 0, 1, cluster)


@pytest.mark.parametrize(
    ("comment", "resources", "words", "line"),
    [
        ("//!tilelab shared=1024*1024", needs(), "1024 KiB of shared memory", 2),
        ("//!tilelab shared=4", needs(shared=48 * 1024), "at launch", 2),
        ("", needs(shared=48 * 1024 + 4), "of shared memory", None),
        ("//!tilelab block=(8,8)", needs(shared=50_000), "of shared memory", None),
        ("//!tilelab block=(32,32)", needs(registers=65), "73,728 registers", 2),
        ("//!tilelab shared=4", needs(registers=257), "A multiprocessor has 65,536", None),
        ("//!tilelab grid=(4) cluster=2", needs(cluster=(4, 1, 1)), "`__cluster_dims__` demands", 2),
        ("", needs(cluster=(16, 1, 1)), "at most 8 blocks", None),
        ("//!tilelab grid=(3,2)", needs(cluster=(2, 2, 1)), "grid.x is 3", None),
    ],
)
def test_what_is_too_much_is_said_where_it_is_asked_for(comment, resources, words, line):
    case = case_of(comment)

    found = launch_finding(case, resources)

    assert found is not None
    assert (found.kind, found.line) == (Verdict.RESOURCE_LIMIT, line)
    assert words in found.message
    assert found.example is not None
    assert found.example.case == case.name


@pytest.mark.parametrize(
    ("comment", "resources"),
    [
        ("", needs(shared=48 * 1024)),
        ("//!tilelab shared=48*1024", needs()),
        ("//!tilelab block=(32,32)", needs(registers=64)),
        ("//!tilelab block=(64,32)", needs(registers=255)),
        ("//!tilelab grid=(4,2) cluster=(2,2)", needs(cluster=(2, 2, 1))),
        ("//!tilelab grid=(4,2)", needs(cluster=(2, 2, 1))),
    ],
)
def test_what_fits_or_is_not_launched_at_all_is_no_finding(comment, resources):
    assert launch_finding(case_of(comment), resources) is None
