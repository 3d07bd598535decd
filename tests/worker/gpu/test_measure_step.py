"""The measure step on the CPU device, with kernels that are right, wrong, and worse."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kernels.verdict import CaseStatus, Verdict, decide
from kernels.wire import from_plain, to_plain
from tests.marks import linux
from tests.worker.gpu.measuring import RANKING, Scripted, kernel, measured, request_for
from worker.contract.measure_work import MeasureRequest, MeasureResponse, Repeats, digest
from worker.gpu import measure_step as step
from worker.gpu.backend import DeviceFault, FaultKind
from worker.gpu.cpu_backend import CpuBackend

pytestmark = linux

AT_RANKING = f"Width == {RANKING}"


def statuses(response: MeasureResponse) -> dict[str, CaseStatus]:
    return {check.case: check.status for check in response.checks}


@pytest.fixture(scope="module")
def right() -> MeasureRequest:
    """With so much time that this machine's own never counts."""
    sizes = ({"Width": 16}, {"Width": RANKING}, {"Width": 50})
    return request_for(kernel(), curve=sizes, budget_seconds=1000)


def test_a_right_kernel_is_measured_and_every_repeat_verified(right):
    device = Scripted([1.0])
    response = measured(right, device)
    assert response.findings == ()
    assert set(statuses(response).values()) == {CaseStatus.PASSED}
    assert f"Width={RANKING}" in statuses(response)
    measurement = response.measurement
    assert measurement is not None
    assert (measurement.repeats, measurement.settled, measurement.ms_median) == (7, True, 1.0)
    assert measurement.gflops == pytest.approx(2 * RANKING**3 / 1e6)
    assert measurement.cublas_share == 0.25
    assert [speed.sizes["Width"] for speed in measurement.curve] == [16, RANKING, 50]
    assert measurement.left_out == ()
    assert (measurement.metric, measurement.ranked, measurement.remarks) == ("gflops", True, ())
    assert measurement.ptx_digest == digest(right.modules[0].ptx)
    assert response.ptx_digests == (measurement.ptx_digest,)
    assert response.busy_ms == measurement.busy_ms > 0
    assert not response.lost
    assert response.occupancy is not None
    assert (response.occupancy.threads, response.occupancy.blocks_per_sm) == (256, 8)


@pytest.mark.one_in(3, "one of three")
@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (kernel(), Verdict.ACCEPTED),
        (kernel(before=f"  if ({AT_RANKING} && i == 17 && j == 3) sum += 1;\n"), Verdict.WRONG_ANSWER),
        (kernel(after=f"  if ({AT_RANKING} && i == 47 && j == 47) N[5] = 0;\n"), Verdict.INPUT_MODIFIED),
    ],
)
def test_the_real_judge_is_asked_rightly(text, verdict):
    response = measured(request_for(text), CpuBackend(), real_judge=True)
    assert decide(response.findings) is verdict
    assert (response.measurement is not None) == (verdict is Verdict.ACCEPTED)


def test_request_and_response_go_over_the_wire(right):
    again = from_plain(MeasureRequest, json.loads(json.dumps(to_plain(right))))
    response = measured(again)
    assert from_plain(MeasureResponse, json.loads(json.dumps(to_plain(response)))) == response
    assert response.measurement is not None


def test_without_a_ranking_size_a_kernel_is_only_judged():
    request = request_for(kernel())
    response = measured(replace(request, ranking=None))
    assert response.findings == ()
    assert response.measurement is None
    assert response.occupancy is not None
    assert statuses(response)[f"Width={RANKING}"] is CaseStatus.PASSED


def test_a_module_that_the_device_does_not_take_is_told_of_where_nothing_is_measured():
    class Small(Scripted):
        def load(self, code, entry):
            raise DeviceFault(FaultKind.RESOURCES, "out of memory")

    response = measured(replace(request_for(kernel()), ranking=None), Small())
    assert decide(response.findings) is Verdict.RESOURCE_LIMIT
    assert response.occupancy is None


def test_a_kernel_that_is_wrong_at_the_ranking_size_only_is_found_out():
    text = kernel(before=f"  if ({AT_RANKING} && i == 17 && j == 3) sum += 1;\n")
    response = measured(request_for(text))
    (finding,) = response.findings
    assert finding.kind is Verdict.WRONG_ANSWER
    assert finding.message.startswith("`P[17][3]` is ")
    assert f"(Width={RANKING}, repeat 1 of the measurement). The earlier cases were correct." in finding.message
    assert finding.example is not None
    assert (finding.example.element, finding.example.case) == ("P[17][3]", f"Width={RANKING}")
    assert finding.message.endswith(" 1 row of `P` is incorrect.")
    assert response.measurement is None
    assert statuses(response)[f"Width={RANKING}"] is CaseStatus.FAILED
    assert not response.lost


def test_rows_of_a_product_are_not_counted_as_elements():
    (finding,) = measured(request_for(kernel(before=f"  if ({AT_RANKING} && i % 2) sum += 1;\n"))).findings
    assert finding.message.endswith(f" {RANKING // 2} rows of `P` are incorrect.")
    assert finding.count == 1


def test_a_kernel_that_is_wrong_in_a_later_repeat_is_found_out():
    text = kernel(
        variables="__device__ int launches;",
        before=f"  if ({AT_RANKING} && i == 0 && j == 0 && ++launches > 50) sum += 1;\n",
    )
    # two times in turn would settle after 50 launches or fewer, by the number of those that warm up
    never_settled = Scripted([1.0 + number / 100 for number in range(200)])
    (finding,) = measured(request_for(text, budget_seconds=1000), never_settled).findings
    assert finding.kind is Verdict.WRONG_ANSWER
    assert "other inputs, were correct" in finding.message


def test_a_kernel_that_is_wrong_at_another_size_is_wrong():
    text = kernel(before="  if (Width == 50 && i == 49) sum = 0;\n")
    response = measured(request_for(text, curve=({"Width": 16}, {"Width": 50}, {"Width": 64})))
    assert decide(response.findings) is Verdict.WRONG_ANSWER
    assert response.measurement is None
    checks = statuses(response)
    assert (checks[f"Width={RANKING}"], checks["Width=50"]) == (CaseStatus.PASSED, CaseStatus.FAILED)
    assert "Width=64" not in checks


def test_an_output_kept_from_an_earlier_launch_is_found_out():
    text = kernel(
        variables=f"__device__ float kept[{RANKING * RANKING}]; __device__ int ready;",
        first=f"  if ({AT_RANKING} && ready) {{ P[i * Width + j] = kept[i * Width + j]; return; }}\n",
        after=f"  if ({AT_RANKING}) {{ kept[i * Width + j] = sum; if (i == Width - 1) ready = 1; }}\n",
    )
    assert decide(measured(request_for(text)).findings) is Verdict.WRONG_ANSWER


def test_work_skipped_where_the_output_looks_done_is_found_out():
    text = kernel(first=f"  if ({AT_RANKING} && P[i * Width + j] != 0) return;\n")
    (finding,) = measured(request_for(text)).findings
    assert finding.kind is Verdict.WRONG_ANSWER
    assert "`P[0][0]` was never written" in finding.message


def test_an_input_that_is_written_is_found_out():
    text = kernel(after=f"  if ({AT_RANKING} && i == 47 && j == 47) M[5] = 0;\n")
    (finding,) = measured(request_for(text)).findings
    assert finding.kind is Verdict.INPUT_MODIFIED
    assert finding.message.startswith("Your kernel changed `M[0][5]` ")


def test_memory_that_belongs_to_nobody_ends_the_job_calmly():
    text = kernel(after=f"  if ({AT_RANKING} && i == 0) P[Width * Width + j] = 1;\n")
    response = measured(request_for(text, curve=({"Width": 16},)))
    assert decide(response.findings) is Verdict.OUT_OF_BOUNDS
    assert "outside any array" in response.findings[0].message
    assert response.lost
    assert response.measurement is None


@pytest.mark.parametrize(("place", "where"), [(1, "just after its end"), (0, "just before its start")])
@pytest.mark.parametrize("launch", [1, 4])
def test_a_hurt_guard_zone_is_found_out(right, place, where, launch):
    """On a GPU such a write ends nothing; here it is put there. Launch 1 is of a small case; warm-up begins with 3."""
    device = Scripted([1.0])

    def hurt(arguments):
        if device.launches >= launch:
            zone = device.guards(arguments[2])[place]
            device.fill(type(zone)(zone.place + (0 if place else 4 * (zone.words - 1)), 1), 7)

    device.after = hurt
    response = measured(right, device)
    (finding,) = response.findings
    assert finding.kind is Verdict.OUT_OF_BOUNDS
    assert finding.message.startswith("Your kernel wrote outside `P` on the GPU (Width=")
    assert where in finding.message
    assert not response.lost
    assert response.measurement is None


def test_a_trap_is_a_runtime_error():
    response = measured(request_for(kernel(first=f"  if ({AT_RANKING}) __trap();\n")))
    assert decide(response.findings) is Verdict.RUNTIME_ERROR
    assert response.lost


def test_an_endless_launch_at_the_ranking_size_is_a_time_limit():
    loop = f'  while ({AT_RANKING}) asm volatile("");\n'
    response = measured(request_for(kernel(first=loop), launch_seconds=0.1))
    (finding,) = response.findings
    assert finding.kind is Verdict.TIME_LIMIT
    assert f"ran longer than 0.1 s at Width={RANKING} on the GPU" in finding.message
    assert response.lost


def test_an_endless_launch_at_another_size_ends_the_curve_only():
    loop = '  while (Width == 20) asm volatile("");\n'
    sizes = ({"Width": 16}, {"Width": 20}, {"Width": 24})
    response = measured(request_for(kernel(first=loop), curve=sizes, launch_seconds=0.1))
    assert response.findings == ()
    assert response.lost
    measurement = response.measurement
    assert measurement is not None
    assert [speed.sizes["Width"] for speed in measurement.curve] == [16, RANKING]
    assert [text.split(":")[0] for text in measurement.left_out] == ["Width=20", "Width=24"]


def test_a_fault_in_a_small_case_leaves_out_the_rest():
    text = kernel(after="  if (Width == 2) M[1 << 20] = 1;\n")
    response = measured(request_for(text))
    (finding,) = response.findings
    assert (finding.kind, finding.line, response.lost) == (Verdict.OUT_OF_BOUNDS, None, True)
    checks = {check.case: check for check in response.checks}
    assert checks["Width=2 integers_right"].status is CaseStatus.FAILED
    for name in ("Width=17 integers_left", f"Width={RANKING}"):
        assert checks[name].status is CaseStatus.NOT_RUN
        assert "could not continue" in checks[name].note


def test_a_wrong_small_case_is_told_as_by_the_cpu_device():
    response = measured(request_for(kernel(before="  if (Width == 17 && j == 4) sum = 0;\n")))
    (finding,) = response.findings
    assert finding.kind is Verdict.WRONG_ANSWER
    assert "`P[0][4]` is 0, not " in finding.message
    assert response.measurement is None


def test_what_cannot_be_launched_at_another_size_is_left_out():
    request = request_for("//!tilelab block=(Width, 16) grid=(1, ceil(Width/16))\n" + kernel(), curve=({"Width": 80},))
    measurement = measured(request).measurement
    assert measurement is not None
    (left_out,) = measurement.left_out
    assert left_out.startswith("Width=80: No GPU can launch this")


def test_a_size_that_would_take_too_long_is_left_out(right):
    device = Scripted([80.0])
    measurement = measured(replace(right, budget_seconds=1), device).measurement
    assert measurement is not None
    assert [speed.sizes["Width"] for speed in measurement.curve] == [16, RANKING]
    (left_out,) = measurement.left_out
    assert left_out == "Width=50: 3 launches would take about 0.27 s, more than the limit of 0.25 s"


def test_times_that_never_agree_are_not_settled(right):
    device = Scripted([1.0 + 0.1 * (number % 7) for number in range(200)])
    request = replace(right, curve=())
    measurement = measured(request, device).measurement
    assert measurement is not None
    assert (measurement.repeats, measurement.settled) == (120, False)
    assert measurement.ci[0] < measurement.ms_median < measurement.ci[1]


@pytest.mark.parametrize(
    ("repeats", "made"), [(Repeats(number=20), 20), (Repeats(number=10**9), 50), (Repeats(interval=0.4), 7)]
)
def test_an_experiment_may_ask_for_repeats(right, repeats, made, monkeypatch):
    assert step.MOST_ASKED == 1000
    monkeypatch.setattr(step, "MOST_ASKED", 50)
    device = Scripted([1.0 + 0.1 * (number % 7) for number in range(1100)])
    measurement = measured(replace(right, curve=(), repeats=repeats), device).measurement
    assert measurement is not None
    assert measurement.repeats == made


def test_a_result_faster_than_the_device_can_be_is_not_ranked(right):
    class Fast(Scripted):
        @property
        def environment(self):
            return replace(super().environment, device="NVIDIA H200", device_class="h200", multiprocessors=132)

    request = replace(right, curve=())
    measurement = measured(request, Fast([1e-7])).measurement
    assert measurement is not None
    assert not measurement.ranked
    assert "this does not measure the whole work" in measurement.remarks[0]


def test_a_clock_that_the_host_does_not_believe_is_not_ranked(right):
    request = replace(right, curve=())
    measurement = measured(request, Scripted([1.0], host=-0.5)).measurement
    assert measurement is not None
    assert not measurement.ranked


class Failing(Scripted):
    """A device that fails in a way that no kernel makes the CPU device fail in."""

    def __init__(self, kind: FaultKind, words: int = 1 << 40) -> None:
        """words: from which on there is no memory; without that, the launch of the ranking size fails."""
        super().__init__([1.0])
        self.kind = kind
        self.words = words

    def take(self, words, *, guarded=False):
        if words >= self.words:
            raise DeviceFault(FaultKind.RESOURCES, "out of memory")
        return super().take(words, guarded=guarded)

    def timed(self, kernel, launch, arguments, seconds, then=()):
        if self.words == 1 << 40 and arguments[-1] == RANKING:
            raise DeviceFault(self.kind, "as the test has it")
        return super().timed(kernel, launch, arguments, seconds, then)


@pytest.mark.parametrize(
    ("kind", "verdict", "lost"),
    [
        (FaultKind.RESOURCES, Verdict.RESOURCE_LIMIT, False),
        (FaultKind.UNSUPPORTED, Verdict.UNSUPPORTED, False),
        (FaultKind.OTHER, Verdict.RUNTIME_ERROR, True),
        (FaultKind.TRAP, Verdict.RUNTIME_ERROR, True),
        (FaultKind.ADDRESS, Verdict.OUT_OF_BOUNDS, True),
        (FaultKind.TIME, Verdict.TIME_LIMIT, True),
    ],
)
def test_every_fault_is_a_verdict_and_is_told_in_words(right, kind, verdict, lost):
    response = measured(right, Failing(kind))
    (finding,) = response.findings
    assert (finding.kind, response.lost) == (verdict, lost)
    assert f"Width={RANKING}" in finding.message
    assert "as the test has it" not in finding.message
    assert response.measurement is None


def test_too_little_memory_is_no_fault_of_the_kernel(right):
    response = measured(right, Failing(FaultKind.RESOURCES, words=RANKING**2))
    assert response.findings == ()
    assert response.measurement is None
    checks = {check.case: check for check in response.checks}
    assert checks[f"Width={RANKING}"].status is CaseStatus.NOT_RUN
    assert "too little memory" in checks[f"Width={RANKING}"].note


def test_too_little_memory_for_another_size_leaves_it_out(right):
    measurement = measured(right, Failing(FaultKind.RESOURCES, words=50 * 50)).measurement
    assert measurement is not None
    assert measurement.left_out == ("Width=50: not run, because the GPU has too little memory for it",)
