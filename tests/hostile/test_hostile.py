"""Hostile sources, put to the sandboxed compiler with no lexical check before it."""

from __future__ import annotations

import os
import time
import tomllib
from pathlib import Path

import pytest

from kernels import ptx_shape
from kernels.compile import Compilation
from kernels.verdict import Verdict
from tests.marks import linux
from worker.sandbox.compiling import CompileRequest, compile_in
from worker.sandbox.limits import Limits
from worker.sandbox.process import Child

pytestmark = linux

FOLDER = Path(__file__).parent
EXPECTED = tomllib.loads((FOLDER / "expected.toml").read_text())
SOURCES = {path.stem: path.read_bytes().decode() for path in (FOLDER / "sources").glob("*.cu")}
PLACEHOLDER = "@FILE@"
CANARY = "tilelab_canary_5a1d"
# Less than a grader allows, so that the bombs take less of the tests' time.
LIMITS = Limits(wall_seconds=20, cpu_seconds=3, memory_bytes=2**30)
REFUSALS = {Verdict.REJECTED, Verdict.COMPILE_ERROR, Verdict.RESOURCE_LIMIT}


def outcome_of(source: str):
    with Child("compile", LIMITS) as child:
        request = CompileRequest(source, "MatrixMulKernel", "sm_90", kernels=("MatrixMulKernel",))
        return compile_in(child, request)


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """A secret file, also in the environment and beside the source, if the compiler should look there."""
    path = tmp_path / "canary.txt"
    path.write_text(f"{CANARY} {CANARY}_{CANARY}\n")
    monkeypatch.setenv("TILELAB_SECRET", CANARY)
    monkeypatch.chdir(tmp_path)
    return path


def test_every_source_has_an_expected_outcome_and_the_other_way_round():
    assert set(SOURCES) == set(EXPECTED)
    assert len(SOURCES) >= 40


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_hostile_source_ends_as_expected_inside_its_limits_and_learns_nothing(name, canary):
    started = time.monotonic()

    result = outcome_of(SOURCES[name].replace(PLACEHOLDER, str(canary)))

    assert time.monotonic() - started < LIMITS.wall_seconds + 5
    assert CANARY not in repr(result)
    expected = EXPECTED[name]["outcome"]
    if isinstance(result, Compilation):
        assert expected in {"compiles", "any"}
        assert CANARY.encode() not in result.cubin
        assert ptx_shape.entries(result.ptx) == (result.entry,)
    else:
        assert result
        assert expected == result[0].kind or (expected == "any" and result[0].kind in REFUSALS)


@pytest.mark.parametrize("name", sorted(name for name, text in SOURCES.items() if PLACEHOLDER in text))
def test_no_answer_tells_what_is_at_a_path(name, canary):
    source = SOURCES[name].replace(PLACEHOLDER, str(canary))
    with_file = outcome_of(source)
    canary.chmod(0)
    unreadable = outcome_of(source)
    canary.unlink()
    with_nothing = outcome_of(source)
    canary.mkdir()
    with_folder = outcome_of(source)
    canary.rmdir()
    os.mkfifo(canary)
    with_pipe = outcome_of(source)

    assert with_file == unreadable == with_nothing == with_folder == with_pipe
