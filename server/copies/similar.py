"""The sources to compare, and what is equal or similar among them, as groups of students."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import ColumnElement, Select, exists, func, or_, select
from sqlalchemy.orm import Session, joinedload

from kernels.rendering.text_safety import safe_lines
from kernels.source.similarity.comparison import LEAST_STUDENTS, Comparison, Pair, compare
from kernels.source.similarity.features import Features, features_of
from kernels.source.similarity.marks import Mark, marks
from kernels.source.similarity.statements import read_code
from server.accounts.models import Person
from server.courses.models import Assignment, Course, Exercise, Membership, Role
from server.courses.service import is_staff, role_from, with_role
from server.database.base import one_of
from server.exercises.stored import given_code
from server.grades.grade import grades
from server.grading.models import NO_SOURCE, Source
from server.submissions.models import Submission
from server.teams.credit import parties

MOST_GROUPS = 50
"""Identical files that a page lists."""

MOST_OTHERS = 10
"""Assignments of other courses and terms that are compared at once, the newest."""

MOST_STUDENTS = 1_000
"""Students from which those of further courses aren't compared: about 3 s of a web request."""


@dataclass(frozen=True, slots=True)
class Work:
    """A student's submission.

    course: the short name of its course
    team: stands for all students of the author's team; None without a team
    """

    submission_id: int
    public_id: str
    person_id: int
    name: str
    email: str
    created_at: datetime
    digest: str
    source: str
    assignment_id: int = 0
    course: str = ""
    team: int | None = None

    @property
    def party(self) -> int:
        """The same for all members of a team, who may have the same code."""
        return self.person_id if self.team is None else self.team


def other_assignments(session: Session, assignment: Assignment, reader: Person | None) -> Sequence[Assignment]:
    """Assignments with the same exercise in courses of which the reader is staff, the newest first.

    reader: None for the command line
    """
    own = assignment.exercise
    same = Exercise.course_id.is_(None) if own.course_id is None else Exercise.course_id == own.course_id
    query = (
        select(Assignment)
        .join(Exercise, Exercise.id == Assignment.exercise_id)
        .join(Course, Course.id == Assignment.course_id)
        .where(Assignment.id != assignment.id, Exercise.name == own.name, or_(Exercise.digest == own.digest, same))
        .options(joinedload(Assignment.course))
        .order_by(Assignment.id.desc())
    )
    if reader is None:
        return session.scalars(query.limit(MOST_OTHERS)).all()
    rows = session.execute(with_role(query, reader.id, Course.id.expression))
    return [one for one, admin, role in rows if is_staff(role_from(admin, role))][:MOST_OTHERS]


@dataclass(frozen=True, slots=True)
class Works:
    """One submission of each student. left_out: students of other courses above MOST_STUDENTS."""

    works: list[Work]
    left_out: int


def works_of(session: Session, *assignments: Assignment) -> Works:
    """The submission of each student that counts, otherwise the last one or check; by name, without erased people.

    Includes dropped students, because others may have their code.

    assignments: the first one with all its students, then those of others as long as there is room
    """
    chosen: list[int] = []
    left_out = 0
    for assignment in assignments:
        last = (
            select(Submission.person_id, func.max(Submission.id))
            .where(*_with_source(assignment))
            .group_by(Submission.person_id)
            .order_by(func.max(Submission.id).desc())
        )
        found = session.execute(last).all()
        room = max(0, MOST_STUDENTS - len(chosen)) if assignment != assignments[0] else len(found)
        left_out += len(found[room:])
        if not found[:room]:
            continue
        students = _students(assignment)
        counted = {
            person: grade.counted.entry.submission_id
            for person, grade in grades(session, [assignment], students)[assignment.id].items()
            if grade.counted is not None
        }
        chosen += [counted.get(person, number) for person, number in found[:room]]
    works = _works(session, chosen, assignments)
    return Works(sorted(works, key=lambda one: (one.name.casefold(), one.email, one.submission_id)), left_out)


def work_of(session: Session, public_id: str, *assignments: Assignment) -> Work | None:
    """One submission of a student to one of these assignments."""
    query = select(Submission.id).where(Submission.public_id == public_id, *_with_source(*assignments))
    number = session.scalar(query)
    return next(iter(_works(session, [] if number is None else [number], assignments)), None)


def shared_files(session: Session, *assignments: Assignment) -> list[list[Work]]:
    """Files that several students submitted or checked, also earlier. Each group has one submission of each student."""
    starter = given_code(session, assignments[0].exercise)[:1]
    ours = {hashlib.sha256(text.encode()).hexdigest() for text in starter}
    mine = _with_source(*assignments)
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
    works = _works(session, session.scalars(first), assignments)
    for work in sorted(works, key=lambda one: (one.created_at, one.submission_id)):
        if work.party not in people(groups[work.digest]):
            groups[work.digest].append(work)
    return sorted((group for group in groups.values() if len(group) > 1), key=len)


def _with_source(*assignments: Assignment) -> tuple[ColumnElement[bool], ...]:
    numbers = [one.id for one in assignments]
    student = exists().where(
        Assignment.id == Submission.assignment_id,
        Membership.course_id == Assignment.course_id,
        Membership.person_id == Submission.person_id,
        Membership.role == Role.STUDENT,
        Person.id == Submission.person_id,
        Person.erased_at.is_(None),
    )
    return Submission.assignment_id.in_(numbers), student, Submission.source_digest != NO_SOURCE


def _students(assignment: Assignment) -> Select[int]:
    return (
        select(Membership.person_id)
        .join(Person, Person.id == Membership.person_id)
        .where(
            Membership.course_id == assignment.course_id, Membership.role == Role.STUDENT, Person.erased_at.is_(None)
        )
    )


def _works(session: Session, submissions: Iterable[int], assignments: Sequence[Assignment]) -> list[Work]:
    teams = parties(session, assignments)
    query = (
        select(
            Submission.id, Submission.public_id, Person.id, Person.name, Person.email, Submission.created_at,
            Source.digest, Source.content, Assignment.id, Course.slug,
        )
        .join(Person, Person.id == Submission.person_id)
        .join(Source, Source.digest == Submission.source_digest)
        .join(Assignment, Assignment.id == Submission.assignment_id)
        .join(Course, Course.id == Assignment.course_id)
        .where(one_of(Submission.id, submissions))
    )  # fmt: skip
    return [
        Work(*row[:7], row[7].decode("utf-8", "replace"), assignment_id=row[8], course=row[9], team=teams.get(row[2]))
        for row in session.execute(query)
    ]


def people(works: Sequence[Work]) -> frozenset[int]:
    """The IDs of the students; a team is one."""
    return frozenset(work.party for work in works)


MOST_PAIRS = 100
"""Similar pairs that a page groups."""

_FEW = 3
_FEW_SHARE = 0.02


class Kind(StrEnum):
    """What is the same in a case."""

    FILE = "file"
    CODE = "code"
    SIMILAR = "similar"


@dataclass(frozen=True, slots=True)
class Case:
    """Students with the same file, the same code, or similar code; each with each, the earliest first.

    usual: so many that it's probably the usual solution
    shares: of the least and the most similar pair
    names, comments: how many all have that few students have
    """

    works: tuple[Work, ...]
    kind: Kind
    usual: bool = False
    shares: tuple[float, float] = (1.0, 1.0)
    names: int = 0
    comments: int = 0


@dataclass(frozen=True, slots=True)
class Similar:
    """All that is similar. students: compared ones; more: pairs that are left out."""

    students: int
    cases: tuple[Case, ...]
    more: int = 0

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


def similar(
    works: Sequence[Work],
    files: Sequence[Sequence[Work]],
    given: Sequence[str],
    *,
    percent: int,
    own: int | None = None,
    marked: int = 0,
) -> Similar:
    """Compare all students, and group those who are similar, each with each.

    works: one of each student; files: equal files; given: the code that all students got
    percent: the share from which pairs count
    own: only cases with a submission to this assignment; None for all
    marked: how many pairs may be folded away, so that many more are read
    """
    sources = _Sources(works, given)
    codes = _same_code(sources)
    pairs = _pairs_of_codes(sources, codes, percent / 100, own)
    read = dict(list(pairs.items())[: MOST_PAIRS + marked])
    words = sources.rare_words() if read else []
    cases = [_case(sources, [codes[each] for each in group], read, words) for group in grouped(read, len(codes))]
    found = _with_files([case for case in cases if len(people(case.works)) > 1], files, sources.rare)
    kept = tuple(case for case in found if own is None or any(work.assignment_id == own for work in case.works))
    return Similar(len(works), tuple(sorted(kept, key=_order)), len(pairs) - len(read))


def grouped(pairs: Mapping[tuple[int, int], float], count: int) -> list[list[int]]:
    """Group numbers from 0 so that each is paired with each in its group, the most similar first.

    pairs: the lower number first. So a chain of pairs doesn't join strangers.
    """
    groups = {each: [each] for each in range(count)}
    of = dict(enumerate(range(count)))
    for left, right in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        one, other = of[left], of[right]
        if one != other and all((min(a, b), max(a, b)) in pairs for a in groups[one] for b in groups[other]):
            groups[one] += groups.pop(other)
            of.update(dict.fromkeys(groups[one], one))
    return list(groups.values())


def _same_code(sources: _Sources) -> list[list[int]]:
    """Places of sources whose code is the same without layout and comments; not the given code alone."""
    groups: dict[str, list[int]] = defaultdict(list)
    ignored = sources.given_plain() | {""}
    for place, code in enumerate(sources.codes):
        if code.plain not in ignored:
            groups[code.plain].append(place)
    return list(groups.values())


def _pairs_of_codes(
    sources: _Sources, codes: Sequence[Sequence[int]], least: float, own: int | None
) -> dict[tuple[int, int], float]:
    """The shares of similar codes of different people, the most similar first."""
    of = {place: number for number, group in enumerate(codes) for place in group}

    def counts(pair: Pair) -> bool:
        left, right = sources.works[pair.left], sources.works[pair.right]
        mine = own is None or own in {left.assignment_id, right.assignment_id}
        return mine and left.party != right.party and pair.left in of and pair.right in of

    found: dict[tuple[int, int], float] = {}
    for pair in filter(counts, sources.compared.pairs(least)):
        left, right = sorted((of[pair.left], of[pair.right]))
        if left != right:
            found.setdefault((left, right), pair.share)
    return found


def _case(
    sources: _Sources,
    codes: Sequence[Sequence[int]],
    pairs: Mapping[tuple[int, int], float],
    words: Sequence[tuple[set[str], set[str]]],
) -> Case:
    places = [place for group in codes for place in group]
    works = sorted((sources.works[place] for place in places), key=lambda one: (one.created_at, one.submission_id))
    if len(codes) == 1:
        return Case(tuple(works), Kind.CODE, len(works) > sources.rare)
    shares = [float(sources.compared.shares[a[0], b[0]]) for n, a in enumerate(codes) for b in codes[n + 1 :]]
    names, comments = (len(set.intersection(*(words[place][part] for place in places))) for part in (0, 1))
    return Case(tuple(works), Kind.SIMILAR, False, (min(shares), max(shares)), names, comments)


def _with_files(cases: Sequence[Case], files: Sequence[Sequence[Work]], rare: int) -> list[Case]:
    """Add groups with the same file, unless a case has all their students. They replace one with the same students."""
    found = list(cases)
    for works in files:
        group = people(works)
        hosts = [case for case in found if people(case.works) >= group]
        if not any(people(case.works) > group or case.kind is Kind.FILE for case in hosts):
            found = [case for case in found if case not in hosts]
            found.append(Case(tuple(works), Kind.FILE, len(works) > rare))
    return found


def _order(case: Case) -> tuple[object, ...]:
    return case.usual, list(Kind).index(case.kind), -case.shares[1], len(case.works), case.works[0].name.casefold()


def side_by_side(
    left: Work, right: Work, works: Sequence[Work], given: Iterable[str]
) -> tuple[list[SharedLine], list[SharedLine]]:
    """Both sources with marks on the shared lines. works: one of each student, which show what is common."""
    return next(iter(against_first([left, right], works, given)))


def against_first(
    case: Sequence[Work], works: Sequence[Work], given: Iterable[str]
) -> Iterator[tuple[list[SharedLine], list[SharedLine]]]:
    """The first source next to each other one, with marks on the shared lines."""
    sources = _Sources(works, given)
    first, *others = case
    one = features_of(read_code(first.source))
    for each in others:
        other = features_of(read_code(each.source))
        yield _lines(first, one, other, sources), _lines(each, other, one, sources)


def _lines(work: Work, own: Features, other: Features, sources: _Sources) -> list[SharedLine]:
    found = marks(own, other, sources.compared.carriers, sources.given, sources.rare)
    lines = safe_lines(work.source)
    if lines and not lines[-1]:
        lines.pop()
    return [SharedLine(number, text, found.get(number)) for number, text in enumerate(lines, 1)]
