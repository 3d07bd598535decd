"""Random copies of boxes, and what they do by a plain model: element by element, without numpy's indexing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.compile.bundle import header_texts
from kernels.compile.compilation import Compilation, compile_source
from kernels.device import Argument, Budget, Buffer, Options, load_program, run
from kernels.exercise.tensor_map import INTERLEAVES, MAP_TYPE, SWIZZLES, TensorMap, rows_apart
from kernels.exercise.values import ElementType
from kernels.launch import Launch
from tests.kernels.device.kernels import CACHE

Bytes = NDArray[np.uint8]
Contents = tuple[Bytes, Bytes]
"""Of the tensor, and of shared memory."""

TILE_BYTES = 16_384
_LINES = 8
_THREADS = 512
_SHARED = TILE_BYTES + _LINES * 128 + 16
_MOST_BYTES = 80_000
_FLOATS = (ElementType.FLOAT, ElementType.HALF, ElementType.BFLOAT, ElementType.DOUBLE)


@dataclass(frozen=True, slots=True)
class BoxCopy:
    """One copy. lines: of 128 bytes, by which the tile begins after a multiple of 1,024 bytes."""

    map: TensorMap
    corner: tuple[int, ...]
    load: bool
    lines: int

    @property
    def tensor(self) -> Bytes:
        """The tensor before the copy."""
        return np.arange(self.map.memory, dtype=np.uint32).astype(np.uint8) ^ np.uint8(0x55)

    @property
    def tile(self) -> Bytes:
        """Shared memory before the copy."""
        return np.arange(TILE_BYTES + _LINES * 128, dtype=np.uint32).astype(np.uint8)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        corner = (*self.corner, 0, 0, 0, 0)[:5]
        return ("tensor", "tile", self.map, *corner, self.lines, self.map.bytes if self.load else 0)

    @property
    def launch(self) -> Launch:
        return Launch((1, 1, 1), (_THREADS, 1, 1), _SHARED)

    def on_cpu(self) -> Contents:
        """The tensor and shared memory afterwards, by the CPU device."""
        made = compiled(len(self.map.box), load=self.load)
        buffers = [Buffer(name, array, initialised=True) for name, array in self.arrays.items()]
        ran = run(
            load_program(made.ptx, made.entry), self.launch, self.arguments, buffers, Options(budget=Budget(100_000))
        )
        assert ran.findings == (), (self, ran.findings)
        return ran.values["tensor"].view(np.uint8), ran.values["tile"].view(np.uint8)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"tensor": self.tensor, "tile": self.tile}

    def expected(self) -> Contents:
        """The tensor and shared memory afterwards, by the plain model."""
        tensor, tile = self.tensor, self.tile
        size, width, slices = self.map.type.bytes, self.map.swizzle, self.map.interleave
        # the elements of a slice are one more dimension, whose coordinate is 0
        slice_box, slice_corner, slice_stride = ((slices // size,), (0,), (slices,)) if slices else ((), (), ())
        box, corner = (*slice_box, *self.map.box), (*slice_corner, *self.corner)
        extents, strides = (*slice_box, *self.map.extents), (size, *slice_stride, *self.map.strides)
        row = box[0] * size if not slices else slices * box[1]
        apart = max(row, width) if not slices else row
        for at, place in enumerate(np.ndindex(box[::-1])):
            address = self.lines * 128 + at * size // row * apart + at * size % row
            if width:
                piece = address >> 4 & 7
                address += ((piece ^ address >> 7 & (width // 16 - 1)) - piece) * 16
            spot = [first + step for first, step in zip(corner, place[::-1], strict=True)]
            inside = all(0 <= each < extent for each, extent in zip(spot, extents, strict=True))
            offset = sum(each * stride for each, stride in zip(spot, strides, strict=True))
            here = slice(address, address + size)
            if self.load:
                outside = [0xF7, 0x7F] * (size // 2) if self.map.nan else 0
                tile[here] = tensor[offset : offset + size] if inside else outside
            elif inside:
                tensor[offset : offset + size] = tile[here]
        return tensor, tile


def copies(count: int, seed: int) -> Iterator[BoxCopy]:
    """Random copies: loads and stores of all dimensions, types and swizzles, partly or wholly outside."""
    dice = Random(seed)
    made = 0
    while made < count:
        described = _random_map(dice)
        if described.problem or described.rows * described.pitch > TILE_BYTES:
            continue
        if prod(described.extents) * described.place > _MOST_BYTES:
            continue
        load, (across, *sides) = dice.random() < 0.6, described.extents
        # a box begins at a whole piece of memory
        pieces = max(1, 16 // described.place)
        column = pieces * dice.randint(-(described.box[0] // pieces), across // pieces)
        corner = (column, *(dice.randint(-side, end) for side, end in zip(described.box[1:], sides, strict=True)))
        made += 1
        yield BoxCopy(described, corner if load else tuple(map(abs, corner)), load, dice.randrange(_LINES))


def _random_map(dice: Random) -> TensorMap:
    """A map that may not exist."""
    kind, interleave = dice.choice(list(ElementType)), dice.choice(INTERLEAVES)
    swizzle = dice.choice(SWIZZLES) if interleave < 32 else 32
    rank, size = dice.randint(1, 5), kind.bytes
    pieces = dice.randint(1, min(swizzle // 16 or 32, 16 * size) if not interleave else 4)
    box = [16 // size * pieces, *(dice.randint(1, 7 if rank > 2 else 40) for _ in range(rank - 1))]
    apart = 16 // size if rank > 1 and not interleave else 1
    extents = (apart * dice.randint(1, 120 // apart + 1), *(dice.randint(1, 9) for _ in range(rank - 1)))
    if interleave and rank > 1:
        box[-2] = 1
        extents = (dice.randint(1, 20), *extents[1:])
    nan = kind in _FLOATS and dice.random() < 0.3
    strides = rows_apart(extents, interleave or size)
    return TensorMap("tensor", kind, extents, strides, tuple(box), swizzle, nan, interleave)


def compiled(rank: int, *, load: bool, arch: str = "sm_90") -> Compilation:
    """A kernel that fills shared memory, copies one box, and returns shared memory."""
    key = rank, load, arch
    if key not in _COMPILED:
        text = _source(rank, load=load)
        made = compile_source(text, "K", arch, {}, True, headers=header_texts(text, CACHE))
        assert isinstance(made, Compilation), made
        _COMPILED[key] = made
    return _COMPILED[key]


_COMPILED: dict[tuple[int, bool, str], Compilation] = {}


def _source(rank: int, *, load: bool) -> str:
    corner = ", ".join(f"%{number + 2}" for number in range(rank))
    inputs = ", ".join(f'"r"(c{number})' for number in range(rank))
    copy = f"""asm volatile("cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [%1, {{{corner}}}], [%0];"
        :: "r"(at), "l"(&map), {inputs} : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");"""
    if load:
        copy = f"""asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
        :: "r"(bar), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {{{corner}}}], [%{rank + 2}];" :: "r"(at), "l"(&map), {inputs}, "r"(bar) : "memory");
    asm volatile("{{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W;}}"
        :: "r"(bar) : "memory");"""
    return f"""#include <cuda.h>
__global__ void K(unsigned* tensor, unsigned* tile, {MAP_TYPE} map, int c0, int c1, int c2, int c3, int c4, int lines,
    int bytes) {{
  extern __shared__ __align__(1024) unsigned s[];
  const int words = {(TILE_BYTES + _LINES * 128) // 4};
  unsigned at = (unsigned)__cvta_generic_to_shared(s) + 128 * lines, bar = at - 128 * lines + 4 * words;
  for (int i = threadIdx.x; i < words; i += {_THREADS}) s[i] = tile[i];
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {{
    {copy}
  }}
  __syncthreads();
  for (int i = threadIdx.x; i < words; i += {_THREADS}) tile[i] = s[i];
}}
"""
