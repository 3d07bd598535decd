"""The advice of an analysis: a kernel's most expensive lines, each with the problem and the change.

Costs are rough, in cycles of one multiprocessor. They only order the advice and are never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernels.analysis.remedies import COARSE, LOADED_FACTORS, STORED_SUMS
from kernels.analysis.subject import FLOAT, SECTOR, WARP, Subject, line_of_most
from kernels.evidence import (
    INSTRUCTIONS_A_CYCLE,
    SECTORS_A_CYCLE,
    SHARED_BYTES_A_CYCLE,
    TENSOR_WORK_A_CYCLE,
    AccessEvidence,
    Advice,
    GoalResult,
    TheoryRow,
    Verb,
)
from kernels.occupancy import resource_title
from kernels.wording import percent, short_number

_MOST = 5
_WORTH_IT = 0.03
_LOW_OCCUPANCY = 0.5
_USED_ONCE = 1.5
_TOO_OFTEN = 0.1
_SEVERAL_TIMES = 2
_CYCLES_A_BARRIER = 10
_LONG_LOOP = 4
_CLEARLY = 1.1
_FEW_CONFLICTS = 0.05
_USUAL_TILE = 16
_SQUARE = 16
"""The elements of the output for each thread with which a kernel computes squares of at least 4 x 4."""
_FRAGMENT_ROW = 16
"""The bytes that a fragment has of one row."""
_VERBS = {Verb.LOAD: "reads", Verb.STORE: "writes", Verb.ATOMIC: "updates"}
RIGHT_FIRST = Advice("The run showed errors. Correct them before you look at speed.")
_NOUNS = {Verb.LOAD: "load", Verb.STORE: "store", Verb.ATOMIC: "update"}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One possible problem and its approximate cost.

    counters: how the names of the counters begin that it raises; "" if no goal is about them
    """

    cost: float
    advice: Advice
    counters: str = ""


def first_look(
    subject: Subject, rows: Sequence[TheoryRow] = (), goals: Sequence[GoalResult] = (), *, broken: bool = False
) -> tuple[Advice, ...]:
    """At most five pieces of advice, the most promising first. Without problems, the course's next step.

    rows: the course's formulas with the counts
    goals: the exercise's goals
    broken: whether the run showed errors, which come before speed
    """
    least = _WORTH_IT * _whole_cost(subject)
    possible = sorted(
        (*_candidates(subject), *_read_too_often(subject, rows), *_waits_too_often(subject, rows)),
        key=lambda candidate: -candidate.cost,
    )
    candidates = _coalescing_first([each for each in possible if each.cost > least])
    missed = [(goal, _cause(goal, possible)) for goal in goals if not goal.met]
    causes = [cause for _, cause in missed]
    advice = [_unmet(subject, goal, cause) for goal, cause in missed]
    advice += [candidate.advice for candidate in candidates if candidate not in causes]
    advice += _occupancy(subject)
    if broken:
        advice.insert(0, RIGHT_FIRST)
    elif not candidates and all(goal.met for goal in goals):
        advice.insert(0, _next(subject))
    return tuple(advice[:_MOST])


def _coalescing_first(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The problems, with uncoalesced accesses before bank conflicts. Other indices often remove both."""
    first = next((at for at, each in enumerate(candidates) if each.counters.endswith("_conflicts")), len(candidates))
    return [*candidates[:first], *sorted(candidates[first:], key=lambda each: not each.counters.endswith("_sectors"))]


def _whole_cost(subject: Subject) -> float:
    totals = subject.totals
    sectors = totals.global_load_sectors + totals.global_store_sectors
    sectors += totals.bulk_load_sectors + totals.bulk_store_sectors
    wavefronts = totals.shared_load_wavefronts + totals.shared_store_wavefronts
    products = max(totals.tensor_work / TENSOR_WORK_A_CYCLE, totals.product_bytes / SHARED_BYTES_A_CYCLE)
    return totals.warp_instructions / INSTRUCTIONS_A_CYCLE + sectors / SECTORS_A_CYCLE + wavefronts + products


def _candidates(subject: Subject) -> Iterator[_Candidate]:
    for line, access in subject.accesses("global", Verb.LOAD, Verb.STORE):
        # Factors that come from global memory have advice of their own.
        if access.verb is Verb.STORE or subject.shares or not subject.of_tensor_cores:
            yield _uncoalesced(subject, line.line, access)
    for line, access in subject.accesses("shared", Verb.LOAD, Verb.STORE):
        if not _fits_fragments(subject, access):
            yield _conflicts(subject, line.line, access)
    for line, access in subject.accesses("global", Verb.BULK_LOAD, Verb.BULK_STORE):
        yield from _narrow_boxes(subject, line.line, access)
    for line, access in subject.accesses("local"):
        cost = access.requests / 1.0
        text = (
            f"Line {line.line} uses local memory, which is part of global memory. Keep the values in registers: "
            "unroll loops and use constant indices."
        )
        yield _Candidate(cost, Advice(text, line.line))
    yield from _spilled(subject)
    yield from _one_block(subject)
    yield from _divided(subject)
    yield from _used_once(subject)
    yield from _queued_updates(subject)
    yield from _single_stage(subject)
    yield from _early_wait(subject)
    yield from _through_registers(subject)
    yield from _small_tiles(subject)


def _fits_fragments(subject: Subject, access: AccessEvidence) -> bool:
    """Whether a store is to rows of a length that spares the loads of fragments all conflicts."""
    loads = [each for _, each in subject.accesses("shared", Verb.LOAD) if each.name == access.name]
    return access.verb is Verb.STORE and subject.of_tensor_cores and bool(loads) and not any(x.conflicts for x in loads)


def _narrow_boxes(subject: Subject, line: int, access: AccessEvidence) -> Iterator[_Candidate]:
    if wasted := subject.wasted_sectors(access):
        text = (
            f"Line {line} copies {access.name or 'global memory'} in rows that fill their sectors of 32 bytes only to "
            f"{percent(access.efficiency)}. Copy wider boxes, best with rows of 128 bytes and their swizzle."
        )
        yield _Candidate(wasted / SECTORS_A_CYCLE, Advice(text, line))


def _single_stage(subject: Subject) -> Iterator[_Candidate]:
    """Copies for which a tile must be free again that has just been filled."""
    again = [(line.line, access.repeats) for line, access in subject.accesses("global", Verb.BULK_LOAD)]
    copies, line = subject.totals.bulk_load_requests, line_of_most(again)
    if line is None or 2 * sum(count for _, count in again) < copies:
        return
    text = (
        f"Line {line} copies each tile to the place of the tile before. So no copy can begin before the block has used "
        "that tile. Keep several stages of tiles, and begin the next copies before you use a tile."
    )
    yield _Candidate(subject.totals.bulk_load_sectors / SECTORS_A_CYCLE, Advice(text, line))


def _early_wait(subject: Subject) -> Iterator[_Candidate]:
    """Copies that end before the next tiles are used, although only later phases need them."""
    if (line := subject.early_wait) is None:
        return
    text = (
        f"Line {line} waits for all copies. The tiles that the block uses next are there already, and the copies under "
        "way are for later phases. Wait with a larger number, such as `__pipeline_wait_prior(1)`. Then these copies go "
        "on while the block computes."
    )
    yield _Candidate(subject.totals.global_load_sectors / SECTORS_A_CYCLE, Advice(text, line))


def _through_registers(subject: Subject) -> Iterator[_Candidate]:
    """Tiles that threads load into registers and then store."""
    totals, line = subject.totals, subject.busiest_line("global", Verb.LOAD)
    copied = totals.async_load_requests + totals.bulk_load_requests
    if line is None or copied or not (subject.of_tensor_cores and totals.shared_store_requests):
        return
    text = (
        f"Line {line} loads tiles into registers, and threads then store them to shared memory. Asynchronous copies "
        "(`cp.async`) need no registers, and run while the warps multiply."
    )
    yield _Candidate(float(totals.shared_store_wavefronts), Advice(text, line))


def _small_tiles(subject: Subject) -> Iterator[_Candidate]:
    """A product that waits for its factors, because tensor cores would need less time than what brings them."""
    tensor, light = subject.milliseconds("tensor"), subject.light
    if light is None or not subject.of_tensor_cores or light.milliseconds < _CLEARLY * tensor:
        return
    line = None
    times = f"{light.milliseconds / tensor:.2g} times as long as the tensor cores (modelled)"
    if light.limit == "l1_data" and _reads_shared_memory(subject):
        larger = "Let each `wgmma` have more columns" if subject.totals.product_bytes else "Let each warp compute more"
        text = f"Shared memory needs {times}. {larger}. Then it uses what it reads for more products."
    elif light.limit == "bulk":
        text = (
            f"Copying the tiles needs {times}. Let each block compute a larger tile of the output. Or copy a tile to "
            "all blocks of a cluster at once."
        )
    elif light.limit in {"l1_tags", "lsu", "l2", "dram"} and not subject.shares and subject.reading_line is not None:
        line = subject.reading_line
        text = (
            f"Line {line} reads what tensor cores multiply from global memory, and that needs {times}. Load tiles into "
            "shared memory, and let several warps use them."
        )
    else:
        return
    yield _Candidate(_whole_cost(subject) * (1 - tensor / light.milliseconds), Advice(text, line))


def _reads_shared_memory(subject: Subject) -> bool:
    """Whether L1 and shared memory mostly read shared memory, and bank conflicts have little part in that."""
    totals = subject.totals
    passes = totals.shared_load_wavefronts + totals.shared_store_wavefronts
    conflicts = totals.shared_load_conflicts + totals.shared_store_conflicts
    read = passes + totals.product_bytes / SHARED_BYTES_A_CYCLE
    sectors = totals.global_load_sectors + totals.global_store_sectors
    return conflicts < _FEW_CONFLICTS * read and read > sectors * SECTOR / SHARED_BYTES_A_CYCLE


def _uncoalesced(subject: Subject, line: int, access: AccessEvidence) -> _Candidate:
    ideal = access.ideal_sectors / access.requests if access.requests else 0
    moved, enough = short_number(access.sectors_per_request, 2), short_number(ideal, 2)
    touches = f"a request of a warp touches {moved} sectors; {enough} are enough"
    text = f"Line {line} {_VERBS[access.verb]} {access.name or 'global memory'} "
    wide = subject.launch.block[0]
    # A narrow block needs one piece for each row of the warp. More sectors have another cause.
    if 1 < wide < WARP and access.sectors_per_request <= -(-WARP // wide) + 1:
        text += f"in pieces. A block is only {wide} threads wide, so a warp covers several rows: {touches}. "
        text += f"Make blocks {WARP} threads wide in x."
    else:
        text += f"uncoalesced: {touches}. {_remedy(subject, access)}"
    cost = subject.wasted_sectors(access) / SECTORS_A_CYCLE
    return _Candidate(cost, Advice(text, line), f"global_{access.verb}_sectors")


def _remedy(subject: Subject, access: AccessEvidence) -> str:
    if subject.of_tensor_cores:
        return STORED_SUMS if access.verb is Verb.STORE else LOADED_FACTORS
    if access.verb is Verb.STORE:
        return "Let neighbouring threads (threadIdx.x) write neighbouring elements."
    if subject.product is None:
        return "Let neighbouring threads (threadIdx.x) read neighbouring elements."
    if not subject.shares:
        return "Let threadIdx.x run along a row."
    return "Let threadIdx.x run along a row, or load the tile along its rows and transpose it in shared memory."


def _conflicts(subject: Subject, line: int, access: AccessEvidence) -> _Candidate:
    ways, name = access.ways, access.name or "shared memory"
    text = (
        f"Line {line} {_VERBS[access.verb]} {name} with {ways:.3g}-way bank conflicts. Its threads want different "
        f"elements of one bank, so each {_NOUNS[access.verb]} takes {ways:.3g} times as long. "
        f"{_other_banks(subject, access)}"
    )
    return _Candidate(float(access.conflicts), Advice(text, line), f"shared_{access.verb}_conflicts")


def _other_banks(subject: Subject, access: AccessEvidence) -> str:
    """How neighbouring threads get elements of different banks.

    Another order of the indices doesn't help if the array is written by rows and read by columns.
    """
    name, shape = access.name, subject.shapes.get(access.name, ())
    if (fixed := _fixed_layout(subject, access)) is not None:
        return fixed
    if access.width > FLOAT or subject.of_tensor_cores:
        # One element more would move rows off the addresses that such an access needs.
        rows = f"the rows of `{name}`" if name else "the array's rows"
        width = max(access.width, _FRAGMENT_ROW) if subject.of_tensor_cores else access.width
        stride = " Pass the new stride to `load_matrix_sync`, if you use it." if subject.of_tensor_cores else ""
        return f"Make {rows} {width} bytes longer, so that they start in other banks.{stride}"
    if not shape:
        return "Make `threadIdx.x` the last index, or make the rows of the array one element longer."
    if len(shape) == 1 or shape[-1] % 2:
        return f"Let neighbouring threads (`threadIdx.x`) use neighbouring elements of `{name}`."
    used = shape[-1]
    return f"Declare `{name}` with rows of {used + 1} elements instead of {used}. Use only the first {used}."


def _fixed_layout(subject: Subject, access: AccessEvidence) -> str | None:
    """How an array avoids conflicts if bulk copies fill it, or if they or `wgmma` read it; None for other arrays."""
    totals = subject.totals
    loaded, stored = (_uses(subject, access.name, verb) for verb in (Verb.LOAD, Verb.STORE))
    filled = totals.bulk_load_requests and (not stored or totals.product_bytes)
    if totals.product_bytes and not loaded:
        return (
            "`wgmma` reads the array, so its rows can't simply be longer. Use a swizzle, and name it in the "
            "descriptor. With rows of 128 bytes, piece `p` of 16 bytes of row `r` is then at `p ^ (r % 8)`."
        )
    if filled or (totals.bulk_store_requests and not loaded):
        return (
            "Bulk copies move the array. If they have a tensor map, give it a swizzle as wide as the rows, up to 128 "
            f"bytes. If each row is a copy, make the rows {_FRAGMENT_ROW} bytes longer."
        )
    return None


def _uses(subject: Subject, array: str, verb: Verb) -> bool:
    return any(access.name == array for _, access in subject.accesses("shared", verb))


def _spilled(subject: Subject) -> Iterator[_Candidate]:
    """Local memory that only the machine code uses. Counts come from the PTX, which has unlimited registers."""
    size = subject.resources.local_bytes
    if size and not any(subject.accesses("local")):
        text = (
            f"The registers don't suffice. The compiler keeps {size:,} bytes of each thread in local memory, which is "
            "part of global memory. The counts don't include these accesses. Keep fewer values at once, or allow more "
            "registers (__launch_bounds__)."
        )
        yield _Candidate(_whole_cost(subject), Advice(text))


def _one_block(subject: Subject) -> Iterator[_Candidate]:
    units = subject.input_elements if subject.operation == "sum" else subject.output_elements
    if subject.launch.blocks == 1 and units > _LONG_LOOP * subject.launch.threads:
        text = (
            "The launch has a single block, so one multiprocessor (SM) does all the work and the others idle. "
            "Let each block compute a part of the output."
        )
        yield _Candidate(2 * _whole_cost(subject), Advice(text))


def _divided(subject: Subject) -> Iterator[_Candidate]:
    totals, elected = subject.totals, subject.elected
    idle = (totals.warp_instructions - sum(each.warp_instructions for each in elected)) * (1 - subject.active_share)
    splits = [
        (line.line, line.branches.divergent)
        for line in subject.lines
        if line.branches is not None and not line.branches.predicated
    ]
    masked = [(line.line, line.branches.divergent) for line in subject.lines if line.branches is not None]
    line, active = line_of_most(splits), WARP * subject.active_share
    if line is not None:
        text = (
            f"Line {line} splits warps. On average, {active:.1f} of 32 threads are active and the others wait. "
            "Choose the working threads so that whole warps take one way."
        )
    elif subject.launch.threads % WARP:
        text = (
            f"A block of {subject.launch.threads} threads doesn't fill its last warp. On average, {active:.1f} of 32 "
            "threads are active. Use a multiple of 32."
        )
    elif subject.has_edges:
        return  # depends on the size, not on the kernel
    elif (line := line_of_most(masked)) is not None:
        text = (
            f"Line {line} disables threads of a warp. On average, {active:.1f} of 32 threads are active. "
            "Choose the working threads so that whole warps have work."
        )
    else:
        text = f"On average, only {active:.1f} of 32 threads of a warp are active. Many are disabled or have returned."
    yield _Candidate(idle / INSTRUCTIONS_A_CYCLE, Advice(text, line), "divergent_branches")


def _used_once(subject: Subject) -> Iterator[_Candidate]:
    product = subject.product
    if product is None or not subject.elements_read or min(product.rows, product.columns) < 2:
        return
    uses = 2 * product.volume / subject.elements_read
    if uses >= _USED_ONCE:
        return
    line, tile = subject.reading_line, min(subject.tile, product.rows, product.columns)
    text = (
        f"Line {line} reads every element from global memory again for each use. Load {tile}x{tile} tiles into shared "
        f"memory. This cuts global loads {tile}x."
    )
    cost = sum(access.ideal_sectors for _, access in subject.accesses("global", Verb.LOAD)) / SECTORS_A_CYCLE
    yield _Candidate(cost * (1 - 1 / max(2, tile)), Advice(text, line), "global_load")


def _read_too_often(subject: Subject, rows: Sequence[TheoryRow]) -> Iterator[_Candidate]:
    """Advice for a tiled kernel whose blocks read more elements than necessary."""
    row = next((row for row in rows if row.key == "element_reads"), None)
    if row is None or row.counted is None or not subject.shares or row.departs < _TOO_OFTEN:
        return
    kept, part = ("tiles", "a tile") if subject.product is not None else ("elements", "an element")
    text = (
        f"Line {row.line} and others read {row.counted:,.0f} elements from global memory. Only {row.expected:,.0f} are "
        f"necessary if blocks keep their {kept}. Look for {part} that is loaded again although it hasn't changed."
    )
    share = row.departs / (1 + row.departs)
    cost = share * subject.totals.global_load_sectors / SECTORS_A_CYCLE
    yield _Candidate(cost, Advice(text, row.line), "global_load")


def _waits_too_often(subject: Subject, rows: Sequence[TheoryRow]) -> Iterator[_Candidate]:
    """Advice for a tiled kernel with several times the textbook's barriers."""
    row = next((row for row in rows if row.key == "barriers"), None)
    if row is None or row.counted is None or row.departs < _SEVERAL_TIMES:
        return
    text = (
        f"A block passes {row.counted:,.0f} barriers. The textbook's kernel has {row.expected:,.0f}: {row.formula}. "
        "Look for a `__syncthreads()` in an inner loop, and move it behind this loop."
    )
    cost = (row.counted - row.expected) * subject.launch.blocks * _CYCLES_A_BARRIER
    yield _Candidate(cost, Advice(text))


def _cause(goal: GoalResult, possible: Sequence[_Candidate]) -> _Candidate | None:
    """The problem that raises the goal's counter, the costliest of the most specific ones."""
    fitting = (each for each in possible if each.cost > 0 and each.counters and goal.counter.startswith(each.counters))
    return max(fitting, key=lambda candidate: (len(candidate.counters), candidate.cost), default=None)


def _unmet(subject: Subject, goal: GoalResult, cause: _Candidate | None) -> Advice:
    """The missed goal with the known problem behind it, or with the busiest line."""
    if cause is not None:
        return Advice(f"{goal.missed} {cause.advice.text}", cause.advice.line, goal.missed)
    space, _, verb = goal.counter.partition("_")
    verbs = [each for each in Verb if verb.startswith(each)]
    line = subject.busiest_line(space, verbs[0]) if verbs else None
    where = f"Look at line {line}, which raises this count most." if line is not None else ""
    step = _step(subject) if goal.counter.startswith("global_load") else ""
    return Advice(" ".join(part for part in (goal.missed, where, step) if part), line, goal.missed)


def _queued_updates(subject: Subject) -> Iterator[_Candidate]:
    for line, access in subject.accesses("global", Verb.ATOMIC):
        if access.threads > subject.launch.blocks:
            text = (
                f"Line {line.line} updates {access.name or 'global memory'} atomically {access.threads:,} times. "
                "Updates of one address wait for each other. Add up in shared memory first, and update once per block."
            )
            yield _Candidate(float(access.threads), Advice(text, line.line))


def _occupancy(subject: Subject) -> list[Advice]:
    occupancy = subject.occupancy
    if occupancy is None or occupancy.share >= _LOW_OCCUPANCY or subject.totals.product_bytes:
        return []
    text = (
        f"Only {occupancy.warps_per_sm} warps fit on an SM at once, {percent(occupancy.share)} of its limit. "
        f"Limited by {resource_title(occupancy.limit)}. "
        "That is enough only if each thread has much work between its loads."
    )
    return [Advice(text)]


def _next(subject: Subject) -> Advice:
    """The likely bottleneck and the course's next step, for a kernel without problems."""
    bottleneck = ""
    if subject.light is not None:
        titles = {item.resource: item.title for item in subject.light.resources}
        bottleneck = f" Likely bottleneck: {titles.get(subject.light.limit, subject.light.limit)}."
    return Advice(f"No performance problem found.{bottleneck} {_step(subject)}".strip())


def _step(subject: Subject) -> str:
    if subject.product is None or not subject.of_floats:
        return ""
    each = subject.output_elements / subject.threads
    if not subject.shares:
        return "Next in the course: tiles in shared memory."
    if subject.launch.blocks == 1:
        return "Next in the course: matrices larger than a block."
    if 2 * subject.tile <= _USUAL_TILE <= subject.product.rows and each < 2:
        share = _USUAL_TILE // subject.tile
        return f"Next: larger tiles. Tiles of {_USUAL_TILE} cut global loads {share}x."
    if each < 2:
        return f"Next in the course: thread coarsening, {COARSE} elements of the output per thread."
    if each < _SQUARE:
        return "Next: register tiling. Let each thread compute a small square of the output from registers."
    return ""
