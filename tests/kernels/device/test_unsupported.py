"""What the CPU device doesn't emulate: refused with the student's line, by the name that a student knows."""

from __future__ import annotations

import pytest

from kernels.device import Malformed, Unsupported
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, line, only

GRID = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
"""


def test_a_grid_that_waits_for_itself(device):
    text = f"""{GRID}{HEAD} {{
  {THREAD}
  P[blockIdx.x * 32 + t] = M[t];
  cg::this_grid().sync();  //@ sync
}}"""

    finding = only(device.run(text, grid=2, n=64))

    assert (finding.kind, finding.line) == (Verdict.RUNTIME_ERROR, line(text, "sync"))
    assert "isn't cooperative" in finding.message


@pytest.mark.long("the short suite has a grid that isn't asked")
def test_a_grid_that_is_asked_first(device):
    text = f"""{GRID}{HEAD} {{
  {THREAD}
  if (cg::this_grid().is_valid()) cg::this_grid().sync();
  P[t] = t;
}}"""

    assert device.output(text) == list(range(32))


@pytest.mark.parametrize("memory", ["mem", pytest.param("", marks=pytest.mark.long("the short suite has mem"))])
def test_groups_of_several_warps(device, memory):
    text = f"""{GRID}{HEAD} {{
  {THREAD}
  __shared__ cg::block_tile_memory<64> mem;
  auto block = cg::this_thread_block({memory});  //@ here
  auto group = cg::tiled_partition<64>(block);
  group.sync();
  P[t] = 0;
}}"""

    with pytest.raises(Unsupported, match="more than 32 threads") as caught:
        device.run(text, block=64, n=64)

    assert caught.value.line == line(text, "here")
    assert "reserved" not in str(caught.value)


SPARSE = """{.reg .b32 r; .reg .f32 f;
mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f, f, f, f}, {r, r}, {r, r}, {f, f, f, f}, r, 0;}""".replace(
    "\n", " "
)


@pytest.mark.parametrize(
    ("instruction", "words"),
    [
        (SPARSE, "sparse matrices"),
        (
            (
                "{.reg .b64 a; .reg .b16 h; mov.u64 a, 0; mov.b16 h, 0; cp.async.bulk.prefetch.tensor"
                ".3d.L2.global.im2col [a, {0, 0, 0}], {h};}"
            ),
            "im2col",
        ),
        ("{.reg .b32 r; .reg .b64 a; mov.u64 a, 0; suld.b.1d.b32.trap {r}, [a, {0}];}", "surfaces"),
        ("{.reg .b64 a; mov.u64 a, 0; discard.global.L2 [a], 128;}", "the instruction `discard"),
    ],
)
def test_features_and_their_names(device, instruction, words):
    text = f"""{HEAD} {{
  double unused = 0;
  asm volatile("{instruction}" : "+d"(unused));  //@ here
  P[threadIdx.x] = 0;
}}"""

    with pytest.raises(Unsupported, match=words) as caught:
        device.run(text)
    assert caught.value.line == line(text, "here")


def test_an_atomic_of_a_form_that_is_not_emulated(device):
    text = f"{HEAD} {{\n  atomicCAS((unsigned short*)P, (unsigned short)0, (unsigned short)1);  //@ here\n}}"

    with pytest.raises(Unsupported, match="form of `atomicCAS`") as caught:
        device.run(text)
    assert caught.value.line == line(text, "here")


def test_text_of_unexpected_form_has_its_line_too(device):
    text = f"""{HEAD} {{
  asm volatile("{{.reg .b32 r; mov.u32 r, %tid.w;}}");  //@ here
  P[threadIdx.x] = 0;
}}"""

    with pytest.raises((Malformed, Unsupported)) as caught:
        device.run(text)
    assert isinstance(caught.value, Malformed | Unsupported)
    assert caught.value.line == line(text, "here")
