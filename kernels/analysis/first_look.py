"""What to look at first: the lines of a kernel by what they cost, each in one plain sentence with what to do.

Costs are rough, in cycles of one multiprocessor: they put things in an order, they are not shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernels.analysis.remedies import COARSE
from kernels.analysis.subject import WARP, Subject, line_of_most
from kernels.evidence import AccessEvidence, Advice, GoalResult, TheoryRow, Verb

_MOST = 5
_WORTH_IT = 0.03
_SECTORS_A_CYCLE = 2
_INSTRUCTIONS_A_CYCLE = 4
_LOW_OCCUPANCY = 0.5
_USED_ONCE = 1.5
_TOO_OFTEN = 0.1
_LONG_LOOP = 4
_USUAL_TILE = 16
_VERBS = {Verb.LOAD: "reads", Verb.STORE: "writes", Verb.ATOMIC: "updates"}
RIGHT_FIRST = Advice("The run showed errors: put those right before you look at speed.")
_NOUNS = {Verb.LOAD: "load", Verb.STORE: "store", Verb.ATOMIC: "update"}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One thing that may be wrong, and about what it costs."""

    cost: float
    advice: Advice


def first_look(
    subject: Subject,
    rows: Sequence[TheoryRow] = (),
    goals: Sequence[GoalResult] = (),
    *,
    broken: bool = False,
) -> tuple[Advice, ...]:
    """At most five things, the most promising first; what comes next in the course where nothing is wrong.

    rows: the course's formulas beside the count
    goals: what the exercise asks for
    broken: the run showed errors, which come before any speed
    """
    least = _WORTH_IT * _whole_cost(subject)
    found = sorted(
        (each for each in (*_candidates(subject), *_read_too_often(subject, rows)) if each.cost > least),
        key=lambda candidate: -candidate.cost,
    )
    advice = [candidate.advice for candidate in found]
    advice += _occupancy(subject)
    advice[:0] = [_unmet(goal) for goal in goals if not goal.met]
    if broken:
        advice.insert(0, RIGHT_FIRST)
    elif not found and all(goal.met for goal in goals):
        advice.insert(0, _next(subject))
    return tuple(advice[:_MOST])


def _whole_cost(subject: Subject) -> float:
    totals = subject.totals
    sectors = totals.global_load_sectors + totals.global_store_sectors
    wavefronts = totals.shared_load_wavefronts + totals.shared_store_wavefronts
    return totals.warp_instructions / _INSTRUCTIONS_A_CYCLE + sectors / _SECTORS_A_CYCLE + wavefronts


def _candidates(subject: Subject) -> Iterator[_Candidate]:
    for line, access in subject.accesses("global", Verb.LOAD, Verb.STORE):
        yield _uncoalesced(subject, line.line, access)
    for line, access in subject.accesses("shared", Verb.LOAD, Verb.STORE):
        yield _conflicts(line.line, access)
    for line, access in subject.accesses("local"):
        cost = access.requests / 1.0
        text = (
            f"Line {line.line} uses local memory, which lies in global memory: keep the values in registers, with "
            "loops that are unrolled and indices that are constant."
        )
        yield _Candidate(cost, Advice(text, line.line))
    yield from _spilled(subject)
    yield from _one_block(subject)
    yield from _divided(subject)
    yield from _used_once(subject)
    yield from _queued_updates(subject)


def _uncoalesced(subject: Subject, line: int, access: AccessEvidence) -> _Candidate:
    ideal = access.ideal_sectors / access.requests if access.requests else 0
    touches = (
        f"a request of a warp touches {access.sectors_per_request:.2f} sectors where {ideal:.2f} would do"
    )
    text = f"Line {line} {_VERBS[access.verb]} {access.name or 'global memory'} "
    wide = subject.launch.block[0]
    if 1 < wide < WARP and access.sectors_per_request <= -(-WARP // wide) + 1:
        text += (
            f"in pieces: a block is only {wide} threads wide, so a warp covers several rows and {touches}. "
        )
        text += f"Make blocks {WARP} threads wide in x."
    else:
        text += f"uncoalesced: {touches}. {_remedy(subject, access)}"
    return _Candidate(subject.wasted_sectors(access) / _SECTORS_A_CYCLE, Advice(text, line))


def _remedy(subject: Subject, access: AccessEvidence) -> str:
    if access.verb is Verb.STORE:
        return "Let neighbouring threads (threadIdx.x) write neighbouring elements."
    if subject.product is None:
        return "Let neighbouring threads (threadIdx.x) read neighbouring elements."
    return (
        "Let threadIdx.x run along a row, or bring the tile in along its rows and turn it in shared memory."
    )


def _conflicts(line: int, access: AccessEvidence) -> _Candidate:
    ideal = access.wavefronts - access.conflicts
    ways = access.wavefronts / ideal if ideal else 1.0
    name = access.name or "shared memory"
    text = (
        f"Line {line} {_VERBS[access.verb]} {name} with {ways:.3g}-way bank conflicts: its threads want different "
        f"elements of one bank, so each {_NOUNS[access.verb]} takes {ways:.3g} times as long. Let threadIdx.x be the "
        "last index, or make the rows of the array one element longer."
    )
    return _Candidate(float(access.conflicts), Advice(text, line))


def _spilled(subject: Subject) -> Iterator[_Candidate]:
    """Local memory that only the machine code uses: the PTX, which is counted, has registers without end."""
    size = subject.resources.local_bytes
    if size and not any(subject.accesses("local")):
        text = (
            f"The registers do not suffice: the compiler keeps {size:,} bytes of each thread in local memory, which "
            "lies in global memory. The counts leave these accesses out. Keep fewer values at once, or allow more "
            "registers (__launch_bounds__)."
        )
        yield _Candidate(_whole_cost(subject), Advice(text))


def _one_block(subject: Subject) -> Iterator[_Candidate]:
    units = subject.input_elements if subject.operation == "sum" else subject.output_elements
    if subject.launch.blocks == 1 and units > _LONG_LOOP * subject.launch.threads:
        text = (
            "The launch has a single block, so one multiprocessor (SM) does all the work and the others stand idle. "
            "Let each block make a part of the output."
        )
        yield _Candidate(2 * _whole_cost(subject), Advice(text))


def _divided(subject: Subject) -> Iterator[_Candidate]:
    totals = subject.totals
    idle = totals.warp_instructions - totals.thread_instructions / WARP
    splits = [
        (line.line, line.branches.divergent)
        for line in subject.lines
        if line.branches is not None and not line.branches.predicated
    ]
    masked = [(line.line, line.branches.divergent) for line in subject.lines if line.branches is not None]
    line, at_work = line_of_most(splits), WARP * totals.warp_efficiency
    if line is not None:
        text = (
            f"Line {line} splits warps: over the whole kernel {at_work:.1f} of 32 threads are at work, the others "
            "wait. Choose who works so that whole warps go one way."
        )
    elif subject.launch.threads % WARP:
        text = (
            f"A block of {subject.launch.threads} threads leaves lanes of its last warp empty: {at_work:.1f} of 32 are "
            "at work. Take a multiple of 32."
        )
    elif subject.has_edges:
        return  # that is a matter of the size
    elif (line := line_of_most(masked)) is not None:
        text = (
            f"Line {line} switches threads of a warp off: over the whole kernel {at_work:.1f} of 32 are at work. "
            "Choose who works so that whole warps have something to do."
        )
    else:
        text = f"Only {at_work:.1f} of 32 threads of a warp are at work: many are switched off or have left."
    yield _Candidate(idle / _INSTRUCTIONS_A_CYCLE, Advice(text, line))


def _used_once(subject: Subject) -> Iterator[_Candidate]:
    product = subject.product
    if product is None or not subject.elements_read or min(product.rows, product.columns) < 2:
        return
    uses = 2 * product.volume / subject.elements_read
    if uses >= _USED_ONCE:
        return
    line, tile = subject.busiest_line("global", Verb.LOAD), min(subject.tile, product.rows, product.columns)
    text = (
        f"Line {line} fetches every element from global memory anew for each use. Load tiles of {tile} by {tile} into "
        f"shared memory: of {tile} such loads, one is left."
    )
    cost = sum(access.ideal_sectors for _, access in subject.accesses("global", Verb.LOAD)) / _SECTORS_A_CYCLE
    yield _Candidate(cost * (1 - 1 / max(2, tile)), Advice(text, line))


def _read_too_often(subject: Subject, rows: Sequence[TheoryRow]) -> Iterator[_Candidate]:
    """A kernel with tiles that reads more than its blocks would need to."""
    row = next((row for row in rows if row.key == "element_reads"), None)
    if row is None or row.counted is None or not subject.shares or row.departs < _TOO_OFTEN:
        return
    text = (
        f"Line {row.line} and others read {row.counted:,.0f} elements from global memory, where a block that keeps "
        f"what it has loaded needs {row.expected:,.0f}. Look for a tile that is loaded again though it has not changed."
    )
    share = row.departs / (1 + row.departs)
    yield _Candidate(share * subject.totals.global_load_sectors / _SECTORS_A_CYCLE, Advice(text, row.line))


def _unmet(goal: GoalResult) -> Advice:
    counted, most = (
        f"{value:,.0f}" if value == int(value) else f"{value:,.2f}" for value in (goal.counted, goal.at_most)
    )
    return Advice(f"The exercise asks for more: {goal.text}. Counted {counted}, at most {most} is asked.")


def _queued_updates(subject: Subject) -> Iterator[_Candidate]:
    for line, access in subject.accesses("global", Verb.ATOMIC):
        if access.threads > subject.launch.blocks:
            text = (
                f"Line {line.line} updates {access.name or 'global memory'} atomically {access.threads:,} times, and "
                "updates of one place queue up. Add up in shared memory first and update once a block."
            )
            yield _Candidate(float(access.threads), Advice(text, line.line))


def _occupancy(subject: Subject) -> list[Advice]:
    found = subject.occupancy
    if found is None or found.share >= _LOW_OCCUPANCY:
        return []
    text = (
        f"Only {found.warps_per_sm} warps fit on an SM at once, {100 * found.share:.0f} % of what it can hold; the "
        f"limit is {found.limit}. That is fine only where each thread has much to do between its loads."
    )
    return [Advice(text)]


def _next(subject: Subject) -> Advice:
    """Nothing is wrong: what binds now, and what comes next in the course."""
    binds = ""
    if subject.light is not None:
        titles = {item.resource: item.title for item in subject.light.resources}
        binds = f" What binds it now, by the model: {titles.get(subject.light.limit, subject.light.limit)}."
    return Advice(f"Nothing stands out.{binds} {_step(subject)}".strip())


def _step(subject: Subject) -> str:
    if subject.product is None:
        return ""
    each = subject.output_elements / subject.threads
    if not subject.shares:
        return "Next in the course: tiles in shared memory."
    if subject.launch.blocks == 1:
        return "Next in the course: matrices that are larger than a block."
    if 2 * subject.tile <= _USUAL_TILE <= subject.product.rows and each < 2:
        share = _USUAL_TILE // subject.tile
        return (
            f"Larger tiles come next: with tiles of {_USUAL_TILE}, global memory is read {share} times less."
        )
    if each < 2:
        return f"Next in the course: thread coarsening, {COARSE} elements of the output a thread."
    return (
        "What is left is register tiling: let each thread make a small square of the output from registers."
    )
