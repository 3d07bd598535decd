"""The neighbouring accesses that the assembler joined, found by comparing PTX and machine code.

The PTX shows which accesses can be joined, the machine code how many accesses of each width exist. The assembler also
copies loop bodies, so the mixture of widths has to agree, not their numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kernels.analysis.sass import MachineLine, Sass
from kernels.device.counting.counts import AccessCount, Counts, Verb


class Match(StrEnum):
    """How well the chosen accesses agree with the machine code."""

    EXACT = "exact"
    NEAR = "near"
    NONE_THERE = "none there"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Fit:
    """The accesses to one space with one verb, on one line or on lines that share joined accesses.

    merged: the joined accesses
    alone: all other accesses
    copies: how often the machine code contains them, if that is a whole number
    joinable: whether any accesses could be joined
    """

    lines: tuple[int | None, ...]
    space: str
    verb: Verb
    merged: tuple[AccessCount, ...]
    alone: tuple[AccessCount, ...]
    match: Match
    copies: int = 0
    joinable: bool = False

    @property
    def uncertain(self) -> bool:
        """Whether the hardware may make other accesses. It can't if no accesses could be joined."""
        return self.joinable and self.match is Match.NEAR


@dataclass(slots=True)
class _Group:
    """Accesses whose joining must be decided together."""

    lines: set[int | None] = field(default_factory=set)
    accesses: list[AccessCount] = field(default_factory=list)
    candidates: list[AccessCount] = field(default_factory=list)


def fit(counts: Counts, sass: Sass | None) -> tuple[Fit, ...]:
    """The executed accesses, joined as by the hardware; unjoined without `sass`."""
    found = []
    for (space, verb), groups in _groups(counts).items():
        for group in groups:
            there: Counter[int] = Counter()
            for line in group.lines:
                there += (sass.get(line, _NOTHING) if sass else _NOTHING).widths(space, verb)
            # The assembler joins no bulk copies.
            merged, match, copies = _choose(group, there) if sass and not verb.bulk else ((), Match.UNKNOWN, 0)
            taken = {pc for item in merged for pc in item.pcs}
            alone = tuple(item for item in group.accesses if item.pcs[0] not in taken)
            lines = tuple(sorted(group.lines, key=lambda line: line or 0))
            found.append(Fit(lines, space, verb, merged, alone, match, copies, bool(group.candidates)))
    return tuple(found)


_NOTHING = MachineLine(0, 0, (), ())


def _groups(counts: Counts) -> dict[tuple[str, Verb], list[_Group]]:
    """Accesses by space and verb, then by line. Lines that a joined access could span form one group."""
    sorts: dict[tuple[str, Verb], dict[int | None, _Group]] = {}
    lines = {}
    for item in counts.accesses:
        by_line = sorts.setdefault((item.space, item.verb), {})
        group = by_line.setdefault(item.line, _Group({item.line}))
        group.accesses.append(item)
        lines[item.space, item.verb, item.pcs[0]] = item.line
    for item in counts.merged:
        keys = [(item.space, item.verb, pc) for pc in item.pcs]
        if not item.aligned or not all(key in lines for key in keys):
            continue
        by_line = sorts[item.space, item.verb]
        first = by_line[lines[keys[0]]]
        for key in keys[1:]:
            _join(by_line, first, by_line[lines[key]])
        first.candidates.append(item)
    return {sort: list({id(group): group for group in found.values()}.values()) for sort, found in sorts.items()}


def _join(by_line: dict[int | None, _Group], first: _Group, other: _Group) -> None:
    if other is first:
        return
    first.lines |= other.lines
    first.accesses += other.accesses
    first.candidates += other.candidates
    by_line.update(dict.fromkeys(other.lines, first))


def _choose(group: _Group, there: Counter[int]) -> tuple[tuple[AccessCount, ...], Match, int]:
    """The joined accesses whose widths are closest to the machine code's."""
    if not there:
        return (), Match.NONE_THERE, 0
    written = Counter(item.width for item in group.accesses)
    wide = [width for width in sorted(there, reverse=True) if width > min(written)]
    copies, left = divmod(_bytes(there), _bytes(written))
    whole = copies > 0 and not left and all(number % copies == 0 for number in there.values())
    if not whole:
        # An unrolled loop has most of the accesses, and its remainder may be joined in another way.
        wide.sort(key=lambda width: width * there[width], reverse=True)
    chosen: list[AccessCount] = []
    free = {item.pcs[0] for item in group.accesses}
    for width in wide:
        possible = _disjoint((item for item in group.candidates if item.width == width), free)
        if whole:
            wanted = there[width] // copies - written[width]
            possible = _so_many(possible, max(wanted, 0))
        chosen += possible
        free -= {pc for item in possible for pc in item.pcs}
    taken = {pc for item in chosen for pc in item.pcs}
    widths = Counter(item.width for item in chosen)
    widths.update(item.width for item in group.accesses if item.pcs[0] not in taken)
    made = dict(widths)
    if whole and made == {width: number // copies for width, number in there.items()}:
        return tuple(chosen), Match.EXACT, copies
    return tuple(chosen), Match.EXACT if _same_mixture(made, there) else Match.NEAR, 0


def _bytes(widths: Mapping[int, int]) -> int:
    return sum(width * number for width, number in widths.items())


def _disjoint(candidates: Iterable[AccessCount], free: set[int]) -> list[AccessCount]:
    """Candidates that share no instruction, in program order."""
    left = set(free)
    taken = []
    for item in sorted(candidates, key=lambda item: item.pcs):
        if left.issuperset(item.pcs):
            left -= set(item.pcs)
            taken.append(item)
    return taken


def _so_many(candidates: list[AccessCount], wanted: int) -> list[AccessCount]:
    """`wanted` of the candidates; if possible, all or none of each variable."""
    if wanted >= len(candidates):
        return candidates
    sizes = Counter(item.name for item in candidates)
    names = _summing_to(list(sizes.items()), wanted)
    if names is None:
        return candidates[:wanted]
    return [item for item in candidates if item.name in names]


def _summing_to(sizes: Sequence[tuple[str, int]], wanted: int) -> set[str] | None:
    reached: dict[int, tuple[int, str]] = {}
    for name, size in sizes:
        for total in (0, *reached):
            if total + size <= wanted:
                reached.setdefault(total + size, (total, name))
    names: set[str] = set()
    while wanted in reached:
        wanted, name = reached[wanted]
        names.add(name)
    return names if wanted == 0 else None


def _same_mixture(made: Mapping[int, int], there: Mapping[int, int]) -> bool:
    """Whether both have each width in the same share."""
    ours, theirs = sum(made.values()), sum(there.values())
    return made.keys() == there.keys() and all(made[width] * theirs == there[width] * ours for width in made)
