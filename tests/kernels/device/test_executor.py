"""A run as a whole: the same every time, however the grid is cut into chunks, for every architecture."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kernels.device import Budget, Buffer, Execution, Malformed, Options, load_program, run
from kernels.exercise import find_exercise
from kernels.launch import Launch
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Device, compiled, only, program

ARCHITECTURES = ["sm_75", "sm_90", "sm_100", "sm_120"]

# Wrong in every way that one launch can show, and with different ways through the code.
FAULTY = f"""__device__ int total;
{HEAD} {{
  {THREAD}
  __shared__ float tile[64], more[64];
  __shared__ int sum;
  if (t == 0) sum = 0;
  if (t < 50) more[t] = t;
  tile[t] = M[t + blockIdx.x];
  if (blockIdx.x % 3) __syncthreads();
  float v = tile[63 - t];
  if (t < 60) atomicAdd(&sum, (int)v);
  __syncthreads();
  for (int i = 0; i < t % 5; ++i) v += M[i] * sum;
  v += __shfl_xor_sync(0xffffffffu, v, 1) + (t < 60 ? more[t] : 0);
  P[blockIdx.x * 64 + t] = v;
  atomicAdd(&total, 1);
  if (t == 63) printf("%d ", blockIdx.x);
}}"""


def faulty(arch: str) -> Execution:
    return Device(arch).run(FAULTY, grid=7, block=64, n=448)


def counted(execution: Execution) -> dict[tuple[str, int | None, int | None], int]:
    return {(each.kind.value, each.line, each.other_line): each.count for each in execution.findings}


def test_two_runs_are_equal(device):
    one, two = (faulty(device.arch) for _ in range(2))

    assert one.findings == two.findings
    assert len({kind for kind, _, _ in counted(one)}) >= 3
    assert one.values["P"].tobytes() == two.values["P"].tobytes()
    assert (one.printed, one.instructions, one.state) == (two.printed, two.instructions, two.state)


@pytest.mark.parametrize("lanes", [1, 64, 192, 320])
def test_small_chunks_show_the_same_as_one_large_one(device, lanes, monkeypatch):
    whole = faulty(device.arch)
    monkeypatch.setattr("kernels.device.memory.placement.CHUNK_LANES", lanes)
    cut = faulty(device.arch)

    assert counted(cut) == counted(whole)
    assert cut.values["P"].tobytes() == whole.values["P"].tobytes()
    assert (cut.instructions, cut.state) == (whole.instructions, whole.state)
    assert sorted(cut.printed.split()) == sorted(whole.printed.split())  # which block prints first is open


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_shows_the_same_faults(arch):
    assert counted(faulty(arch)) == counted(faulty("sm_90"))
    assert faulty(arch).values["P"].tobytes() == faulty("sm_90").values["P"].tobytes()


@pytest.mark.one_in(3, "a third of the pairs")
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", ["tiled", "naive"])
def test_the_solutions_are_right_on_every_architecture(name, arch):
    made = compiled(find_exercise(name).solution.read_text().replace("MatrixMulKernel", "K"), arch, "TILE_WIDTH=16")
    width = 37
    left, right = np.random.default_rng(5).integers(-9, 10, (2, width, width)).astype(np.float32)
    buffers = (
        Buffer("M", left.ravel(), initialised=True),
        Buffer("N", right.ravel(), initialised=True),
        Buffer("P", np.full(width * width, np.nan, np.float32), initialised=False),
    )

    execution = run(
        load_program(made.ptx, made.entry),
        Launch((3, 3, 1), (16, 16, 1), 0),
        ("M", "N", "P", width),
        buffers,
        Options(budget=Budget(100_000)),
    )

    assert execution.findings == ()
    assert execution.values["P"].reshape(width, width).tolist() == (left @ right).tolist()


def test_the_callers_arrays_stay_as_they_are(device):
    values = np.arange(32, dtype=np.float32)
    buffers = (Buffer("M", values, initialised=True), Buffer("P", values, initialised=False))

    execution = run(
        program(f"{HEAD} {{ {THREAD} M[t] = -1; P[t] = 5; }}", device.arch),
        Launch((1, 1, 1), (32, 1, 1), 0),
        ("M", "P", 32),
        buffers,
        Options(budget=Budget(1_000)),
    )

    assert execution.values["M"].tolist() == [-1] * 32
    assert values.tolist() == list(range(32))


def test_instructions_are_counted_for_each_thread(device):
    text = f"{HEAD} {{ {THREAD} P[blockIdx.x * blockDim.x + t] = t; }}"

    one = device.run(text, block=1, n=1).instructions

    assert 5 < one < 20
    assert device.run(text, grid=3, block=33, n=99).instructions == 99 * one


def test_of_a_launch_that_cannot_end_in_its_budget_only_the_beginning_runs(device):
    execution = device.run(f"{HEAD} {{ {THREAD} P[0] = M[t]; }}", grid=2**31 - 1, block=1024, n=32)

    kinds = {finding.kind for finding in execution.findings}
    assert {Verdict.TIME_LIMIT, Verdict.DATA_RACE} <= kinds
    assert execution.instructions < 10_000_000


SLOW = f"{HEAD} {{ {THREAD} if (t < {{threads}}) for (int i = 0; i < {{turns}}; ++i) P[t] = M[i % 2]; }}"


def test_one_thread_may_do_the_work_of_all(device):
    text = SLOW.replace("{threads}", "1").replace("{turns}", "4000")

    assert only(device.run(text, budget=Budget(6_000))).kind is Verdict.TIME_LIMIT
    assert device.run(text, budget=Budget(6_000, 80_000)).findings == ()


def test_a_thread_that_does_more_than_all_is_stopped(device):
    text = SLOW.replace("{threads}", "1").replace("{turns}", "1000000")
    slow = only(device.run(text, budget=Budget(6_000, 20_000, 1_000, "the solution")))

    assert slow.kind is Verdict.TIME_LIMIT
    assert "20,000 instructions, 20 times what the solution needs in all threads" in slow.message


def test_many_threads_may_not_each_do_the_work_of_all(device, monkeypatch):
    monkeypatch.setattr("kernels.device.execution.schedule._MOST_TOGETHER", 100_000)
    text = SLOW.replace("{threads}", "32").replace("{turns}", "4000")
    endless = only(device.run(text, budget=Budget(6_000, 80_000)))

    assert endless.kind is Verdict.TIME_LIMIT
    assert "6,000 instructions, more than this size allows" in endless.message


def test_another_number_of_arguments_than_the_kernel_has(device):
    with pytest.raises(Malformed, match="number of parameters"):
        run(
            program(f"{HEAD} {{ P[0] = M[n]; }}", device.arch),
            Launch((1, 1, 1), (1, 1, 1), 0),
            ("M", "P"),
            (Buffer("M", np.zeros(1, np.float32), initialised=True), Buffer("P", np.zeros(1, np.float32), True)),
            Options(budget=Budget(1_000)),
        )


def test_numbers_reach_parameters_of_every_type(device):
    text = """__global__ void K(float* P, short a, long long b, float c, unsigned d) {
  P[0] = a; P[1] = b; P[2] = c; P[3] = d;
}"""

    execution = run(
        program(text, device.arch),
        Launch((1, 1, 1), (1, 1, 1), 0),
        ("P", -3, -(2**40), 0.1, -1),
        (Buffer("P", np.zeros(4, np.float32), initialised=False),),
        Options(budget=Budget(1_000)),
    )

    assert execution.values["P"].tolist() == [-3, -(2.0**40), np.float32(0.1), 2.0**32]


def test_results_cannot_be_changed(device):
    with pytest.raises(dataclasses.FrozenInstanceError):
        device.run(f"{HEAD} {{ P[threadIdx.x] = 0; }}").printed = "something else"
