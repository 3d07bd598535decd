"""Compare the submissions of an assignment: equal files, equal code, similar pairs, and two side by side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kernels.rendering.text_safety import safe_lines
from kernels.source.similarity.comparison import LEAST_STUDENTS, Comparison, compare
from kernels.source.similarity.features import Features, features_of
from kernels.source.similarity.marks import Mark, marks
from kernels.source.similarity.statements import read_code
from server.staff.copies.queries import Work, people

MOST_PAIRS = 100
"""Pairs that a page lists."""

_FEW = 3
_FEW_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Group:
    """Students with the same file or the same code. usual: so many that it's probably the usual solution."""

    works: tuple[Work, ...]
    usual: bool


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Two similar submissions. names, comments: how many both have that few students have."""

    left: Work
    right: Work
    share: float
    names: int
    comments: int


@dataclass(frozen=True, slots=True)
class Similar:
    """All that is similar. students: compared ones; more: pairs that are left out."""

    students: int
    files: tuple[Group, ...]
    codes: tuple[Group, ...]
    pairs: tuple[SimilarPair, ...]
    more: int

    @property
    def too_few(self) -> bool:
        return self.students < LEAST_STUDENTS


@dataclass(frozen=True, slots=True)
class SharedLine:
    """A line of one of two sources. mark: None for a line that the other doesn't have."""

    number: int
    text: str
    mark: Mark | None


class _Sources:
    """The sources of all students, read once."""

    def __init__(self, works: Sequence[Work], given: Iterable[str]) -> None:
        self.works = works
        self.codes = [read_code(one.source) for one in works]
        self.features = [features_of(code) for code in self.codes]
        self._given_codes = [read_code(text) for text in given]
        self.given = frozenset(f for code in self._given_codes for f in features_of(code).all)
        self.compared: Comparison = compare(self.features, self.given)
        self.rare = rare_among(len(works))

    def given_plain(self) -> set[str]:
        return {code.plain for code in self._given_codes}

    def rare_words(self) -> list[tuple[set[str], set[str]]]:
        """The names and the comments of each source that few students and no given code have."""
        words = [(set(code.kinds), set(code.comments)) for code in self.codes]
        known = [(set(code.kinds), set(code.comments)) for code in self._given_codes]
        found = []
        for part in (0, 1):
            counts = Counter(word for each in words for word in each[part])
            common = {word for word, count in counts.items() if count > self.rare}
            common.update(word for each in known for word in each[part])
            found.append([each[part] - common for each in words])
        return list(zip(*found, strict=True))


def rare_among(students: int) -> int:
    """The most students that may share something rare."""
    return max(_FEW, round(_FEW_SHARE * students))


def similar(works: Sequence[Work], files: Sequence[Sequence[Work]], given: Sequence[str], marked: int = 0) -> Similar:
    """Compare all students.

    works: one of each student; files: equal files; given: the code that all students got
    marked: how many pairs may be folded away, so that many more are read
    """
    sources = _Sources(works, given)
    listed = [people(group) for group in files]
    groups = list(_same_code(sources))
    codes = [group for group in groups if people(group.works) not in listed]
    plain = [code.plain for code in sources.codes]
    found = [pair for pair in sources.compared.pairs() if plain[pair.left] != plain[pair.right]]
    words = sources.rare_words() if found else []
    pairs = tuple(
        SimilarPair(
            works[one.left], works[one.right], one.share,
            *(len(left & right) for left, right in zip(words[one.left], words[one.right], strict=True)),
        )
        for one in found[: MOST_PAIRS + marked]
    )  # fmt: skip
    return Similar(
        len(works),
        tuple(Group(tuple(group), len(group) > sources.rare) for group in files),
        tuple(codes),
        pairs,
        len(found) - len(pairs),
    )


def side_by_side(
    left: Work, right: Work, works: Sequence[Work], given: Iterable[str]
) -> tuple[list[SharedLine], list[SharedLine]]:
    """Both sources with marks on the shared lines. works: one of each student, which show what is common."""
    sources = _Sources(works, given)
    one, other = (features_of(read_code(each.source)) for each in (left, right))
    return _lines(left, one, other, sources), _lines(right, other, one, sources)


def _lines(work: Work, own: Features, other: Features, sources: _Sources) -> list[SharedLine]:
    found = marks(own, other, sources.compared.carriers, sources.given, sources.rare)
    lines = safe_lines(work.source)
    if lines and not lines[-1]:
        lines.pop()
    return [SharedLine(number, text, found.get(number)) for number, text in enumerate(lines, 1)]


def _same_code(sources: _Sources) -> Iterator[Group]:
    """Students whose code is the same without layout and comments, small groups first; not the given code alone."""
    groups: dict[str, list[Work]] = defaultdict(list)
    ignored = sources.given_plain() | {""}
    for work, code in zip(sources.works, sources.codes, strict=True):
        if code.plain not in ignored:
            groups[code.plain].append(work)
    for group in sorted(groups.values(), key=len):
        if len(group) > 1:
            first = sorted(group, key=lambda one: one.created_at)
            yield Group(tuple(first), len(group) > sources.rare)
