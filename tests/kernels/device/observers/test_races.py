"""Races in shared memory, as exact pairs of lines, whatever order the threads happened to run in."""

from __future__ import annotations

import pytest

from kernels.device import Schedule
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, example, line, lines, only

KIND = Verdict.DATA_RACE


def test_a_read_without_a_barrier_after_the_write(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;  //@ write
  P[t] = tile[63 - t];  //@ read
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.kind, finding.line, finding.other_line) == (KIND, line(text, "read"), line(text, "write"))
    assert finding.count == 64
    assert example(finding).block == (0, 0, 0)
    assert example(finding).threads == ((0, 0, 0), (63, 0, 0))
    assert example(finding).element == "tile[63]"
    assert finding.message == (
        f"Thread (63,0) of block (0,0) writes `tile[63]` at line {line(text, 'write')}. Thread (0,0) reads it at line"
        f" {line(text, 'read')}, with no `__syncthreads()` between them."
    )


def test_the_barrier_between_settles_it(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;
  __syncthreads();
  P[t] = tile[63 - t];
}}"""

    assert device.output(text, block=64, n=64) == [63 - t for t in range(64)]


def test_a_write_that_follows_a_read_without_a_barrier(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  float sum = 0;
  for (int i = 0; i < n / 16; ++i) {{
    tile[t] = i + t;  //@ write
    __syncthreads();
    sum += tile[63 - t];  //@ read
  }}
  P[t] = sum;
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.line, finding.other_line) == (line(text, "write"), line(text, "read"))
    assert finding.count == 3 * 64


def test_two_threads_write_one_element(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t / 2] = t;  //@ write
  __syncthreads();
  P[t] = tile[t / 2];
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.kind, finding.line, finding.other_line) == (KIND, line(text, "write"), line(text, "write"))
    assert example(finding).element == "tile[0]"
    assert set(example(finding).threads) == {(0, 0, 0), (1, 0, 0)}


def test_writes_at_two_lines(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;  //@ first
  tile[63 - t] = 2 * t;  //@ second
  __syncthreads();
  P[t] = tile[t];
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.line, finding.other_line) == (line(text, "second"), line(text, "first"))


def test_many_reads_of_one_element_are_fine(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += tile[i];
  P[t] = sum + tile[0];
}}"""

    assert device.output(text, block=64, n=64) == [2016] * 64


def test_a_thread_may_read_back_what_it_wrote(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ volatile float tile[64];
  tile[t] = t;
  tile[t] = tile[t] + 1;
  P[t] = tile[t];
}}"""

    assert device.output(text, block=64, n=64) == [t + 1 for t in range(64)]


def test_double_buffering_with_one_barrier_per_phase_is_clean(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[2][64];
  float sum = 0;
  tile[0][t] = M[t];
  for (int i = 0; i < n / 16; ++i) {{
    __syncthreads();
    tile[(i + 1) % 2][t] = M[t] + i + 1;
    sum += tile[i % 2][63 - t];
  }}
  P[t] = sum;
}}"""

    assert device.output(text, block=64, n=64) == [4 * (63 - t) + 6 for t in range(64)]


def test_double_buffering_with_the_buffers_confused(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[2][64];
  float sum = 0;
  tile[0][t] = M[t];
  for (int i = 0; i < n / 16; ++i) {{
    __syncthreads();
    tile[i % 2][t] = M[t] + i + 1;  //@ write
    sum += tile[i % 2][63 - t];  //@ read
  }}
  P[t] = sum;
}}"""

    execution = device.run(text, block=64, n=64)

    assert (KIND.value, line(text, "read"), line(text, "write")) in lines(execution)


def test_atomic_updates_do_not_clash_with_each_other(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float sum;
  if (t == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, M[t]);
  atomicAdd(&sum, 1.0f);
  __syncthreads();
  P[t] = sum;
}}"""

    assert device.output(text, block=64, n=64) == [2016 + 64] * 64


def test_an_atomic_update_clashes_with_a_plain_read(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float sum;
  if (t == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, M[t]);  //@ add
  P[t] = sum;  //@ read
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.line, finding.other_line) == (line(text, "read"), line(text, "add"))
    assert "atomically updates" in finding.message


def test_an_atomic_update_clashes_with_a_plain_write(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float sum;
  if (t == 0) sum = 0;  //@ write
  atomicAdd(&sum, M[t]);  //@ add
  __syncthreads();
  P[t] = sum;
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.line, finding.other_line) == (line(text, "add"), line(text, "write"))
    assert finding.count == 63


def test_different_bytes_of_a_word_do_not_clash(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ unsigned char tile[64];
  tile[t] = t;
  __syncthreads();
  P[t] = tile[63 - t];
}}"""

    assert device.output(text, block=64, n=64) == [63 - t for t in range(64)]


def test_one_byte_written_by_two_threads(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ unsigned char tile[64];
  tile[t % 63] = t;  //@ write
  __syncthreads();
  P[t] = t < 63 ? tile[t] : 0;
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.line, finding.other_line) == (line(text, "write"), line(text, "write"))
    assert example(finding).element == "tile[0]"
    assert set(example(finding).threads) == {(0, 0, 0), (63, 0, 0)}


def test_a_word_clashes_with_a_byte_inside_it(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ unsigned int tile[64];
  tile[t] = 0;
  __syncthreads();
  reinterpret_cast<unsigned char*>(tile)[4 * t + 3] = t;  //@ byte
  P[t] = tile[t ^ 32];  //@ word
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.line, finding.other_line) == (line(text, "word"), line(text, "byte"))


def test_all_words_of_a_wide_access_count(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float4 tile[64];
  tile[t] = make_float4(t, t, t, t);  //@ write
  P[t] = reinterpret_cast<float*>(tile)[(4 * t + 131) % 256];  //@ read
}}"""

    finding = only(device.run(text, block=64, n=64))

    assert (finding.line, finding.other_line, finding.count) == (line(text, "read"), line(text, "write"), 64)


def test_threads_that_are_in_different_blocks_share_nothing(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[2];
  if (t == 0) tile[0] = blockIdx.x;
  __syncthreads();
  P[blockIdx.x * 32 + t] = tile[0];
}}"""

    assert device.output(text, grid=3, n=96) == [block for block in range(3) for _ in range(32)]


def test_blocks_in_different_phases(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  float sum = 0;
  for (int i = 0; i <= blockIdx.x; ++i) {{
    tile[t] = M[t] + i;
    __syncthreads();
    sum += tile[63 - t];
    if (i < blockIdx.x) __syncthreads();
  }}
  P[blockIdx.x * 64 + t] = sum;
}}"""

    wanted = [sum(63 - t + i for i in range(block + 1)) for block in range(4) for t in range(64)]
    assert device.output(text, grid=4, block=64, n=256) == wanted


def test_only_some_blocks_lack_the_barrier(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;  //@ write
  if (blockIdx.x != 2) __syncthreads();
  P[blockIdx.x * 64 + t] = tile[63 - t];  //@ read
}}"""

    finding = only(device.run(text, grid=4, block=64, n=256))

    assert (finding.line, finding.other_line, finding.count) == (line(text, "read"), line(text, "write"), 64)
    assert example(finding).block == (2, 0, 0)


@pytest.mark.parametrize("schedule", list(Schedule))
def test_the_schedule_does_not_matter(device, schedule):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = 0;
  __syncthreads();
  if (t >= 32) tile[t] = t;  //@ write
  P[t] = tile[63 - t];  //@ read
}}"""

    execution = device.run(text, block=64, n=64, schedule=schedule)

    assert {(each.kind, frozenset({each.line, each.other_line}), each.count) for each in execution.findings} == {
        (KIND, frozenset({line(text, "write"), line(text, "read")}), 32)
    }


def test_without_observers_nothing_is_reported(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[64];
  tile[t] = t;
  P[t] = tile[63 - t];
}}"""

    assert device.run(text, block=64, n=64, observe=False).findings == ()
