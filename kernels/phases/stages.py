"""The stages of a pipeline, from a run of a kernel with tensor cores: which tile is where while which one is used.

Such a kernel copies tiles asynchronously to parts of shared memory, its stages, some phases before it uses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from kernels.device.ptx.module import Malformed, Unsupported
from kernels.device.ptx.program import Program
from kernels.device.state.element_names import plain_name
from kernels.device.tracing.filling import Filled, Settled, Step, filling
from kernels.evidence import Fill, Stage, StagePhase, StageTable
from kernels.exercise import Layout
from kernels.judging.inputs import make_inputs
from kernels.judging.judge import arguments, buffers
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan, Plan

_MOST_PHASES = 32
_PRODUCTS = frozenset({"mma", "wmma", "wgmma"})


def multiplies_matrices(program: Program) -> bool:
    """Whether the kernel uses tensor cores. Its threads then share the elements in ways that no table can show."""
    return any(item.head in _PRODUCTS for item in program.instructions)


def stage_table(
    program: Program,
    plan: Plan,
    case: CasePlan,
    *,
    symbols: Mapping[str, str] | None = None,
    state: Mapping[str, bytes] | None = None,
) -> StageTable | None:
    """Return the stages of one small case; None for a kernel that copies nothing asynchronously. Raises nothing.

    symbols, state: as for `phase_table`
    """
    if case.launch is None:
        return None
    inputs = make_inputs(case, int(plan.seed, 16))
    try:
        events, ended = filling(
            program,
            case.launch,
            arguments(case),
            buffers(case, inputs),
            symbols=symbols,
            shapes=case.shapes,
            state=state,
        )
    except (Unsupported, Malformed):
        return None
    work = _work(events, case.inputs_of_kernel)
    if not work.fills:
        return None
    phases = _phases(work)
    notes = [] if ended else ["The kernel is too long to follow, so only its beginning is shown."]
    if len(phases) > _MOST_PHASES:
        notes.append(f"Only the first {_MOST_PHASES} of {len(phases)} phases are shown.")
        phases = phases[:_MOST_PHASES]
    return StageTable(
        sizes=dict(case.sizes),
        tile=plan.tile,
        launch=case.launch,
        matrices={each.name: (each.rows, each.columns) for each in case.inputs_of_kernel},
        stages=tuple(work.stages),
        fills=tuple(each.fill for each in work.fills),
        phases=tuple(phases),
        note=" ".join(notes),
        early_wait=_early_wait(work),
    )


@dataclass(slots=True)
class _Use:
    """A fill, when its copies began, and when and by which lines it was read. Times are places of events."""

    fill: Fill
    began: int
    read: int | None = None
    lines: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Work:
    stages: list[Stage] = field(default_factory=list)
    fills: list[_Use] = field(default_factory=list)
    waits: list[tuple[int, int]] = field(default_factory=list)
    """Times and lines at which all threads wait for all copies."""

    def last(self, stage: int, before: int) -> int | None:
        """The place of a stage's last fill before a time."""
        found = [at for at, use in enumerate(self.fills) if use.fill.stage == stage and use.began < before]
        return found[-1] if found else None


def _work(events: Sequence[Step], matrices: Sequence[MatrixPlan]) -> _Work:
    known = {each.name: each for each in matrices}
    filled = [each for each in events if isinstance(each, Filled) and each.source in known]
    work = _Work(_stages(filled))
    places = {(each.array, each.first, each.last): at for at, each in enumerate(work.stages)}
    phases = _Phases(list(known))
    for time, event in enumerate(events):
        if isinstance(event, Settled):
            work.waits += [(time, event.line)] if event.line is not None else []
            continue
        array = plain_name(event.array)
        if isinstance(event, Filled):
            if event.source in known:
                rows, columns = _extent(event, known[event.source])
                number = phases.of(event.source, rows, columns)
                place = places[array, event.first, event.last]
                work.fills.append(_Use(Fill(place, number, rows, columns, event.line), time))
            continue
        for at, stage in enumerate(work.stages):
            inside = stage.array == array and ((event.offsets >= stage.first) & (event.offsets <= stage.last)).any()
            if inside and (last := work.last(at, time)) is not None:
                use = work.fills[last]
                use.read = time if use.read is None else use.read
                use.lines.update(() if event.line is None else (event.line,))
    return work


def _stages(filled: Sequence[Filled]) -> list[Stage]:
    """The different parts of shared memory, by operand and address."""
    parts = {(each.source, plain_name(each.array), each.first, each.last) for each in filled}
    numbers: dict[str, count[int]] = {}
    return [
        Stage(source, next(numbers.setdefault(source, count())), array, first, last)
        for source, array, first, last in sorted(parts)
    ]


def _extent(filled: Filled, matrix: MatrixPlan) -> tuple[tuple[int, int], tuple[int, int]]:
    """The rows and the columns that were copied, first and last of each."""
    lines, places = divmod(filled.offsets // matrix.type.bytes, matrix.row_length)
    ends = (int(places.min()), int(places.max()) + max(1, 4 // matrix.type.bytes) - 1)
    along = (int(lines.min()), int(lines.max()))
    return (ends, along) if matrix.layout is Layout.COLUMN_MAJOR else (along, ends)


class _Phases:
    """Numbers the tiles of each operand: a new one begins where copies go on along the dot products."""

    def __init__(self, names: Sequence[str]) -> None:
        self._left = names[0] if names else ""
        self._at: dict[str, int] = {}
        self._number: dict[str, int] = {}

    def of(self, operand: str, rows: tuple[int, int], columns: tuple[int, int]) -> int:
        along = (columns if operand == self._left else rows)[0]
        if self._at.get(operand) != along:
            self._at[operand] = along
            self._number[operand] = self._number.get(operand, -1) + 1
        return self._number[operand]


def _phases(work: _Work) -> list[StagePhase]:
    found: dict[int, list[_Use]] = {}
    for use in work.fills:
        if use.read is not None:
            found.setdefault(use.fill.phase, []).append(use)
    return [
        StagePhase(
            number,
            tuple(sorted(set[int]().union(*(use.lines for use in found[number])))),
            tuple(work.last(at, _begin(found[number])) for at in range(len(work.stages))),
        )
        for number in sorted(found)
    ]


def _early_wait(work: _Work) -> int | None:
    """The line of a wait for copies that no thread needs yet; None if there is none, or only one in the run.

    Such a wait finds the tiles that are read next in their place, and some of later phases under way.
    """
    early, before = list[int](), 0
    for time, line in work.waits:
        under_way = [use for use in work.fills if before <= use.began < time and use.read is not None]
        arrived = [use for use in work.fills if use.began < before and use.read is not None and use.read > time]
        first = min((use.fill.phase for use in under_way), default=0)
        if under_way and arrived and max(use.fill.phase for use in arrived) < first:
            early.append(line)
        before = time
    return next((line for line in early if early.count(line) > 1), None)


def _begin(uses: Sequence[_Use]) -> int:
    """When a phase has begun to read all of its tiles."""
    return max(use.read for use in uses if use.read is not None)
