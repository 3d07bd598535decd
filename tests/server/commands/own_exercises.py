"""Folders with exercises of a teacher's own: small ones, so that their solutions are graded fast."""

from __future__ import annotations

from pathlib import Path

FIGURE = '<svg xmlns="http://www.w3.org/2000/svg"/>'

DEFINITION = """
title = "A matrix times a vector"
operation = "matmul"
kernel = "MatVec"
sizes = ["Width"]
metric = "gbps"
largest_on_cpu = 128
parameters = [
    { type = "float*", name = "A", operand = "A" },
    { type = "float*", name = "x", operand = "x" },
    { type = "float*", name = "y", operand = "y" },
    { type = "int", name = "Width", size = "Width" },
]
operands = [
    { name = "A", role = "input", rows = "Width", cols = "Width" },
    { name = "x", role = "input", rows = "Width" },
    { name = "y", role = "output", rows = "Width" },
]

[tile]
default = 16
allowed = [16, 32]
largest = 64

[launch]
block = "(TILE_WIDTH)"
grid = "(ceil(Width/TILE_WIDTH))"

[ranking]
Width = 4096

[[cases]]
sizes = { Width = "TILE_WIDTH + 1" }
inputs = ["integers_left", "integers_right"]
"""

_SOLUTION = """
__global__ void MatVec(float* A, float* x, float* y, int Width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width) {
        float sum = 0.0f;
        for (int k = 0; k < Width; ++k) sum += A[row * Width + k] * x[k];
        y[row] = sum;
    }
}
"""

WRONG_SOLUTION = _SOLUTION.replace("k = 0", "k = 1")


def matvec(folder: Path) -> Path:
    """A matrix times a vector, in a new folder of that name."""
    folder.mkdir(parents=True)
    (folder / "exercise.toml").write_text(DEFINITION)
    (folder / "handout.md").write_text("# A title\n\nMultiply by a *vector*.\n\n![A picture](rows.svg)\n")
    (folder / "starter.cu").write_text("// Write MatVec here.\n")
    (folder / "solution.cu").write_text(_SOLUTION)
    (folder / "rows.svg").write_text(FIGURE)
    return folder


def replace_in(file: Path, was: str, now: str) -> None:
    """Change a file; the text must have been there."""
    text = file.read_text()
    assert was in text
    file.write_text(text.replace(was, now))
