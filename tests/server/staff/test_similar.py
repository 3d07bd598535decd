"""Similar submissions: identical files, identical code, similar pairs, and two sources side by side."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from sqlalchemy import Engine, update

from bench.copies.authors import kernel
from bench.copies.disguises import disguised
from server.accounts.models import Person
from server.acts.act import Target
from server.copies.exact_copies import count_copies
from server.copies.looked_at import MARK, fold
from server.copies.similar import Case, Kind, Similar, Work, grouped, shared_files, similar, works_of
from server.courses.models import Assignment, Course, Membership, Role
from server.exercises.stored import given_code
from server.submissions.models import LookedAtPair
from tests.server.course import NOW
from tests.server.staff.graded import counted_queries, handed_in
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

PAGE = "/staff/gpu/similar/tiled"
ALL = "renamed, reordered, reformatted, comments"


@pytest.fixture
def tom(portal: Portal) -> BrowserClient:
    portal.course.change(device_class="")
    return client_of(portal, "tom", Role.ASSISTANT)


def fill(portal: Portal) -> None:
    """Twelve students on their own; eve copied the kernel of s3 with a disguise, and fay has the code of s5."""
    for seed in range(12):
        portal.course.hand_in(f"s{seed}", source=kernel(seed).encode())
    portal.course.hand_in("eve", source=disguised(kernel(3), ALL, 1).encode())
    portal.course.hand_in("fay", source=disguised(kernel(5), "reformatted", 1).encode())


def works(sources: list[str]) -> list[Work]:
    return [Work(n, f"p{n}", n, f"s{n}", f"s{n}@x", NOW, f"{hash(text)}", text) for n, text in enumerate(sources)]


def test_copies_are_listed_and_compared(portal: Portal, tom: BrowserClient) -> None:
    fill(portal)
    page = tom.page(PAGE)
    assert 'data-case="file"' not in page
    assert 'data-case="code"' in page
    links = re.findall(r"/staff/gpu/similar/tiled/pair\?left=\w+&amp;right=\w+", page)
    names = []
    for link in links:
        text = tom.page(link.replace("&amp;", "&"))
        names.append(set(re.findall(r'-title">([\w]+)</h2>', text)))
        assert 'class="rare"' in text
    assert {"fay", "s5"} in names
    assert {"eve", "s3"} in names
    assert len(names) == len(links) <= 4


def test_the_same_file_is_found_in_earlier_submissions(portal: Portal, tom: BrowserClient) -> None:
    course = portal.course
    with course.sessions.begin() as session:
        (starter, *_) = given_code(session, session.get_one(Assignment, course.assignment).exercise)
    for name in ("ada", "bob"):
        course.hand_in(name, source=kernel(1).encode())
        course.hand_in(name, source=starter.encode())
        course.hand_in(name, source=kernel(20 + len(name) + ord(name[0])).encode())
    course.hand_in("ada", source=b"// twice")
    course.hand_in("ada", source=b"// twice")
    course.person("ina", Role.INSTRUCTOR)
    course.hand_in("ina", source=kernel(1).encode())
    with course.sessions.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        groups = shared_files(session, assignment)
        assert [sorted(one.name for one in group) for group in groups] == [["ada", "bob"]]
        assert [one.name for one in works_of(session, assignment).works] == ["ada", "bob"]
    page = tom.page(PAGE)
    assert 'data-case="file"' in page
    assert 'data-no="pairs"' in page


def test_the_submission_that_counts_is_compared(portal: Portal, tom: BrowserClient) -> None:
    best = handed_in(portal.course, "ada", source=b"// good")
    portal.course.hand_in("ada", source=b"// later, without a verdict")
    with portal.course.sessions.begin() as session:
        (one,) = works_of(session, session.get_one(Assignment, portal.course.assignment)).works
    assert one.public_id == best


def test_a_pair_needs_two_submissions_of_this_assignment(portal: Portal, tom: BrowserClient) -> None:
    one = portal.course.hand_in("ada").submission.public_id
    assert tom.get(f"{PAGE}/pair?left={one}&right={one}").status_code == 200
    for query in ("", f"?left={one}", f"?left={one}&right=none", f"?left={one}&right=%00"):
        assert tom.get(f"{PAGE}/pair{query}").status_code == 404, query
    assert tom.get("/staff/gpu/similar/none").status_code == 404


def test_code_that_many_share_is_said_to_be_usual() -> None:
    sources = [kernel(seed) for seed in range(20)]
    same = [disguised(sources[0], "reformatted", n) for n in range(5)]
    found = similar(works([*sources, *same, sources[1] + "// same code\n"]), [], [], percent=90)
    assert [(len(case.works), case.usual) for case in found.cases] == [(2, False), (6, True)]


def test_the_given_code_is_no_copy() -> None:
    given = kernel(90)
    sources = [*(kernel(seed) for seed in range(12)), given, f"// mine\n{given}", "", ""]
    assert similar(works(sources), [], [given], percent=90).cases == ()


def test_a_group_of_equal_files_is_not_listed_again() -> None:
    both = works([kernel(seed) for seed in range(10)])
    both.append(replace(both[0], person_id=77))
    found = similar(both, [[both[0], both[-1]]], [], percent=90)
    assert [(len(case.works), case.kind) for case in found.cases] == [(2, Kind.FILE)]


def test_a_chain_of_pairs_joins_no_strangers() -> None:
    pairs = {(0, 1): 0.9, (1, 2): 0.8, (0, 2): 0.6, (2, 3): 0.7}
    assert sorted(map(sorted, grouped(pairs, 5))) == [[0, 1, 2], [3], [4]]


def test_copies_of_one_kernel_are_one_case() -> None:
    sources = [kernel(seed) for seed in range(20)]
    copies = [disguised(sources[4], kind, 7) for kind in ("renamed", "reordered", ALL)]
    found = similar(works([*sources, *copies, f"{copies[0]}// again"]), [], [], percent=50)
    assert [len(case.works) for case in found.cases if "s4" in {one.name for one in case.works}] == [5]


def test_a_case_needs_a_submission_of_this_course_and_two_people() -> None:
    all_works = works([kernel(seed) for seed in range(12)])
    away = [replace(one, assignment_id=2, submission_id=100 + place) for place, one in enumerate(all_works)]
    twins = [replace(away[0], person_id=50), replace(away[1], person_id=51), replace(away[1], person_id=52)]
    here = [replace(one, assignment_id=1) for one in all_works]
    found = similar([*here, away[2], *twins], [], [], percent=90, own=1)
    assert [sorted(one.person_id for one in case.works) for case in found.cases] == [[0, 50], [1, 51, 52]]


def test_rare_names_and_comments_in_common_are_counted() -> None:
    sources = [kernel(seed) for seed in range(14)]
    mine = disguised(sources[2], "comments", 3) + "// wombat and friends\n__device__ int wombat;\n"
    copy = disguised(sources[2], "reordered", 4) + "// wombat and friends\n__device__ int wombat; int extra;\n"
    found = similar(works([*sources[3:], mine, copy]), [], [], percent=50)
    (case,) = [one for one in found.cases if {"s11", "s12"} <= {work.name for work in one.works}]
    assert case.names >= 1
    assert case.comments == 1


def test_the_number_of_statements_does_not_grow(portal: Portal, tom: BrowserClient) -> None:
    engine: Engine = portal.app.extensions["tilelab"].engine
    portal.course.hand_in("ada", source=kernel(1).encode())
    portal.course.hand_in("bob", source=kernel(1).encode())
    tom.page(PAGE)
    counts = []
    for _ in range(2):
        with counted_queries(engine) as seen:
            tom.page(PAGE)
        counts.append(len(seen))
        for number in range(4):
            portal.course.hand_in(f"s{number}", source=kernel(1 + number // 2).encode())
    assert counts[0] == counts[1]


def test_a_marked_pair_is_folded_away_until_it_is_taken_back(portal: Portal, tom: BrowserClient) -> None:
    ada, bob = (portal.course.hand_in(name, source=kernel(1).encode()).submission.public_id for name in ("ada", "bob"))
    pair = f"{PAGE}/pair?left={bob}&right={ada}"
    assert tom.post_form(pair, note="x" * 501).status_code == 422
    assert tom.post_form(pair, note="worked together").status_code == 303
    page = tom.page(PAGE)
    assert 'data-no="cases"' in page
    assert 'data-looked-at="1"' in page
    assert "worked together" in page
    assert client_of(portal, "ada").post_form(pair).status_code == 403
    again = f"{PAGE}/pair/take-back?left={ada}&right={bob}"
    assert [tom.post_form(again).status_code for _ in range(2)] == [303, 409]
    assert 'data-no="cases"' not in tom.page(PAGE)
    assert tom.post_form(f"{PAGE}/pair?left={ada}&right={ada}").status_code == 422
    assert tom.post_form(f"{PAGE}/pair?left={ada}&right=none").status_code == 404
    (deed,) = portal.course.deeds("submission.pair_looked_at")
    assert (deed.subject, deed.detail) == (f"submission {ada}", {"other": bob})


def test_a_case_is_folded_once_all_its_pairs_are_marked_and_a_new_submission_shows_again() -> None:
    ada, bob, eve = works(["a", "b", "c"])
    case, pair = Case((ada, bob, eve), Kind.FILE), Case((bob, eve), Kind.SIMILAR)
    found = Similar(3, (case, pair))
    mark = LookedAtPair(note="")
    left, looked = fold(found, {(1, 2): mark})
    assert (left.cases, len(looked)) == ((case,), 1)
    left, looked = fold(found, {(0, 1): mark, (1, 2): mark})
    assert (left.cases, len(looked)) == ((), 2)
    left, looked = fold(found, {(0, 1): mark, (0, 2): mark})
    assert (left.cases, len(looked)) == ((pair,), 2)
    newer = replace(eve, submission_id=7)
    left, looked = fold(Similar(3, (Case((bob, newer), Kind.SIMILAR),)), {(1, 2): mark})
    assert (len(left.cases), looked) == (1, [])
    again = replace(ada, submission_id=7)
    retaken = Similar(3, (Case((ada, bob, again), Kind.FILE),))
    assert fold(retaken, {(0, 1): mark})[0] == retaken
    assert fold(retaken, {(0, 1): mark, (1, 7): mark})[0].cases == ()


def test_a_whole_case_is_marked_at_once_and_exported(portal: Portal, tom: BrowserClient) -> None:
    sources = [kernel(1), kernel(1) + "// <script>", kernel(1)]
    names = [
        portal.course.hand_in(name, source=text.encode()).submission.public_id
        for name, text in zip(("ada", "bob", "eve"), sources, strict=True)
    ]
    query = f"left={names[0]}&right={names[1]}&also={names[2]}"
    file = tom.get(f"{PAGE}/case.html?{query}")
    assert "attachment" in file.headers["Content-Disposition"]
    assert "<script>" not in file.text
    assert all(name in file.text for name in names)
    assert len(portal.course.deeds("submission.case_exported")) == 1
    assert tom.post_form(f"{PAGE}/pair?{query}").status_code == 303
    assert 'data-no="cases"' in tom.page(PAGE)
    assert len(portal.course.deeds("submission.pair_looked_at")) == 2


def test_an_assignment_that_is_not_compared_has_no_alarm(portal: Portal, tom: BrowserClient) -> None:
    for name in ("ada", "bob"):
        portal.course.hand_in(name, source=kernel(1).encode())
    assert 'data-needs="copies"' in tom.page("/staff/gpu/")
    portal.course.change(similar_percent=0)
    assert 'data-needs="copies"' not in tom.page("/staff/gpu/")
    assert 'data-no="comparison"' in tom.page(PAGE)


def test_another_term_is_compared_only_for_staff_of_both(
    portal: Portal, tom: BrowserClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = portal.course
    here = course.hand_in("ada", source=kernel(1).encode()).submission.public_id
    with course.sessions.begin() as session:
        own = session.get_one(Assignment, course.assignment)
        term = Course(slug="last", title="Last term", created_at=NOW)
        session.add(term)
        session.flush()
        before = Assignment(
            course_id=term.id, exercise_id=own.exercise_id, slug="lab", title="Lab", arch="sm_90", created_at=NOW
        )
        session.add(before)
        session.flush()
        number, term_id = before.id, term.id
    old = replace(course, course=term_id, assignment=number, people={})
    with course.sessions.begin() as session:
        person = Person(email="old@example.edu", name="old", created_at=NOW, proven_at=NOW)
        session.add(person)
        session.flush()
        session.add(Membership(course_id=term_id, person_id=person.id, role=Role.STUDENT, created_at=NOW))
        old.people["old"] = person.id
        session.add(Membership(course_id=term_id, person_id=course.people["ada"], role=Role.STUDENT, created_at=NOW))
        old.people["ada"] = course.people["ada"]
    there = old.hand_in("old", source=kernel(1).encode()).submission.public_id
    retaken = old.hand_in("ada", source=kernel(1).encode()).submission.public_id
    pair = f"{PAGE}/pair?left={there}&right={here}&also={retaken}&across=yes"
    assert "Last term" not in tom.page(PAGE)
    assert tom.get(pair).status_code == 404
    assert tom.post_form(pair).status_code == 404
    with course.sessions.begin() as session:
        staff = Membership(course_id=term_id, person_id=course.people["tom"], role=Role.ASSISTANT, created_at=NOW)
        session.add(staff)
    assert 'data-no="cases"' in tom.page(PAGE)
    assert there in tom.page(f"{PAGE}?across=yes")
    assert tom.get(pair).status_code == 200
    assert tom.post_form(pair).status_code == 303
    assert 'data-no="cases"' in tom.page(f"{PAGE}?across=yes")
    assert tom.get(pair.replace("/pair?", "/case.html?")).status_code == 200
    for action, number in (("pair_looked_at", 2), ("case_exported", 1)):
        deeds = [deed.course_id or 0 for deed in course.deeds(f"submission.{action}")]
        assert sorted(deeds) == sorted(number * [course.course, term_id]), action
    assert tom.post_form(pair.replace("/pair?", "/pair/take-back?")).status_code == 303
    assert 'data-no="cases"' not in tom.page(f"{PAGE}?across=yes")
    monkeypatch.setattr("server.copies.similar.MOST_STUDENTS", 2)
    assert 'data-left-out="1"' in tom.page(f"{PAGE}?across=yes")


def test_the_overview_says_at_once_that_files_are_identical(portal: Portal, tom: BrowserClient, engine: Engine) -> None:
    course = portal.course
    with course.sessions.begin() as session:
        (starter, *_) = given_code(session, session.get_one(Assignment, course.assignment).exercise)
    course.person("ina", Role.INSTRUCTOR)
    for name in ("ina", "ada", "ada", "bob", "bob"):
        course.hand_in(name, source=kernel(1).encode())
    for name in ("ada", "bob"):
        course.hand_in(name, source=starter.encode())
    with counted_queries(engine) as before:
        assert "1 group of students has an identical file in Tiled" in tom.page("/staff/gpu/")
    course.hand_in("eve", source=kernel(1).encode())
    with counted_queries(engine) as after:
        assert "1 group of students has an identical file in Tiled" in tom.page("/staff/gpu/")
    assert len(before) == len(after)
    with course.sessions.begin() as session:
        for name, role, erased in (
            ("eve", Role.ASSISTANT, None), ("eve", Role.STUDENT, None), ("ada", Role.STUDENT, NOW),
            ("ada", Role.ASSISTANT, None), ("ada", Role.STUDENT, None),
        ):  # fmt: skip
            owner = Membership.person_id == course.people[name]
            session.execute(update(Membership).where(owner).values(role=role))
            session.get_one(Person, course.people[name]).erased_at = erased
            session.flush()
            files = shared_files(session, session.get_one(Assignment, course.assignment))
            assert count_copies(session, [course.assignment]) == {course.assignment: len(files)}
    with course.sessions.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        ((first, *others),) = shared_files(session, assignment)
        for other in others:
            on = Target(assignment.course, assignment, item=(first, other))
            MARK.carry_out(session, on, None, lambda mark: mark)
    assert 'data-needs="copies"' not in tom.page("/staff/gpu/")
