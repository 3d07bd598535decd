"""Copies of boxes with a tensor map: what they move, what ends them, and which writes they see."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.device import Argument, Budget, Buffer, Options, run
from kernels.device.counting.counts import ACCESS_FIELDS, Verb
from kernels.exercise.tensor_map import TensorMap, rows_apart
from kernels.exercise.values import ElementType
from kernels.facts import Mistake
from kernels.launch import Launch
from kernels.verdict import Verdict
from kernels.wire import from_plain
from tests.kernels.device.boxes import BoxCopy, copies
from tests.kernels.device.kernels import Found, Race, Story, line, only, program, racing

BEFORE = r"""#include <cuda.h>
typedef unsigned long long barrier;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void start(barrier& b, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(&b)), "r"(count) : "memory"); }
__device__ void expect(barrier& b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(&b)), "r"(bytes) : "memory"); }
__device__ void arrive(barrier& b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&b)) : "memory"); }
#define wait(b, parity) asm volatile("{.reg .pred p; W: " \
  "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W;}" :: "r"(at(&b)), "r"(parity) : "memory")
#define fence() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define begun() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); __syncthreads()
#define load1(to, m, x, b) asm volatile( \
  "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" \
  :: "r"(at(to)), "l"(&m), "r"(x), "r"(at(&b)) : "memory")
#define load2(to, m, x, y, b) asm volatile( \
  "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" \
  :: "r"(at(to)), "l"(&m), "r"(x), "r"(y), "r"(at(&b)) : "memory")
#define load3(to, m, x, y, z, b) asm volatile( \
  "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" \
  :: "r"(at(to)), "l"(&m), "r"(x), "r"(y), "r"(z), "r"(at(&b)) : "memory")
#define load4(to, m, x, y, z, u, b) asm volatile( \
  "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" \
  :: "r"(at(to)), "l"(&m), "r"(x), "r"(y), "r"(z), "r"(u), "r"(at(&b)) : "memory")
#define load5(to, m, x, y, z, u, v, b) asm volatile( \
  "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint " \
  "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], %8;" :: "r"(at(to)), "l"(&m), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), \
  "r"(at(&b)), "l"(0x1000000000000000ull) : "memory")
#define store2(m, x, y, from) asm volatile( \
  "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" \
  :: "l"(&m), "r"(x), "r"(y), "r"(at(from)) : "memory")
#define reduce2(what, m, x, y, from) asm volatile( \
  "cp.reduce.async.bulk.tensor.2d.global.shared::cta." what ".tile.bulk_group [%0, {%1, %2}], [%3];" \
  :: "l"(&m), "r"(x), "r"(y), "r"(at(from)) : "memory")
__device__ unsigned rank() { unsigned r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
#define meet() asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory")
#define load2_all(to, m, x, y, b, ranks) asm volatile( \
  "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster " \
  "[%0], [%1, {%2, %3}], [%4], %5;" \
  :: "r"(at(to)), "l"(&m), "r"(x), "r"(y), "r"(at(&b)), "h"((unsigned short)(ranks)) : "memory")
#define load_all(to, from, bytes, b, ranks) asm volatile( \
  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" \
  :: "r"(at(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(at(&b)), "h"((unsigned short)(ranks)) : "memory")
#define commit() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define read_done() asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define all_done() asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
"""


def tensor(
    operand: str,
    extents: tuple[int, ...],
    box: tuple[int, ...],
    swizzle: int = 0,
    kind: ElementType = ElementType.FLOAT,
    *,
    nan: bool = False,
) -> TensorMap:
    made = TensorMap(operand, kind, extents, rows_apart(extents, kind.bytes), box, swizzle, nan)
    assert made.problem == ""
    return made


def box_of(tensor_map: TensorMap, corner: tuple[int, ...], filler: float = 0) -> NDArray[np.float32]:
    """What a box of floats holds of 0, 1, 2 and so on, element by element."""
    whole = np.arange(np.prod(tensor_map.extents), dtype=np.float32).reshape(tensor_map.extents[::-1])
    made = np.full(tensor_map.box[::-1], filler, np.float32)
    for place in np.ndindex(made.shape):
        found = tuple(np.add(place, corner[::-1]))
        if all(0 <= each < extent for each, extent in zip(found, whole.shape, strict=True)):
            made[place] = whole[found]
    return made


def listed(array: NDArray[np.float32]) -> list[float]:
    return array.ravel().tolist()


def pieces(rows: NDArray[np.float32], swizzle: int) -> list[float]:
    """Rows of `swizzle` bytes as a swizzle puts them into memory that begins at a multiple of 1,024 bytes."""
    each = rows.reshape(-1, swizzle // 16, 4)
    made = np.empty_like(each)
    for row, piece in np.ndindex(each.shape[:2]):
        line = row * swizzle // 128
        made[row, piece ^ line % (swizzle // 16)] = each[row, piece]
    return made.ravel().tolist()


def story(name: str, wanted: object, body: str, *maps: TensorMap, **launch: object) -> Story:
    given = {"block": 64, "n": 64, "values": 1024, "maps": maps, **launch}
    return Story(name, wanted, body, before=BEFORE, **given)  # type: ignore[arg-type]


def loaded(size: str, load: str, *, expected: str = "sizeof(tile)", swizzled: bool = False) -> str:
    """The beginning of a kernel that loads one box. All threads wait for it, then copy the tile to P as it is."""
    return f"""
  __shared__ alignas({1024 if swizzled else 128}) float tile{size};
  __shared__ barrier b0;
  if (t == 0) start(b0, 1);
  begun();
  if (t == 0) {{
    expect(b0, {expected});
    {load}  //@ load
  }}"""


_SEEN = """
  wait(b0, 0);  //@ wait
  for (int i = t; i < n; i += 64) P[i] = ((float*)tile)[i];  //@ read"""
_M2 = tensor("M", (32, 32), (16, 4))
_M3 = tensor("M", (8, 8, 16), (4, 3, 5))
_M4 = tensor("M", (8, 4, 4, 8), (4, 2, 3, 2))
_M5 = tensor("M", (4, 4, 4, 4, 4), (4, 2, 3, 1, 2))
_LOAD = loaded("[4][16]", "load2(tile, m0, 8, 4, b0);", expected="256")
_FILLED = """
  __shared__ alignas(128) float tile[4][16], other[4][16];
  tile[t / 16][t % 16] = M[t] + 1;  //@ write"""
_STORED = (
    _FILLED
    + """
  fence();
  __syncthreads();
  if (t == 0) {
    store2(m0, 0, 4, tile);  //@ store
    commit();"""
)
_SHIFTED = tensor("M", (32, 32), (32, 5), 128)


def _swizzle(width: int) -> Story:
    described = tensor("M", (32, 32), (width // 4, 24), width)
    body = loaded(f"[24][{width // 4}]", "load2(tile, m0, 0, 3, b0);", swizzled=True) + _SEEN
    return story(
        f"a swizzle of {width} bytes", pieces(box_of(described, (0, 3)), width), body, described, n=24 * width // 4
    )


_NARROW = tensor("M", (32, 32), (16, 8), 128)
_IN_GAPS = (
    loaded("[8][32]", "load2(tile, m0, 0, 0, b0);", expected="512", swizzled=True)
    + """
  for (int i = t; i < 256; i += 64) if ((i / 4 % 8 ^ i / 32) >= 4) ((float*)tile)[i] = -1;  //@ gaps"""
    + _SEEN
)
_SHORT = tensor("M", (32, 32), (16, 3), 128)
_UP_TO_A_GAP = (
    loaded("[80]", "load2(tile, m0, 0, 0, b0);", expected="192", swizzled=True)
    + """
  wait(b0, 0);
  P[t] = tile[64 + (t ^ 8)];"""
)


def _out_of_bounds(corner: tuple[int, int]) -> Story:
    load = f"load2(tile, m0, {corner[0]}, {corner[1]}, b0);"
    return story(f"a box at {corner}", listed(box_of(_M2, corner)), loaded("[4][16]", load) + _SEEN, _M2)


RIGHT = [
    story("one dimension", listed(box_of(tensor("M", (100,), (64,)), (52,))),
          loaded("[64]", "load1(tile, m0, 52, b0);") + _SEEN, tensor("M", (100,), (64,))),
    story("two dimensions", listed(box_of(_M2, (8, 4))), _LOAD + _SEEN, _M2),
    story("three dimensions", listed(box_of(_M3, (4, -1, 13))),
          loaded("[5][3][4]", "load3(tile, m0, 4, -1, 13, b0);") + _SEEN, _M3, n=60),
    story("four dimensions", listed(box_of(_M4, (4, 3, 2, 5))),
          loaded("[2][3][2][4]", "load4(tile, m0, 4, 3, 2, 5, b0);") + _SEEN, _M4, n=48),
    story("five dimensions", listed(box_of(_M5, (0, 1, 2, 3, 2))),
          loaded("[2][1][3][2][4]", "load5(tile, m0, 0, 1, 2, 3, 2, b0);") + _SEEN, _M5, n=48),
    *(_out_of_bounds(corner) for corner in [(-8, -2), (24, 30), (32, 0), (0, 32), (-16, 5), (4, 1)]),
    *(_swizzle(width) for width in (32, 64, 128)),
    story("rows that are shorter than their swizzle",
          pieces(np.pad(box_of(_NARROW, (0, 0)), ((0, 0), (0, 16)), constant_values=-1), 128), _IN_GAPS, _NARROW,
          n=256),
    story("a tile that ends with the piece of its last row", [*map(float, range(64, 80))], _UP_TO_A_GAP, _SHORT,
          block=16, n=16),
    story("a tile that begins inside the pattern of its swizzle",
          pieces(np.concatenate([np.zeros((3, 32), np.float32), box_of(_SHIFTED, (0, 0))]), 128)[96:], """
  __shared__ alignas(1024) float whole[8][32];
  float (*tile)[32] = whole + 3;
  __shared__ barrier b0;
  if (t == 0) start(b0, 1);
  begun();
  if (t == 0) { expect(b0, 640); load2(tile, m0, 0, 0, b0); }""" + _SEEN,
          _SHIFTED, n=160),
    story("halves from the eighth", np.arange(64, dtype=np.float32).view(np.uint16)[8:72].view(np.float32).tolist(),
          loaded("[32]", "load1(tile, m0, 8, b0);") + _SEEN, tensor("M", (128,), (64,), kind=ElementType.HALF), n=32),
    story("NaN outside", None, loaded("[4][16]", "load2(tile, m0, 24, 30, b0);") + """
  wait(b0, 0);
  float v = tile[t / 16][t % 16];
  bool outside = t % 16 >= 8 || t >= 32;
  P[t] = outside ? isnan(v) : v;
  if (outside != isnan(v)) __trap();""", tensor("M", (32, 32), (16, 4), nan=True)),
    story("a store, whose outside isn't written", [*range(1, 49)],
          _STORED.replace("0, 4, tile", "0, 0, tile") + "\n    read_done();\n  }", tensor("P", (16, 3), (16, 4)), n=48),
    story("a store that another thread reads", [64.0 - t for t in range(64)],
          _STORED.replace("0, 4, tile", "0, 0, tile") + """
    all_done();
  }
  __syncthreads();
  float v = P[63 - t];
  __syncthreads();
  P[t] = v;""", tensor("P", (16, 4), (16, 4))),
    story("a swizzled tile is stored in order", [*map(float, range(1, 257))], """
  __shared__ alignas(1024) float tile[8][32];
  for (int i = t; i < 256; i += 64) tile[i / 32][(i / 4 % 8 ^ i / 32) * 4 + i % 4] = i + 1;
  fence();
  __syncthreads();
  if (t == 0) { store2(m0, 0, 0, tile); commit(); read_done(); }""", tensor("P", (32, 8), (32, 8), 128), n=256),
    story("a tile that changes after the store has read it", [*map(float, range(1, 65))],
          _STORED.replace("0, 4, tile", "0, 0, tile") + "\n    read_done();\n    tile[0][0] = 0;\n  }",
          tensor("P", (16, 4), (16, 4))),
    story("a producer warp and its consumers", [*(float(sum(range(t, 1024, 64))) for t in range(64))], """
  __shared__ alignas(128) float tile[2][4][16];
  __shared__ barrier full[2], empty[2];
  if (t == 0) for (int i = 0; i < 2; ++i) { start(full[i], 1); start(empty[i], 64); }
  begun();
  if (t >= 64) {
    if (t == 64)
      for (int k = 0; k < 16; ++k) {
        wait(empty[k % 2], k / 2 % 2 ^ 1);
        expect(full[k % 2], 256);
        load2(tile[k % 2], m0, 0, 4 * k, full[k % 2]);
      }
  } else {
    float sum = 0;
    for (int k = 0; k < 16; ++k) {
      wait(full[k % 2], k / 2 % 2);
      sum += tile[k % 2][t / 16][t % 16];
      arrive(empty[k % 2]);
    }
    P[t] = sum;
  }""", tensor("M", (16, 64), (16, 4)), block=96),
    story("two boxes for one phase", [*listed(box_of(_M2, (0, 0))), *listed(box_of(_M2, (16, 8)))], """
  __shared__ alignas(128) float tile[2][4][16];
  __shared__ barrier b0;
  if (t == 0) start(b0, 1);
  begun();
  if (t == 0) {
    expect(b0, sizeof(tile));
    load2(tile[0], m0, 0, 0, b0);
    load2(tile[1], m0, 16, 8, b0);
  }""" + _SEEN, _M2, n=128),
    Story("the library's functions", listed(box_of(_M2, (8, 4)) + 1), """
  __shared__ alignas(128) float tile[4][16];
  __shared__ cuda::barrier<cuda::thread_scope_block> b0;
  if (t == 0) { init(&b0, 64); cde::fence_proxy_async_shared_cta(); }
  __syncthreads();
  if (t == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(tile, &m0, 8, 4, b0);
    b0.wait(cuda::device::barrier_arrive_tx(b0, 1, sizeof(tile)));
  } else b0.arrive_and_wait();
  tile[t / 16][t % 16] += 1;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (t == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&m1, 0, 0, tile);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }""", before="""#include <cuda.h>
#include <cuda/barrier>
namespace cde = cuda::device::experimental;""", maps=(_M2, tensor("P", (16, 4), (16, 4))), block=64, n=64, values=1024),
    Story("functions of cuda::ptx", listed(box_of(_M2, (8, 4)) + 1), """
  __shared__ alignas(128) float tile[4][16];
  __shared__ uint64_t b0;
  if (t == 0) { ptx::mbarrier_init(&b0, 1); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster); }
  __syncthreads();
  if (t == 0) {
    int32_t c[2] = {8, 4};
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &b0, sizeof(tile));
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &m0, c, &b0);
  }
  while (!ptx::mbarrier_try_wait_parity(&b0, 0)) {}
  tile[t / 16][t % 16] += 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (t == 0) {
    int32_t c[2] = {0, 0};
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &m1, c, tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
  }""", before="""#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;""", maps=(_M2, tensor("P", (16, 4), (16, 4))), block=64, n=64, values=1024),
    story("prefetches do nothing", listed(box_of(_M2, (8, 4))), """
  if (t == 0) {
    asm volatile("prefetch.tensormap [%0];" :: "l"(&m0));
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" :: "l"(&m0), "r"(0), "r"(0));
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" :: "l"(M));
  }""" + _LOAD + _SEEN, _M2),
]  # fmt: skip


_SEVERAL = """
  __shared__ alignas(128) float tile[4][16];
  __shared__ barrier b0;
  if (t == 0) start(b0, 1);
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  meet();  //@ begin
  if (t == 0) expect(b0, 256);
  if (t == 0 && rank() == 0) load2_all(tile, m0, 8, 4, b0, 3);  //@ load
  wait(b0, 0);  //@ wait
  P[64 * blockIdx.x + t] = tile[t / 16][t % 16];  //@ read
  meet();"""
_PAIR = {"grid": 2, "cluster": 2, "n": 128}
_HALVES = _SEVERAL.replace("t == 0 && rank() == 0", "t == 0").replace(
    "load2_all(tile, m0, 8, 4, b0, 3)", "load2_all(tile[2 * rank()], m0, 8, 4 + 2 * rank(), b0, 3)"
)
_H2 = tensor("M", (32, 32), (16, 2))
_STEPS = """
  __shared__ alignas(128) float tile[4][16];
  __shared__ barrier b0;
  if (t == 0) start(b0, 1);
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  meet();
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    if (t == 0) expect(b0, 256);
    if (t == 0 && rank() == 0) load2_all(tile, m0, 0, 4 * k, b0, 3);  //@ load
    wait(b0, k % 2);
    sum += tile[t / 16][t % 16];  //@ read
    meet();  //@ end
  }
  P[64 * blockIdx.x + t] = sum;"""
_ROWS = tensor("M", (16, 64), (16, 4))
_PEER = """
  __shared__ alignas(128) int sums[64], own[64];
  __shared__ barrier b0;
  if (t == 0) start(b0, 1);
  sums[t] = 1000;
  own[t] = t;  //@ own
  fence();
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  meet();
  if (t == 0) {
    expect(b0, 256);
    asm volatile("{.reg .b32 s, b; mapa.shared::cluster.u32 s, %0, %3; mapa.shared::cluster.u32 b, %1, %3;"  //@ reduce
      "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [s], [%2], 256, [b];}"
      :: "r"(at(sums)), "r"(at(&b0)), "r"(at(own)), "r"(rank() ^ 1) : "memory");
  }
  wait(b0, 0);
  P[64 * blockIdx.x + t] = sums[t];  //@ read
  meet();"""
RIGHT += [
    story("sums in the other block's memory", [1000.0 + t for t in range(64)] * 2, _PEER, **_PAIR),
    story("a box for both blocks of a cluster", listed(box_of(_M2, (8, 4))) * 2, _SEVERAL, _M2, **_PAIR),
    story("rows for both blocks that are shorter than their swizzle", listed(box_of(_SHORT, (0, 0))) * 2,
          _SEVERAL.replace("float tile[4][16]", "float tile[80]").replace("alignas(128)", "alignas(1024)")
          .replace("b0, 256", "b0, 192").replace("8, 4, b0", "0, 0, b0")
          .replace("64 * blockIdx.x + t] = tile[t / 16][t % 16]",
                   "48 * blockIdx.x + t] = tile[t / 16 * 32 + (t % 16 ^ t / 16 * 4)]"), _SHORT,
          **(_PAIR | {"block": 48, "n": 96})),
    story("each block loads half of a box for both", listed(box_of(_M2, (8, 4))) * 2, _HALVES, _H2, **_PAIR),
    story("bytes for both blocks of a cluster", [*map(float, range(64))] * 2,
          _SEVERAL.replace("load2_all(tile, m0, 8, 4, b0, 3)", "load_all(tile, M, 256, b0, 3)"), **_PAIR),
    story("a tile of both blocks, again and again", [*(float(sum(range(t, 256, 64))) for t in range(64))] * 2, _STEPS,
          _ROWS, **_PAIR),
]  # fmt: skip


@pytest.mark.one_in(4, "a quarter here, and tests/corpus has right kernels with such copies")
@pytest.mark.parametrize("story", RIGHT, ids=str)
def test_a_right_copy(device, story):
    story.check(device)


def _reducing(what: str, c_type: str) -> str:
    """Three blocks change M by their tiles, of which two are partly outside. Each element gets the same operand.

    what: with its type for bulk copies, such as `add.u32`
    """
    reduce = f'reduce2("{what}", m0, 0, blockIdx.x, tile);'
    if "." in what:
        reduce = f"""asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.{what} [%0], [%1], %2;" ::
      "l"(__cvta_generic_to_global(({c_type}*)M + 32 * blockIdx.x)), "r"(at(tile)),
      "r"((4 - blockIdx.x) * (int)sizeof(tile[0])) : "memory");"""
    body = f"""
  __shared__ alignas(128) {c_type} tile[4][32];
  for (int i = t; i < 128; i += 64) tile[i / 32][i % 32] = ({c_type})(int)(i % 4 + 1);
  fence();
  __syncthreads();
  if (t == 0) {{ {reduce} commit(); read_done(); }}"""
    before = f"#include <cuda_fp16.h>\n{BEFORE}" if c_type == "half" else BEFORE
    return Story("", None, body, before=before, maps=(tensor("M", (32, 4), (32, 4)),)).text


_CHANGES: dict[str, Callable[..., Any]] = {
    "add": lambda old, new: old + new,
    "min": np.minimum,
    "max": np.maximum,
    "inc": lambda old, new: np.where(old >= new, 0, old + 1),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - 1),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_INTEGERS = [("unsigned", ElementType.UNSIGNED, what) for what in _CHANGES]
_INTEGERS += [("int", ElementType.INT, what) for what in ("add", "min", "max", "and")]
_INTEGERS += [("long long", ElementType.LONG, what) for what in ("min", "max")]
_FLOATS = [("float", ElementType.FLOAT, "add"), ("double", ElementType.DOUBLE, "add")]
_FLOATS += [("half", ElementType.HALF, what) for what in ("add", "min", "max")]
_BULK = [("unsigned", ElementType.UNSIGNED, what) for what in ("add.u32", "inc.u32", "dec.u32", "or.b32")]
_BULK += [("int", ElementType.INT, what) for what in ("add.s32", "min.s32", "max.s32")]
_BULK += [("long long", ElementType.LONG, what) for what in ("add.u64", "max.s64", "xor.b64")]
_BULK += [("float", ElementType.FLOAT, "add.f32"), ("double", ElementType.DOUBLE, "add.f64")]
_BULK += [("half", ElementType.HALF, what) for what in ("add.noftz.f16", "min.f16")]


def reduced(element: ElementType, what: str) -> NDArray[np.generic]:
    """The box after the reductions, which began with 0, 1, 2 and so on."""
    whole = np.arange(128).reshape(4, 32).astype(element.code)
    tile = (np.arange(128) % 4 + 1).reshape(4, 32).astype(element.code)
    for block in range(3):
        rows = slice(block, 4)
        whole[rows] = _CHANGES[what.partition(".")[0]](whole[rows], tile[: 4 - block])
    return whole.reshape(-1)


REDUCTIONS = [*_INTEGERS, *_FLOATS, *_BULK]
REDUCING = Launch((3, 1, 1), (64, 1, 1), 0)


def reduction(
    c_type: str, element: ElementType, what: str
) -> tuple[str, dict[str, NDArray[Any]], tuple[Argument, ...]]:
    """The text of a kernel, its arrays and its arguments."""
    arrays = {"M": np.arange(128).astype(element.code), "P": np.zeros(1, np.float32)}
    return _reducing(what, c_type), arrays, ("M", "P", 1, tensor("M", (32, 4), (32, 4), kind=element))


@pytest.mark.one_in(5, "a fifth of the pairs of a type and an operation")
@pytest.mark.parametrize(("c_type", "element", "what"), REDUCTIONS)
def test_a_reduction(device, c_type, element, what):
    text, arrays, arguments = reduction(c_type, element, what)
    buffers = [Buffer(name, array, initialised=True) for name, array in arrays.items()]

    execution = run(program(text, device.arch), REDUCING, arguments, buffers, Options(budget=Budget(100_000)))

    assert execution.findings == ()
    assert execution.values["M"].tolist() == reduced(element, what).tolist()


def test_the_unset_element_of_a_swizzled_tile_is_named(device):
    body = """
  __shared__ alignas(1024) float tile[8][32];
  for (int i = t; i < 256; i += 64) if (i != 2 * 32 + 7) ((float*)tile)[i] = 1;
  fence();
  __syncthreads();
  if (t == 0) { reduce2("add", m0, 0, 0, tile); commit(); read_done(); }"""
    unset = story("", None, body, tensor("M", (32, 8), (32, 8), 128))
    example = only(device.run(unset.text, **unset.launch)).example
    assert example is not None
    assert example.element == "tile[71]"


def test_a_reduction_that_stops_a_gpu(device):
    text, arrays, arguments = reduction("long long", ElementType.LONG, "add")
    buffers = [Buffer(name, array, initialised=True) for name, array in arrays.items()]

    execution = run(program(text, device.arch), REDUCING, arguments, buffers, Options(budget=Budget(100_000)))

    assert [finding.kind for finding in execution.findings] == [Verdict.RUNTIME_ERROR]


_TWO_STAGES = """
  __shared__ alignas(128) float tile[2][4][16];
  __shared__ barrier full[2], empty[2];
  if (t == 0) for (int i = 0; i < 2; ++i) { start(full[i], 1); start(empty[i], 64); }
  begun();
  if (t >= 64) {
    if (t == 64)
      for (int k = 0; k < 8; ++k) {
        wait(empty[k % 2], k / 2 % 2 ^ 1);  //@ empty
        expect(full[k % 2], 256);
        load2(tile[k % 2], m0, 0, 4 * k, full[k % 2]);  //@ load
      }
  } else {
    float sum = 0;
    for (int k = 0; k < 8; ++k) {
      wait(full[k % 2], k / 2 % 2);  //@ full
      sum += tile[k % 2][t / 16][t % 16];  //@ read
      arrive(empty[k % 2]);
    }
    P[t] = sum;
  }"""
_OF_WARPS = _TWO_STAGES.replace("start(empty[i], 64)", "start(empty[i], 64 / 32)").replace(
    "arrive(empty[k % 2]);", "__syncwarp();\n      if (t % 32 == 0) arrive(empty[k % 2]);  //@ arrive"
)
_ENDLESS = {"budget": 5_000}


def _stages_story(name: str, wanted: object, old: str, new: str, stages: str = _TWO_STAGES) -> Story:
    assert old in stages
    described, shapes = tensor("M", (16, 64), (16, 4)), {"full": (2,), "empty": (2,)}
    return story(name, wanted, stages.replace(old, new), described, block=96, shapes=shapes, **_ENDLESS)


RIGHT.append(_stages_story("one thread arrives for its warp", [1792.0 + 8 * t for t in range(64)], "", "", _OF_WARPS))


@pytest.mark.parametrize("size", [32, 64])
def test_a_stage_that_one_thread_releases_for_others(device, size):
    text = _OF_WARPS.replace("t % 32", f"t % {size}").replace("64 / 32", f"64 / {size}").replace("__syncwarp();", "")

    story = _stages_story("", None, "", "", text)
    found = only(device.run(story.text, **story.launch))

    assert (found.kind, found.facts.mistake) == (Verdict.DATA_RACE, Mistake.EARLY_TRANSFER)
    assert found.facts.others_arrive == (line(story.text, "arrive"),)


def _store_story(name: str, wanted: object, old: str, new: str, **launch: object) -> Story:
    text = _STORED + "\n    read_done();\n  }"
    assert old in text
    return story(name, wanted, text.replace(old, new), tensor("P", (16, 8), (16, 4)), **{"n": 128, **launch})


def _load_story(name: str, wanted: object, old: str, new: str, **launch: object) -> Story:
    text = _LOAD + _SEEN
    assert old in text
    return story(name, wanted, text.replace(old, new), _M2, **launch)


_TOO_FEW = _load_story(
    "a barrier that expects too many bytes",
    Found(Verdict.TIME_LIMIT, "wait", lacks=(512, 256)),
    "256",
    "512",
    **_ENDLESS,
)
_READ_EARLY = _load_story("a read before the wait", Race("load", "read"), "wait(b0, 0);", "__syncthreads();")
_UNFENCED = _store_story("no fence before a store", Race("write", "store"), "fence();", "")
_NO_MAP = _load_story(
    "a pointer instead of a map", Found(Verdict.RUNTIME_ERROR, "load"), "load2(tile, m0,", "load2(tile, *M,"
)
_MISALIGNED = _load_story(
    "a tile at half a line",
    Found(Verdict.RUNTIME_ERROR, "load"),
    "alignas(128) float tile[4][16]",
    "alignas(128) float whole[5][16]; float (*tile)[16] = whole + 1",
)

WRONG = [
    story("writes into rows that are shorter than their swizzle", Race("load", "gaps"),
          _IN_GAPS.replace(">= 4", ">= 3"), _NARROW, n=256),
    story("a tile that ends in the last row", Found(Verdict.OUT_OF_BOUNDS, "load"),
          _UP_TO_A_GAP.replace("[80]", "[79]"), _SHORT, block=4, n=4),
    _TOO_FEW, _READ_EARLY, _UNFENCED, _NO_MAP, _MISALIGNED,
    _load_story("a box at half a piece", Found(Verdict.RUNTIME_ERROR, "load"), "m0, 8, 4", "m0, 6, 4"),
    _load_story("a barrier that expects too few bytes", Found(Verdict.TIME_LIMIT, "wait", lacks=(128, 256)), "256",
          "128", **_ENDLESS),
    _load_story("a barrier that expects no bytes", Race("load", "read"), "expect(b0, 256)", "arrive(b0)"),
    _load_story("the parity of the phase before", Found(Verdict.TIME_LIMIT, "wait"), "wait(b0, 0)", "wait(b0, 1)",
          **_ENDLESS),
    _load_story("only one thread waits", Race("load", "read"), "wait(b0, 0);", "if (t == 0) wait(b0, 0);"),
    _load_story("a tile that is too small", Found(Verdict.OUT_OF_BOUNDS, "load"), "tile[4][16]", "tile[3][16]", n=48),
    _load_story("an instruction for another number of dimensions", Found(Verdict.RUNTIME_ERROR, "load"),
          "load2(tile, m0, 8, 4, b0)", "load3(tile, m0, 8, 4, 0, b0)"),
    _load_story("a map passed by value", Found(Verdict.RUNTIME_ERROR), "load2(tile, m0,",
          "CUtensorMap own = m0;\n    load2(tile, own,"),
    _load_story("a map whose bytes are read", Found(Verdict.RUNTIME_ERROR, "bytes"), "  wait(b0, 0);",
          "  M[0] = ((const int*)&m0)[3];  //@ bytes\n  wait(b0, 0);"),
    _load_story("a barrier that others may use before it begins", Found(Verdict.DATA_RACE, "wait"),
          "begun();", 'asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");'),
    _load_story("a coordinate that is never set", Found(Verdict.UNINITIALIZED_READ, "unset"), "load2(tile, m0, 8,",
          "__shared__ int x[2];\n    load2(tile, m0, x[1],  //@ unset\n    "),
    _load_story("a tile that was filled before, without a fence", Race("fill", "load"), "if (t == 0) start",
          "tile[t / 16][t % 16] = 0;  //@ fill\n  if (t == 0) start"),
    _load_story("the next box into a tile that others still read", Race("early", "again"), "wait(b0, 0);",
          """wait(b0, 0);
  float before = tile[t / 16][t % 16];  //@ early
  if (t == 0) {
    expect(b0, sizeof(tile));
    load2(tile, m0, 0, 0, b0);  //@ again
  }
  wait(b0, 1);
  M[t] = before;"""),
    _store_story("a store in front of its tensor", Found(Verdict.RUNTIME_ERROR, "store"), "0, 4, tile", "0, -4, tile"),
    _store_story("a fence before the writes", Race("write", "store"), _FILLED + "\n  fence();",
           "\n  fence();" + _FILLED),
    _store_story("a fence of one thread before the block meets", Race("write", "store"), "  fence();",
           "  if (t == 0) fence();"),
    _store_story("a store that begins before the writes of others", Race("write", "store"),
                 "  fence();\n  __syncthreads();", "  fence();"),
    _store_story("a tile that changes before the store has read it", Race("store", "change"), "    read_done();\n",
           "    tile[0][0] = 0;  //@ change\n    read_done();\n"),
    _store_story("a group that isn't committed", Race("store", "change"), "    commit();\n    read_done();\n",
           "    read_done();\n    tile[0][0] = 0;  //@ change\n    commit();\n"),
    _store_story("a wait by another thread", Race("store", "change"), "    read_done();\n  }",
           "  }\n  if (t == 1) read_done();\n  __syncthreads();\n  tile[t / 16][t % 16] = 0;  //@ change"),
    _store_story("a store for which nothing waits", Found(Verdict.DATA_RACE, "store"), "    read_done();\n", ""),
    _load_story("a load for which nothing waits", Found(Verdict.DATA_RACE, "load"), _SEEN, "\n  P[t] = 0;"),
    _store_story("a result that is read before it is written", Race("store", "use"), "    read_done();\n  }",
           "    read_done();\n  }\n  __syncthreads();\n  M[t] = P[64 + t];  //@ use"),
    _store_story("blocks that store the same box", Race("store", "store"), "float tile", "float tile", grid=2),
    _store_story("a store over what a block also writes", Race("store", "also"), "    read_done();\n",
           "    read_done();\n    P[100] = 0;  //@ also\n"),
    story("a box that is partly unset", Found(Verdict.UNINITIALIZED_READ, "use"), """
  __shared__ alignas(128) float tile[4][16];
  if (t < 60) tile[t / 16][t % 16] = t;
  fence();
  __syncthreads();
  if (t == 0) { store2(m0, 0, 0, tile); commit(); all_done(); }
  __syncthreads();
  M[t] = P[t];  //@ use""", tensor("P", (16, 4), (16, 4))),
    _stages_story("no wait for an empty stage", Found(Verdict.BARRIER_DIVERGENCE),
                  "wait(empty[k % 2], k / 2 % 2 ^ 1);", ""),
    _stages_story("a phase that is never flipped", Found(Verdict.BARRIER_DIVERGENCE), "wait(full[k % 2], k / 2 % 2)",
            "wait(full[k % 2], 0)"),
    _stages_story("a producer that waits with the wrong parity", Found(Verdict.TIME_LIMIT), "k / 2 % 2 ^ 1)",
                  "k / 2 % 2)"),
    _stages_story("a consumer that arrives before it has read", Race("load", "read"),
            "      sum += tile[k % 2][t / 16][t % 16];  //@ read\n      arrive(empty[k % 2]);\n",
            "      arrive(empty[k % 2]);\n      sum += tile[k % 2][t / 16][t % 16];  //@ read\n"),
    _stages_story("an empty barrier for too many threads", Found(Verdict.TIME_LIMIT, element="empty[0]",
                  lacks=(96, 64)), "start(empty[i], 64)", "start(empty[i], 96)"),
    _stages_story("a second stage that lacks bytes", Found(Verdict.TIME_LIMIT, element="full[1]", lacks=(512, 256)),
                  "expect(full[k % 2], 256)", "expect(full[k % 2], 256 << k % 2)"),
    _stages_story("stages that are never filled again", Found(Verdict.TIME_LIMIT, "full", element="full[0]",
                  lacks=(1, 0)), "k < 8; ++k) {\n        wait(empty", "k < 2; ++k) {\n        wait(empty"),
    story("a reduction of a box that is partly unset", Found(Verdict.UNINITIALIZED_READ, "reduce"), """
  __shared__ alignas(128) float tile[4][16];
  if (t < 60) tile[t / 16][t % 16] = t;
  fence();
  __syncthreads();
  if (t == 0) { reduce2("add", m0, 0, 0, tile); commit(); read_done(); }  //@ reduce""", tensor("M", (16, 8), (16, 4))),
    story("a reduction while others write", Race("reduce", "write"), """
  __shared__ alignas(128) float tile[4][16];
  tile[t / 16][t % 16] = t;
  fence();
  __syncthreads();
  if (t == 0) { reduce2("add", m0, 0, 0, tile); commit(); read_done(); }  //@ reduce
  if (blockIdx.x == 1) M[t] = 1;  //@ write""", tensor("M", (16, 8), (16, 4)), grid=2),
    story("a reduction that no GPU has", Found(Verdict.RUNTIME_ERROR, "reduce"), """
  __shared__ alignas(128) float tile[4][16];
  tile[t / 16][t % 16] = t;
  fence();
  __syncthreads();
  if (t == 0) { reduce2("inc", m0, 0, 0, tile); commit(); read_done(); }  //@ reduce""", tensor("M", (16, 8), (16, 4))),
    story("a box for a block whose barrier may not be there", Found(Verdict.DATA_RACE), _SEVERAL.replace(
          "meet();  //@ begin", "__syncthreads();"), _M2, **_PAIR),
    story("a barrier that may not be initialised yet", Found(Verdict.DATA_RACE, mistake=Mistake.CLUSTER_RACE),
          _SEVERAL.replace("meet();  //@ begin", "__syncthreads();").replace(
          "  if (t == 0) start", "meet();\nif (t == 0) start"), _M2, **_PAIR),
    story("a box that only one block gets", Found(Verdict.TIME_LIMIT, "wait"), _SEVERAL.replace("b0, 3", "b0, 1"), _M2,
          **_PAIR, **_ENDLESS),
    story("sums in the other block's memory, read too early", Race("reduce", "read"), _PEER.replace(
          "wait(b0, 0);", "meet();") + "\n  wait(b0, 0);", **_PAIR),
    story("sums of what no fence shows to the copy", Race("own", "reduce"), _PEER.replace(
          "own[t] = t;  //@ own\n  fence();", "fence();\n  own[t] = t;  //@ own"), **_PAIR),
    story("a block that ends while its copy to the other one may read", Found(Verdict.DATA_RACE, "reduce"),
          _PEER.removesuffix("meet();"), **_PAIR),
    story("a box for a third block of two", Found(Verdict.RUNTIME_ERROR, "load"), _SEVERAL.replace("b0, 3", "b0, 7"),
          _M2, **_PAIR),
    story("a load into a tile that is still being stored", Race("store", "load"), """
  __shared__ alignas(128) float tile[4][16];
  __shared__ barrier b0;
  if (t == 0) start(b0, 1);
  tile[t / 16][t % 16] = t;
  fence();
  begun();
  if (t == 0) {
    store2(m1, 0, 0, tile);  //@ store
    commit();
    expect(b0, 256);
    load2(tile, m0, 0, 0, b0);  //@ load
    wait(b0, 0);
    read_done();
  }""", _M2, tensor("P", (16, 4), (16, 4))),
]  # fmt: skip


@pytest.mark.one_in(3, "a third here, and tests/corpus has each mistake")
@pytest.mark.parametrize("story", WRONG, ids=str)
def test_a_wrong_copy(device, story):
    story.check(device)


@pytest.mark.parametrize(
    ("story", "mistake"),
    [(_UNFENCED, Mistake.PROXY_FENCE), (_READ_EARLY, Mistake.TRANSFER), (_NO_MAP, Mistake.TENSOR_MAP),
     (_MISALIGNED, Mistake.MISALIGNED), (_TOO_FEW, Mistake.MBARRIER)],
    ids=str,
)  # fmt: skip
def test_a_wrong_copy_knows_what_is_missing(device, story, mistake):
    assert only(device.run(story.text, **story.launch)).facts.mistake is mistake


_KNOWN = {each.name: each for each in RIGHT}
_INTO = ("global", Verb.BULK_LOAD, "M")


@pytest.mark.parametrize(
    ("name", "access", "copies", "sectors", "moved"),
    [
        ("two dimensions", _INTO, [1], 8, 256),
        ("a box at (-8, -2)", _INTO, [1], 2, 64),
        ("a box at (-16, 5)", _INTO, [0], 0, 0),
        ("a box at (4, 1)", _INTO, [1], 12, 256),  # rows begin in the middle of sectors
        ("a store, whose outside isn't written", ("global", Verb.BULK_STORE, "P"), [1], 6, 192),
        ("a box for both blocks of a cluster", _INTO, [1, 0], 8, 256),
        ("bytes for both blocks of a cluster", _INTO, [1, 0], 8, 256),
        ("sums in the other block's memory", ("shared", Verb.BULK_STORE, ""), [1, 1], 0, 512),
    ],
)
def test_counts_of_a_copy(device, name, access, copies, sectors, moved):
    known = _KNOWN[name]
    ran = device.run(known.text, **known.launch, count=True)

    (found,) = (each for each in ran.counts.accesses if each.verb.bulk)
    rows = dict(zip(ACCESS_FIELDS, found.values, strict=True))
    assert (found.space, found.verb, found.name) == access
    assert rows["requests"].tolist() == copies
    assert (rows["sectors"].sum(), rows["unique_bytes"].sum(), rows["repeats"].sum()) == (sectors, moved, 0)


@pytest.mark.parametrize(("name", "repeats"), [("a tile of both blocks, again and again", 3), ("a producer warp", 0)])
def test_counts_of_copies_to_the_place_of_the_copy_before(device, name, repeats):
    known = next(each for each in RIGHT if each.name.startswith(name))
    ran = device.run(known.text, **known.launch, count=True)

    found = [each.values[ACCESS_FIELDS.index("repeats")].sum() for each in ran.counts.accesses if each.verb.bulk]
    assert sum(found) == repeats


@pytest.mark.one_in(2, "one seed is enough for each change")
@pytest.mark.parametrize("seed", range(2))
def test_random_boxes(seed):
    for copy in copies(15, seed):
        for found, expected in zip(copy.on_cpu(), copy.expected(), strict=True):
            assert np.array_equal(found, expected), copy


@pytest.mark.one_in(4, "a quarter of the copies")
@pytest.mark.parametrize("first", range(4))
def test_recorded_copies_end_as_on_an_h200(first):
    """Interleaved tensors, and rows shorter than their swizzle, whose places no manual gives."""
    for entry in json.loads((Path(__file__).parent / "h200_boxes.json").read_text("utf-8"))[first::4]:
        tensor, tile = from_plain(BoxCopy, entry["copy"]).on_cpu()
        assert crc32(tensor.tobytes() + tile.tobytes()) == entry["crc"], entry


def test_a_block_that_only_waits_for_itself_fills_the_tile_of_another_too_early(device):
    early = story("", None, _STEPS.replace("meet();  //@ end", "__syncthreads();") + "\n  meet();", _ROWS, **_PAIR)

    found = racing(device.run(early.text, **early.launch))

    assert frozenset({line(early.text, "load"), line(early.text, "read")}) in found
