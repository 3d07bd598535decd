"""Hostile sources, put to the sandboxed compiler with no lexical check before it."""

from __future__ import annotations

import os
import time
import tomllib
from pathlib import Path

import pytest

from kernels.compile import ptx_shape
from kernels.compile.compilation import Compilation
from kernels.verdict import Verdict
from tests.marks import first_of_each, linux
from tests.worker.kept_processes import KeptChild
from worker.sandbox.compile_child import CompileRequest, compile_in
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


# For a compiler that takes many of them.
REPEATED = Limits(wall_seconds=20, cpu_seconds=60, memory_bytes=2**31)


def request_of(source: str) -> CompileRequest:
    return CompileRequest(source, "MatrixMulKernel", "sm_90", kernels=("MatrixMulKernel",))


def outcome_of(source: str):
    with Child("compile", LIMITS) as child:
        return compile_in(child, request_of(source))


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


@pytest.mark.parametrize(
    "name",
    first_of_each(
        sorted(EXPECTED), lambda name: EXPECTED[name]["outcome"], str, "the short suite has one of each outcome"
    ),
)
def test_a_hostile_source_ends_as_expected_inside_its_limits_and_learns_nothing(name, canary):
    started = time.monotonic()

    result = outcome_of(SOURCES[name].replace(PLACEHOLDER, str(canary)))

    assert time.monotonic() - started < LIMITS.wall_seconds + 30
    assert CANARY not in repr(result)
    expected = EXPECTED[name]["outcome"]
    if isinstance(result, Compilation):
        assert expected in {"compiles", "any"}
        assert CANARY.encode() not in result.cubin
        assert ptx_shape.entries(result.ptx) == (result.entry,)
    else:
        assert result
        assert expected == result[0].kind or (expected == "any" and result[0].kind in REFUSALS)


@pytest.mark.long("compiles more than thirty sources in six states; the short suite has one of them in one state")
def test_no_answer_tells_what_is_at_a_path(canary):
    """One compiler for all sources of each state, so that nothing it may keep is from another state."""
    asking = {name: text for name, text in SOURCES.items() if PLACEHOLDER in text}

    def outcomes():
        with KeptChild("compile", REPEATED) as child:
            found = {
                name: compile_in(child, request_of(text.replace(PLACEHOLDER, str(canary))))
                for name, text in asking.items()
            }
            assert child.alive()
            return found

    with_file = outcomes()
    canary.chmod(0)
    unreadable = outcomes()
    canary.unlink()
    with_nothing = outcomes()
    canary.mkdir()
    with_folder = outcomes()
    canary.rmdir()
    os.mkfifo(canary)
    with_pipe = outcomes()

    assert len(asking) >= 30
    for name, found in with_file.items():
        assert unreadable[name] == with_nothing[name] == with_folder[name] == with_pipe[name] == found, name
