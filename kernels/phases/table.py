"""The phases of a tiled kernel, from a run of it: which threads load what, and what they sum.

The course prints such a table for its own kernel, and this module makes it for the student's kernel. `phase_table`
follows a small launch and groups everything between barriers. A phase is a load and the computation with the loaded
elements. A kernel may load for the next phase while it computes. Then an element counts for the phase that uses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kernels.device.ptx.module import Malformed, Unsupported
from kernels.device.ptx.program import Program
from kernels.device.state.geometry import coordinates
from kernels.device.tracing.provenance import Coordinates, Element, Factor, Terms, Trace, TracedFetch
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
        made = _block_phases(block, work, followed, names)
        records += sum(len(each.fetches) + len(each.accumulations) for each in made.values())
        if number and records > _MOST_RECORDS:
            notes.append(f"Only the first {number} of {len(blocks)} blocks are listed.")
            break
        for phase, entry in made.items():
            phases[phase].append(entry)
    if any(_fetches_ahead(work, followed.factors) for _, work in blocks):
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


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of one block."""

    fetches: Sequence[TracedFetch]
    terms: Terms


def _by_block(followed: Trace) -> list[tuple[Coordinates, _Work]]:
    """Return the work of each block, row by row."""
    terms = followed.terms
    terms = terms[_matters(followed)[terms.accumulator]]
    used = {followed.factors[row].fetch for row in np.unique([terms.one, terms.two]).tolist() if row >= 0}
    fetches: dict[Coordinates, list[TracedFetch]] = defaultdict(list)
    for fetch in followed.fetches:
        if fetch.element is not None or fetch.number in used:
            fetches[fetch.block].append(fetch)
    of_block = {coordinates(number, followed.launch.grid): number for number in np.unique(terms.block).tolist()}
    return [
        (block, _Work(fetches[block], terms[terms.block == of_block.get(block, -1)]))
        for block in sorted(fetches.keys() | of_block.keys(), key=lambda block: block[::-1])
    ]


def _matters(followed: Trace) -> NDArray[np.bool_]:
    """Which accumulators matter: not those of threads outside the matrix, which only add zeros."""
    terms = followed.terms
    known = np.array([*(factor.element is not None for factor in followed.factors), False])
    products = known[terms.one] & known[terms.two]
    found = np.array([target is not None for target in followed.targets], np.bool_)
    found[terms.accumulator[products]] = True
    return found


def _block_phases(block: Coordinates, work: _Work, followed: Trace, names: _Names) -> dict[int, BlockPhase]:
    intervals = _phase_of_interval(work, followed.factors)
    of_fetch = _phase_of_fetch(work, followed.factors, intervals)
    fetches: dict[int, list[TracedFetch]] = defaultdict(list)
    for fetch in work.fetches:
        fetches[of_fetch[fetch.number]].append(fetch)
    phases = np.array([intervals[each] for each in work.terms.interval.tolist()], np.int64)
    return {
        phase: BlockPhase(
            block,
            tuple(_fetch(each, names) for each in sorted(fetches[phase], key=lambda f: (f.thread[::-1], f.number))),
            _accumulations(work.terms[phases == phase], followed, names),
        )
        for phase in fetches.keys() | set(phases.tolist())
    }


def _versions(terms: Terms, factors: Sequence[Factor]) -> Mapping[int, set[int]]:
    """Return the fetches that are used in each interval between barriers; -1 stands for all other factors."""
    found: dict[int, set[int]] = defaultdict(set)
    for rows in (terms.one, terms.two):
        pairs = np.unique((terms.interval * len(factors) + rows)[rows >= 0])
        for interval, row in (divmod(pair, len(factors)) for pair in pairs.tolist()):
            found[interval].add(factors[row].fetch)
    return found


def _phase_of_interval(work: _Work, factors: Sequence[Factor]) -> dict[int, int]:
    """Return the phase of each interval between barriers that has sums.

    A phase begins with the first use of cells in three cases. Something was fetched since the last phase began to
    compute. Or these cells were filled at another time. Or they belong to other tiles.
    """
    versions = _versions(work.terms, factors)
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


def _phase_of_fetch(work: _Work, factors: Sequence[Factor], intervals: Mapping[int, int]) -> dict[int, int]:
    """Return the phase that first uses each fetch. An unused fetch gets the phase of the fetches made with it."""
    found: dict[int, int] = {}
    for interval, used in sorted(_versions(work.terms, factors).items()):
        for number in used:
            found.setdefault(number, intervals[interval])
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


def _fetches_ahead(work: _Work, factors: Sequence[Factor]) -> bool:
    """Whether a block loads for a later phase while it computes one."""
    intervals = _phase_of_interval(work, factors)
    of_fetch = _phase_of_fetch(work, factors, intervals)
    return any(of_fetch[fetch.number] > intervals.get(fetch.interval, 1 << 30) for fetch in work.fetches)


def _fetch(fetch: TracedFetch, names: _Names) -> Fetch:
    element = linear = PADDING
    if fetch.element is not None:
        element = names.element(fetch.element.name, fetch.element.index)
        linear = f"{fetch.element.name}[{fetch.element.index}]"
    return Fetch(fetch.thread, element, linear, fetch.cell, fetch.line)


def _accumulations(terms: Terms, followed: Trace, names: _Names) -> tuple[Accumulation, ...]:
    """Return what each thread adds to each target, by thread and place. Targets without an element are one."""
    targets = list(dict.fromkeys(followed.targets))
    of_target = {target: number for number, target in enumerate(targets)}
    target = np.array([of_target[each] for each in followed.targets], np.int64)[terms.accumulator]
    order = np.lexsort((terms.number, target, terms.thread))
    ends = np.flatnonzero(np.diff(terms.thread[order]) | np.diff(target[order])) + 1
    made = [
        _accumulation(targets[target[rows[0]]], terms[rows], followed, names)
        for rows in np.split(order, ends)
        if len(rows)
    ]
    return tuple(sorted(made, key=lambda each: (each.thread[::-1], cell_place(each.target))))


def _accumulation(target: Element | None, terms: Terms, followed: Trace, names: _Names) -> Accumulation:
    thread = coordinates(int(terms.thread[0]), followed.launch.block)
    name = "PValue" if target is None else names.element(target.name, target.index)
    pairs = zip(terms.one.tolist(), terms.two.tolist(), strict=True)
    products = [[followed.factors[row] for row in pair if row >= 0] for pair in pairs]
    in_cells = any(factor.cell for each in products for factor in each)
    signs = terms.negative.tolist()
    elements = _added(products, signs, names, names.of_factor)
    cells = _added(products, signs, names, lambda factor: factor.cell or names.of_factor(factor)) if in_cells else ""
    return Accumulation(thread, name, cells, elements, int(terms.line[0]) or None)


def _added(
    products: Sequence[Sequence[Factor]], negative: Sequence[bool], names: _Names, name: Callable[[Factor], str]
) -> str:
    """Return `Mds[0][0]*Nds[0][0] + Mds[0][1]*Nds[1][0]`; only the first of many terms."""
    shown = products if len(products) <= _MOST_TERMS else products[:_FIRST_TERMS]
    text = "".join(
        f" {'-' if minus else '+'} {'*'.join(map(name, sorted(factors, key=names.order)))}"
        for minus, factors in zip(negative, shown, strict=False)
    )
    text = text.removeprefix(" + ") if not negative[0] else "-" + text.removeprefix(" - ")
    return text if len(shown) == len(products) else f"{text} + ... ({len(products)} terms)"
