from __future__ import annotations

from collections import Counter
from time import process_time

import numpy as np
import pytest

from kernels import device
from kernels.analysis.hardware import Executed, as_executed
from kernels.analysis.merge_fit import Match
from kernels.analysis.sass import MachineAccess, MachineBranch, MachineLine, Sass, read_sass
from kernels.compile.compilation import Compilation, compile_source
from kernels.device.counting.counts import ACCESS_FIELDS, AccessCount, BranchCount, Counts, LineWork, Verb
from kernels.evidence import PTX_ONLY
from kernels.launch import Launch
from tests.marks import linux
from worker.sandbox.disassembler import disassemble


def access(pcs, name="a", line=5, width=4, space="shared", verb=Verb.LOAD, aligned=True, **values):
    """One access; by default of 10 requests in each of two blocks, one wavefront each for every 4 bytes."""
    numbers = {"requests": 10, "threads": 320, "wavefronts": 10 * width // 4, "ideal_wavefronts": 10 * width // 4}
    rows = [[(numbers | values).get(field, 0)] * 2 for field in ACCESS_FIELDS]
    return AccessCount(tuple(pcs), line, space, verb, name, width, aligned, np.array(rows, np.int64))


def four(first, name="a", **more):
    """Four accesses of 4 bytes, and what they may become."""
    pcs = range(first, first + 4)
    merged = [
        access(pcs[:2], name, width=8, **more),
        access(pcs[2:], name, width=8, **more),
        access(pcs, name, width=16, **more),
    ]
    return [access([pc], name, **more) for pc in pcs], merged


def counts(*groups, branches=(), lines=()) -> Counts:
    accesses = tuple(item for group, _ in groups for item in group)
    merged = tuple(item for _, group in groups for item in group)
    return Counts((0, 1), accesses, merged, tuple(branches), tuple(lines))


def machine(widths, line=5, space="shared", verb=Verb.LOAD, branches=()) -> Sass:
    """Machine code that holds so many accesses of each width on one line."""
    accesses = tuple(MachineAccess(space, verb, width, False) for width in Counter(widths).elements())
    return {line: MachineLine(len(accesses), 0, accesses, tuple(branches))}


def requests(executed: Executed) -> dict[str, tuple[int, int]]:
    """Per variable: requests of the hardware, and of the PTX."""
    return {item.name: (item.requests, item.ptx_requests) for line in executed.lines for item in line.accesses}


def test_what_the_machine_code_does_not_join_stays_apart():
    found = as_executed(counts(four(0)), machine({4: 4}))

    assert requests(found) == {"a": (80, 80)}
    assert found.lines[0].accesses[0].note == ""


@pytest.mark.parametrize("copies", [1, 3])
def test_four_become_one_however_often_the_loop_was_copied(copies):
    found = as_executed(counts(four(0)), machine({16: copies}))

    assert requests(found) == {"a": (20, 80)}
    assert found.lines[0].accesses[0].width == 16
    assert found.lines[0].accesses[0].note == (
        "the assembler reads four neighbouring elements in one access (LDS.128): 1 access, 4 in the PTX"
    )
    assert (found.totals.shared_load_requests, found.totals.ptx_shared_load_requests) == (20, 80)
    assert (found.notes, found.fits[0].match) == ((), Match.EXACT)


def test_only_as_many_are_joined_as_there_are():
    assert requests(as_executed(counts(four(0)), machine({8: 2}))) == {"a": (40, 80)}
    assert requests(as_executed(counts(four(0)), machine({8: 1, 4: 2}))) == {"a": (60, 80)}


def test_one_variable_of_two_is_joined_as_a_whole():
    found = as_executed(counts(four(0, "a"), four(4, "b"), four(8, "b")), machine({16: 2, 4: 4}))

    assert requests(found) == {"a": (80, 80), "b": (40, 160)}


def test_what_is_not_aligned_cannot_be_joined():
    alone, merged = four(0, "a")
    crooked = [access(item.pcs, "a", width=item.width, aligned=False) for item in merged]
    found = as_executed(counts((alone, crooked), four(4, "b")), machine({16: 1, 4: 4}))

    assert requests(found) == {"a": (80, 80), "b": (20, 80)}


def test_an_access_that_was_wide_already_is_none_that_was_joined():
    wide: tuple[list[AccessCount], list[AccessCount]] = ([access([9], "v", width=16)], [])
    found = as_executed(counts(four(0), wide), machine({16: 1, 4: 4}))

    assert requests(found) == {"a": (80, 80), "v": (20, 20)}


def test_neighbours_on_two_lines_are_joined_on_the_first():
    alone = [access([0], line=5), access([1], line=6)]
    found = as_executed(counts((alone, [access([0, 1], width=8)])), machine({8: 1}))

    first, second = (line.accesses[0] for line in found.lines)
    assert (first.requests, first.ptx_requests) == (20, 20)
    assert (second.requests, second.ptx_requests) == (0, 20)
    assert "another line" in second.note
    assert found.totals.shared_load_requests == 20


def test_a_mixture_that_does_not_fit_is_said_to_be_a_guess():
    found = as_executed(counts(four(0)), machine({16: 3, 4: 1}))

    assert requests(found) == {"a": (20, 80)}
    assert "best guess" in found.lines[0].accesses[0].note
    assert found.notes[0].startswith("On line 5, ")


def test_a_note_names_a_few_of_many_lines():
    groups = [four(4 * line, line=line) for line in range(1, 101)]
    sass: Sass = {line: machine({16: 3, 4: 1}, line)[line] for line in range(1, 101)}
    (note,) = as_executed(counts(*groups), sass).notes

    assert note.startswith("On lines 1, 2, 3, 4, 5, 6, 7, 8 and 92 more, ")


def test_thousands_of_variables_on_one_line_are_sorted_soon():
    groups = [four(4 * number, f"v{number}") for number in range(1500)]

    start = process_time()
    found = as_executed(counts(*groups), machine({16: 700, 4: 3200}))
    assert process_time() - start < 5
    assert sum(hardware < ptx for hardware, ptx in requests(found).values()) == 700


def test_a_loop_that_was_unrolled_decides_over_its_remainder():
    assert requests(as_executed(counts(four(0)), machine({16: 1, 8: 14, 4: 3}))) == {"a": (40, 80)}


def test_accesses_that_the_assembler_moved_are_counted_by_the_ptx():
    found = as_executed(counts(four(0)), machine({4: 4}, line=9))

    assert requests(found) == {"a": (80, 80)}
    assert "another line, or removed them" in found.lines[0].accesses[0].note


def test_without_machine_code_the_ptx_counts():
    found = as_executed(counts(four(0)), None)

    assert requests(found) == {"a": (80, 80)}
    assert found.notes == (PTX_ONLY,)


def test_conflicts_are_those_of_what_was_joined():
    alone = [access([pc], wavefronts=160) for pc in range(4)]
    joined = [access(range(4), width=16, wavefronts=340)]
    found = as_executed(counts((alone, joined)), machine({16: 1}))

    assert found.totals.shared_load_conflicts == 2 * (340 - 40)
    assert found.totals.ptx_shared_load_conflicts == 2 * 4 * (160 - 10)


def test_a_branch_without_a_jump_is_predicated():
    branch = BranchCount(3, 5, np.array([[4, 4], [1, 0]]), ((8, 1), (0, 0)))
    jump, leave = MachineBranch("BRA", conditional=True), MachineBranch("EXIT", conditional=True)
    found = {
        name: as_executed(counts(branches=(branch, branch)), machine({}, branches=(each,))).lines[0].branches
        for name, each in (("jump", jump), ("leave", leave))
    }

    assert found["jump"] is not None
    assert (found["jump"].warps, found["jump"].divergent, found["jump"].predicated) == (16, 2, False)
    assert found["jump"].intervals == ((16, 2), (0, 0))
    assert found["leave"] is not None
    assert found["leave"].predicated


def test_totals_follow_from_the_sums():
    values = {"requests": 2, "threads": 64, "sectors": 16, "unique_bytes": 256, "segments": 4, "wavefronts": 0}
    load = access([0], "M", space="global", ideal_wavefronts=0, **values)
    work = LineWork(5, np.array([[640, 640], [25, 25], [128, 128], *[[0, 0]] * 4]))
    totals = as_executed(counts(([load], []), lines=(work,)), machine({4: 1}, space="global")).totals

    assert (totals.global_load_requests, totals.global_load_sectors, totals.global_load_segments) == (4, 32, 8)
    assert totals.global_load_efficiency == 0.5
    assert totals.global_bytes == totals.global_load_bytes == 512
    assert totals.compute_to_memory == 2.0
    assert totals.warp_efficiency == 0.8


TILED = """__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Mds[tx][ty] = M[Row * Width + ph * TILE_WIDTH + tx];
        Nds[tx][ty] = N[(ph * TILE_WIDTH + ty) * Width + Col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += Mds[k][ty] * Nds[tx][k];
        __syncthreads();
    }
    P[Row * Width + Col] = Pvalue;
}"""


@pytest.mark.one_in(2, "one of two")
@linux
@pytest.mark.parametrize(("tile", "loads", "stores"), [(16, 1_572_864, 458_752), (32, 3_670_016, 1_015_808)])
def test_conflicts_of_transposed_tiles_are_those_that_a_gpu_counts(tile, loads, stores):
    """Nsight Compute's numbers for Width = 256 on an H200; every block and phase does the same, so 64 are enough."""
    made = compile_source(TILED, "MatrixMulKernel", "sm_90", {"TILE_WIDTH": str(tile)}, fmad=True)
    assert isinstance(made, Compilation)
    width = 64
    buffers = [device.Buffer(name, np.ones(width * width, np.float32), initialised=True) for name in "MNP"]
    launch = Launch((width // tile, width // tile, 1), (tile, tile, 1), 0)
    program = device.load_program(made.ptx, made.entry)
    run = device.run(
        program,
        launch,
        ("M", "N", "P", width),
        buffers,
        device.Options(budget=device.Budget(10**6), observe=False, count=True),
    )
    text = disassemble(made.cubin).text
    assert run.counts is not None
    assert text is not None
    found = as_executed(run.counts, read_sass(text, made.entry))

    scale = (256 // width) ** 3
    assert found.totals.shared_load_conflicts * scale == loads
    assert found.totals.shared_store_conflicts * scale == stores
    assert {each.match for each in found.fits} == {Match.EXACT}
    assert found.notes == ()
