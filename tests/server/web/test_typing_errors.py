"""Mistakes that the editor marks before a check: none in any kernel that compiles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bin.client import CLIENT
from bin.node_packages import packages, run

ROOT = Path(__file__).parents[3]
WRONG = {
    "tests/corpus/wrong/compile_brace_missing.cu", "tests/corpus/wrong/coarsened_brace_too_many.cu",
    "tests/hostile/sources/unterminated_comment.cu",
}  # fmt: skip
RUN = """
import { readFileSync } from "node:fs";
import { typingErrors } from "./typing-errors.js";
const texts = JSON.parse(readFileSync("texts.json", "utf8"));
console.log(JSON.stringify(texts.map((text) => typingErrors(text).map((mark) => mark.line))));
"""
KERNEL = """#define T 16
__global__ void k(float* M, float* P, int Width) {
    __shared__ float Mds[T][T];
    int tx = threadIdx.x;
    const float v = M[tx] + 1.5e-5f;
    if (tx < Width) {
        P[tx] = v;
    }
    __syncthreads();
    return;
}
"""


def lines(folder: Path, texts: list[str]) -> list[list[int]]:
    """The marked lines of each text."""
    esbuild = str(packages(CLIENT) / ".bin" / "esbuild")
    run(
        [esbuild, "typing-errors.ts", "--format=esm", f"--outfile={folder}/typing-errors.js", "--log-level=error"],
        CLIENT,
    )
    (folder / "texts.json").write_text(json.dumps(texts))
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "run.js").write_text(RUN)
    found: list[list[int]] = json.loads(run(["node", "run.js"], folder))
    return found


@pytest.mark.parametrize("also_long", [False, pytest.param(True, marks=pytest.mark.long("all kernels, not a fifth"))])
def test_no_kernel_that_compiles_has_a_mark(tmp_path, also_long):
    folders = [ROOT / "kernels", ROOT / "samples", ROOT / "bench", ROOT / "tests"]
    files = sorted(file for folder in folders for file in folder.rglob("*.cu") if "node_modules" not in file.parts)
    assert len(files) > 1_000
    files = [file for number, file in enumerate(files) if also_long or number % 5 == 0 or "right" in file.parts]
    marked = lines(tmp_path, [file.read_text("utf-8", "replace") for file in files])
    named = {str(file.relative_to(ROOT)) for file, found in zip(files, marked, strict=True) if found}
    assert named <= WRONG


MISTAKES = [
    ("Mds[T][T];", "Mds[T][T]", 3),
    ("threadIdx.x;", "threadIdx.x", 4),
    ("5e-5f;", "5e-5f", 5),
    ("= v;", "= v", 7),
    ("__syncthreads();", "__syncthreads()", 9),
    ("    }\n", "", 2),
    ("Width) {\n        P", "Width {\n        P", 6),
    ("M[tx]", "M[tx)", 5),
    ("__shared__", "_shared_", 3),
    ("__global__", "__gloabl__", 2),
    ("threadIdx", "threadidx", 4),
    ("threadIdx", "theradIdx", 4),
    ("__syncthreads", "syncthreads", 9),
    ("#define T 16", "/*", 1),
]


def test_a_sure_mistake_is_marked_at_its_line(tmp_path):
    texts = [KERNEL.replace(old, new, 1) for old, new, _ in MISTAKES]
    assert lines(tmp_path, texts) == [[line] for *_, line in MISTAKES]
