"""The phases of a tiled kernel, from a run of it: which threads load what, and what they sum.

The course prints such a table for its own kernel, and this module makes it for the student's kernel. `phase_table`
follows a small launch and groups everything between barriers. A phase is a load and the computation with the loaded
elements. A kernel may load for the next phase while it computes. Then an element counts for the phase that uses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from kernels.device.ptx.module import Malformed, Unsupported
from kernels.device.ptx.program import Program
from kernels.device.tracing.provenance import Coordinates, Factor, Term, Trace, TracedFetch
from kernels.device.tracing.tracing import trace
from kernels.evidence import Accumulation, BlockPhase, Fetch, Phase, PhaseTable
from kernels.exercise import Layout
from kernels.judging.inputs import make_inputs
from kernels.judging.judge import arguments, buffers
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan, Plan
from kernels.phases.views import PADDING, cell_place

_MOST_TERMS = 8
_FIRST_TERMS = 4
_MOST_RECORDS = 1_500
_MOST_CELLS = 1_024
_AHEAD = (
    "The kernel loads elements for the next phase while it computes. The table lists them in the phase that uses them."
)
_NO_FETCHES = "No thread loads anything into shared memory: all operands come from global memory, in one phase."


def phase_table(
    program: Program,
    plan: Plan,
    case: CasePlan,
    *,
    symbols: Mapping[str, str] | None = None,
    state: Mapping[str, bytes] | None = None,
) -> PhaseTable | None:
    """Return the phases of one small case of the plan, from a run of the kernel. A bad kernel raises nothing.

    case: if it has more threads than `kernels.device.tracing` follows, there is only a note; None without a launch
    symbols: which matrices are module variables, as in `kernels.device.run`
    state: the contents of other module variables
    """
    if case.launch is None:
        return None
    inputs = make_inputs(case, int(plan.seed, 16))
    try:
        followed = trace(
            program,
            case.launch,
            arguments(case),
            buffers(case, inputs),
            symbols=symbols,
            shapes=case.shapes,
            state=state,
        )
    except (Unsupported, Malformed):
        followed = Trace(case.launch, note="the kernel does something here that can't be followed")
    return table_of(followed, case.matrices, sizes=case.sizes, tile=plan.tile)


def table_of(followed: Trace, matrices: Sequence[MatrixPlan], *, sizes: Mapping[str, int], tile: int) -> PhaseTable:
    """Return the table of a trace. The matrices give the names of their elements."""
    names = _Names({matrix.name: matrix for matrix in matrices})
    notes = [followed.note] if followed.note else []
    phases: dict[int, list[BlockPhase]] = defaultdict(list)
    records = 0
    blocks = _by_block(followed)
    for number, (block, work) in enumerate(blocks):
        made = _block_phases(block, work, names)
        records += sum(len(each.fetches) + len(each.accumulations) for each in made.values())
        if number and records > _MOST_RECORDS:
            notes.append(f"Only the first {number} of {len(blocks)} blocks are listed.")
            break
        for phase, entry in made.items():
            phases[phase].append(entry)
    if any(_fetches_ahead(work) for _, work in blocks):
        notes.append(_AHEAD)
    if phases and not followed.fetches:
        notes.append(_NO_FETCHES)
    return PhaseTable(
        sizes=dict(sizes),
        tile=tile,
        launch=followed.launch,
        matrices={**names.extents(), **_cell_extents(followed)},
        phases=tuple(Phase(number, tuple(phases[number])) for number in sorted(phases)),
        note=" ".join(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in notes),
    )


# -- names ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of elements: by row and column of their matrix, and by their position in memory."""

    matrices: Mapping[str, MatrixPlan]

    def extents(self) -> dict[str, tuple[int, int]]:
        return {name: (matrix.rows, matrix.columns) for name, matrix in self.matrices.items()}

    def element(self, name: str, index: int) -> str:
        matrix = self.matrices.get(name)
        if matrix is None:
            return f"{name}[{index}]"
        row, column = divmod(index, matrix.row_length)
        if matrix.layout is Layout.COLUMN_MAJOR:
            row, column = column, row
        return f"{name}[{row}][{column}]"

    def order(self, factor: Factor) -> int:
        """Return the sort order of a factor: left operands first, whatever the compiler made of them."""
        names = list(self.matrices)
        known = factor.element is not None and factor.element.name in names
        return names.index(factor.element.name) if known and factor.element else len(names)

    def of_factor(self, factor: Factor) -> str:
        """Return the element behind a factor, or its cell if the element is unknown."""
        if factor.element is not None:
            return self.element(factor.element.name, factor.element.index)
        return PADDING if factor.is_padding else factor.cell


def _cell_extents(followed: Trace) -> dict[str, tuple[int, int]]:
    """Return rows and columns of the shared arrays. With three indices, each first index is a picture of its own."""
    found: dict[str, tuple[int, int]] = {}
    for name, shape in followed.arrays.items():
        if len(shape) < 2:
            used = (cell_place(fetch.cell)[2] for fetch in followed.fetches if fetch.array == name)
            found[name] = 1, max(used, default=0) + 1
            continue
        places = list(product(*(range(extent) for extent in shape[:-2]))) if len(shape) < 6 else []
        for indices in places[:16]:
            if shape[-2] * shape[-1] <= _MOST_CELLS:
                found[name + "".join(f"[{index}]" for index in indices)] = shape[-2], shape[-1]
    return found


# -- one block --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Work:
    """The work of one block. terms: by accumulator, whose target is in `targets`."""

    fetches: list[TracedFetch] = field(default_factory=list)
    terms: list[tuple[int, Term]] = field(default_factory=list)
    targets: dict[int, tuple[str, int] | None] = field(default_factory=dict)


def _by_block(followed: Trace) -> list[tuple[Coordinates, _Work]]:
    """Return the work of each block, row by row."""
    found: dict[Coordinates, _Work] = defaultdict(_Work)
    used: set[int] = set()
    for number, total in enumerate(followed.sums):
        target = None if total.target is None else (total.target.name, total.target.index)
        if target is None and not any(_is_product(term) for term in total.terms):
            continue
        for term in total.terms:
            work = found[term.block]
            work.terms.append((number, term))
            work.targets[number] = target
            used.update(factor.fetch for factor in term.factors)
    for fetch in followed.fetches:
        if fetch.element is not None or fetch.number in used:
            found[fetch.block].fetches.append(fetch)
    return sorted(found.items(), key=lambda item: item[0][::-1])


def _is_product(term: Term) -> bool:
    """Whether a term can matter: threads outside the matrix only add zeros."""
    return len(term.factors) > 1 and all(factor.element is not None for factor in term.factors)


def _block_phases(block: Coordinates, work: _Work, names: _Names) -> dict[int, BlockPhase]:
    intervals = _phase_of_interval(work)
    of_fetch = _phase_of_fetch(work, intervals)
    fetches: dict[int, list[TracedFetch]] = defaultdict(list)
    terms: dict[int, dict[tuple[Coordinates, int], list[Term]]] = defaultdict(lambda: defaultdict(list))
    for fetch in work.fetches:
        fetches[of_fetch[fetch.number]].append(fetch)
    for number, term in work.terms:
        terms[intervals[term.interval]][term.thread, number].append(term)
    return {
        phase: BlockPhase(
            block,
            tuple(_fetch(each, names) for each in sorted(fetches[phase], key=lambda f: (f.thread[::-1], f.number))),
            _accumulations(terms[phase], work, names),
        )
        for phase in fetches.keys() | terms.keys()
    }


def _phase_of_interval(work: _Work) -> dict[int, int]:
    """Return the phase of each interval between barriers that has sums.

    A phase begins with the first use of cells in three cases. Something was fetched since the last phase began to
    compute. Or these cells were filled at another time. Or they belong to other tiles.
    """
    versions: dict[int, set[int]] = defaultdict(set)
    for _, term in work.terms:
        versions[term.interval].update(factor.fetch for factor in term.factors)
    filled = {fetch.number: fetch for fetch in work.fetches}
    found: dict[int, int] = {}
    phase, began = 0, -1
    known: set[int] = set()
    batch: tuple[set[int], set[str]] = set(), set()
    for interval in sorted(versions):
        new = [filled[number] for number in versions[interval] - known if number in filled]
        times, tiles = {fetch.interval for fetch in new}, {cell_place(fetch.cell)[0] for fetch in new}
        loaded = any(began <= fetch.interval <= interval for fetch in work.fetches)
        if began < 0:
            began, batch = interval, (times, tiles)
        elif new and (loaded or times != batch[0] or not tiles & batch[1]):
            phase, began, batch = phase + 1, interval, (times, tiles)
        known |= versions[interval]
        found[interval] = phase
    return found


def _phase_of_fetch(work: _Work, intervals: Mapping[int, int]) -> dict[int, int]:
    """Return the phase that first uses each fetch. An unused fetch gets the phase of the fetches made with it."""
    found: dict[int, int] = {}
    for _, term in sorted(work.terms, key=lambda item: item[1].number):
        for factor in term.factors:
            found.setdefault(factor.fetch, intervals[term.interval])
    together: dict[int, int] = {}
    for fetch in work.fetches:
        if fetch.number in found:
            phase = found[fetch.number]
            together[fetch.interval] = min(phase, together.get(fetch.interval, phase))
    last = max(intervals.values(), default=0)
    for fetch in work.fetches:
        later = (phase for interval, phase in intervals.items() if interval > fetch.interval)
        beside = together.get(fetch.interval, min(later, default=last))
        found.setdefault(fetch.number, beside)
    return found


def _fetches_ahead(work: _Work) -> bool:
    """Whether a block loads for a later phase while it computes one."""
    intervals = _phase_of_interval(work)
    of_fetch = _phase_of_fetch(work, intervals)
    return any(of_fetch[fetch.number] > intervals.get(fetch.interval, 1 << 30) for fetch in work.fetches)


def _fetch(fetch: TracedFetch, names: _Names) -> Fetch:
    element = linear = PADDING
    if fetch.element is not None:
        element = names.element(fetch.element.name, fetch.element.index)
        linear = f"{fetch.element.name}[{fetch.element.index}]"
    return Fetch(fetch.thread, element, linear, fetch.cell, fetch.line)


def _accumulations(
    terms: Mapping[tuple[Coordinates, int], list[Term]], work: _Work, names: _Names
) -> tuple[Accumulation, ...]:
    made: dict[tuple[Coordinates, str], list[Term]] = defaultdict(list)
    for (thread, number), listed in terms.items():
        target = work.targets[number]
        made[thread, "PValue" if target is None else names.element(*target)].extend(listed)
    order = sorted(made, key=lambda key: (key[0][::-1], cell_place(key[1])))
    return tuple(_accumulation(thread, target, made[thread, target], names) for thread, target in order)


def _accumulation(thread: Coordinates, target: str, terms: list[Term], names: _Names) -> Accumulation:
    ordered = [
        replace(term, factors=tuple(sorted(term.factors, key=names.order)))
        for term in sorted(terms, key=lambda term: term.number)
    ]
    in_cells = any(factor.cell for term in ordered for factor in term.factors)
    cells = _added(ordered, lambda factor: factor.cell or names.of_factor(factor))
    elements = _added(ordered, names.of_factor)
    return Accumulation(thread, target, cells if in_cells else "", elements, ordered[0].line)


def _added(terms: Sequence[Term], name: Callable[[Factor], str]) -> str:
    """Return `Mds[0][0]*Nds[0][0] + Mds[0][1]*Nds[1][0]`; only the first of many terms."""
    shown = terms if len(terms) <= _MOST_TERMS else terms[:_FIRST_TERMS]
    text = "".join(f" {'-' if term.negative else '+'} {'*'.join(map(name, term.factors))}" for term in shown)
    text = text.removeprefix(" + ") if not shown[0].negative else "-" + text.removeprefix(" - ")
    return text if len(shown) == len(terms) else f"{text} + ... ({len(terms)} terms)"
