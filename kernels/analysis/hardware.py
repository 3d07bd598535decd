"""A kernel's counts as the hardware executes it: by line and in total.

The CPU device counts instructions of the PTX. The assembler joins neighbouring accesses into one, and disables threads
instead of branching; the machine code shows where. The assembler also moves, copies and drops instructions. Those
changes are ignored, unless a note says otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kernels.analysis.merge_fit import Fit, Match, fit
from kernels.analysis.sass import Sass
from kernels.counters import AccessSum, Run, Totals, totals_of
from kernels.device.counting.counts import ACCESS_FIELDS, AccessCount, BranchCount, Counts, Verb, Work
from kernels.evidence import PTX_ONLY, AccessEvidence, BranchEvidence, LineEvidence

_OPCODES = {
    ("shared", Verb.LOAD): "LDS", ("shared", Verb.STORE): "STS", ("global", Verb.LOAD): "LDG",
    ("global", Verb.STORE): "STG", ("local", Verb.LOAD): "LDL", ("local", Verb.STORE): "STL",
}  # fmt: skip
_MOVED = "the assembler moved these accesses to another line, or removed them; counted in the PTX"
_MOST_NAMED = 8
_NUMBERS = {2: "two", 4: "four", 8: "eight", 16: "sixteen"}
_DOES = {Verb.LOAD: "reads", Verb.STORE: "writes", Verb.ATOMIC: "updates"}

_NO_WORK = Work(*[0] * len(Work._fields))

Key = tuple[int | None, str, Verb, str]
"""Line, space, verb and variable."""


@dataclass(frozen=True, slots=True)
class Executed:
    """The counts as the hardware executes the kernel.

    lines: in order; code without a line is only in the totals
    notes: remarks on uncertain numbers
    fits: the joined accesses, see `kernels.analysis.merge_fit`
    """

    lines: tuple[LineEvidence, ...]
    totals: Totals
    notes: tuple[str, ...]
    fits: tuple[Fit, ...]


def as_executed(counts: Counts, sass: Sass | None) -> Executed:
    """The counts with the assembler's changes; without `sass`, the PTX's counts and a note.

    counts: with any number of columns, which are added up
    """
    fits = fit(counts, sass)
    hardware = [item for fit in fits for item in (*fit.merged, *fit.alone)]
    notes = {key: note for fit in fits for key, note in _access_notes(fit, sass).items()}
    accesses = _evidence(hardware, counts.accesses, notes)
    branches = _branches(counts.branches, sass)
    work = _work(counts)
    numbers = sorted({line for line in (*work, *accesses, *branches) if line is not None})
    lines = tuple(_line(line, work.get(line, _NO_WORK), accesses.get(line, ()), branches.get(line)) for line in numbers)
    return Executed(lines, _totals(hardware, counts), _notes(fits, sass), fits)


def _line(
    line: int, work: Work[int], accesses: tuple[AccessEvidence, ...], branches: BranchEvidence | None
) -> LineEvidence:
    return LineEvidence(
        line,
        work.threads,
        work.warps,
        work.flops,
        accesses,
        branches,
        work.tensor_flops,
        work.tensor_work,
        work.tensor_instructions,
        work.product_bytes,
    )


def _sum(accesses: Iterable[AccessCount]) -> AccessSum:
    total = AccessSum()
    for item in accesses:
        row = dict(zip(ACCESS_FIELDS, (int(number) for number in item.values.sum(axis=1)), strict=True))
        for name, number in row.items():
            setattr(total, name, getattr(total, name) + number)
        total.width = max(total.width, item.width)
        total.bytes += row["unique_bytes"] if item.verb.bulk else row["threads"] * item.width
        total.number += 1
    return total


def _grouped(accesses: Iterable[AccessCount]) -> dict[Key, list[AccessCount]]:
    found: dict[Key, list[AccessCount]] = {}
    for item in accesses:
        found.setdefault((item.line, item.space, item.verb, item.name), []).append(item)
    return found


def _evidence(
    hardware: Sequence[AccessCount], ptx: Sequence[AccessCount], notes: dict[Key, str]
) -> dict[int, tuple[AccessEvidence, ...]]:
    """For each line, the accesses of the hardware and of the PTX."""
    made, written = _grouped(hardware), _grouped(ptx)
    lines: dict[int, tuple[AccessEvidence, ...]] = {}
    for key in dict.fromkeys((*written, *made)):
        line, space, verb, name = key
        if line is None:
            continue
        now, before = _sum(made.get(key, ())), _sum(written.get(key, ()))
        note = notes.get(key, "" if now.number else "another line makes these accesses together with its accesses")
        width = now.bytes // max(1, now.requests) if verb.bulk else now.width or before.width
        evidence = AccessEvidence(
            space, verb, name, width, now.requests, now.threads, now.bytes,
            now.unique_bytes, now.sectors, now.ideal_sectors, now.segments, now.wavefronts, now.conflicts,
            before.requests, before.sectors, before.wavefronts, before.conflicts, note, now.repeats,
        )  # fmt: skip
        lines[line] = (*lines.get(line, ()), evidence)
    return lines


def _access_notes(each: Fit, sass: Sass | None) -> dict[Key, str]:
    """Why the hardware's numbers for a variable on a line differ from the PTX's; "" if they agree."""
    merged, alone = _grouped(each.merged), _grouped(each.alone)
    keys = dict.fromkeys((*alone, *merged))
    if sass is None:
        return dict.fromkeys(keys, "")
    if each.match is Match.NONE_THERE:
        return dict.fromkeys(keys, _MOVED)
    return {key: _joined(each, merged[key], len(alone.get(key, ()))) if key in merged else "" for key in keys}


def _joined(each: Fit, mine: Sequence[AccessCount], alone: int) -> str:
    """A note on the accesses `mine` that the assembler joined. alone: accesses that it left unchanged."""
    widest = max(mine, key=lambda merge: merge.width)
    after = len(mine) + alone
    before = after + sum(len(merge.pcs) - 1 for merge in mine)
    opcode = f"{_OPCODES[each.space, each.verb]}.{widest.width * 8}"
    one = "1 access" if after == 1 else f"{after} accesses"
    together = _NUMBERS.get(len(widest.pcs), str(len(widest.pcs)))
    text = (
        f"the assembler {_DOES[each.verb]} {together} neighbouring elements in one access ({opcode}): "
        f"{one}, {before} in the PTX"
    )
    return text if each.match is Match.EXACT else f"{text} (best guess)"


def _notes(fits: Sequence[Fit], sass: Sass | None) -> tuple[str, ...]:
    if sass is None:
        return (PTX_ONLY,)
    near = sorted({line for fit in fits if fit.uncertain for line in fit.lines if line is not None})
    if not near:
        return ()
    where = f"line {near[0]}" if len(near) == 1 else f"lines {', '.join(map(str, near[:_MOST_NAMED]))}"
    if len(near) > _MOST_NAMED:
        where += f" and {len(near) - _MOST_NAMED} more"
    guess = "the number of joined accesses is a best guess. The assembler's accesses don't match the PTX's"
    return (f"On {where}, {guess}.",)


def _branches(branches: Sequence[BranchCount], sass: Sass | None) -> dict[int, BranchEvidence]:
    lines: dict[int, list[BranchCount]] = {}
    for item in branches:
        if item.line is not None:
            lines.setdefault(item.line, []).append(item)
    found = {}
    for line, items in lines.items():
        warps, divergent = (sum(int(item.values[row].sum()) for item in items) for row in (0, 1))
        length = max(len(item.intervals) for item in items)
        intervals = tuple(
            (
                sum(item.intervals[number][0] for item in items if number < len(item.intervals)),
                sum(item.intervals[number][1] for item in items if number < len(item.intervals)),
            )
            for number in range(length)
        )
        machine = sass.get(line) if sass else None
        predicated = sass is not None and not (machine and machine.branches_conditionally)
        found[line] = BranchEvidence(warps, divergent, intervals, predicated)
    return found


def _work(counts: Counts) -> dict[int | None, Work[int]]:
    work: dict[int | None, Work[int]] = {}
    for item in counts.lines:
        work[item.line] = _together(work.get(item.line, _NO_WORK), item.total)
    return work


def _together(*all_work: Work[int]) -> Work[int]:
    return Work(*map(sum, zip(*all_work, strict=True)))


def _totals(hardware: Sequence[AccessCount], counts: Counts) -> Totals:
    work = _together(_NO_WORK, *_work(counts).values())
    branches, divergent = (sum(int(item.values[row].sum()) for item in counts.branches) for row in (0, 1))
    access, ptx = _sums(hardware), _sums(counts.accesses)
    run = Run(access, ptx, branches, divergent, **work._asdict())
    return totals_of(replace(run, async_loads=_async_loads(counts.accesses)))


def _async_loads(accesses: Sequence[AccessCount]) -> int:
    """The requests of instructions that load and store at once."""
    storing = {each.pcs for each in accesses if (each.space, each.verb) == ("shared", Verb.STORE)}
    loads = [each for each in accesses if (each.space, each.verb) == ("global", Verb.LOAD) and each.pcs in storing]
    return _sum(loads).requests


def _sums(accesses: Sequence[AccessCount]) -> Mapping[tuple[str, str], AccessSum]:
    found: dict[tuple[str, str], list[AccessCount]] = {}
    for item in accesses:
        found.setdefault((item.space, item.verb), []).append(item)
    return defaultdict(AccessSum, {key: _sum(items) for key, items in found.items()})
