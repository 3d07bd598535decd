"""Grading a class by the rubric: who is next, two graders at once, blind grading, and comments on the way."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from werkzeug.test import TestResponse

from server.accounts.models import Person
from server.courses.models import Assignment, Correction, Counts, Membership, Role
from server.grades.criteria import Criterion, stored
from server.grades.grading import papers, progress, shares
from server.submissions.models import GradingShare, RubricGrade
from server.talk.models import Comment, SavedComment
from tests.server.databases import ON_POSTGRESQL
from tests.server.staff.graded import counted_queries, handed_in
from tests.server.staff.test_corrections import confirmed, grade_of
from tests.server.staff.test_rubric import BOUNDS, give, paper, put, version
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

GRADING = "/staff/gpu/grading/tiled"
NAMES = ("ada", "ben", "cleo", "dan")


@pytest.fixture
def tim(portal: Portal, due_tomorrow: None) -> BrowserClient:
    return client_of(portal, "tim", Role.ASSISTANT)


@pytest.fixture(autouse=True)
def four_to_grade(portal: Portal, due_tomorrow: None) -> None:
    put(portal, stored([BOUNDS]))
    for name in NAMES:
        handed_in(portal.course, name)


def next_of(page: str) -> str:
    return "".join(re.findall(r'rel="next" href="([^"]+)"', page))


def student_at(portal: Portal, path: str) -> str:
    return next(name for name in NAMES if paper(portal, name) == path.partition("?")[0])


def sent(client: BrowserClient, path: str, **fields: str) -> TestResponse:
    """Grade as the page has it now."""
    return client.post_form(path, version=version(client.page(path)), **fields)


def said(client: BrowserClient, path: str, **fields: str) -> TestResponse:
    """Comment as the page has it now."""
    stamp = re.findall(r'name="on" value="(\w+)"', client.page(path))[0]
    return client.post_form(f"{path}/comments", **{"on": stamp} | fields)


def test_saving_goes_on_to_the_next_ungraded_until_none_is_left(portal: Portal, tom: BrowserClient) -> None:
    path, met = next_of(tom.page(GRADING)), []
    while "/tiled/" in path:
        met.append(student_at(portal, path))
        saved = sent(tom, path, item_i1="yes")
        assert saved.status_code == 303
        path = saved.location.partition("?")[0]
    assert sorted(met) == sorted(NAMES)
    assert {grade_of(portal, name).rubric for name in NAMES} == {3.0}
    assert "4 of 4" in tom.page(GRADING)


def test_what_another_grader_has_open_is_skipped_for_a_while(
    portal: Portal, tom: BrowserClient, tim: BrowserClient
) -> None:
    first = next_of(tom.page(GRADING))
    tom.page(first)
    assert next_of(tim.page(GRADING)) != first
    assert "has this submission open" in tim.page(first)
    assert "has this submission open" not in tom.page(first)
    tom.page(paper(portal, next(name for name in NAMES if paper(portal, name) != first)))
    assert "has this submission open" not in tim.page(first)
    with portal.course.sessions.begin() as session:
        session.execute(update(GradingShare).values(claimed_by=None, claimed_until=None))
    tom.page(first)
    with portal.course.sessions.begin() as session:
        session.execute(update(GradingShare).values(claimed_until=datetime.now(UTC) - timedelta(seconds=1)))
    assert next_of(tim.page(GRADING)) == first


def test_the_second_of_two_graders_sees_both_and_decides(
    portal: Portal, tom: BrowserClient, tim: BrowserClient
) -> None:
    path = paper(portal, "ada")
    seen = version(tom.page(path))
    assert give(portal, tim, "ada", item_i1="yes", words_aa="Row is not checked.").status_code == 303
    second = tom.post_form(path, version=seen, item_i2="yes")
    assert (second.status_code, "data-conflict" in second.text) == (409, True)
    assert ("Row is not checked." in second.text, grade_of(portal, "ada").rubric) == (True, 3.0)
    assert re.search(r'name="item_i2" value="yes"[^>]* checked', second.text)
    replaced = tom.post_form(path, version=version(second.text), item_i2="yes")
    assert confirmed(tom, replaced).status_code == 303
    assert grade_of(portal, "ada").rubric == 0.5
    same = tim.post_form(path, version=seen, item_i2="yes")
    assert same.status_code == 303, "both say the same"


def test_nothing_is_given_to_a_submission_that_was_not_read(portal: Portal, tom: BrowserClient) -> None:
    portal.course.change(counts=Counts.LAST)
    path = paper(portal, "ada")
    page = tom.page(path)
    stamp = re.findall(r'name="on" value="(\w+)"', page)[0]
    handed_in(portal.course, "ada", source=b"// another")
    refused = tom.post_form(path, version=version(page), item_i1="yes")
    assert (refused.status_code, refused.text.count("data-conflict"), "another" in refused.text) == (409, 1, True)
    assert said(tom, path, on=stamp, text="Here.", line="1").status_code == 422
    assert tom.post_form(path, version=version(refused.text), item_i1="yes").status_code == 303


def test_nothing_is_given_by_a_rubric_that_was_not_read(portal: Portal, tom: BrowserClient) -> None:
    path = paper(portal, "ada")
    seen = version(tom.page(path))
    put(portal, stored([BOUNDS, Criterion("zz", "Style", 2.0)]))
    assert tom.post_form(path, version=seen, item_i1="yes").status_code == 409
    assert grade_of(portal, "ada").rubric is None


def test_nothing_entered_is_not_said_to_be_saved(portal: Portal, tom: BrowserClient) -> None:
    put(portal, stored([Criterion("zz", "Style", 2.0)]))
    assert sent(tom, paper(portal, "ada")).status_code == 422
    assert sent(tom, paper(portal, "ada"), points_zz="0").status_code == 303


def test_a_split_gives_each_grader_their_share(portal: Portal, tom: BrowserClient, tim: BrowserClient) -> None:
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    assert tom.post_form(GRADING, grader="all").status_code == 403
    assert ina.post_form(GRADING, grader="nobody@example.edu").status_code == 422
    assert ina.post_form(GRADING, grader="all").status_code == 303
    assert share_of(portal, "tom") | share_of(portal, "tim") == set(NAMES)
    assert (len(share_of(portal, "tom")), len(share_of(portal, "tim"))) == (2, 2)
    for _ in range(2):
        met = next_of(tom.page(GRADING))
        assert student_at(portal, met) in share_of(portal, "tom")
        sent(tom, met, item_i1="yes")
    assert next_of(tom.page(GRADING)) == "", "the others are in tim's share"
    with portal.course.sessions.begin() as session:
        session.execute(
            update(Membership).where(Membership.person_id == portal.course.person("ada")).values(section="A1")
        )
    ina.post_form(GRADING, section="A1", grader="ina@example.edu")
    assert ("ada" in share_of(portal, "ina")) is ("ada" not in share_of(portal, "tom"))
    ina.post_form(GRADING, grader="none")
    assert next_of(tom.page(GRADING)) != ""


def test_a_split_by_a_program(portal: Portal) -> None:
    headers = {"Authorization": f"Bearer {portal.token('ina', Role.INSTRUCTOR)}"}
    path = "/api/v1/courses/gpu/assignments/tiled/grading/split"
    found = [
        portal.client.post(path, json={"grader": grader}, headers=headers).status_code
        for grader in ("ina@example.edu", "x" * 255, "nobody@example.edu")
    ]
    assert found == [200, 422, 422]
    assert share_of(portal, "ina") == set(NAMES)


def share_of(portal: Portal, grader: str) -> set[str]:
    with portal.course.sessions.begin() as session:
        query = select(GradingShare.person_id).where(GradingShare.grader_id == portal.course.person(grader))
        theirs = set(session.scalars(query))
    return {name for name in NAMES if portal.course.person(name) in theirs}


@pytest.mark.parametrize("left", [{"dropped_at": datetime.now(UTC)}, {"role": Role.STUDENT}])
def test_the_share_of_former_staff_is_for_all(
    portal: Portal, tom: BrowserClient, tim: BrowserClient, left: dict[str, object]
) -> None:
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    ina.post_form(GRADING, grader="tim@example.edu")
    assert next_of(tom.page(GRADING)) == ""
    with portal.course.sessions.begin() as session:
        session.execute(update(Membership).where(Membership.person_id == portal.course.person("tim")).values(**left))
    assert next_of(tom.page(GRADING)) != ""


def test_progress_leaves_out_erased_and_excused_and_counts_only_whole_gradings(
    portal: Portal, tom: BrowserClient
) -> None:
    put(portal, stored([Criterion("aa", "Code", 4.0), Criterion("bb", "Report", 2.0)]))
    give(portal, tom, "ada", points_aa="4")
    give(portal, tom, "ben", points_aa="4", points_bb="2")
    with portal.course.sessions.begin() as session:
        cleo, dan = portal.course.person("cleo"), portal.course.person("dan")
        session.get_one(Person, cleo).erased_at = datetime.now(UTC)
        fields = {"assignment_id": portal.course.assignment, "person_id": dan, "excused": True}
        session.add(Correction(**fields, corrected_at=datetime.now(UTC)))
    with portal.course.sessions.begin() as session:
        every = papers(session, session.get_one(Assignment, portal.course.assignment))
        assert progress(every) == (1, 2)
        assert [(one.share, one.left) for one in shares(every, {}) if one.grader is None] == [(2, 1)]
    assert student_at(portal, next_of(tom.page(GRADING))) == "ada"
    client_of(portal, "ina", Role.INSTRUCTOR).post_form(GRADING, grader="tom@example.edu")
    assert share_of(portal, "tom") == {"dan"}


def test_blind_grading_hides_who_it_is(portal: Portal, tom: BrowserClient) -> None:
    portal.course.change(blind=True)
    path = paper(portal, "ada")
    client_of(portal, "ada").post_form(f"/submissions/{submission(portal, 'ada')}/comments", text="Why?", line="1")
    page = tom.page(path)
    assert path.rpartition("/")[2] in page
    give(portal, tom, "ada", item_i1="yes")
    lower = give(portal, tom, "ada", item_i2="yes")
    assert lower.status_code == 409
    for text in (page, lower.text, tom.page(GRADING)):
        shown = re.sub(r"ada@example.edu is not here", "", text)
        assert not re.search(rf"\bada\b|@example\.edu(?!.*</option>)|{submission(portal, 'ada')}", shown)
    portal.course.change(blind=False)
    assert ">ada</h1>" in tom.page(path)


def submission(portal: Portal, name: str) -> str:
    return str(grade_of(portal, name).counted.entry.public_id)  # type: ignore[union-attr]


def test_a_comment_at_a_line_is_saved_and_used_again(portal: Portal, tom: BrowserClient) -> None:
    first, second = paper(portal, "ada"), paper(portal, "ben")
    assert 'name="line" value="1"' in tom.page(f"{first}?line=1")
    assert said(tom, first, text="", line="1").status_code == 422
    assert said(tom, first, text="Check Row.", line="1", keep="yes").status_code == 303
    with portal.course.sessions.begin() as session:
        saved = session.scalars(select(SavedComment)).one()
    assert said(tom, second, saved=str(saved.id), line="1").status_code == 303
    with portal.course.sessions.begin() as session:
        assert [(one.line, one.text) for one in session.scalars(select(Comment))] == [(1, "Check Row.")] * 2
    assert "Check Row." in tom.page(GRADING)
    tom.post_form(f"{GRADING}/saved/{saved.id}/remove")
    assert "Check Row." not in tom.page(GRADING)


def test_an_archived_course_keeps_its_grading(portal: Portal, tom: BrowserClient) -> None:
    path, ina = paper(portal, "ada"), client_of(portal, "ina", Role.INSTRUCTOR)
    said(tom, path, text="Check Row.", keep="yes")
    seen = version(tom.page(path))
    with portal.course.sessions.begin() as session:
        saved = session.scalars(select(SavedComment.id)).one()
    portal.course.change_course(archived_at=datetime.now(UTC))
    for client, address in ((tom, path), (ina, GRADING), (tom, f"{GRADING}/saved/{saved}/remove")):
        assert client.post_form(address, version=seen, item_i1="yes", grader="tom@example.edu").status_code in (
            409,
            422,
        )
    assert (grade_of(portal, "ada").rubric, share_of(portal, "tom")) == (None, set())
    assert "Check Row." in tom.page(GRADING)


def test_an_adjustment_needs_a_reason_and_the_student_sees_it(portal: Portal, tom: BrowserClient) -> None:
    assert give(portal, tom, "ada", adjustment="-0.5").status_code == 422
    give(portal, tom, "ada", adjustment="-0.5", reason="Name missing")
    assert grade_of(portal, "ada").rubric == 3.5
    assert "Name missing" in client_of(portal, "ada").page(f"/submissions/{submission(portal, 'ada')}")
    assert confirmed(tom, give(portal, tom, "ada", then="remove")).status_code == 303
    assert grade_of(portal, "ada").rubric is None


def test_the_next_page_takes_few_statements(portal: Portal, tom: BrowserClient) -> None:
    path = next_of(tom.page(GRADING))
    tom.page(path)
    with counted_queries(portal.app.extensions["tilelab"].engine) as asked:
        tom.page(path)
    assert len(asked.statements) <= 11, "\n".join(asked.statements)


@ON_POSTGRESQL
def test_graders_who_save_at_once_get_different_submissions(
    portal: Portal, tom: BrowserClient, tim: BrowserClient
) -> None:
    begin = [(tom, paper(portal, "ada")), (tim, paper(portal, "ben"))]
    with ThreadPoolExecutor(2) as pool:
        saved = list(pool.map(lambda one: sent(*one, item_i1="yes"), begin))
    assert len({one.location.partition("?")[0] for one in saved}) == 2
    with portal.course.sessions.begin() as session:
        assert len(session.scalars(select(RubricGrade.person_id)).all()) == 2
