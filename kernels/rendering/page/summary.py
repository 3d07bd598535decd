"""The top of the page: the analysed launch and the most important figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernels.analysis.model import Analysis
from kernels.counters import Totals
from kernels.evidence import Evidence, Extent, State
from kernels.rendering.page import numbers
from kernels.wording import plural


@dataclass(frozen=True, slots=True)
class Fact:
    """A named value."""

    title: str
    value: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in large type.

    state: "good", "fair" or "poor"; "" without a scale
    """

    title: str
    value: str
    note: str
    basis: str
    state: str = ""

    @property
    def number(self) -> str:
        """The value without its unit."""
        return self.value.partition(numbers.SPACE)[0]

    @property
    def unit(self) -> str:
        """The unit of the value, or ""."""
        return self.value.partition(numbers.SPACE)[2]


def facts(analysis: Analysis) -> tuple[Fact, ...]:
    """The facts about the analysed launch."""
    found = [Fact("Exercise", analysis.exercise)] if analysis.exercise else []
    if analysis.sizes:
        found.append(Fact("Sizes", _sizes(analysis.sizes)))
    if analysis.launch is not None:
        found.append(Fact(_grid_label(analysis), extent_text(analysis.launch.grid, "block")))
        found.append(Fact("Block", extent_text(analysis.launch.block, "thread")))
    if analysis.tile:
        found.append(Fact("Tile", str(analysis.tile)))
    found.append(Fact("Compiled for", analysis.arch))
    if (use := analysis.resources) is not None:
        shared = use.shared_bytes + (analysis.launch.shared if analysis.launch else 0)
        found.append(Fact("A thread uses", plural(use.registers, "register")))
        if use.local_bytes:
            found.append(Fact("and local memory", numbers.size(use.local_bytes)))
        if shared:
            found.append(Fact("A block uses", f"{numbers.size(shared)} of shared memory"))
    return tuple(found)


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}{numbers.SPACE}={numbers.SPACE}{value:,}" for name, value in sizes.items())


def _grid_label(analysis: Analysis) -> str:
    """`Grid at Width=256`; the verdict above names another size."""
    sizes = ", ".join(f"{name}={value}" for name, value in analysis.sizes.items())
    return f"Grid at {sizes}" if sizes else "Grid"


def extent_text(extent: tuple[int, int, int], noun: str) -> str:
    """`16 × 16 blocks`: x, and y and z if they exceed 1."""
    last = max((axis for axis in (1, 2) if extent[axis] > 1), default=0)
    text = " × ".join(f"{number:,}" for number in extent[: last + 1])
    return f"{text} {noun}" if text == "1" else f"{text} {noun}s"


def ran_text(extent: Extent) -> str:
    """How many blocks ran, and whether the totals are exact."""
    blocks = extent.launch.blocks
    if extent.blocks_run >= blocks and extent.exact:
        return f"All {plural(blocks, 'block')} ran, so the counts are exact."
    if extent.blocks_run >= blocks:
        return "This kernel is incorrect. The counts cover this one run, up to the point where it stopped."
    kind = "exact" if extent.exact else "estimated"
    return f"{extent.blocks_run:,} of {plural(blocks, 'block')} ran; the counts are {kind} for all."


def figures(analysis: Analysis) -> tuple[Figure, ...]:
    """At most six figures, in the course's order."""
    evidence = analysis.evidence
    if evidence.extent is None:
        return ()
    t = evidence.totals
    found = [*_coalescing(evidence), *_conflicts(t), _lanes(t)]
    if t.global_bytes:
        note = "operations per 4 requested bytes"
        found.append(Figure("Compute to memory", numbers.ratio(t.compute_to_memory), note, "counted"))
    if (held := analysis.occupancy) is not None:
        note = f"{held.warps_per_sm} warps on a multiprocessor"
        found.append(Figure("Occupancy", numbers.percent(held.share), note, "modelled"))
    if evidence.light:
        light = evidence.light[0]
        speed = numbers.gflops(light.gflops) if light.gflops else numbers.milliseconds(light.milliseconds)
        found.append(Figure("Speed limit", speed, f"at {_sizes(light.sizes)} on {light.device}", "modelled"))
    return tuple(found)


def _coalescing(evidence: Evidence) -> list[Figure]:
    """The checklist's share and state. Another measure would contradict the checklist."""
    row = next((each for each in evidence.checklist if each.key == "coalescing"), None)
    t = evidence.totals
    requests = t.global_load_requests + t.global_store_requests
    if row is None or row.share is None or not requests:
        return []
    each = numbers.ratio((t.global_load_sectors + t.global_store_sectors) / requests)
    note = f"{each} sectors per request"
    return [Figure("Sectors needed", numbers.percent(row.share), note, "counted", _STATES[row.state])]


_STATES = {State.YES: "good", State.PARTLY: "fair", State.NO: "poor", State.NOT_NEEDED: ""}


def _conflicts(t: Totals) -> list[Figure]:
    found = []
    passes = t.shared_load_wavefronts + t.shared_store_wavefronts
    if passes:
        conflicts = t.shared_load_conflicts + t.shared_store_conflicts
        note = f"{numbers.short(conflicts)} of {numbers.short(passes)} passes"
        share = conflicts / passes
        found.append(
            Figure(
                "Lost to bank conflicts",
                numbers.percent(share),
                note,
                "counted",
                _state(1 - share, 0.95, 0.7),
            )
        )
    return found


def _lanes(t: Totals) -> Figure:
    share = t.warp_efficiency
    note = f"{numbers.ratio(32 * share)} of 32 threads"
    return Figure(
        "Active threads per warp", numbers.percent(share), note, "counted", _state(share, 0.95, 0.8)
    )


def _state(share: float, good: float, fair: float) -> str:
    return "good" if share >= good else "fair" if share >= fair else "poor"
