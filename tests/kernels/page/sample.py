"""One realistic analysis, made by hand: a tiled product whose tiles are turned, at Width 256 with tiles of 16.

Its totals are those that hardware counters showed for such a kernel.
"""

from __future__ import annotations

from kernels.analysis.devices import device_named
from kernels.analysis.light import Footprint, light
from kernels.analysis.model import Analysis
from kernels.compile.diagnostics import Diagnostic, Resources
from kernels.counters import Totals
from kernels.evidence import (
    AccessEvidence,
    Accumulation,
    Advice,
    BlockPhase,
    BranchEvidence,
    ChecklistRow,
    Evidence,
    Extent,
    Fetch,
    GoalResult,
    LineEvidence,
    Phase,
    PhaseTable,
    State,
    TheoryRow,
    Verb,
)
from kernels.launch import Launch
from kernels.occupancy import limits_of, occupancy
from kernels.verdict import Severity

SOURCE = """\
#define TILE_WIDTH 16
// The tiles lie turned in shared memory: a < b && "quoted".
__global__ void MatrixMulKernel(const float* M, const float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    float Pvalue = 0.0f;
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Mds[tx][ty] = M[(blockIdx.y * TILE_WIDTH + ty) * Width + ph * TILE_WIDTH + tx];
        Nds[tx][ty] = N[(ph * TILE_WIDTH + ty) * Width + blockIdx.x * TILE_WIDTH + tx];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += Mds[k][ty] * Nds[tx][k];
        }
        __syncthreads();
    }
    P[(blockIdx.y * TILE_WIDTH + ty) * Width + blockIdx.x * TILE_WIDTH + tx] = Pvalue;
}
"""
LAUNCH = Launch((16, 16, 1), (16, 16, 1), 0)
SIZES = {"Width": 256}
USE = Resources(32, 2048, 0, 0, 0, 380, 1)


def access(
    space: str, verb: Verb, name: str, requests: int, *, each: int, ideal: int, width: int = 4,
    ptx: tuple[int, int] | None = None, note: str = "",
) -> AccessEvidence:  # fmt: skip
    """Every request alike. each, ideal: sectors, or passes in shared memory; ptx: requests and passes each"""
    banked = space == "shared"
    before, passes = ptx or (requests, each)
    return AccessEvidence(
        space=space, verb=verb, name=name, width=width, requests=requests, threads=32 * requests,
        bytes=32 * width * requests, unique_bytes=0 if banked else 32 * ideal * requests,
        sectors=0 if banked else each * requests, ideal_sectors=0 if banked else ideal * requests,
        segments=0 if banked else max(1, each // 4) * requests,
        wavefronts=each * requests if banked else 0, conflicts=(each - ideal) * requests if banked else 0,
        ptx_requests=before, ptx_sectors=0 if banked else each * before,
        ptx_wavefronts=passes * before if banked else 0,
        ptx_conflicts=(passes - 1) * before if banked else 0, note=note,
    )  # fmt: skip


LINES = (
    LineEvidence(8, 1_179_648, 36_864, 0, branches=BranchEvidence(34_816, 2_048, ((2_048, 0), (2_048, 128)))),
    LineEvidence(
        9, 6_291_456, 196_608, 0,
        (
            access("global", Verb.LOAD, "M", 32_768, each=4, ideal=4),
            access("shared", Verb.STORE, "Mds", 32_768, each=8, ideal=1),
        ),
    ),
    LineEvidence(
        10, 6_291_456, 196_608, 0,
        (
            access("global", Verb.LOAD, "N", 32_768, each=4, ideal=4),
            access("shared", Verb.STORE, "Nds", 32_768, each=8, ideal=1),
        ),
    ),
    LineEvidence(11, 1_048_576, 32_768, 0),
    LineEvidence(
        13, 50_331_648, 1_572_864, 33_554_432,
        (
            access("shared", Verb.LOAD, "Mds", 524_288, each=1, ideal=1),
            access(
                "shared", Verb.LOAD, "Nds", 131_072, each=16, ideal=4, width=16, ptx=(524_288, 8),
                note="the assembler reads four neighbouring elements in one access (LDS.128)",
            ),
        ),
    ),
    LineEvidence(17, 393_216, 12_288, 0, (access("global", Verb.STORE, "P", 2_048, each=4, ideal=4),)),
)  # fmt: skip

TOTALS = Totals(
    global_load_requests=65_536, global_load_sectors=262_144, global_load_segments=65_536,
    global_load_efficiency=1.0, global_store_requests=2_048, global_store_sectors=8_192,
    global_store_segments=2_048, global_store_efficiency=1.0, shared_load_requests=655_360,
    shared_store_requests=65_536, shared_load_conflicts=1_572_864, shared_store_conflicts=458_752,
    shared_load_wavefronts=2_621_440, shared_store_wavefronts=524_288, divergent_branches=2_048,
    branches=34_816, thread_instructions=65_536_000, warp_instructions=2_048_000, warp_efficiency=0.997,
    flops=33_554_432, global_bytes=8_650_752, global_load_bytes=8_388_608, global_store_bytes=262_144,
    compute_to_memory=15.515, ptx_global_load_requests=65_536, ptx_global_load_sectors=262_144,
    ptx_global_store_requests=2_048, ptx_global_store_sectors=8_192, ptx_shared_load_requests=1_048_576,
    ptx_shared_store_requests=65_536, ptx_shared_load_conflicts=3_670_016,
    ptx_shared_store_conflicts=458_752, ptx_shared_load_wavefronts=4_718_592,
    ptx_shared_store_wavefronts=524_288,
)  # fmt: skip


def phases() -> PhaseTable:
    """The textbook's: Width 4, tiles of 2, two phases."""
    tile = [(ty, tx) for ty in range(2) for tx in range(2)]
    made = []
    for number in range(2):
        blocks = []
        for by, bx in tile:
            fetches, sums = [], []
            for ty, tx in tile:
                row, column, at = 2 * by + ty, 2 * bx + tx, 2 * number
                thread = (tx, ty, 0)
                fetches += [
                    Fetch(thread, f"M[{row}][{at + tx}]", f"M[{4 * row + at + tx}]", f"Mds[{ty}][{tx}]", 9),
                    Fetch(thread, f"N[{at + ty}][{column}]", f"N[{4 * (at + ty) + column}]", f"Nds[{ty}][{tx}]", 10),
                ]
                cells = " + ".join(f"Mds[{ty}][{k}]*Nds[{k}][{tx}]" for k in range(2))
                elements = " + ".join(f"M[{row}][{at + k}]*N[{at + k}][{column}]" for k in range(2))
                sums.append(Accumulation(thread, f"P[{row}][{column}]", cells, elements, 13))
            blocks.append(BlockPhase((bx, by, 0), tuple(fetches), tuple(sums)))
        made.append(Phase(number, tuple(blocks)))
    extents = {"M": (4, 4), "N": (4, 4), "P": (4, 4), "Mds": (2, 2), "Nds": (2, 2)}
    return PhaseTable({"Width": 4}, 2, Launch((2, 2, 1), (2, 2, 1), 0), extents, tuple(made))


EVIDENCE = Evidence(
    extent=Extent(SIZES, 16, LAUNCH, 256, exact=True),
    lines=LINES,
    totals=TOTALS,
    theory=(
        TheoryRow("element_reads", "elements read", "2 x 256^3 / 16", 2_097_152, 2_097_152, "elements"),
        TheoryRow(
            "load_requests", "load requests", "256^3 / (16 x 16)", 65_536, 73_728, "requests", 0.125, 9,
            "warps at the edge are partly empty",
        ),
        TheoryRow("element_reads_naive", "elements read without tiles", "2 x 256^3", 33_554_432, None, "elements"),
    ),
    light=(light(TOTALS, LAUNCH, SIZES, device_named("h200"), Footprint(524_288, 262_144)),),
    checklist=(
        ChecklistRow(
            "occupancy", "Maximising occupancy", State.YES, "8 blocks and 64 warps fit on an SM at once.",
            "Other warps have work.", "More requests are under way.",
        ),
        ChecklistRow(
            "coalescing", "Coalesced global accesses", State.PARTLY, "4.00 sectors a request.",
            "Fewer stalls.", "Less traffic.", "Let threadIdx.x run along a row.", 1.8, 9,
        ),
        ChecklistRow(
            "coarsening", "Thread coarsening", State.NO, "A thread makes one element.", "Less work.", "Less traffic.",
        ),
        ChecklistRow("privatization", "Privatisation", State.NOT_NEEDED, "No atomic updates.", "-", "-"),
    ),
    advice=(
        Advice("Line 13 reads Nds with 4-way bank conflicts: make its rows one element longer.", 13),
        Advice("Next in the course: thread coarsening."),
    ),
    goals=(
        GoalResult("No bank conflicts", "shared_load_conflicts", 1_572_864, 0, met=False),
        GoalResult("Load every tile once", "global_load_requests", 65_536, 65_536, met=True),
    ),
    phases=phases(),
    notes=("Another line makes these accesses together with its accesses.",),
)  # fmt: skip

ANALYSIS = Analysis(
    exercise="tiled-square",
    arch="sm_90",
    tile=16,
    sizes=SIZES,
    launch=LAUNCH,
    resources=USE,
    occupancy=occupancy(limits_of("9.0"), 256, USE.registers, USE.shared_bytes),
    evidence=EVIDENCE,
    warnings=(Diagnostic(7, 5, Severity.WARNING, "variable was set but never used"),),
    seconds={"compile": 0.23, "count": 1.99},
)
