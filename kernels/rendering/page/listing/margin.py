"""The source with its counts in the margin: what each line shows in each of the margin's views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from markupsafe import Markup

from kernels.evidence import AccessEvidence, BranchEvidence, LineEvidence
from kernels.rendering.page import numbers
from kernels.rendering.page.charts import svg
from kernels.rendering.page.listing.marks import Mark
from kernels.rendering.page.listing.syntax import Piece, coloured

WORST_SECTORS = 32
_WARP = 32
_HEAT = (0.02, 0.08, 0.2, 0.4)
_NOTABLE = 1.25
_MOST_CHIPS = 2
_AROUND = 20
_SCREEN, _CONTEXT, _FEWEST_FOLDED = 40, 3, 8
_COSTLY = 2

MOST_LINES = 2_000
"""A browser and the portal take long to show more. No handwritten kernel has as many."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A remarkable fact about a line, in two or three words."""

    text: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A line in one view: a bar and numbers, in the order of the view's columns."""

    view: str
    bar: Markup
    values: tuple[str, ...]
    chips: tuple[Chip, ...] = ()
    bad: bool = False


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the listing.

    heat: 0 to 4, by its share of the cost
    evidence: None if the line executed nothing
    marks: its findings
    left_out: the hidden lines before it
    """

    number: int
    pieces: Sequence[Piece]
    heat: int = 0
    cells: tuple[Cell, ...] = ()
    evidence: LineEvidence | None = None
    marks: tuple[Mark, ...] = ()
    left_out: int = 0

    @property
    def accesses(self) -> tuple[AccessEvidence, ...]:
        """The accesses that ran."""
        return (
            tuple(access for access in self.evidence.accesses if access.requests or access.ptx_requests)
            if self.evidence
            else ()
        )


def listing(
    source: str,
    lines: Sequence[LineEvidence],
    marks: Mapping[int, tuple[Mark, ...]] | None = None,
    most: int = MOST_LINES,
) -> list[SourceLine]:
    """The lines of the source. A very long source keeps the lines with findings or counts."""
    found = {line.line: line for line in lines}
    marked = marks or {}
    whole = sum(line.cost for line in lines) or 1.0
    pieces = coloured(source)
    products = sum(line.tensor_work for line in lines) or 1
    shown = []
    before = 0
    for number in _shown(len(pieces), [*marked, *found], most):
        line = _line(number, pieces[number - 1], found, whole, products)
        shown.append(replace(line, marks=marked.get(number, ()), left_out=number - before - 1))
        before = number
    return shown


@dataclass(frozen=True, slots=True)
class Part:
    """Successive lines of a listing. folded: whether the page shows them only on request."""

    lines: Sequence[SourceLine]
    folded: bool


def parts(lines: Sequence[SourceLine]) -> Sequence[Part]:
    """Fold what a long listing can spare: lines far from any finding and from any costly line."""
    if len(lines) <= _SCREEN:
        return (Part(lines, folded=False),)
    telling = [place for place, line in enumerate(lines) if line.marks or line.heat >= _COSTLY]
    kept = {near for place in telling for near in range(place - _CONTEXT, place + _CONTEXT + 1)}
    if not telling:
        kept = set(range(_SCREEN))
    runs = [(keeps, [line for _, line in run]) for keeps, run in groupby(enumerate(lines), lambda one: one[0] in kept)]
    found: list[Part] = []
    for keeps, run in runs:
        folded = not keeps and len(run) >= _FEWEST_FOLDED
        if found and not folded and not found[-1].folded:
            found[-1] = Part([*found[-1].lines, *run], folded=False)
        else:
            found.append(Part(run, folded=folded))
    return found


def _shown(last: int, told: Sequence[int], most: int) -> Sequence[int]:
    """The numbers of the lines to show. Lines with findings or counts come first, with their neighbours."""
    if last <= most:
        return range(1, last + 1)
    chosen = set(range(1, _AROUND + 1))
    for number in told:
        if len(chosen) >= most:
            break
        chosen.update(range(max(1, number - _AROUND), min(last, number + _AROUND) + 1))
    for number in range(1, last + 1):
        if len(chosen) >= most:
            break
        chosen.add(number)
    return sorted(chosen)


def _line(
    number: int, pieces: Sequence[Piece], found: Mapping[int, LineEvidence], whole: float, products: int
) -> SourceLine:
    """One line. whole, products: the cost and the tensor cores' work of all lines."""
    evidence = found.get(number)
    if evidence is None:
        return SourceLine(number, pieces)
    share = evidence.cost / whole
    heat = sum(share >= step for step in _HEAT)
    cells = (
        Cell("cost", svg.bar(share), (numbers.percent(share),), _chips(evidence)),
        *_global(evidence.together("global", "local")),
        *_shared(evidence),
        *_tensor(evidence, products),
        *(_branches(evidence.branches) if evidence.branches and evidence.branches.warps else ()),
        *_work(evidence),
    )
    return SourceLine(number, pieces, heat, cells, evidence)


def _chips(line: LineEvidence) -> tuple[Chip, ...]:
    found: list[tuple[float, Chip]] = []
    for access in line.accesses:
        if not access.requests:
            continue
        if access.space == "local":
            chip = Chip("local memory", "values that don't fit into registers; they are in global memory")
            found.append((access.requests, chip))
        elif access.space == "shared" and access.ways > _NOTABLE:
            meaning = "threads of a warp want different words of one bank, so the access takes this many passes"
            found.append((access.conflicts, Chip(f"{numbers.ratio(access.ways)}-way conflict", meaning)))
        elif access.space == "global" and access.sectors > _NOTABLE * access.ideal_sectors:
            ideal = numbers.ratio(access.ideal_per_request)
            chip = Chip(
                f"{numbers.ratio(access.sectors_per_request)} sectors, not {ideal}",
                "not coalesced: a request touches more sectors than necessary",
            )
            found.append((access.sectors - access.ideal_sectors, chip))
    branch = line.branches
    if branch and branch.warps and branch.divergent / branch.warps > 0.05 and not branch.predicated:
        text = f"{numbers.percent(branch.divergent / branch.warps)} split"
        found.append((branch.divergent, Chip(text, "warps whose threads went both ways")))
    chips = dict.fromkeys(chip for _, chip in sorted(found, key=lambda item: -item[0]))
    return tuple(chips)[:_MOST_CHIPS]


def _global(access: AccessEvidence | None) -> tuple[Cell, ...]:
    if access is None or not access.sectors:
        return ()
    each, ideal = access.sectors_per_request, access.ideal_per_request
    bad = each > _NOTABLE * ideal
    values = (numbers.short(access.requests), numbers.ratio(each), numbers.percent(access.efficiency))
    # A bulk copy of many rows has any number of sectors, so it is compared with twice its best.
    room = max(WORST_SECTORS, 2 * ideal)
    return (Cell("global", svg.bar(each / room, ideal / room, bad=bad), values, bad=bad),)


def _shared(line: LineEvidence) -> tuple[Cell, ...]:
    access, worst = line.together("shared"), line.worst_ways
    if access is None or access.verb.bulk:
        return ()
    bad = worst > _NOTABLE
    word = f"{numbers.ratio(worst)}-way" if bad else "none"
    values = (numbers.short(access.requests), numbers.ratio(access.wavefronts_per_request), word)
    return (Cell("shared", svg.bar(worst / _WARP, 1 / _WARP, bad=bad), values, bad=bad),)


def _tensor(line: LineEvidence, whole: int) -> tuple[Cell, ...]:
    if not line.tensor_instructions:
        return ()
    counts = line.tensor_instructions, line.tensor_flops, line.product_bytes
    return (Cell("tensor", svg.bar(line.tensor_work / whole), tuple(map(numbers.short, counts))),)


def _branches(branch: BranchEvidence) -> tuple[Cell, ...]:
    share = branch.divergent / branch.warps
    values = (numbers.short(branch.warps), numbers.short(branch.divergent), numbers.percent(share))
    bad = share > 0.05 and not branch.predicated
    return (Cell("branches", svg.bar(share, bad=bad), values, bad=bad),)


def _work(line: LineEvidence) -> tuple[Cell, ...]:
    if not line.warp_instructions:
        return ()
    share = line.thread_instructions / (_WARP * line.warp_instructions)
    values = (numbers.short(line.warp_instructions), numbers.short(line.flops), numbers.percent(share))
    return (Cell("work", svg.bar(share, bad=share < 0.8), values, bad=share < 0.8),)
