"""Comments on submissions: questions, answers and remarks, and who reads them."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import select

from server.accounts.models import Person
from server.acts.act import Target
from server.courses.models import Course, Membership, Role
from server.courses.service import CourseError
from server.operations.erase import erase_person
from server.submissions.models import Submission
from server.talk import comments
from server.talk.comments import threads_of, write_comment
from server.talk.listing_views import _lines_with
from server.talk.models import LONGEST_COMMENT, Announcement, Comment
from server.talk.questions import TAKE, Whose, open_questions, question_of
from tests.server.course import NOW
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

KERNEL = b"// one\n// two\n// <three>\n__syncthreads_of_mine(7);\n"
QUESTIONS, HOME = "/staff/gpu/questions", "/courses/gpu/"
HOSTILE = "Why <script>alert(1)</script>\n\u202eis this?"


@pytest.fixture
def page(portal: Portal) -> str:
    """The address of the comments on a submission of ada's."""
    return f"/submissions/{portal.course.hand_in('ada', KERNEL).submission.public_id}/comments"


def wrote(client: BrowserClient, page: str, **fields: Any) -> int:
    """Write a comment; returns the number of its thread."""
    answer = client.post_form(page, **fields)
    assert answer.status_code == 303, answer.text
    return int(answer.headers["Location"].rpartition("-")[2])


def test_a_question_is_answered_and_read(portal: Portal, page: str, tom: BrowserClient) -> None:
    ada = client_of(portal, "ada")
    thread = wrote(ada, page, text=HOSTILE, line="3")
    assert f"{page}#thread-{thread}" in tom.page(QUESTIONS)
    assert 'data-open="1"' in tom.page("/staff/gpu/")
    shown = tom.page(page)
    assert "<script>alert" not in shown
    assert "\u202e" not in shown
    assert shown.index('id="L3"') < shown.index(f'id="thread-{thread}"')
    wrote(tom, page, text="Because.", thread=thread)
    assert "thread-" not in tom.page(QUESTIONS)
    assert 'data-answers="1"' in ada.page("/")
    assert page in ada.page(HOME)
    assert "data-new" in ada.page(page)
    assert "data-new" not in ada.page(page)
    assert "data-answers" not in ada.page("/")
    assert "notice=question-sent" in ada.post_form(page, text="Why?").headers["Location"]
    wrote(ada, page, text="And then?", thread=thread)
    assert "And then?" in tom.page(QUESTIONS)
    assert portal.course.actions("comment.") == ["comment.written"]


def test_staff_comment_on_lines_and_take_it_back(portal: Portal, page: str, tom: BrowserClient) -> None:
    thread = wrote(tom, page, text="Unused.", line="2")
    ada = client_of(portal, "ada")
    assert "Unused." in ada.page(page)
    assert ada.post_form(f"{page}/{thread}/remove").status_code == 409
    wrote(ada, page, text="Sorry.", thread=thread)
    assert tom.post_form(f"{page}/{thread}/remove").status_code == 303
    assert "Unused." not in ada.page(page)
    assert "Sorry." in ada.page(page)
    assert tom.post_form(f"{page}/{thread}/settle").status_code == 303
    assert "thread-" not in tom.page(QUESTIONS)
    assert portal.course.actions("comment.") == ["comment.written", "comment.removed", "comment.settled"]
    assert "Unused." not in str(portal.course.rows(select(Comment.text)))


def test_a_removed_question_waits_no_more(portal: Portal, page: str, tom: BrowserClient) -> None:
    ada = client_of(portal, "ada")
    thread = wrote(ada, page, text="Why?")
    assert ada.post_form(f"{page}/{thread}/remove").status_code == 303
    assert "thread-" not in tom.page(QUESTIONS)
    assert portal.course.actions("comment.") == []


def test_strangers_read_and_write_nothing(portal: Portal, page: str, tom: BrowserClient) -> None:
    thread = wrote(client_of(portal, "ada"), page, text="Why?")
    bob, flo = client_of(portal, "bob"), client_of(portal, "flo", None)
    with portal.course.sessions.begin() as session:
        other = Course(slug="other", title="Other", created_at=NOW)
        session.add(other)
        session.flush()
        session.add(Membership(course_id=other.id, person_id=portal.course.person("flo"), role=Role.INSTRUCTOR,
                               created_at=NOW))  # fmt: skip
    theirs = portal.course.hand_in("bob", b"// bob's\n").submission.public_id
    for client in (bob, flo):
        assert client.get(page).status_code == 404
        for path in (page, f"{page}/{thread}/remove", f"{page}/{thread}/settle"):
            assert client.post_form(path, text="Mine").status_code == 404
    assert "thread-" not in flo.page("/staff/other/questions")
    for path in ("", f"/{thread}/remove", f"/{thread}/settle"):
        answer = bob.post_form(f"/submissions/{theirs}/comments{path}", text="Mine", thread=thread)
        assert answer.status_code in {303, 403, 422}
    assert [(each.text, each.removed_at) for each in portal.course.rows(select(Comment))] == [("Why?", None)]


def test_looking_as_the_student_leaves_comments_new(portal: Portal, page: str, tom: BrowserClient) -> None:
    wrote(tom, page, text="Look.")
    tom.post_form(f"/staff/gpu/students/{portal.course.person('ada')}/view")
    assert "data-new" in tom.page(page)
    assert "data-new" in client_of(portal, "ada").page(page)


def test_an_archived_course_keeps_its_comments(portal: Portal, page: str, tom: BrowserClient) -> None:
    thread = wrote(tom, page, text="Look.")
    portal.course.change_course(archived_at=NOW)
    ada = client_of(portal, "ada")
    assert "Look." in ada.page(page)
    assert ada.post_form(page, text="Why?").status_code == 422
    assert tom.post_form(f"{page}/{thread}/remove").status_code == 409


def test_programs_read_them_too(portal: Portal, page: str, tom: BrowserClient) -> None:
    wrote(tom, page, text="Look.", line="2")
    answer = portal.get("ada", f"/api/v1{page}").get_json()
    (thread,) = answer["threads"]
    assert (thread["line"], thread["new"], thread["comments"][0]["text"]) == (2, True, "Look.")
    assert portal.get("bob", f"/api/v1{page}").status_code == 404


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": " "}, "text"), ({"text": "x" * (LONGEST_COMMENT + 1)}, "text"), ({"line": "5"}, "line"),
        ({"line": "0"}, "line"), ({"line": "x"}, "line"), ({"thread": "4711"}, "text"),
    ],
)  # fmt: skip
def test_what_is_wrong_comes_back(portal: Portal, page: str, fields: dict[str, str], field: str) -> None:
    answer = client_of(portal, "ada").post_form(page, **({"text": "Why?"} | fields))
    assert answer.status_code == 422
    assert f'<a href="#{field}">' in answer.text


def test_a_submission_takes_a_limited_number(portal: Portal, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comments, "MOST_COMMENTS", 2)
    with portal.course.sessions.begin() as session:
        found = session.scalars(select(Submission)).one()
        ada = session.get_one(Person, portal.course.person("ada"))
        first = write_comment(session, found, ada, "One", now=NOW)
        write_comment(session, found, None, "Two", thread=first.id, now=NOW)
        with pytest.raises(CourseError):
            write_comment(session, found, ada, "Three", now=NOW)
        (thread,) = threads_of(session, found.id)
        assert (len(thread.comments), thread.waits, thread.new) == (2, False, True)
        assert open_questions(session, portal.course.course, 9).numbers[Whose.ALL] == 0


def test_a_question_is_taken_given_and_released(portal: Portal, page: str, tom: BrowserClient) -> None:
    ada, ida = client_of(portal, "ada"), client_of(portal, "ida", Role.ASSISTANT)
    thread = wrote(ada, page, text="Why?")
    one = f"{QUESTIONS}/{thread}"

    def listed(client: BrowserClient) -> list[bool]:
        shown = f'data-question="{thread}"'
        return [shown in client.page(f"{QUESTIONS}?whose={whose}") for whose in ("", "mine", "unassigned")]

    assert listed(tom) == [True, False, True]
    assert tom.post_form(f"{one}/take").status_code == 303
    assert ida.post_form(f"{one}/take").status_code == 409
    assert (listed(tom), listed(ida)) == ([True, True, False], [True, False, False])
    shown = re.search(r'name="shown" value="([^"]+)"', tom.page(page))
    assert shown
    assert ida.post_form(f"{one}/answerer", answerer="ida@example.edu").status_code == 303
    stale = tom.post_form(f"{one}/answerer", answerer="", shown=shown[1])
    assert stale.status_code == 409
    assert listed(ida) == [True, True, False]
    for wrong in ("ada@example.edu", "nobody@example.edu"):
        assert tom.post_form(f"{one}/answerer", answerer=wrong).status_code == 409, wrong
    assert tom.post_form(f"{one}/answerer", answerer="").status_code == 303
    assert listed(ida) == [True, False, True]
    assert ada.post_form(f"{one}/take").status_code == 403
    assert ida.post_form(f"{QUESTIONS}/4711/take").status_code == 404
    assert portal.course.actions("comment.") == ["comment.assigned", "comment.assigned", "comment.released"]


def test_a_question_of_someone_who_left_is_nobodys(portal: Portal, page: str, tom: BrowserClient) -> None:
    thread = wrote(client_of(portal, "ada"), page, text="Why?")
    wrote(tom, page, text="So.", thread=thread)
    wrote(client_of(portal, "ada"), page, text="And then?", thread=thread)
    with portal.course.sessions.begin() as session:
        tom_now = session.scalars(select(Membership).where(Membership.person_id == portal.course.people["tom"])).one()
        found = open_questions(session, portal.course.course, 9)
        assert [each.answerer and each.answerer.name for each in found.questions] == ["tom"]
        tom_now.role = Role.STUDENT
        session.flush()
        assert open_questions(session, portal.course.course, 9).numbers[Whose.UNASSIGNED] == 1
    wrote(client_of(portal, "ina", Role.INSTRUCTOR), page, text="Because.", thread=thread)
    wrote(client_of(portal, "ada"), page, text="Why that?", thread=thread)
    with portal.course.sessions.begin() as session:
        found = open_questions(session, portal.course.course, 9)
        assert [each.answerer and each.answerer.name for each in found.questions] == ["ina"]
    erase_person(portal.course.sessions, portal.course.people["ina"])
    assert client_of(portal, "ida", Role.ASSISTANT).post_form(f"{QUESTIONS}/{thread}/take").status_code == 303
    with portal.course.sessions.begin() as session:
        found = open_questions(session, portal.course.course, 9)
        assert [each.answerer and each.answerer.name for each in found.questions] == ["ida"]


def test_two_assistants_never_take_the_same_question(portal: Portal, page: str, tom: BrowserClient) -> None:
    thread = wrote(client_of(portal, "ada"), page, text="Why?")
    names = [f"t{number}" for number in range(4)]
    people = [portal.course.person(name, Role.ASSISTANT) for name in names]

    def take(person: int) -> bool:
        with suppress(CourseError), portal.course.sessions.begin() as session:
            question = question_of(session, portal.course.course, thread)
            assert question is not None
            on = Target(question.submission.assignment.course, item=question)
            return bool(TAKE.carry_out(session, on, session.get_one(Person, person), lambda none: none))
        return False

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take, people)) == 1


def test_an_answer_is_published_without_its_asker(portal: Portal, page: str, tom: BrowserClient) -> None:
    thread = wrote(client_of(portal, "ada"), page, text="My secret question", line="3")
    wrote(tom, page, text="> My secret question\n\nAda, as in // <three> there is a race.", thread=thread)
    form = tom.page(f"/staff/gpu/announcements?thread={thread}")
    assert f'data-question="{thread}"' in form
    assert "secret" not in form
    fields = {"title": "Races", "place": "tiled", "answers": str(thread), "do": "publish"}
    asked = tom.post_form("/staff/gpu/announcements", **fields, text="Ask ADA.")
    assert asked.status_code == 422
    (confirm,) = re.findall(r'name="confirm" value="(\w+)"', asked.text)
    again = fields | {"confirm": confirm}
    assert tom.post_form("/staff/gpu/announcements", **again, text="Ask ada.").status_code == 422
    assert tom.post_form("/staff/gpu/announcements", **again, text="Ask ADA.").status_code == 303
    assert tom.post_form("/staff/gpu/announcements", **fields, text="Adapt the barrier.").status_code == 303
    assert tom.post_form("/staff/gpu/announcements", **fields | {"answers": "4711"}, text="x").status_code == 422
    assert portal.course.rows(select(Announcement.text)) == ["Ask ADA.", "Adapt the barrier."]
    assert tom.get("/staff/gpu/announcements?thread=4711").status_code == 200


def test_a_very_long_source_is_shown_around_its_comments() -> None:
    shown, after = _lines_with("x\n" * 5_000, (), (), 2_000)
    assert {line.number for line in shown} == {*range(1, 7), *range(1_995, 2_006)}
    assert (sum(line.skipped for line in shown) + len(shown) + after) == 5_000
