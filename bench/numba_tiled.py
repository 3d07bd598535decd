"""The tiled product in Numba's CUDA simulator, as a separate program because an environment variable selects it.

NUMBA_ENABLE_CUDASIM=1 python -m bench.numba_tiled WIDTH

It prints the seconds of one launch: processor time and elapsed time.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from numba import cuda, float32

TILE = 16


def tiled(M: Any, N: Any, P: Any, width: int) -> None:
    """The solution of the exercise `tiled`, line by line."""
    Mds = cuda.shared.array((TILE, TILE), float32)
    Nds = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + ty
    column = cuda.blockIdx.x * TILE + tx
    value = np.float32(0)
    for phase in range((width + TILE - 1) // TILE):
        m_column = phase * TILE + tx
        n_row = phase * TILE + ty
        Mds[ty, tx] = M[row, m_column] if row < width and m_column < width else 0
        Nds[ty, tx] = N[n_row, column] if n_row < width and column < width else 0
        cuda.syncthreads()
        for k in range(TILE):
            value += Mds[ty, k] * Nds[k, tx]
        cuda.syncthreads()
    if row < width and column < width:
        P[row, column] = value


def main(width: int) -> None:
    """Launch once and compare the product."""
    generator = np.random.default_rng(width)
    left, right = generator.integers(-3, 4, (2, width, width)).astype(np.float32)
    result = np.full((width, width), np.nan, np.float32)
    blocks = -(-width // TILE)
    kernel = cuda.jit(tiled)
    begin, since = time.process_time(), time.perf_counter()
    kernel[(blocks, blocks), (TILE, TILE)](left, right, result, width)
    seconds, waited = time.process_time() - begin, time.perf_counter() - since
    if not np.array_equal(result, left @ right):
        raise SystemExit("the simulator's product is incorrect")
    print(seconds, waited)


if __name__ == "__main__":
    main(int(sys.argv[1]))
