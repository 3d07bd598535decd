"""A race between two threads, in steps: one access, both, and in one block also both with a barrier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from kernels.facts import AccessKind, Element, Mistake, Operation
from kernels.rendering.page.charts.race import Access, Band, Shared, race_picture
from kernels.report.explanation import explanation_of
from kernels.report.model import Explanation, Report, first_error
from kernels.verdict import Finding, Verdict
from kernels.wording import lines_named

_MOST_CELLS = 4_096
_BLOCKS = "A barrier orders the threads of one block. These two threads belong to two blocks."
_CLUSTER = (
    "`__syncthreads()` orders the threads of one block. `cluster.sync()` orders the threads of all blocks of a cluster."
)


_UNDER_WAY = "A barrier doesn’t wait for an asynchronous operation. Its thread goes on, even past barriers."
_NOUNS = {
    None: "copy",
    Operation.COPY: "copy",
    Operation.BULK_LOAD: "bulk copy",
    Operation.BULK_STORE: "bulk copy",
    Operation.PRODUCT: "product",
}
_NO_FENCE = "although no fence has shown it the write."
_FENCES = "A barrier doesn’t show writes to the asynchronous operations of a block. A fence does, before the barrier."


@dataclass(frozen=True, slots=True)
class RaceStep:
    """One picture with its sentence."""

    title: str
    drawing: Markup


@dataclass(frozen=True, slots=True)
class RaceView:
    """The steps. title: names the element. barriers: the kernel's barriers in one sentence, or why none helps."""

    title: str
    barriers: str
    steps: tuple[RaceStep, ...]


def race_view(report: Report) -> RaceView | None:
    """The steps of the leading race; None without two threads and a known element."""
    race = first_error(report.findings, Verdict.DATA_RACE)
    if report.verdict is not Verdict.DATA_RACE or race is None or race.example is None:
        return None
    found, element = race.facts.accesses, race.example.element or ""
    if len(found) != 2 or not race.indices:
        return None
    first, second = (
        Access(mark, _index(each.thread), each.kind.verb, each.line, _index(each.block), each.kind.noun)
        for mark, each in zip("AB", found, strict=True)
    )
    source, in_cluster = explanation_of(report), race.facts.mistake is Mistake.CLUSTER_RACE
    space = "shared memory" if in_cluster else _space(first, source)
    shared = replace(_shared(race, source), space=space)
    together = "in the same phase. No barrier says which comes first."
    if first.block:
        together = "too. Blocks run in any order, so either may come first."
    order = f"A {'barrier of the cluster' if in_cluster else 'barrier'} between the two makes two phases."
    header = _CLUSTER if in_cluster else _BLOCKS if first.block else _barriers(source)
    unordered = _unordered(race)
    if unordered is not None:
        together, order, header = unordered
    steps = [
        (f"{first.sentence(element)}.", [Band((first,))]),
        (f"{second.sentence(element)} {together}", [Band((first, second))]),
    ]
    ordered = in_cluster or not (first.block or race.facts.one_warp)
    if ordered and first.line != second.line:
        steps.append((f"{order} Now the order is fixed.", [Band((first,)), Band((second,))]))
    return RaceView(
        f"The race on {f'{shared.space} {element}'.lstrip()}, step by step",
        header,
        tuple(
            RaceStep(f"{number}. {text}", race_picture(f"race-{number}", text, shared, bands))
            for number, (text, bands) in enumerate(steps, 1)
        ),
    )


def _unordered(race: Finding) -> tuple[str, str, str] | None:
    """For a race that a barrier alone can't end: what is open, what orders the accesses, and why no barrier does."""
    first = race.facts.accesses[0]
    if race.facts.mistake is Mistake.PROXY_FENCE:
        return _NO_FENCE, "The fence and then a barrier show the write.", _FENCES
    if first.operation is None and first.kind is not AccessKind.COPY:
        return None
    noun = _NOUNS.get(first.operation, "asynchronous operation")
    wait = f"A wait for the {noun}"
    if first.operation not in {Operation.BULK_LOAD, Operation.REMOTE_STORE}:
        wait += ", and then a barrier for the other threads,"
    return f"while the {noun} may still be under way.", f"{wait} makes two phases.", _UNDER_WAY


def _index(coordinates: Sequence[int]) -> str:
    return ",".join(map(str, coordinates))


def _barriers(source: Explanation) -> str:
    if not source.barriers:
        return "A phase ends at a barrier. This kernel has none, so all of it is one phase."
    return f"A phase lasts from one barrier to the next. This kernel’s barriers: {lines_named(source.barriers)}."


def _space(access: Access, source: Explanation) -> str:
    """The memory of the element; "" if the source doesn't show it."""
    if access.block:
        return "global memory"
    return "shared memory" if source.shared else ""


def _shared(race: Finding, source: Explanation) -> Shared:
    """The array with its extents, from its declaration; without one, up to the element."""
    row, column = (0, *race.indices)[-2:]
    rows, columns = source.extents or (row + 1, column + 1)
    if rows == 1 and columns > 32:  # one row for each warp's words
        rows, columns, row, column = -(-columns // 32), 32, column // 32, column % 32
    if row >= rows or column >= columns or rows * columns > _MOST_CELLS:
        rows, columns = row + 1, column + 1
    element = str(Element(race.array, race.indices))
    return Shared(element, race.array, rows, columns, row, column)
