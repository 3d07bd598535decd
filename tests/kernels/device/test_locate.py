"""Bounds of every memory space."""

from __future__ import annotations

import pytest

from kernels.facts import Facts
from kernels.verdict import Severity, Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Found, Story, example, line, only


def test_a_read_past_the_end_of_a_buffer(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] = M[t + 40];  //@ read
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line) == (Verdict.OUT_OF_BOUNDS, line(text, "read"))
    assert finding.count == 8
    assert finding.severity is Severity.ERROR
    assert example(finding).block == (0, 0, 0)
    assert example(finding).threads == ((24, 0, 0),)
    assert example(finding).element == "M[64]"
    assert finding.message == ("Thread (24,0) of block (0,0) reads `M[64]`, past the end of `M` (64 elements).")
    assert finding.facts == Facts(elements=64)
    assert only(device.run(text, sizes="n=32")).message.endswith("(64 elements, n=32).")


def test_what_is_read_outside_does_not_stop_the_other_threads(device):
    text = f"{HEAD} {{ {THREAD} P[t] = M[t + 40]; }}"

    assert device.run(text).values["P"].tolist()[:24] == list(range(40, 64))


STORIES = [
    Story(
        "a read before the start of a buffer",
        Found(Verdict.OUT_OF_BOUNDS, "read", count=1, element="M[-1]", says="before the start of `M`"), """
  P[t] = M[t - 1];  //@ read"""),
    Story("an overrun inside a row is no finding", None, "P[t] = M[9 + t];", columns=8),
    Story(
        "a write before the start of a shared array",
        Found(Verdict.OUT_OF_BOUNDS, "write", count=1, element="tile[-1]"), """
  __shared__ float tile[32];
  tile[t - n / 32] = t;  //@ write
  __syncthreads();
  if (t < 31) P[t] = tile[t];"""),
    Story("a local array", Found(Verdict.OUT_OF_BOUNDS, "read", count=16, threads=((8, 0, 0),)), """
  float own[8];
  for (int i = 0; i < 8; ++i) own[i] = M[i];
  P[t] = own[(t + (int)M[t]) / 2 % 16];  //@ read"""),
    Story(
        "a pointer that means shared memory is checked as such",
        Found(Verdict.OUT_OF_BOUNDS, "write", count=16, element="tile[16]"), """
  __shared__ float tile[16];
  put(tile, t);
  __syncthreads();
  P[t] = tile[t % 16];""", before="""__device__ __noinline__ void put(float* where, int t) {
  where[t] = t;  //@ write
}"""),
    Story("a wide access that is partly outside", Found(Verdict.OUT_OF_BOUNDS, "read", count=25, element="M[28]"), """
  float4 four = reinterpret_cast<float4*>(M)[t];  //@ read
  P[t] = four.x + four.y + four.z + four.w;""", values=30),
    Story("single bytes are checked", Found(Verdict.OUT_OF_BOUNDS, "write", count=16), """
  unsigned char* bytes = reinterpret_cast<unsigned char*>(P);
  bytes[t] = t;
  bytes[4 * n - 16 + t] = t;  //@ write""", n=64),
    Story("guards that hold are believed", [max(t - 1, 0) + (t + 33 if t + 33 < 64 else 0) for t in range(32)], """
  P[t] = t > 0 ? M[t - 1] : 0;
  if (t + 33 < 64) P[t] += M[t + 33];"""),
]  # fmt: skip


@pytest.mark.one_in(3, "a third of the patterns")
@pytest.mark.parametrize("story", STORIES, ids=str)
def test_a_story(device, story):
    story.check(device)


def test_a_write_past_the_end_changes_nothing_beside_it(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] = 1;
  P[t + n] = 2;  //@ write
}}"""

    execution = device.run(text)

    finding = only(execution)
    assert (finding.kind, finding.line, finding.count) == (Verdict.OUT_OF_BOUNDS, line(text, "write"), 32)
    assert finding.message.startswith("Thread (0,0) of block (0,0) writes `P[32]`")
    assert execution.values["P"].tolist() == [1] * 32
    assert execution.values["M"].tolist() == list(range(64))


def test_far_away_is_outside_too(device):
    text = f"""{HEAD} {{
  P[threadIdx.x] = M[(long long)threadIdx.x * 1000000000LL];  //@ read
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (Verdict.OUT_OF_BOUNDS, line(text, "read"), 31)


def test_an_element_of_a_matrix_is_named_by_row_and_column(device):
    text = f"{HEAD} {{ {THREAD} P[t] = M[t + 40]; }}"

    assert example(only(device.run(text, columns=8))).element == "M[8][0]"


def test_a_shared_array_does_not_run_on_into_its_neighbour(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float first[32], second[32];
  first[t] = t;
  second[t] = -t;
  __syncthreads();
  P[t] = first[t + 1 + n - 32] + second[31 - t];  //@ read
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (Verdict.OUT_OF_BOUNDS, line(text, "read"), 1)
    assert example(finding).threads == ((31, 0, 0),)
    assert example(finding).element in {"first[32]", "second[32]"}


def test_shared_arrays_with_rows_are_named_by_the_shape_in_the_source(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[4][8];
  tile[t / 8 + n / 32][t % 8] = t;  //@ write
  __syncthreads();
  P[t] = tile[3][7];
}}"""

    finding = next(
        each for each in device.run(text, shapes={"tile": (4, 8)}).findings if each.kind is Verdict.OUT_OF_BOUNDS
    )

    assert (finding.line, finding.count) == (line(text, "write"), 8)
    assert example(finding).element == "tile[4][0]"


def test_dynamic_shared_memory_ends_where_the_launch_says(device):
    text = f"""extern __shared__ float tile[];
{HEAD} {{
  {THREAD}
  tile[t] = M[t];  //@ write
  __syncthreads();
  P[t] = tile[t];
}}"""

    assert device.run(text, shared=128).findings == ()
    for shapes, indices in (({}, ()), ({"tile": (31,)}, (31,)), ({"tile": (62,)}, (62,)), ({"tile": (2,)}, (2,))):
        finding = device.run(text, shared=124, shapes=shapes).findings[0]
        assert (finding.kind, finding.line, finding.count) == (Verdict.OUT_OF_BOUNDS, line(text, "write"), 1)
        assert (example(finding).array, example(finding).indices) == ("tile", indices)


def test_dynamic_shared_memory_that_the_launch_does_not_give(device):
    text = f"""extern __shared__ float tile[];
{HEAD} {{
  tile[threadIdx.x] = M[threadIdx.x];  //@ write
  __syncthreads();
  P[threadIdx.x] = tile[31 - threadIdx.x];
}}"""

    finding = device.run(text).findings[0]

    assert (finding.kind, finding.line, finding.count) == (Verdict.OUT_OF_BOUNDS, line(text, "write"), 32)


@pytest.mark.parametrize("access", ["P[t] = *where", "*where = t"])
def test_a_null_pointer(device, access):
    text = f"""{HEAD} {{
  {THREAD}
  float* where = reinterpret_cast<float*>(static_cast<long long>(n - 32));
  {access};  //@ access
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (Verdict.OUT_OF_BOUNDS, line(text, "access"), 32)
    assert finding.message.endswith("through a null pointer.")


def test_a_wide_access_must_be_aligned(device):
    text = f"""{HEAD} {{
  {THREAD}
  if (t >= 4) return;
  float4 four = *reinterpret_cast<float4*>(M + 4 * t + n / 32);  //@ read
  P[t] = four.x + four.y + four.z + four.w;
}}"""

    finding = next(each for each in device.run(text).findings if each.line == line(text, "read"))

    assert (finding.kind, finding.line, finding.count) == (Verdict.RUNTIME_ERROR, line(text, "read"), 4)
    assert "multiple of 16 bytes" in finding.message


def test_a_constant_cannot_be_written(device):
    text = f"""__constant__ float table[32];
{HEAD} {{
  {THREAD}
  float* where = reinterpret_cast<float*>(reinterpret_cast<long long>(table) + n - 32);
  where[t] = t;  //@ write
  P[t] = table[t];
}}"""

    finding = device.run(text).findings[0]

    assert (finding.kind, finding.line, finding.count) == (Verdict.RUNTIME_ERROR, line(text, "write"), 32)
    assert finding.message.endswith("writes `table[0]`, which is a constant.")
