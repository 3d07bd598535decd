"""What held a backlog up, from what its parts did."""

from __future__ import annotations

import pytest

from worker.bench.backlog import Backlog, Graded, Step
from worker.bench.throughput import Throughput, binds, throughput
from worker.contract.messages import StepKind, StepResult, Ticket


def turn(gpu: int | None, begun: float, ready: float | None, ended: float, busy_ms: float | None) -> Step:
    result = StepResult(Ticket(0, StepKind.MEASURE, ""), "", None, busy_ms=busy_ms or 0.0)
    return Step(result, gpu, begun, ready, ended)


def of(*turns: Step, gpus: int = 1, cpu: float = 4.0, step: float = 1.0) -> Throughput:
    checks = [turn(None, 0.0, None, n, None) for n in range(3)]
    rest = (turns, (), ())
    graded = tuple(Graded(n, (check, *rest[n])) for n, check in enumerate(checks))
    return throughput(Backlog(graded, 10.0, gpus, 2, cpu, {"run": 3 * step}))


def test_the_shares_of_a_gpu_add_up_to_its_time():
    found = of(turn(0, 0.0, 1.0, 3.0, 1500.0), turn(0, 5.0, 5.0, 6.0, 500.0))
    (lane,) = found.lanes
    assert lane.kernels == 2
    assert [lane.busy, lane.handling, lane.waiting, lane.idle] == pytest.approx([0.2, 0.1, 0.1, 0.6])


def test_time_of_two_slots_on_a_gpu_counts_once():
    (lane,) = of(turn(0, 0.0, 1.0, 4.0, 1000.0), turn(0, 2.0, 2.0, 6.0, 2000.0), turn(0, 7.0, 8.0, 9.0, 1000.0)).lanes
    assert [lane.busy, lane.handling, lane.waiting, lane.idle] == pytest.approx([0.4, 0.2, 0.2, 0.2])


def test_every_gpu_has_its_own_turns():
    found = of(turn(0, 0.0, 0.0, 10.0, 8000.0), turn(1, 0.0, 0.0, 10.0, 4000.0), gpus=2)
    assert [lane.busy for lane in found.lanes] == pytest.approx([0.8, 0.4])
    assert found.busy == pytest.approx(0.6)


def test_a_turn_for_which_no_process_started_was_all_waiting():
    (lane,) = of(turn(0, 2.0, None, 6.0, None)).lanes
    assert [lane.waiting, lane.handling, lane.idle] == pytest.approx([0.4, 0.0, 0.6])


def test_processor_time_is_by_step_and_the_rest_is_other():
    found = of(cpu=4.0)
    assert found.cpu_seconds == {"run": 3.0, "other": 1.0}
    assert found.cores_busy == pytest.approx(4.0 / 20)


def test_only_verdicts_count_as_verdicts():
    found = of()
    assert (found.per_minute, found.verdicts) == (0.0, {"system_error": 3})


def test_a_gpu_that_waits_for_who_has_its_kernels_does_not_bind():
    """As two in one host do, whose timed launches wait for starts under way."""
    said = binds(of(turn(0, 0.0, 0.1, 9.9, 6000.0), turn(1, 0.0, 0.1, 9.9, 5000.0), gpus=2))
    assert "Bottleneck: the GPU. " not in said
    assert said.startswith("Bottleneck: the GPU processes. The GPU ran 55% of the time, and waited 43% for a process")
    assert "starting GPU processes" in binds(of(turn(0, 0.0, 4.0, 9.9, 5500.0)))


def test_what_binds():
    assert "Bottleneck: the GPU. " in binds(of(turn(0, 0.0, 0.1, 9.5, 9000.0)))
    assert "starting GPU processes" in binds(of(turn(0, 0.0, 9.0, 9.5, 400.0)))
    assert "the processor" in binds(of(turn(0, 0.0, 0.0, 1.0, 900.0), cpu=18.0, step=5.0))
    alone = Backlog((Graded(0, (turn(None, 0.0, None, 1.0, None),)),), 10.0, 0, 1, 9.0, {"run": 9.0})
    assert "the processor" in binds(throughput(alone))
    assert "no GPU" in binds(throughput(alone))
    assert "No bottleneck" in binds(of(turn(0, 0.0, 0.0, 1.0, 900.0), cpu=5.0))
