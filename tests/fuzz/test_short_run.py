"""A little of `make fuzz`, and all that it ever found."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.cases import Failure, outcome_of
from tests.fuzz.found import saved
from tests.fuzz.making import Shares, make_case
from tests.fuzz.seeds import PtxSeed, source_seeds
from tests.marks import linux

pytestmark = linux

ROOT = Path(__file__).resolve().parents[2]
FOUND = saved()


@pytest.mark.parametrize("name", FOUND)
def test_what_once_failed_fails_no_more(name):
    outcome = outcome_of(FOUND[name])

    assert not isinstance(outcome, Failure), outcome


def test_a_short_run_finds_nothing(tmp_path):
    options = ["40", "--seed", "brief", "--kernels", "5", "--keep", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert "no failure" in run.stdout.splitlines()[-1]
    assert {"source", "run", "check"} <= set(re.findall(r"^  (\w+) ", run.stdout, re.MULTILINE))


def test_a_seed_and_a_number_make_one_case():
    texts = (PtxSeed("plain", "tiled", ".entry k()\n{\n\tmov.u32 \t%r1, 4;\n\tret;\n}", "k"),)
    cases = [make_case("word", number, source_seeds(), texts, Shares()) for number in range(20)]

    assert cases == [make_case("word", number, source_seeds(), texts, Shares()) for number in range(20)]
    assert len({case.data for case in cases}) > 15


def test_a_crash_is_a_failure_and_is_kept_small(tmp_path, monkeypatch):
    from kernels import device
    from tests.fuzz import found

    def refuse(text, entry):
        if "poison" in text:
            raise KeyError("poison")
        raise device.Malformed("as usual")

    monkeypatch.setattr(device, "load_program", refuse)
    case = make_case("word", 0, (), (PtxSeed("plain", "tiled", "a\nb\npoison\nc", "k"),), Shares(ptx=100))
    fields = {name: getattr(case, name) for name in type(case).__slots__}
    case = type(case)(**fields | {"data": b"a\nb\npoison\nc", "layer": "run"})

    failure = outcome_of(case)

    assert isinstance(failure, Failure)
    assert "KeyError" in failure.key
    small = found.smaller(case, failure)
    assert small.data == b"poison"
    path = found.save(small, failure, tmp_path)
    assert found.saved(tmp_path) == {path.name: small}
