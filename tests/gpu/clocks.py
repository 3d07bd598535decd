"""Measures the clocks of instructions whose passes through shared memory are counted or modelled, without counters.

`python -m tests.gpu.clocks prepare FOLDER` compiles, also where there is no GPU. `run FOLDER` needs only numpy.
Each row has the clocks of an instruction, and the passes of 128 bytes that the analysis takes it to need.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from kernels.compile.compilation import Compilation, compile_source
from kernels.device.counting.patterns import wavefronts
from kernels.device.tensor.wgmma import warpgroup_form
from kernels.launch import Launch
from tests.gpu.driver import GPU, NoGPU

_TIMES, _WARPS, _SHARED = 256, 4, 1 << 16
_INDEX = "clocks.json"
_LAYOUTS = {0: (0, 128, 256), 32: (3, 16, 256), 64: (2, 16, 512), 128: (1, 16, 1024)}
"""By the bytes of a swizzle: its number in a descriptor, and the distances of rows of 32 bytes along the depth."""

_KERNEL = """
__global__ void K(float* P) {{
  extern __shared__ __align__(1024) unsigned char memory[];
  unsigned shared = (unsigned)__cvta_generic_to_shared(memory), lane = threadIdx.x % 32, sum = 0;
  for (int i = threadIdx.x; i < {shared} / 4; i += 128) ((unsigned*)memory)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  {before}
  __syncthreads();
  long long begin = clock64();
  #pragma unroll 1
  for (int i = 0; i < {times} / 16; ++i) {{ {body} }}
  {after}
  __syncthreads();
  P[threadIdx.x] = (float)(clock64() - begin) + (sum == 12345);
}}
"""


@dataclass(frozen=True, slots=True)
class Probe:
    """An instruction of each of four warps. passes: of one of these together; tensor: the clocks of tensor cores"""

    name: str
    text: str
    passes: float
    tensor: float = 0


def probes() -> Iterator[Probe]:
    for name, (together, different, apart) in {
        **{f"rows {apart} bytes apart": (1, 32, apart) for apart in (16, 32, 64, 128, 144)},
        "equal rows": (32, 32, 16),
        "pairs of equal rows": (2, 32, 16),
        "the same eight rows four times": (1, 8, 16),
    }.items():
        place = f"lane / {together} % {different} * {apart}"
        rows = (np.arange(32) // together % different * apart)[np.newaxis]
        passes = _WARPS * int(wavefronts(rows, np.ones((1, 32), np.bool_), 16)[0, 0])
        for verb, text in (("ldmatrix", _LOAD), ("stmatrix", _STORE)):
            if verb == "ldmatrix" or "equal" not in name:
                # Equal loads would become one.
                body = "".join(text.format(place=f"{place} + {at * 128}") for at in range(16))
                yield Probe(f"{verb}, {name}", _kernel("", body, ""), passes)
    for columns in (8, 16, 32, 64, 128, 256):
        for left in (True, False):
            for swizzle in _LAYOUTS if columns in {64, 256} else (128,):
                yield _product(columns, swizzle, left=left)


_LOAD = (
    '{{ unsigned a, b, c, d; asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%0, %1, %2, %3}}, [%4];" '
    ': "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(shared + {place})); sum += a + b + c + d; }}\n'
)
_STORE = (
    'asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {{%1, %1, %1, %1}};" '
    ':: "r"(shared + {place}), "r"(lane) : "memory");\n'
)


def _kernel(before: str, body: str, after: str) -> str:
    return _KERNEL.format(before=before, body=body, after=after, shared=_SHARED, times=_TIMES)


def _product(columns: int, swizzle: int, *, left: bool) -> Probe:
    """Products with both factors in shared memory, or with the left one in registers."""
    number, leading, stride = _LAYOUTS[swizzle]
    described = f"{leading >> 4}ull << 16 | {stride >> 4}ull << 32 | {number}ull << 62"
    count = columns // 2
    sums = ", ".join(f"%{at}" for at in range(count))
    registers = ", ".join(f"%{count + 2}" for _ in range(4))
    factor = f"%{count}" if left else f"{{{registers}}}"
    flags = "1, 1, 1, 0, 0" if left else "1, 1, 1, 0"
    opcode = f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16"
    outputs = ", ".join(f'"+f"(d[{at}])' for at in range(count))
    one = (
        f'asm volatile("{opcode} {{{sums}}}, {factor}, %{count + 1}, {flags};" '
        f': {outputs} : "l"(a), "l"(b), "r"(zero));\n'
    )
    before = (
        f"float d[{count}] = {{}}; unsigned zero = P[0] == 1;\n"
        f"unsigned long long a = shared >> 4 | {described}, b = (shared + 16384) >> 4 | {described};"
    )
    group = '"wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;"'
    body = f'asm volatile("wgmma.fence.sync.aligned;" ::: "memory");\n{one * 16}asm volatile({group} ::: "memory");'
    after = f"for (int i = 0; i < {count}; ++i) sum += (unsigned)d[i];"
    form = warpgroup_form(opcode)
    assert form is not None
    name = f"wgmma, {columns} columns, swizzle {swizzle}, left factor in {'shared memory' if left else 'registers'}"
    return Probe(name, _kernel(before, body, after), 4 * form.shared_bytes(left=left) / 128, columns / 2)


def prepare(folder: Path, architecture: str = "sm_90a") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, probe in enumerate(probes()):
        made = compile_source(probe.text, "K", architecture, {}, True)
        assert isinstance(made, Compilation), (probe.name, made)
        (folder / f"{number}.cubin").write_bytes(made.cubin)
        rows.append({**asdict(probe), "text": "", "entry": made.entry})
    (folder / _INDEX).write_text(json.dumps(rows), encoding="utf-8")


def run(folder: Path) -> None:
    """Print a table for people: the least clocks of several launches."""
    print("| instruction | passes | tensor cores | clocks |\n|---|---:|---:|---:|")
    launch = Launch((1, 1, 1), (32 * _WARPS, 1, 1), _SHARED)
    with GPU() as gpu:
        for number, row in enumerate(json.loads((folder / _INDEX).read_text(encoding="utf-8"))):
            with gpu.load((folder / f"{number}.cubin").read_bytes(), row["entry"]) as kernel:
                given = {"P": np.zeros(32 * _WARPS, np.float32)}
                clocks = min(float(kernel.run(launch, ("P",), given, {}, {})["P"].max()) for _ in range(5))
            print(f"| {row['name']} | {row['passes']:g} | {row['tensor'] or ''} | {clocks / _TIMES:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.clocks", description=__doc__)
    parser.add_argument("do", choices=["prepare", "run"])
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    try:
        (prepare if asked.do == "prepare" else run)(asked.folder)
    except NoGPU as reason:
        print(f"not run: {reason}")


if __name__ == "__main__":
    main()
