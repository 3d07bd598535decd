"""The source of a tiled product, and which of its indices a repair names."""

from __future__ import annotations

import pytest

from kernels.facts import Facts
from kernels.report.tile_indices import Repair, repair_text, repairs
from tests.kernels.facts_of import of_diagnosis

SOURCE = """
__global__ void mul(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[16][16], Ns[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    Ms[y][x] = M[y * Width + x];
    if (x < Width) Ns[y][x] = N[y * Width + x];
    else Ns[y][x] = 0;
    for (int k = 0; k < 16; ++k) sum += Ms[y][k] * Ns[k][x];  // Ns[0][0]
}""".strip().split("\n")


def cells(left: str = "[ty][k]", right: str = "[k][tx]") -> Facts:
    return of_diagnosis("tile_cells", "M", *left[1:-1].split("]["), "N", *right[1:-1].split("]["))


def found(facts: Facts, changes: dict[str, str]) -> list[tuple[int, str]]:
    source = "\n".join(SOURCE)
    for right, wrong in changes.items():
        assert right in source
        source = source.replace(right, wrong)
    return [(each.line, each.needed) for each in repairs(facts, source.split("\n"))]


@pytest.mark.parametrize(
    ("used", "changes", "repaired"),
    [
        ({"right": "[tx][k]"}, {"Ns[k][x]": "Ns[x][k]"}, [(7, "Ns[k][x]")]),
        ({"left": "[k][ty]"}, {"Ms[y][k]": "Ms[k][y]"}, [(7, "Ms[y][k]")]),
        ({"left": "[k][tx]"}, {"Ms[y][k]": "Ms[k][x]"}, [(7, "Ms[y][k]")]),
        ({"right": "[ty][k]"}, {"Ns[k][x]": "Ns[y][k]"}, [(7, "Ns[k][x]")]),
        ({"right": "[tx][k]"}, {"Ns[y][x]": "Ns[x][y]"}, [(5, "Ns[y][x]"), (6, "Ns[y][x]")]),
        # The load itself turns the tile, so that its store must do so, too.
        ({"right": "[tx][k]"}, {"N[y * Width + x]": "N[x * Width + y]"}, [(5, "Ns[x][y]"), (6, "Ns[x][y]")]),
        ({"left": "[tx][k]", "right": "[k][ty]"}, {"Ms[y][k]": "Ms[x][k]", "Ns[k][x]": "Ns[k][y]"},
         [(7, "Ms[y][k]"), (7, "Ns[k][x]")]),
        (
            {"right": "[tx][k]"},
            {"Ns[y][x]": "Ns[y * 17 + x]", "Ns[k][x]": "Ns[x * 17 + k]"},
            [(7, "Ns[k * 17 + x]")],
        ),
        ({"right": "[tx][k]"}, {"Ns[k][x]": "Ns[threadIdx.x][k]"}, [(7, "Ns[k][threadIdx.x]")]),
        # These sources don't show the mistake.
        ({}, {}, []),
        ({"left": "[tx][k]"}, {}, []),
        ({"left": "[k][ty]", "right": "[tx][k]"}, {"Ms[y][k]": "Ms[k][y]", "Ns[k][x]": "at(Ns, k, x)"}, []),
        ({"right": "[tx][k]"}, {"Ns[k][x]": "Ns[x + y][k]"}, []),
        ({"right": "[tx][k]"}, {"N[y * Width + x]": "n"}, []),
    ],
)  # fmt: skip
def test_only_a_source_that_agrees_with_the_product_gets_a_repair(used, changes, repaired):
    assert found(cells(**used), changes) == repaired


def test_many_cells_of_an_array_are_not_all_quoted():
    unrolled = [Repair(7 + k, "Ns", f"Ns[x][{k}]", f"Ns[{k}][x]") for k in range(16)]
    text = repair_text(unrolled)
    assert text.startswith("Write `Ns[0][x]` instead of `Ns[x][0]` at line 7.")
    assert "Ns[1]" not in text
