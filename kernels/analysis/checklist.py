"""The course's checklist of optimisations, each row with numbers from the kernel's run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kernels.analysis.remedies import (
    COARSE,
    LOADED_FACTORS,
    STORED_SUMS,
    Bound,
    coalesced,
    coarsened,
    gain,
    tiled,
    undivided,
)
from kernels.analysis.subject import WARP, Subject, line_of_most
from kernels.counters import Totals
from kernels.evidence import ChecklistRow, State, Verb
from kernels.occupancy import resource_title
from kernels.wording import percent, plural, short_number

_GOOD_OCCUPANCY, _FAIR_OCCUPANCY = 0.75, 0.4
_GOOD_SECTORS, _FAIR_SECTORS = 0.95, 0.6
_GOOD_LANES, _FAIR_LANES = 0.95, 0.8
_MUCH_REUSE, _SOME_REUSE = 0.75, 1.5
_FEW_REPEATS = 1.1


@dataclass(frozen=True, slots=True)
class _Judged:
    """What the run shows of one optimisation.

    better: the counts with the optimisation, if the model can tell its gain
    line: where it is missing
    """

    state: State
    evidence: str
    advice: str
    better: Totals | None = None
    line: int | None = None
    share: float | None = None


def checklist(subject: Subject, bound: Bound | None = None) -> tuple[ChecklistRow, ...]:
    """All six rows, in the course's order. A row has advice, gain and line only if its optimisation is missing.

    bound: the model that gives each row's gain, if there is one
    """
    rows = []
    for key, title, judge, cores, memory in _OPTIMISATIONS:
        judgement = judge(subject)
        row = ChecklistRow(key, title, judgement.state, judgement.evidence, cores, memory, share=judgement.share)
        if judgement.state in {State.NO, State.PARTLY}:
            worth = gain(subject, bound, judgement.better) if judgement.better is not None else None
            row = replace(row, advice=judgement.advice, gain=worth, line=judgement.line)
        rows.append(row)
    return tuple(rows)


def _occupancy(subject: Subject) -> _Judged:
    found = subject.occupancy
    if found is None:
        return _Judged(State.PARTLY, "Occupancy is unknown for this device.", _OCCUPANCY_ADVICE[""])
    limit = resource_title(found.limit)
    evidence = (
        f"{plural(found.blocks_per_sm, 'block')} and {plural(found.warps_per_sm, 'warp')} fit on an SM at once: "
        f"{percent(found.share)} of its limit" + (f", limited by {limit}." if limit and found.share < 1 else ".")
    )
    if subject.totals.product_bytes:
        evidence += " wgmma and bulk copies run while their warps go on, so few warps can be enough."
        return _Judged(State.NOT_NEEDED, evidence, "")
    advice = next(advice for name, advice in _OCCUPANCY_ADVICE.items() if name in found.limit.lower())
    return _Judged(_graded(found.share, _GOOD_OCCUPANCY, _FAIR_OCCUPANCY), evidence, advice)


_OCCUPANCY_ADVICE = {
    "register": "Use fewer registers per thread: fewer live values, or __launch_bounds__. A few warps with much work "
    "each can be as fast.",
    "shared": "Use less shared memory per block: smaller tiles, or one array for two purposes.",
    "warp": "Choose a number of threads per block that divides the SM's limit.",
    "block": "Give each block more threads, because an SM holds a limited number of blocks.",
    "": "Balance the threads, registers and shared memory of a block.",
}


_COALESCED_LOADS = (
    "Let neighbouring threads (in x) access neighbouring addresses. If the data has the other order, load it along its "
    "rows into shared memory and transpose it there."
)
_COALESCED_STORES = (
    "Let neighbouring threads (in x) write neighbouring addresses. If they have the other order, transpose the tile in "
    "shared memory, and write it along its rows."
)


def _coalescing(subject: Subject) -> _Judged:
    accesses = list(subject.accesses("global", Verb.LOAD, Verb.STORE))
    moved = sum(access.sectors for _, access in accesses)
    wasted = [(line.line, subject.wasted_sectors(access)) for line, access in accesses]
    if not moved:
        copies = "Bulk copies make all its accesses" if subject.totals.read_bytes else "It makes no access"
        return _Judged(State.NOT_NEEDED, f"{copies} to global memory.", "")
    share = 1 - sum(count for _, count in wasted) / moved
    requests = sum(access.requests for _, access in accesses)
    evidence = f"{short_number(moved / requests, 2)} sectors per request, {percent(share)} of them needed."
    worst = line_of_most(wasted)
    if worst is not None:
        evidence += f" Line {worst} causes most of the unneeded ones."
    stores = sum(subject.wasted_sectors(access) for _, access in subject.accesses("global", Verb.STORE))
    loaded, stored = (LOADED_FACTORS, STORED_SUMS) if subject.of_tensor_cores else (_COALESCED_LOADS, _COALESCED_STORES)
    advice = stored if 2 * stores > sum(count for _, count in wasted) else loaded
    state = _graded(share, _GOOD_SECTORS, _FAIR_SECTORS)
    return _Judged(state, evidence, advice, coalesced(subject), worst, share)


def _divergence(subject: Subject) -> _Judged:
    totals = subject.totals
    splits = [
        (line.line, line.branches.divergent)
        for line in subject.lines
        if line.branches is not None and not line.branches.predicated
    ]
    divergent = sum(count for _, count in splits)
    lanes = subject.active_share
    state = _graded(lanes, _GOOD_LANES, _FAIR_LANES)
    evidence = f"Warps split at {divergent:,} of {totals.branches:,} branches" if divergent else "No warp splits"
    evidence += f"; {short_number(32 * lanes)} of 32 threads are active per instruction."
    if subject.elected:
        evidence += " Lines at which one thread issues copies don't count."
    edges = subject.has_edges and not divergent
    if edges and state is not State.YES:
        evidence += " Blocks at the edge reach past the matrix."
    if subject.launch.threads % WARP:
        advice = f"A block of {subject.launch.threads} threads doesn't fill its last warp. Use a multiple of 32."
    elif edges:
        advice = "A larger matrix has a smaller share of blocks at the edge."
    else:
        advice = (
            "Let whole warps take the same way. Choose the working threads by t < n, not by t % n. At edges, select a "
            "value instead of branching."
        )
    return _Judged(state, evidence, advice, undivided(subject), line_of_most(splits))


def _tiling(subject: Subject) -> _Judged:
    advice = f"Let the block load {subject.tile}x{subject.tile} tiles into shared memory, for all its threads."
    return _Judged(*_reuse(subject), advice, tiled(subject), subject.reading_line)


def _reuse(subject: Subject) -> tuple[State, str]:
    read = subject.elements_read
    if not read:
        return State.NOT_NEEDED, "Nothing is read from global memory."
    if subject.product is None:
        times = read / subject.input_elements if subject.input_elements else 1.0
        if times <= _FEW_REPEATS:
            return State.NOT_NEEDED, "Each element is read once, so there is nothing to reuse."
        return State.PARTLY, f"Each element is read {short_number(times)} times."
    uses = 2 * subject.product.volume / read
    aim = min(extent / -(-extent // subject.tile) for extent in (subject.product.rows, subject.product.columns))
    often = short_number(uses)
    text = f"Each element read from global memory is used {'once' if often == '1' else f'{often} times'}"
    if uses >= _MUCH_REUSE * aim:
        return State.YES, f"{text}; tiles of {subject.tile} give {short_number(aim)}."
    state = State.PARTLY if uses >= _SOME_REUSE else State.NO
    return state, f"{text}; tiles of {subject.tile} would give {short_number(aim)}."


def _privatization(subject: Subject) -> _Judged:
    in_global = [(line.line, a.threads) for line, a in subject.accesses("global", Verb.ATOMIC)]
    in_shared = sum(access.threads for _, access in subject.accesses("shared", Verb.ATOMIC))
    updates = sum(count for _, count in in_global)
    if not updates and not in_shared:
        state, evidence = State.NOT_NEEDED, "It makes no atomic updates."
    elif updates <= subject.launch.blocks:
        state = State.YES
        evidence = f"{plural(updates, 'atomic update')} of global memory, at most one per block."
    else:
        state = State.PARTLY if in_shared else State.NO
        each = updates / subject.launch.blocks
        evidence = f"{plural(updates, 'atomic update')} of global memory, {each:,.1f} per block."
    advice = "Let each block add up in its shared memory, then update the result once."
    return _Judged(state, evidence, advice, line=line_of_most(in_global))


def _coarsening(subject: Subject) -> _Judged:
    sums = subject.operation == "sum"
    what, units = ("adds up", subject.input_elements) if sums else ("computes", subject.output_elements)
    each, better = units / subject.threads, None
    state, evidence = State.NO, f"A thread {what} {_amount(each)} of the {'input' if sums else 'output'}."
    if each >= 2:
        state = State.YES
    elif subject.product is not None:
        if subject.shares:
            better = coarsened(subject)
        else:
            evidence += " Tiles come first."
    elif not sums:
        state, evidence = State.NOT_NEEDED, "Threads repeat no work, so coarser threads would save nothing."
    common = f"Let each thread compute {COARSE} elements, one tile apart, from one load of their common tile."
    return _Judged(state, evidence, f"Let each thread add up {COARSE} elements." if sums else common, better)


_OPTIMISATIONS: tuple[tuple[str, str, Callable[[Subject], _Judged], str, str], ...] = (
    ("occupancy", "Maximising occupancy", _occupancy,
     "Other warps run while one waits for a result.",
     "More requests run at the same time, which hides their latency."),
    ("coalescing", "Coalesced global accesses", _coalescing,
     "Warps wait less for global memory.",
     "Less traffic, because threads use all bytes of each sector."),
    ("divergence", "Minimising control divergence", _divergence,
     "No core idles while other threads of its warp take another way.",
     "None."),
    ("tiling", "Tiling of reused data", _tiling,
     "Warps wait less for global memory.",
     "Less traffic, because a block loads an element once and uses it often."),
    ("privatization", "Privatisation", _privatization,
     "Warps wait less for atomic updates.",
     "Fewer updates of one address wait for each other."),
    ("coarsening", "Thread coarsening", _coarsening,
     "Less repeated work, and fewer barriers for the same result.",
     "Fewer elements that several blocks load."),
)  # fmt: skip
"""Key and title of each row, its judge, and what cores and memory gain."""


def _amount(elements: float) -> str:
    """The number of elements in words, also for a launch with more threads than elements."""
    if elements >= 1.5:
        return f"{elements:.3g} elements"
    return "one element" if elements > 0.6 else "less than one element"


def _graded(value: float, good: float, fair: float) -> State:
    if value >= good:
        return State.YES
    return State.PARTLY if value >= fair else State.NO
