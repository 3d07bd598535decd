"""The top of the page: the analysed launch and the most important figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernels.analysis.model import Analysis
from kernels.counters import Totals
from kernels.evidence import Evidence, Extent
from kernels.launch import Launch
from kernels.rendering.checklist import STATES
from kernels.rendering.page import numbers
from kernels.wording import plural, sizes_text


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in large type. state: "good", "fair" or "poor"; "" without a scale."""

    title: str
    value: str
    note: str
    basis: str
    state: str = ""

    @property
    def number(self) -> str:
        return self.value.partition(numbers.SPACE)[0]

    @property
    def unit(self) -> str:
        return self.value.partition(numbers.SPACE)[2]


def facts(analysis: Analysis) -> Mapping[str, str]:
    """The facts about the analysed launch, by title."""
    found = {"Exercise": analysis.exercise}
    if analysis.launch is not None and analysis.sizes:
        # A report's own sentence says the launch of its largest case.
        found[f"Counted at {sizes_text(analysis.sizes)}"] = launch_text(analysis.launch)
    found |= {"Tile": str(analysis.tile or ""), "Compiled for": analysis.arch}
    if (use := analysis.resources) is not None:
        shared = use.shared_bytes + (analysis.launch.shared if analysis.launch else 0)
        found["A thread uses"] = plural(use.registers, "register")
        found["and local memory"] = numbers.size(use.local_bytes) if use.local_bytes else ""
        found["A block uses"] = f"{numbers.size(shared)} of shared memory" if shared else ""
    return {title: value for title, value in found.items() if value}


def launch_text(launch: Launch) -> str:
    """`16 × 16 blocks of 16 × 16 threads`."""
    return launch.text.replace(" x ", " × ")


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
        note = "operations for each float (4 bytes) that threads request"
        found.append(Figure("Compute to memory", numbers.ratio(t.compute_to_memory), note, "counted"))
    if (held := analysis.occupancy) is not None:
        note = f"{held.warps_per_sm} warps on a multiprocessor"
        found.append(Figure("Occupancy", numbers.percent(held.share), note, "modelled"))
    if evidence.light:
        light = evidence.light[0]
        speed, which = numbers.milliseconds(light.milliseconds), "least time"
        if light.gflops:
            speed, which = numbers.gflops(light.gflops), "most"
        note = f"the {which} that the model allows this kernel at {sizes_text(light.sizes)} on {light.device}"
        found.append(Figure("Speed of light", speed, note, "modelled"))
    return tuple(found)


def _coalescing(evidence: Evidence) -> list[Figure]:
    """The checklist's share and state. Another measure would contradict the checklist."""
    row = next((each for each in evidence.checklist if each.key == "coalescing"), None)
    t = evidence.totals
    requests = t.global_load_requests + t.global_store_requests
    if row is None or row.share is None or not requests:
        return []
    each = numbers.ratio((t.global_load_sectors + t.global_store_sectors) / requests)
    note = f"of the moved 32-byte sectors; {each} for each request on average"
    return [Figure("Sectors needed", numbers.percent(row.share), note, "counted", STATES[row.state][0])]


def _conflicts(t: Totals) -> list[Figure]:
    found = []
    passes = t.shared_load_wavefronts + t.shared_store_wavefronts
    if passes:
        conflicts = t.shared_load_conflicts + t.shared_store_conflicts
        note = f"{numbers.short(conflicts)} of {numbers.short(passes)} passes through shared memory are repeats"
        share = conflicts / passes
        found.append(
            Figure("Lost to bank conflicts", numbers.percent(share), note, "counted", _state(1 - share, 0.95, 0.7))
        )
    return found


def _lanes(t: Totals) -> Figure:
    share = t.warp_efficiency
    note = f"{numbers.ratio(32 * share)} of 32 threads"
    return Figure("Active threads per warp", numbers.percent(share), note, "counted", _state(share, 0.95, 0.8))


def _state(share: float, good: float, fair: float) -> str:
    return "good" if share >= good else "fair" if share >= fair else "poor"
