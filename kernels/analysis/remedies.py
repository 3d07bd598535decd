"""The counts of a kernel after one optimisation, for the model that estimates its gain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernels.analysis.subject import WARP, Subject
from kernels.counters import Totals
from kernels.evidence import Verb

Bound = Callable[[Totals], float]
"""The modelled lower bound of the time, in milliseconds, of a launch with these totals."""

_SECTORS_A_SEGMENT = 4
COARSE = 4
"""The course's coarsening factor."""
STORED_SUMS = (
    "A matrix instruction decides which thread has which sum. Store neighbouring sums of a thread together, as a "
    "`float2`, where rows begin at a multiple of 8 bytes. Or collect the tile in shared memory, and store its rows."
)

LOADED_FACTORS = (
    "A matrix instruction decides which thread loads which element. Let neighbouring threads copy the tile to shared "
    "memory along its rows, and load matrices from there."
)


def gain(subject: Subject, bound: Bound | None, better: Totals) -> float | None:
    """The speedup of the modelled bound with the better totals; None without a model."""
    if bound is None:
        return None
    now, then = bound(subject.totals), bound(better)
    return round(now / then, 3) if then > 0 else None


def coalesced(subject: Subject) -> Totals:
    """The totals if no request moves more sectors than it needs."""
    totals, better = subject.totals, {}
    for verb in (Verb.LOAD, Verb.STORE):
        sectors, segments = 0, 0
        for _, access in subject.accesses("global", verb):
            if subject.wasted_sectors(access):
                sectors += access.sectors - access.ideal_sectors
                segments += access.segments - max(access.requests, access.ideal_sectors // _SECTORS_A_SEGMENT)
        for name, saved in ((f"global_{verb}_sectors", sectors), (f"global_{verb}_segments", segments)):
            better[name] = getattr(totals, name) - max(0, saved)
    return replace(totals, **better)


def undivided(subject: Subject) -> Totals:
    """The totals if all 32 threads are active in every warp instruction."""
    totals = subject.totals
    return replace(totals, warp_instructions=-(-totals.thread_instructions // WARP), warp_efficiency=1.0)


def tiled(subject: Subject) -> Totals:
    """The totals if tiles in shared memory leave one global load in `tile`."""
    totals, tile = subject.totals, max(1, subject.tile)
    loads = totals.global_load_requests
    saved = totals.global_load_bytes - totals.global_load_bytes // tile
    return replace(
        totals,
        global_load_requests=loads // tile,
        global_load_sectors=totals.global_load_sectors // tile,
        global_load_segments=totals.global_load_segments // tile,
        global_load_bytes=totals.global_load_bytes - saved,
        global_bytes=totals.global_bytes - saved,
        shared_load_requests=totals.shared_load_requests + loads,
        shared_load_wavefronts=totals.shared_load_wavefronts + loads,
        shared_store_requests=totals.shared_store_requests + loads // tile,
        shared_store_wavefronts=totals.shared_store_wavefronts + loads // tile,
    )


def coarsened(subject: Subject) -> Totals:
    """The totals if each block computes several tiles of the output from one tile of the left matrix."""
    totals, left = subject.totals, (1 + 1 / COARSE) / 2
    saved = totals.global_load_bytes - round(totals.global_load_bytes * left)
    return replace(
        totals,
        global_load_requests=round(totals.global_load_requests * left),
        global_load_sectors=round(totals.global_load_sectors * left),
        global_load_segments=round(totals.global_load_segments * left),
        global_load_bytes=totals.global_load_bytes - saved,
        global_bytes=totals.global_bytes - saved,
        shared_store_requests=round(totals.shared_store_requests * left),
        shared_store_wavefronts=round(totals.shared_store_wavefronts * left),
    )
