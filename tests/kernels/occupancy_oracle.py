"""NVIDIA's own occupancy calculation, from a header of its wheel, run on the CPU device: many configurations at once.

No C compiler is needed: NVRTC compiles the header as device code, and every thread calculates one configuration.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels import device
from kernels.compile import nvrtc
from kernels.launch import Launch
from kernels.occupancy import STATIC_SHARED, Limits

COLUMNS = 16
ANSWERS = 11

# What the header includes, as far as it uses it.
_STANDARD = {"stddef.h": "", "string.h": "", "limits.h": "#define INT_MAX 2147483647\n"}

_SOURCE = """
#include "cuda_occupancy.h"

struct SharedRule {
    int slope, base;
    __device__ size_t operator()(int threads) const { return (size_t)slope * threads + base; }
};

extern "C" __global__ void occupancies(const float *given, float *answers, int n, int searches)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int *in = (const int *)given + i * 16;
    int *out = (int *)answers + i * 11;

    cudaOccDeviceProp device;
    device.computeMajor = in[0];
    device.computeMinor = in[1];
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = in[2];
    device.regsPerBlock = in[3];
    device.regsPerMultiprocessor = in[4];
    device.warpSize = 32;
    device.sharedMemPerBlock = 48 * 1024;
    device.sharedMemPerMultiprocessor = in[5];
    device.numSms = 1;
    device.sharedMemPerBlockOptin = in[6];
    device.reservedSharedMemPerBlock = in[7];

    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = in[8];
    kernel.numRegs = in[9];
    kernel.sharedSizeBytes = in[10];
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = in[6] - in[10];
    kernel.numBlockBarriers = in[11];

    cudaOccDeviceState state;
    cudaOccResult result;
    result.limitingFactors = 0;
    out[0] = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, in[12], in[13]);
    out[1] = result.activeBlocksPerMultiprocessor;
    out[2] = result.limitingFactors;
    out[3] = result.blockLimitWarps;
    out[4] = result.blockLimitBlocks;
    out[5] = result.blockLimitRegs;
    out[6] = result.blockLimitSharedMem;
    out[7] = result.blockLimitBarriers;
    if (i >= searches) return;
    SharedRule rule{in[14], in[15]};
    out[8] = out[9] = 0;
    out[10] = cudaOccMaxPotentialOccupancyBlockSizeVariableSMem(&out[8], &out[9], &device, &kernel, &state, rule);
}
"""


@dataclass(frozen=True, slots=True)
class Configurations:
    """One number each per configuration; a search asks for `slope * threads + base` bytes of dynamic shared memory."""

    most_threads: NDArray[np.int32]
    registers: NDArray[np.int32]
    static: NDArray[np.int32]
    barriers: NDArray[np.int32]
    threads: NDArray[np.int32]
    dynamic: NDArray[np.int32]
    slope: NDArray[np.int32]
    base: NDArray[np.int32]


def header() -> Path | None:
    """Where the wheel nvidia-cuda-runtime put the header; None where it is not installed."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    return next((found for root in roots for found in Path(root).glob("*/include/cuda_occupancy.h")), None)


@cache
def _program() -> Any:
    found = header()
    assert found is not None, "cuda_occupancy.h is missing: it is in the package nvidia-cuda-runtime"
    output = nvrtc.run(
        "/oracle.cu",
        _SOURCE,
        ["-arch=sm_90", "-std=c++17", "--device-as-default-execution-space"],
        {**_STANDARD, "cuda_occupancy.h": found.read_text("utf-8")},
        [],
    )
    assert output.ok, output.log
    return device.load_program(output.ptx, "occupancies")


def answers(limits: Limits, asked: Configurations, searches: int) -> NDArray[np.int32]:
    """For every configuration: error, blocks, limiting factors, blocks by warps, by blocks, by registers, by shared
    memory and by barriers; for the first `searches` also the search's grid, block and error.
    """
    count = len(asked.threads)
    major, minor = map(int, limits.cc.split("."))
    same = (
        major,
        minor,
        limits.threads,
        limits.block_registers,
        limits.registers,
        limits.shared,
        max(limits.block_shared, STATIC_SHARED),
        limits.reserved,
    )
    of_each = (
        asked.most_threads,
        asked.registers,
        asked.static,
        asked.barriers,
        asked.threads,
        asked.dynamic,
        asked.slope,
        asked.base,
    )
    table = np.empty((count, COLUMNS), np.int32)
    table[:, :8] = same
    table[:, 8:] = np.stack(of_each, axis=1)
    execution = device.run(
        _program(),
        Launch((-(-count // 256), 1, 1), (256, 1, 1), 0),
        ["given", "answers", count, searches],
        [
            device.Buffer("given", table.reshape(-1).view(np.float32), initialised=True),
            device.Buffer("answers", np.zeros(count * ANSWERS, np.float32), initialised=True),
        ],
        device.Options(budget=device.Budget(10_000_000), observe=False),
    )
    assert not execution.findings, execution.findings
    return execution.values["answers"].view(np.int32).reshape(count, ANSWERS)
