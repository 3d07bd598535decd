"""The sources to compare: one submission of each student, and files that several students submitted."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from kernels.rendering.text_safety import safe_lines
from kernels.source.similarity.comparison import LEAST_STUDENTS, Comparison, compare
from kernels.source.similarity.features import Features, features_of
from kernels.source.similarity.marks import Mark, marks
from kernels.source.similarity.statements import read_code
from server.accounts.models import Person
from server.courses.models import Assignment, Membership, Role
from server.database.base import one_of
from server.exercises.stored import material_of
from server.grades.grade import grades
from server.grading.models import NO_SOURCE, Source
from server.submissions.models import Submission

MOST_GROUPS = 50
"""Identical files that a page lists."""

_CODE = re.compile(r"^```(?:cuda|cpp|c)\b[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Work:
    """A student's submission."""

    submission_id: int
    public_id: str
    person_id: int
    name: str
    email: str
    created_at: datetime
    digest: str
    source: str


def works_of(session: Session, assignment: Assignment) -> list[Work]:
    """The submission of each student that counts, otherwise the last one or check; by name, without erased people.

    Includes dropped students, because others may have their code.
    """
    students = _students(assignment)
    counted = {
        person: grade.counted.entry.submission_id
        for person, grade in grades(session, [assignment], students)[assignment.id].items()
        if grade.counted is not None
    }
    last = (
        select(Submission.person_id, func.max(Submission.id))
        .where(*_with_source(assignment))
        .group_by(Submission.person_id)
    )
    chosen = [counted.get(person, number) for person, number in session.execute(last)]
    return sorted(_works(session, chosen), key=lambda one: (one.name.casefold(), one.email))


def work_of(session: Session, assignment: Assignment, public_id: str) -> Work | None:
    """One submission of a student to this assignment."""
    number = session.scalar(select(Submission.id).where(Submission.public_id == public_id, *_with_source(assignment)))
    return next(iter(_works(session, [] if number is None else [number])), None)


def shared_files(session: Session, assignment: Assignment) -> list[list[Work]]:
    """Files that several students submitted or checked, also earlier. Each group has one submission of each student."""
    starter = given_code(session, assignment)[:1]
    ours = {hashlib.sha256(text.encode()).hexdigest() for text in starter}
    mine = _with_source(assignment)
    several = (
        select(Submission.source_digest)
        .where(*mine, Submission.source_digest.not_in(ours))
        .group_by(Submission.source_digest)
        .having(func.count(Submission.person_id.distinct()) > 1)
        .order_by(func.max(Submission.id).desc())
        .limit(MOST_GROUPS)
    )
    digests = session.scalars(several).all()
    first = (
        select(func.min(Submission.id))
        .where(*mine, Submission.source_digest.in_(digests))
        .group_by(Submission.source_digest, Submission.person_id)
    )
    groups: dict[str, list[Work]] = defaultdict(list)
    for work in sorted(_works(session, session.scalars(first)), key=lambda one: (one.created_at, one.submission_id)):
        groups[work.digest].append(work)
    return sorted(groups.values(), key=len)


def given_code(session: Session, assignment: Assignment) -> list[str]:
    """The code that all students got: the starter first, if there is one, and the code in the handout."""
    material = material_of(session, assignment.exercise)
    if material is None:
        return []
    return [*filter(None, [material.starter]), *_CODE.findall(material.handout.replace("\r\n", "\n"))]


def _with_source(assignment: Assignment) -> tuple[ColumnElement[bool], ...]:
    return (
        Submission.assignment_id == assignment.id, Submission.person_id.in_(_students(assignment)),
        Submission.source_digest != NO_SOURCE,
    )  # fmt: skip


def _students(assignment: Assignment) -> Select[int]:
    return (
        select(Membership.person_id)
        .join(Person, Person.id == Membership.person_id)
        .where(
            Membership.course_id == assignment.course_id, Membership.role == Role.STUDENT, Person.erased_at.is_(None)
        )
    )


def _works(session: Session, submissions: Iterable[int]) -> list[Work]:
    query = (
        select(
            Submission.id, Submission.public_id, Person.id, Person.name, Person.email, Submission.created_at,
            Source.digest, Source.content,
        )
        .join(Person, Person.id == Submission.person_id)
        .join(Source, Source.digest == Submission.source_digest)
        .where(one_of(Submission.id, submissions))
    )  # fmt: skip
    return [Work(*row[:-1], row[-1].decode("utf-8", "replace")) for row in session.execute(query)]


def people(works: Sequence[Work]) -> frozenset[int]:
    return frozenset(work.person_id for work in works)


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
        self.codes = [read_code(work.source) for work in works]
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
