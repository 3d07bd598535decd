"""The time to compile CUDA's large headers, with and without nvcc's limit for their type lists.

python -m bench.headers
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bench.table import table
from kernels.compile import nvrtc, prelude
from kernels.compile.bundle import header_texts
from kernels.compile.compilation import DEFAULT_ARCH, FILE, options_for

HEADERS = ("cooperative_groups.h", "cooperative_groups/reduce.h", "cuda/atomic", "cuda/barrier", "cuda/pipeline")
ROUNDS = 3
_LIMIT = "-D_CCCL_META_UNROLL_LIMIT"


def main() -> None:
    """Compile each header in an otherwise empty kernel, both ways in turn; print processor seconds."""
    options = options_for(DEFAULT_ARCH, {}, fmad=True)
    plain = [option for option in options if not option.startswith(_LIMIT)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        nvrtc.rehearse()
        for header in HEADERS:
            text = f"#include <{header}>\n__global__ void K(float *p) {{ p[0] = 1; }}\n"
            headers = {**header_texts(text, Path(folder)), prelude.NAME: prelude.TEXT}
            for number in range(1, ROUNDS + 1):
                before, after = (_seconds(text, each, headers) for each in (plain, options))
                rows.append((header, str(number), f"{before:.2f}", f"{after:.2f}", f"{before / after:.1f}"))
    print(table(("header", "round", "without", "with", "ratio"), rows))


def _seconds(text: str, options: list[str], headers: dict[str, str]) -> float:
    begin = time.process_time()
    made = nvrtc.run(FILE, text, options, headers, ["K"])
    if not made.ok:
        raise SystemExit(made.log)
    return time.process_time() - begin


if __name__ == "__main__":
    main()
