"""`tilelab admin`: what the desk of a course's staff can do, one thing at a time, by hand."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from bench.copies.authors import kernel
from bench.copies.disguises import disguised
from kernels.verdict import Verdict
from server.courses.models import Course, Membership, Role
from server.database.engine import Sessions
from server.grading.models import Job, JobState
from tests.server.commands.admin import done, refused, run, told
from tests.server.course import ACourse, read_row, read_rows
from tests.server.staff.graded import handed_in
from worker.commands.root import Exit
from worker.contract.broker import connect_redis
from worker.contract.fleet import SlotRecord, Wanted, WorkerRecord, WorkerState
from worker.contract.redis_fleet import RedisFleet


def test_assignments_are_put_in_order(course: ACourse) -> None:
    done("assignment", "set", "gpu", "naive")
    assert done("assignment", "order", "gpu") == "tiled\nnaive\n"
    assert told("assignment", "order", "gpu", "naive")["assignments"] == ["naive", "tiled"]
    assert "no assignment" in refused("assignment", "order", "gpu", "none")
    assert done("assignment", "order", "gpu", "--by-deadline") == "tiled\nnaive\n"
    assert course.actions().count("course.assignments_ordered") == 2


def test_a_course_is_changed(course: ACourse) -> None:
    assert done("course", "change", "gpu", "--title", "Tiles", "--zone", "Europe/Vienna") == (
        "Changed gpu: Tiles (Europe/Vienna).\n"
    )
    assert "Unchanged" in done("course", "change", "gpu", "--title", "Tiles")
    assert told("course", "change", "gpu", "--archived") == {
        "slug": "gpu", "title": "Tiles", "time_zone": "Europe/Vienna", "late_days": 0, "archived": True,
        "changed": True,
    }  # fmt: skip
    assert "(Europe/Vienna)." in done("course", "change", "gpu", "--open")
    assert "3 late days" in done("course", "change", "gpu", "--late-days", "3")
    assert "between" in refused("course", "change", "gpu", "--late-days", "-1")
    assert course.actions() == ["course.changed"] * 4
    assert "not a time zone" in refused("course", "change", "gpu", "--zone", "Mars/Base")
    assert "--help" in refused("course", "change", "gpu")
    assert "no course none" in refused("course", "change", "none", "--open")


def test_times_are_on_the_clock_of_the_course(course: ACourse) -> None:
    course.person("ada")
    handed_in(course, Verdict.SYSTEM_ERROR)
    done("assignment", "change", "gpu/tiled", "--due", "2026-03-01T23:59:30.5+01:00")
    shown = told("assignment", "change", "gpu/tiled", "--columns", "time,date", "--sort=-time")
    assert (shown["board_columns"], shown["board_sort"]) == ("time date", "-time")
    assert "columns usual, sort rank" in done(
        "assignment", "change", "gpu/tiled", "--columns", "usual", "--sort", "rank"
    )
    done("course", "change", "gpu", "--zone", "Europe/Vienna")
    assert ", due 2026-03-01 23:59 CET)" in done("course", "list")
    regrade = told("regrade", "gpu/tiled", "--yes")["regrade"]
    for verb in ("submissions", "audit", "regrades list"):
        head, *_ = done(*verb.split(), "gpu").splitlines()
        assert "(Europe/Vienna)" in head
    assert "(Europe/Vienna)" in done("regrades", "show", "gpu", str(regrade))


def test_a_code_for_enrolling_is_made_and_withdrawn(course: ACourse, made: Sessions) -> None:
    code = done("course", "code", "gpu").strip()
    assert read_row(made, select(Course.enrolment_code)) == code
    assert told("course", "code", "gpu")["code"] != code
    done("course", "no-code", "gpu")
    assert told("course", "no-code", "gpu") == {"slug": "gpu", "code": None}
    assert read_row(made, select(Course.enrolment_code)) is None
    assert course.actions() == ["course.code_made", "course.code_made", "course.code_withdrawn"]


def test_a_member_is_changed_dropped_and_taken_back(course: ACourse, made: Sessions) -> None:
    course.person("ina", Role.INSTRUCTOR)
    course.person("ada")
    ada = ["gpu", "ada@example.edu"]
    assert done("roster", "change", *ada, "--section", "B2") == ("ada@example.edu is now student, section B2 in gpu.\n")
    assert told("roster", "change", *ada, "--role", "assistant") == {
        "email": "ada@example.edu", "role": "assistant", "section": "B2", "student_id": "", "dropped": False,
        "changed": True,
    }  # fmt: skip
    assert "Dropped " in done("roster", "drop", *ada)
    assert told("roster", "drop", *ada)["dropped"] is True
    done("roster", "back", *ada)
    assert course.actions() == ["member.changed", "member.changed", "member.dropped", "member.taken_back"]
    assert read_rows(made, select(Membership.role).order_by(Membership.id)) == [
        Role.INSTRUCTOR, Role.ASSISTANT,
    ]  # fmt: skip
    assert "needs at least one instructor" in refused("roster", "drop", "gpu", "ina@example.edu")
    assert "--help" in refused("roster", "change", *ada)
    course.person("eve", None)
    assert "n’t in the course" in refused("roster", "drop", "gpu", "eve@example.edu")
    assert "nobody@example.edu" in refused("roster", "back", "gpu", "nobody@example.edu")


def test_notes_about_a_person_are_added_and_removed(course: ACourse) -> None:
    course.person("ada")
    ada = ("roster", "notes", "gpu", "ada@example.edu")
    assert done(*ada) == "No notes about ada@example.edu.\n"
    assert "asks a lot" in done(*ada, "--add", "asks a lot")
    (found,) = told(*ada)
    assert (found["author"], found["text"]) == (None, "asks a lot")
    assert "Enter a note" in refused(*ada, "--add", " ")
    assert "no note 99" in refused(*ada, "--remove", "99")
    assert told(*ada, "--remove", str(found["id"])) == []
    assert course.actions() == ["member.note_added", "member.note_removed"]


def test_invitations_are_written_as_a_table(course: ACourse, monkeypatch: pytest.MonkeyPatch) -> None:
    course.person("ada")
    assert run("roster", "invitations", "gpu").exit_code == Exit.SYSTEM_FAULT, "no address for the links is set"
    monkeypatch.setenv("TILELAB_PUBLIC_URL", "https://tilelab.example")
    head, line = done("roster", "invitations", "gpu").splitlines()
    assert head == "email,name,link"
    assert line.startswith("ada@example.edu,ada,https://tilelab.example/invitation/")
    (one,) = told("roster", "invitations", "gpu")
    assert one["email"] == "ada@example.edu"
    assert one["link"] not in line
    assert course.actions() == ["invitation.created"] * 2


def test_what_is_graded_again_is_followed_and_cancelled(course: ACourse, made: Sessions) -> None:
    for name in ("ada", "bob"):
        handed_in(course, name, source=name.encode())
    assert "No regrades in gpu" in done("regrades", "list", "gpu")
    for words in (["regrade", "gpu/tiled"], ["jobs", "retry", "--assignment", "gpu/tiled"]):
        asked = run(*words)
        assert (asked.exit_code, "ada <ada@example.edu>: 10 points for tiled" in asked.stderr) == (2, True)
    queued = told("regrade", "gpu/tiled", "--yes")
    number = str(queued["regrade"])
    (line,) = told("regrades", "list", "gpu")
    assert (str(line["regrade"]), line["total"], line["waiting"]) == (number, 2, 2)
    assert "command line" in done("regrades", "show", "gpu", number)
    assert done("regrades", "cancel", "gpu", number) == "Cancelled: 2.\n"
    assert told("regrades", "show", "gpu", number) | {"at": ""} == {
        "regrade": int(number), "at": "", "by": None, "assignment": "tiled", "total": 2, "waiting": 0, "running": 0,
        "done": 0, "cancelled": 2, "turned": [],
    }  # fmt: skip
    assert "is waiting" in refused("regrades", "cancel", "gpu", number)
    assert "no regrade 4711" in refused("regrades", "show", "gpu", "4711")
    assert course.actions() == ["assignment.regraded", "regrade.cancelled"]
    assert len(read_rows(made, select(Job).where(Job.state == JobState.CANCELLED))) == 2


def test_where_nothing_fits_nothing_is_graded_again_or_noted(course: ACourse) -> None:
    there = handed_in(course, "ada", source=b"// 1")
    nothing = {"count": 0, "waiting": 0, "jobs": [], "regrade": None}
    for words in (["--verdict", "data_race"], ["--state", "queued"], ["--late"]):
        assert told("regrade", "gpu/tiled", *words) == nothing
    assert " ffff." in refused("regrade", "gpu/tiled", "--submission", "ffff")
    assert course.actions() == []
    assert "`tilelab admin regrades show gpu " in done("regrade", "gpu/tiled", "--submission", there, "--yes")
    assert told("regrade", "gpu/tiled", "--submission", there) == nothing | {"waiting": 1}


def test_submissions_are_listed_by_what_is_asked_for(course: ACourse) -> None:
    first = handed_in(course, "ada", Verdict.DATA_RACE, source=b"// 1")
    second = handed_in(course, "bob", source=b"// 2")

    def listed(*words: str) -> list[str]:
        return [line["public_id"] for line in told("submissions", "gpu", *words)["submissions"]]

    assert set(listed()) == {first, second}
    assert listed("--verdict", "data_race") == listed("--student", "ada@") == [first]
    assert listed("--late") == listed("--state", "queued") == listed("--mode", "check") == []
    assert set(listed("--device", "cpu")) == {first, second}
    assert listed("--device", "h200") == []
    page = told("submissions", "gpu", "--limit", "1")
    assert listed("--after", page["next"]) == [({first, second} - {page["next"]}).pop()]
    shown = done("submissions", "gpu", "--assignment", "tiled", "--limit", "1")
    assert shown.endswith(f"For the next page, use --after {page['next']}\n")
    assert listed("--in-time", "--student", "nobody") == []
    assert " ffff" in refused("submissions", "gpu", "--after", "ffff")
    assert "gpu/none" in refused("submissions", "gpu", "--assignment", "none")
    for words in (["submissions", "gpu"], ["regrade", "gpu/tiled"]):
        assert "--device 'ZZZ!'" in refused(*words, "--device", "ZZZ!")
        for bound in ("--since", "--until"):
            assert f"{bound} 'none'" in refused(*words, bound, "none")


def test_the_audit_is_read(course: ACourse) -> None:
    assert "No matching entries" in done("audit", "gpu")
    course.person("ada")
    done("course", "code", "gpu")
    done("roster", "change", "gpu", "ada@example.edu", "--section", "B2")
    lines = done("audit", "gpu").splitlines()
    assert [line.split()[3:5] for line in lines[1:]] == [["command", "line"]] * 2
    assert "member changed" in lines[1]
    assert "section: none → B2" in lines[1]
    (only,) = told("audit", "gpu", "--area", "course")["deeds"]
    assert (only["action"], only["by"], only["submission"]) == ("course code made", None, None)
    page = told("audit", "gpu", "--limit", "1")
    assert told("audit", "gpu", "--before", str(page["next"]))["deeds"] == [only]
    mistyped = run("audit", "gpu", "--area", "members")
    assert (mistyped.exit_code, "'member', 'password'" in mistyped.stderr) == (Exit.WRONG_USE, True)
    assert "nobody@example.edu" in refused("audit", "gpu", "--by", "nobody@example.edu")


def test_a_worker_is_drained_and_it_is_noted_before(
    course: ACourse, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_url)
    record = WorkerRecord(
        "alpha-1", "host", 1, WorkerState.IDLE, (SlotRecord("cpu-0", "cpu", "cpu", WorkerState.IDLE),), 1.0
    )
    with connect_redis(redis_url) as client:
        fleet = RedisFleet(client)
        fleet.tell(record)
        assert done("worker", "drain", "alpha") == "alpha-1: asked to drain\n"
        assert fleet.tell(record) is Wanted.DRAIN
        assert told("worker", "resume", "--all") == {"workers": [{"id": "alpha-1", "wanted": "work", "state": None}]}
        assert fleet.tell(record) is Wanted.WORK
    assert "beta: " in refused("worker", "drain", "beta")
    assert course.actions() == ["worker.drained", "worker.resumed"]
    assert "worker resumed" in done("audit", "--area", "worker").splitlines()[1]
    monkeypatch.setattr(RedisFleet, "want", lambda *_: 1 / 0)
    assert run("worker", "drain", "alpha-1").exit_code == Exit.SYSTEM_FAULT
    assert course.actions()[-1] == "worker.drained"


@pytest.mark.one_in(3, "one of three commands")
@pytest.mark.parametrize("verb", ["set", "change", "extend"])
def test_times_are_on_the_courses_clock_and_said(course: ACourse, verb: str) -> None:
    course.person("ada")
    done("course", "change", "gpu", "--zone", "Europe/Vienna")
    done("assignment", "change", "gpu/tiled", "--due", "2026-02-01")
    words = {"set": ["gpu", "naive"], "change": ["gpu/tiled"], "extend": ["gpu/tiled", "ada@example.edu"]}[verb]
    said = done("assignment", verb, *words, "--due", "2026-03-01T23:59")
    assert said.endswith("due 2026-03-01 23:59 CET.\n")
    if verb == "change":
        zone = ["--due", "2026-03-01T23:59-06:00"]
        assert told("assignment", verb, *words, *zone)["due_at"] == "2026-03-02T05:59:00+00:00"
        assert "due none" in done("assignment", verb, *words, "--due", "none")


@pytest.mark.one_in(3, "two of five times")
@pytest.mark.parametrize(
    ("time", "why"),
    [
        ("tomorrow", "not a date and time"), ("0001-01-01T00:00+01:00", "between 2000 and 2200"), ("", "empty"),
        ("9999-12-31T23:59-01:00", "between 2000 and 2200"), ("2026-03-29T02:30", "skip 02:30"),
    ],
)  # fmt: skip
def test_a_time_that_is_none_is_said(course: ACourse, time: str, why: str) -> None:
    done("course", "change", "gpu", "--zone", "Europe/Vienna")
    for words in (["assignment", "change", "gpu/tiled"], ["course", "assign", "gpu", "naive"]):
        assert why in refused(*words, "--due", time)
    assert why in refused("regrade", "gpu/tiled", "--since", time)


def test_two_names_set_an_exercise(course: ACourse) -> None:
    for verb, exercise in (("course assign", "naive"), ("assignment set", "coarsened")):
        shown = told(*verb.split(), "gpu", exercise, "--points", "5")
        assert (shown["name"], shown["points"]) == (exercise, 5.0)
    assert told("course", "add", "cs483", "Parallel")["slug"] == "cs483"
    course.person("ada", None)
    assert told("course", "enrol", "gpu", "ada@example.edu")["enrolled"] == ["ada@example.edu"]


def test_copies_are_listed(course: ACourse) -> None:
    assert told("copies", "gpu", "tiled") == {
        "students": 0,
        "cases": [],
        "more_pairs": 0,
        "left_out": 0,
        "looked_at": [],
    }
    ada, bob = (course.hand_in(name, source=kernel(1).encode()).submission.public_id for name in ("ada", "bob"))
    eve = course.hand_in("eve", source=disguised(kernel(1), "reformatted", 1).encode()).submission.public_id
    course.hand_in("fay", source=disguised(kernel(3), "renamed", 1).encode())
    for seed in range(2, 12):
        course.hand_in(f"s{seed}", source=kernel(seed).encode())
    found = told("copies", "gpu", "tiled")
    first = found["cases"][0]
    assert (first["same"], first["many"], first["submissions"][0]["submission"]) == ("code", False, ada)
    assert [one["email"][:3] for one in first["submissions"]] == ["ada", "bob", "eve"]
    assert "Identical code: 3 students" in done("copies", "gpu", "tiled").splitlines()
    assert "gpu/none" in refused("copies", "gpu", "none")
    assert set(course.actions()) == {"submission.compared"}
    done("pair", "fine", bob, ada, "--note", "worked together")
    assert told("copies", "gpu", "tiled")["cases"] == found["cases"]
    done("pair", "fine", eve, ada)
    assert told("copies", "gpu", "tiled")["cases"] == found["cases"][1:]
    assert "Looked at, fine: 2 pairs." in done("copies", "gpu", "tiled")
    done("pair", "back", ada, bob)
    assert told("copies", "gpu", "tiled")["cases"] == found["cases"]
    assert "same exercise" in refused("pair", "fine", ada, "none")
    assert {"submission.pair_looked_at", "submission.pair_taken_back"} < set(course.actions())


def test_a_rubric_is_changed_and_given(course: ACourse) -> None:
    assert "No rubric." in done("rubric", "show", "gpu/tiled")
    done("rubric", "add", "gpu/tiled", "Readable", "4", "--text", "Good names.")
    found = told("rubric", "add", "gpu/tiled", "Report", "2")
    assert "2 students" not in done("rubric", "show", "gpu/tiled")
    assert [(one["title"], one["most"]) for one in found["criteria"]] == [("Readable", 4.0), ("Report", 2.0)]
    ada = handed_in(course, "ada")
    assert told("rubric", "give", ada, "1", "4", "--comment", "Nice.")["rubric"] == 4.0
    assert told("rubric", "give", ada, "2", "1")["why"] == ["rubric 5 of 6"]
    assert "lowers the grade of 1 student" in run("rubric", "remove", "gpu/tiled", "1").stderr
    assert "no criterion 3" in refused("rubric", "remove", "gpu/tiled", "3")
    done("rubric", "change", "gpu/tiled", "1", "--points", "3", "--yes")
    assert told("grade", "show", "gpu/tiled", "ada@example.edu")["grade"]["points"] == 14.0
    assert course.actions()[-5:] == ["grades.rubric_changed"] * 2 + ["grades.rubric_given"] * 2 + [
        "grades.rubric_changed"
    ]
