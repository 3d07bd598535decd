"""A bench of a worker: what its rounds add up to, and its text."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from kernels.exercise import find_exercise
from kernels.rendering.text_style import Style
from kernels.wire import from_plain
from tests.marks import linux
from tests.worker.supplies import GpuPlace, Supply, measured
from worker.bench import rounds as subject
from worker.bench.rounds import Bench, WorkerBench, ladder, run_bench, to_json
from worker.bench.text import bench_text

pytestmark = linux

TILED = find_exercise("tiled")
SOLUTION = TILED.solution.read_bytes()
TWO = {"01_first": b"// first\n" + SOLUTION, "02_second": b"// second\n" + SOLUTION}
PLAIN = Style(width=100, colour=False, unicode=True)


def bench(monkeypatch, tmp_path: Path, times: list[float], rounds: int = 2) -> WorkerBench:
    monkeypatch.setattr(subject, "ladder", lambda exercise: TWO)
    left = itertools.chain(times)
    supply = Supply(lambda request: measured(request, next(left)))
    # One after the other, so that the times belong to the kernels in their order.
    return run_bench(Bench("sm_90", tmp_path, "gpu", [[GpuPlace(supply, "gpu")]], slots=1), TILED, rounds)


@pytest.mark.long("the short suite has the backlog that it grades with")
def test_every_rung_is_graded_once_a_round(monkeypatch, tmp_path):
    found = bench(monkeypatch, tmp_path, [2.0, 1.0, 2.02, 1.01])
    first, second = found.rungs
    assert (first.name, first.ms, first.verdicts) == ("01_first", (2.0, 2.02), ("accepted",))
    assert (second.name, second.ms, second.cublas_share) == ("02_second", (1.0, 1.01), 0.5)
    assert first.spread == pytest.approx(0.01)
    assert found.swapped == ()
    assert found.throughput.submissions == 4
    assert from_plain(WorkerBench, to_json(found)) == found
    text = bench_text(found, PLAIN)
    assert "The order was the same in both rounds." in text
    assert "1.00%" in text


@pytest.mark.long("the short suite has the backlog that it grades with")
def test_an_order_that_changes_is_told(monkeypatch, tmp_path):
    found = bench(monkeypatch, tmp_path, [2.0, 1.0, 1.0, 2.0])
    assert found.swapped == (("01_first", "02_second"),)
    assert "The order of 01_first and 02_second differed between rounds." in bench_text(found, PLAIN)


@pytest.mark.long("the short suite has the backlog that it grades with")
def test_without_a_gpu_kernels_are_only_checked(monkeypatch, tmp_path):
    monkeypatch.setattr(subject, "ladder", lambda exercise: TWO)
    found = run_bench(Bench("sm_90", tmp_path, ""), TILED, 1)
    assert found.device == "cpu"
    assert [rung.verdicts for rung in found.rungs] == [("accepted",), ("accepted",)]
    assert found.throughput.lanes == ()
    text = bench_text(found, PLAIN)
    assert "CPU device" in text
    assert "order" not in text


@pytest.mark.parametrize(("exercise", "rungs"), [("tiled", 10), ("tensor-cores", 7), ("naive", 0)])
def test_an_exercise_may_have_a_ladder(exercise, rungs):
    assert len(ladder(find_exercise(exercise))) >= rungs
