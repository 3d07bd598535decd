"""The course's checklist of optimisations, each row with numbers from the kernel's run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernels.analysis.remedies import COARSE, Bound, coalesced, coarsened, gain, tiled, undivided
from kernels.analysis.subject import Subject, line_of_most
from kernels.evidence import ChecklistRow, State, Verb
from kernels.wording import plural, short_number

_GOOD_OCCUPANCY, _FAIR_OCCUPANCY = 0.75, 0.4
_GOOD_SECTORS, _FAIR_SECTORS = 0.95, 0.6
_GOOD_LANES, _FAIR_LANES = 0.95, 0.8
_MUCH_REUSE, _SOME_REUSE = 0.75, 1.5
_FEW_REPEATS = 1.1


def checklist(subject: Subject, bound: Bound | None = None) -> tuple[ChecklistRow, ...]:
    """All six rows, in the course's order.

    bound: the model that gives each row's gain, if there is one
    """
    rows: tuple[Callable[[Subject, Bound | None], ChecklistRow], ...] = (
        _occupancy, _coalescing, _divergence, _tiling, _privatization, _coarsening,
    )  # fmt: skip
    return tuple(_unneeded_advice_left_out(row(subject, bound)) for row in rows)


def _unneeded_advice_left_out(row: ChecklistRow) -> ChecklistRow:
    """The row, without advice and gain if the optimisation is present or not needed."""
    return replace(row, advice="", gain=None) if row.state in {State.YES, State.NOT_NEEDED} else row


def _occupancy(subject: Subject, bound: Bound | None) -> ChecklistRow:
    found = subject.occupancy
    if found is None:
        state, evidence, limit = State.PARTLY, "Occupancy is unknown for this device.", ""
    else:
        state = _graded(found.share, _GOOD_OCCUPANCY, _FAIR_OCCUPANCY)
        limit = found.limit
        evidence = (
            f"{plural(found.blocks_per_sm, 'block')} and {plural(found.warps_per_sm, 'warp')} fit on an SM at once: "
            f"{_percent(found.share)} of its limit"
            + (f", limited by {_named(limit)}." if limit and found.share < 1 else ".")
        )
    return ChecklistRow(
        key="occupancy",
        title="Maximising occupancy",
        state=state,
        evidence=evidence,
        cores="Other warps run while one waits for a result.",
        memory="More requests run at the same time, which hides their latency.",
        advice=_OCCUPANCY_ADVICE.get(_resource(limit), _OCCUPANCY_ADVICE[""]),
    )


def _named(limit: str) -> str:
    """The resource in the course's words."""
    return {"shared": "shared memory"}.get(limit, limit)


def _resource(limit: str) -> str:
    return next((name for name in ("register", "shared", "warp", "block") if name in limit.lower()), "")


_OCCUPANCY_ADVICE = {
    "register": "Use fewer registers per thread: fewer live values, or __launch_bounds__. A few warps with much work "
    "each can be as fast.",
    "shared": "Use less shared memory per block: smaller tiles, or one array for two purposes.",
    "warp": "Choose a number of threads per block that divides the SM's limit.",
    "block": "Give each block more threads, because an SM holds a limited number of blocks.",
    "": "Balance the threads, registers and shared memory of a block.",
}


def _coalescing(subject: Subject, bound: Bound | None) -> ChecklistRow:
    accesses = list(subject.accesses("global", Verb.LOAD, Verb.STORE))
    moved = sum(access.sectors for _, access in accesses)
    wasted = [(line.line, subject.wasted_sectors(access)) for line, access in accesses]
    share = 1 - sum(count for _, count in wasted) / moved if moved else 1.0
    state = _graded(share, _GOOD_SECTORS, _FAIR_SECTORS)
    worst = line_of_most(wasted)
    if not moved:
        state, evidence = State.NOT_NEEDED, "It makes no access to global memory."
    else:
        requests = sum(access.requests for _, access in accesses)
        evidence = f"{short_number(moved / requests, 2)} sectors per request, {_percent(share)} of them needed."
        if worst is not None:
            evidence += f" Line {worst} causes most of the unneeded ones."
    return ChecklistRow(
        key="coalescing",
        title="Coalesced global accesses",
        state=state,
        evidence=evidence,
        cores="Warps wait less for global memory.",
        memory="Less traffic, because threads use all bytes of each sector.",
        advice="Let neighbouring threads (in x) access neighbouring addresses. If the data has the other order, load "
        "it along its rows into shared memory and transpose it there.",
        gain=gain(subject, bound, coalesced(subject)),
        line=worst if state in {State.NO, State.PARTLY} else None,
        share=share if moved else None,
    )


def _divergence(subject: Subject, bound: Bound | None) -> ChecklistRow:
    totals = subject.totals
    splits = [
        (line.line, line.branches.divergent)
        for line in subject.lines
        if line.branches is not None and not line.branches.predicated
    ]
    divergent = sum(count for _, count in splits)
    lanes = totals.warp_efficiency
    state = _graded(lanes, _GOOD_LANES, _FAIR_LANES)
    evidence = f"Warps split at {divergent:,} of {totals.branches:,} branches" if divergent else "No warp splits"
    evidence += f"; {short_number(32 * lanes)} of 32 threads are active per instruction."
    edges = subject.has_edges and not divergent
    if edges and state is not State.YES:
        evidence += " Blocks at the edge reach past the matrix."
    return ChecklistRow(
        key="divergence",
        title="Minimising control divergence",
        state=state,
        evidence=evidence,
        cores="No core idles while other threads of its warp take another way.",
        memory="None.",
        advice=_small_block(subject)
        or ("A larger matrix has a smaller share of blocks at the edge." if edges else "")
        or "Let whole warps take the same way. Choose the working threads by t < n, not by t % n. At edges, select a "
        "value instead of branching.",
        gain=gain(subject, bound, undivided(subject)),
        line=line_of_most(splits) if state in {State.NO, State.PARTLY} else None,
    )


def _small_block(subject: Subject) -> str:
    if subject.launch.threads % 32 == 0:
        return ""
    return f"A block of {subject.launch.threads} threads doesn't fill its last warp. Use a multiple of 32."


def _tiling(subject: Subject, bound: Bound | None) -> ChecklistRow:
    state, evidence = _reuse(subject)
    return ChecklistRow(
        key="tiling",
        title="Tiling of reused data",
        state=state,
        evidence=evidence,
        cores="Warps wait less for global memory.",
        memory="Less traffic, because a block loads an element once and uses it often.",
        advice=f"Let the block load {subject.tile}x{subject.tile} tiles into shared memory, for all its threads.",
        gain=gain(subject, bound, tiled(subject)),
        line=subject.busiest_line("global", Verb.LOAD) if state in {State.NO, State.PARTLY} else None,
    )


def _reuse(subject: Subject) -> tuple[State, str]:
    read = subject.elements_read
    if not read:
        return State.NOT_NEEDED, "It reads nothing from global memory."
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


def _privatization(subject: Subject, bound: Bound | None) -> ChecklistRow:
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
    return ChecklistRow(
        key="privatization",
        title="Privatisation",
        state=state,
        evidence=evidence,
        cores="Warps wait less for atomic updates.",
        memory="Fewer updates of one address wait for each other.",
        advice="Let each block add up in its shared memory, then update the result once.",
        line=line_of_most(in_global) if state in {State.NO, State.PARTLY} else None,
    )


def _coarsening(subject: Subject, bound: Bound | None) -> ChecklistRow:
    sums = subject.operation == "sum"
    what, units = ("adds up", subject.input_elements) if sums else ("computes", subject.output_elements)
    each, worth = units / subject.threads, None
    state, evidence = State.NO, f"A thread {what} {_amount(each)} of the {'input' if sums else 'output'}."
    if each >= 2:
        state = State.YES
    elif subject.product is not None:
        if subject.shares:
            worth = gain(subject, bound, coarsened(subject))
        else:
            evidence += " Tiles come first."
    elif not sums:
        state, evidence = State.NOT_NEEDED, "Threads repeat no work, so coarser threads would save nothing."
    return ChecklistRow(
        key="coarsening",
        title="Thread coarsening",
        state=state,
        evidence=evidence,
        cores="Less repeated work, and fewer barriers for the same result.",
        memory="Fewer elements that several blocks load.",
        advice=f"Let each thread add up {COARSE} elements."
        if sums
        else f"Let each thread compute {COARSE} elements, one tile apart, from one load of their common tile.",
        gain=worth,
    )


def _amount(elements: float) -> str:
    """The number of elements in words, also for a launch with more threads than elements."""
    if elements >= 1.5:
        return f"{elements:.3g} elements"
    return "one element" if elements > 0.6 else "less than one element"


def _graded(value: float, good: float, fair: float) -> State:
    if value >= good:
        return State.YES
    return State.PARTLY if value >= fair else State.NO


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
