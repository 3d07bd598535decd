"""Points by a rubric: criteria, grading a submission by them, and what its student sees."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from werkzeug.test import TestResponse

from kernels.verdict import Verdict
from server.courses.models import Assignment, Role
from server.grades.criteria import Criterion, Given, Item, criteria_of, stored
from server.grades.points import rubric_points
from server.grades.rubric import code_of, item_lines, read_items, sheet_lines, wrong_criteria, wrong_points
from server.submissions.changes import regrade
from tests.server.course import NOW
from tests.server.staff.graded import handed_in, judged
from tests.server.staff.test_corrections import DAY, confirmed, grade_of, grade_page, row_of, shown
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

RUBRIC = "/staff/gpu/rubric/tiled"
TWO = stored([Criterion("aa", "Readable", 4.0, "Good names."), Criterion("bb", "Report", 2.0)])


def paper(portal: Portal, name: str) -> str:
    """Where that student is graded."""
    with portal.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, portal.course.assignment)
        return f"/staff/gpu/grading/tiled/{code_of(assignment, portal.course.person(name))}"


def version(page: str) -> str:
    return str(*re.findall(r'name="version" value="([\w-]*)"', page))


def give(portal: Portal, client: BrowserClient, name: str, **fields: str) -> TestResponse:
    """Send the form as the page has it now."""
    path = paper(portal, name)
    return client.post_form(path, **{"version": version(client.page(path))} | fields)


def put(portal: Portal, rubric: str = TWO) -> None:
    portal.course.change(rubric=rubric)


def test_a_student_is_graded_by_the_rubric(portal: Portal, tom: BrowserClient) -> None:
    ada, ina = client_of(portal, "ada"), client_of(portal, "ina", Role.INSTRUCTOR)
    put(portal)
    first = handed_in(portal.course, "ada", Verdict.DATA_RACE)
    page = f"/submissions/{first}"
    assert "not graded yet" in ada.page(page)
    assert f'href="{paper(portal, "ada")}"' in tom.page(page)
    assert f'href="{page}"' in tom.page(paper(portal, "ada"))
    wrong = give(portal, tom, "ada", points_aa="5")
    assert (wrong.status_code, 'href="#points_aa"' in wrong.text) == (422, True)
    assert ada.post_form(paper(portal, "ada"), points_aa="4").status_code == 403
    given = give(portal, tom, "ada", points_aa="3.5", words_aa="Long function.", points_bb="")
    assert given.status_code == 303
    reasons = ("not accepted", "rubric 3.5 of 6")
    assert (grade_of(portal, "ada").points, grade_of(portal, "ada").why) == (3.5, reasons)
    seen = ada.page(page)
    assert "0 of 10 points for the kernel, 3.5 of 6 by the rubric: 3.5 of 16." in seen
    assert "Long function." in seen
    assert row_of(portal, "ada") == ["3.5", "3.5", f"tiled: {'; '.join(reasons)}"]
    with portal.course.sessions.begin() as session:
        (job,) = regrade(session, session.get_one(Assignment, portal.course.assignment), None)
    judged(portal.course, job, Verdict.ACCEPTED)
    assert grade_of(portal, "ada").points == 13.5
    assert "13.5/16 points (rubric 3.5 of 6), this submission counts" in ada.page(page)
    lower = give(portal, tom, "ada", points_aa="1")
    assert confirmed(tom, lower).status_code == 303
    assert grade_of(portal, "ada").points == 11.0
    confirmed(ina, ina.post_form(grade_page(portal, "ada"), score="9", reason="x", held="yes"))
    assert grade_of(portal, "ada").points == 9.0
    assert "Rubric" not in ada.page(page)
    assert "to 9 instead" in tom.page(page)
    assert [deed.detail["points"] for deed in portal.course.deeds("grades.rubric_given")] == [[None, 3.5], [3.5, 1.0]]
    assert "Long" not in str(portal.course.deeds("grades.rubric_given"))


def test_points_by_the_rubric_stay_when_another_submission_counts(portal: Portal, tom: BrowserClient) -> None:
    put(portal)
    first = handed_in(portal.course, "ada", Verdict.DATA_RACE, now=NOW - 3 * DAY)
    give(portal, tom, "ada", points_aa="4", points_bb="2")
    second = handed_in(portal.course, "ada", now=NOW - 2 * DAY, source=b"// 2")
    assert grade_of(portal, "ada").points == 16.0
    seen = client_of(portal, "ada").page(f"/submissions/{second}")
    assert f'<a href="/submissions/{first}">an earlier submission</a>' in seen
    assert give(portal, tom, "ada", points_aa="4", points_bb="2").status_code == 303
    assert "earlier submission" not in tom.page(f"/submissions/{second}")


def test_an_instructor_changes_the_rubric_and_losses_are_named(portal: Portal, tom: BrowserClient) -> None:
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    assert "Only an instructor" in tom.page(RUBRIC)
    assert tom.post_form(RUBRIC, title_0="Readable", most_0="4").status_code == 403
    wrong = ina.post_form(RUBRIC, title_0="Readable", most_0="0", title_2="", text_2="x")
    assert re.findall(r'<a href="#(\w+)"', wrong.text) == ["most_0", "title_2", "most_2"]
    assert ina.post_form(RUBRIC, title_0="Readable", most_0="4", title_4="Report", most_4="2").status_code == 303
    with portal.course.sessions.begin() as session:
        criteria = criteria_of(session.get_one(Assignment, portal.course.assignment).rubric)
    assert [(one.title, one.most) for one in criteria] == [("Readable", 4.0), ("Report", 2.0)]
    readable, report = (one.key for one in criteria)
    handed_in(portal.course, "ada")
    give(portal, tom, "ada", **{f"points_{readable}": "4", f"points_{report}": "2"})
    asked = ina.post_form(RUBRIC, key_0=readable, title_0="Clear", most_0="3")
    assert "ada@example.edu" in asked.text
    assert grade_of(portal, "ada").points == 16.0
    assert confirmed(ina, asked).status_code == 303
    assert (grade_of(portal, "ada").points, grade_of(portal, "ada").why) == (13.0, ("rubric 3 of 3",))
    (_, last) = portal.course.deeds("grades.rubric_changed")
    assert last.detail == {"criteria": [2, 1], "points": [6.0, 3.0]}


def test_a_rubric_saved_meanwhile_is_shown_before_it_is_replaced(portal: Portal) -> None:
    ina, tim = client_of(portal, "ina", Role.INSTRUCTOR), client_of(portal, "tim", Role.INSTRUCTOR)
    put(portal)
    fields = typed(portal) | {"title_1": "Long report"}
    tim.post_form(RUBRIC, key_0="aa", title_0="Readable", most_0="3", text_0="Good names.")
    answer = ina.post_form(RUBRIC, **fields)
    assert answer.status_code == 409
    assert re.findall(r'<a href="#(\w+)"', answer.text) == ["title_1", "most_1"], "most_0 is only tim's"
    assert rubric_of(portal) == [("aa", 3.0)]
    ina.post_form(RUBRIC, **(fields | {"most_0": "3", "shown": shown(answer.text)}))
    assert [most for _, most in rubric_of(portal)] == [3.0, 2.0]


def test_new_criteria_of_two_people_are_both_kept(portal: Portal) -> None:
    ina, tim = client_of(portal, "ina", Role.INSTRUCTOR), client_of(portal, "tim", Role.INSTRUCTOR)
    put(portal)
    before = typed(portal)
    tim.post_form(RUBRIC, **(before | {"title_0": "", "most_0": "", "text_0": "", "title_2": "Tim", "most_2": "7"}))
    assert ina.post_form(RUBRIC, **(before | {"title_2": "Ina", "most_2": "5"})).status_code == 303
    assert [most for _, most in rubric_of(portal)] == [2.0, 5.0, 7.0]


def typed(portal: Portal) -> dict[str, str]:
    """What an unchanged form of the page sends."""
    page = client_of(portal, "ina", Role.INSTRUCTOR).page(RUBRIC)
    return dict(re.findall(r'name="((?:key|title|most|text)_\d)"[^>]* value="([^"]+)"', page)) | {"shown": shown(page)}


def rubric_of(portal: Portal) -> list[tuple[str, float]]:
    with portal.course.sessions.begin() as session:
        rubric = session.get_one(Assignment, portal.course.assignment).rubric
    return [(each.key, each.most) for each in criteria_of(rubric)]


def test_mistakes_in_criteria_are_named_by_field() -> None:
    long = Criterion("", "x" * 101, 1.0, "x" * 501)
    assert set(wrong_criteria([long])) == {"title_0", "text_0"}
    assert set(wrong_criteria([Criterion("", "x", 1.0)] * 21)) == {"title_20"}
    assert set(wrong_criteria([Criterion("", "x", float("inf"))])) == {"most_0"}
    for points in (float("nan"), 1e9):
        assert set(wrong_criteria([Criterion("", "x", 1.0, items=(Item("", points, "y"),))])) == {"items_0"}
        assert set(wrong_points(Assignment(rubric=""), Given(adjustment=points, reason="z"))) == {"adjustment"}
    assert item_lines(read_items("-0 y", ())) == "0 y"


BOUNDS = Criterion("aa", "Bounds", 4.0, items=(Item("i1", -1.0, "No check of Row"), Item("i2", -3.5, "No check")))
LEVEL = Criterion("bb", "Report", 2.0, one=True, items=(Item("i3", 1.0, "Short"), Item("i4", 3.0, "Good")))


@pytest.mark.parametrize(
    ("items", "adjustment", "points"),
    [
        ("", 0, 4.0), ("i1", 0, 3.0), ("i1 i2", 0, 0.0), ("i3", 0, 5.0), ("i4", 0, 6.0), ("i2", -2, 0.0),
        ("i4", 1, 7.0), ("gone", 0, 4.0),
    ],
)  # fmt: skip
def test_points_follow_from_items_between_0_and_the_most(items: str, adjustment: float, points: float) -> None:
    given = Given(items=frozenset(items.split()), adjustment=adjustment)
    assert rubric_points(stored([BOUNDS, LEVEL]), given) == points


def test_one_of_two_chosen_items_counts_if_the_criterion_now_allows_one(portal: Portal, tom: BrowserClient) -> None:
    put(portal, stored([replace(LEVEL, one=False)]))
    handed_in(portal.course, "ada")
    give(portal, tom, "ada", item_i3="yes", item_i4="yes")
    put(portal, stored([LEVEL]))
    assert grade_of(portal, "ada").rubric == 1.0
    page = tom.page(paper(portal, "ada"))
    assert re.findall(r'value="(i\d)"[^>]* checked', page) == ["i3"]
    with portal.course.sessions.begin() as session:
        assignment = session.get_one(Assignment, portal.course.assignment)
        (line,) = sheet_lines(assignment, Given(items=frozenset({"i3", "i4"})))
    assert [each.key for each in line.items] == ["i3"]


def test_an_item_keeps_its_students_when_its_line_is_reworded_or_revalued() -> None:
    assert read_items(item_lines(BOUNDS.items), BOUNDS.items) == BOUNDS.items
    now = read_items("-2 No check of Row\n-3.5 No check\n+1 New", BOUNDS.items)
    assert [(each.key, each.points) for each in now] == [("i1", -2.0), ("i2", -3.5), ("", 1.0)]
    assert read_items("-1 No check of Row\n-3.5 Col", BOUNDS.items)[1] == Item("i2", -3.5, "Col")
    assert [each.key for each in read_items("-3.5 No check\n-1 No check of Row", BOUNDS.items)] == ["i2", "i1"]
    for text in ("-1 Row\n-3.5 Col", "-1 Row", "-1 Row\n-3.5 No check\n-1 New", "-2 Row\n-3.5 No check"):
        assert {each.key for each in read_items(text, BOUNDS.items) if each.text != "No check"} == {""}
    with pytest.raises(ValueError, match="No check"):
        read_items("No check", ())


def test_a_change_of_items_names_whose_points_rise_or_fall(portal: Portal, tom: BrowserClient) -> None:
    ina = client_of(portal, "ina", Role.INSTRUCTOR)
    put(portal, stored([BOUNDS]))
    for name in ("ada", "ben"):
        handed_in(portal.course, name)
    give(portal, tom, "ada", item_i1="yes")
    give(portal, tom, "ben", item_i2="yes")
    assert (grade_of(portal, "ada").rubric, grade_of(portal, "ben").rubric) == (3.0, 0.5)
    fields = {"key_0": "aa", "title_0": "Bounds", "most_0": "4", "items_0": "-2 No check of Row\n-1 No check"}
    asked = ina.post_form(RUBRIC, **fields)
    assert asked.status_code == 409
    assert ("ada@example.edu" in asked.text, "ben@example.edu" in asked.text) == (True, True)
    assert grade_of(portal, "ada").rubric == 3.0
    assert confirmed(ina, asked).status_code == 303
    assert (grade_of(portal, "ada").rubric, grade_of(portal, "ben").rubric) == (2.0, 3.0)
