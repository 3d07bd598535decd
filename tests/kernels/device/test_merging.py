"""Which accesses may be merged, by the displacements and by what lies between them."""

from __future__ import annotations

from time import process_time

import pytest

from kernels.device import load_program
from kernels.device.counting.counts import Verb
from kernels.device.counting.merging import candidates
from tests.kernels.device.counted import Product
from tests.kernels.device.kernels import HEAD, THREAD, Device, program


def groups(text: str, opcode: str) -> list[tuple[int, int]]:
    """Displacement and width of the candidates among instructions of a kind."""
    made = program(text)
    return [
        (merge.displacement, merge.width)
        for merge in candidates(made)
        if made.instructions[merge.pcs[0]].opcode.startswith(opcode)
    ]


def test_a_run_of_words_gives_pairs_and_fours():
    text = f"{HEAD} {{ {THREAD} M += t * 8; P[t] = M[0] + M[1] * (M[2] + M[3] * (M[4] + M[5])); }}"

    assert sorted(groups(text, "ld.global")) == [(0, 8), (0, 16), (8, 8), (16, 8)]


def test_groups_begin_at_the_lowest_place_of_a_run_and_at_whole_multiples():
    text = f"{HEAD} {{ {THREAD} M += t * 8; P[t] = M[1] + M[2] * (M[3] + M[4] * M[5]); }}"

    assert sorted(groups(text, "ld.global")) == [(4, 8), (4, 16), (8, 8), (12, 8), (16, 8)]


def test_places_apart_are_not_merged():
    text = f"{HEAD} {{ {THREAD} M += t * 8; P[t] = M[0] + M[2] * M[4]; }}"

    assert groups(text, "ld.global") == []


def test_pairs_of_doubles_are_merged():
    text = f"{HEAD} {{ {THREAD} double* m = (double*)M + t * 2; P[t] = m[0] * m[1]; }}"

    assert groups(text, "ld.global") == [(0, 16)]


def test_stores_are_merged():
    text = f"{HEAD} {{ {THREAD} P += t * 4; P[0] = 1; P[1] = 2; P[2] = 3; P[3] = 4; }}"

    assert sorted(groups(text, "st.global")) == [(0, 8), (0, 16), (8, 8)]


@pytest.mark.parametrize("between", ["__syncthreads();", "P[n + t] = a;", "atomicAdd(P + n, a);", "__threadfence();"])
def test_what_may_change_the_memory_keeps_loads_apart(between):
    text = f"{HEAD} {{ {THREAD} M += t * 2; float a = M[0]; {between} P[t] = a + M[1]; }}"

    assert groups(text, "ld.global") == []


def test_a_store_elsewhere_keeps_nothing_apart():
    text = f"{HEAD} {{ {THREAD} __shared__ float s[32]; M += t * 2; float a = M[0]; s[t] = a; P[t] = a + M[1]; __syncthreads(); P[t] += s[0]; }}"  # noqa: E501

    assert (0, 8) in groups(text, "ld.global")


def test_volatile_loads_are_left_alone():
    text = f"{HEAD} {{ {THREAD} volatile float* m = M + t * 2; P[t] = m[0] + m[1]; }}"

    assert groups(text, "ld.") == []


PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry K(.param .u64 K_param_0)
{
  .reg .b64 %rd<3>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd1, [K_param_0];
  ld.global.f32 %f1, [%rd1];
  MOVE
  ld.global.f32 %f2, [%rd1+4];
  ret;
}
"""


@pytest.mark.parametrize(("move", "count"), [("add.s64 %rd1, %rd1, 8;", 0), ("add.s64 %rd2, %rd1, 8;", 1)])
def test_an_address_that_moves_on_is_another(move, count):
    assert len(candidates(load_program(PTX.replace("MOVE", move), "K"))) == count


def test_a_merged_access_is_counted_once_and_says_whether_it_is_aligned(device):
    text = f"{HEAD} {{ {THREAD} M += t * 2 + n; P[t] = M[0] * M[1]; }}"
    for shift, aligned in ((0, True), (1, False)):
        counts = run(device, text, shift)
        assert [(each.width, each.aligned, each.verb) for each in counts.merged] == [(8, aligned, Verb.LOAD)]
        assert counts.merged[0].values[:2].tolist() == [[1], [32]]


def run(device: Device, text: str, shift: int):
    counts = device.run(text.replace("+ n;", f"+ {shift};"), values=128, count=True).counts
    assert counts is not None
    return counts


def test_the_rows_of_a_tile_are_read_in_fours():
    merged = [each for each in Product("tiled", 16, 16).counts().merged if each.width == 16]

    assert [(each.name, each.space, len(each.pcs), each.aligned) for each in merged] == [("Mds", "shared", 4, True)] * 4


@pytest.mark.long("the short suite merges few addresses")
def test_thousands_of_addresses_are_not_compared_with_each_other():
    number = 6000
    moved = "".join(f"add.s64 %rd{at + 2}, %rd1, {4 * at};\n" for at in range(number))
    loads = "".join(f"ld.global.f32 %f1, [%rd{at + 2}];\n" for at in range(number))
    text = (
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry K(.param .u64 a)\n{\n"
        f".reg .f32 %f<2>;\n.reg .b64 %rd<{number + 2}>;\nld.param.u64 %rd1, [a];\n{moved}{loads}ret;\n}}\n"
    )
    made = load_program(text, "K")

    start = process_time()
    assert candidates(made) == ()
    assert process_time() - start < 5
