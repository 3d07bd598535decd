"""`tilelab admin roster|assignment|regrade|export`: the desk of a course's staff, by hand."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.assignments.extension_requests import request_extension
from server.assignments.settings import AssignmentSettings
from server.audit.models import AuditEvent
from server.courses.models import Assignment, Counts, Extension, Role
from server.database.engine import Sessions
from server.grading.models import Job, JobKind
from server.regrades.requests import request_regrade
from server.submissions.models import Submission
from server.talk.comments import write_comment
from tests.server.commands.admin import done, run, told
from tests.server.course import ACourse, read_row, read_rows
from tests.server.staff.graded import handed_in, judged
from worker.commands.root import Exit

ROSTER = "email,name,role,section\nada@example.edu,Ada,student,A1\nina@example.edu,Ina,instructor,\n"


def test_a_roster_is_shown_read_and_written(course: ACourse, tmp_path: Path) -> None:
    file = tmp_path / "roster.csv"
    file.write_text(ROSTER)
    shown = done("roster", "import", "gpu", str(file), "--dry-run")
    assert "new" in shown
    assert shown.endswith("Dry run, no changes: 2 new.\n")
    assert told("roster", "export", "gpu") == []
    said = told("roster", "import", "gpu", "-", stdin=ROSTER)
    assert said["done"] is True
    assert said["counts"]["new"] == 2
    assert done("roster", "import", "gpu", str(file)) == "Imported: 2 unchanged.\n"
    assert done("roster", "export", "gpu").splitlines() == [
        "email,name,role,section,student_id", "ina@example.edu,Ina,instructor,,", "ada@example.edu,Ada,student,A1,",
    ]  # fmt: skip
    only = "email,name\nina@example.edu,Ina\n"
    dropping = ("roster", "import", "gpu", "-", "--drop-others")
    assert "confirm with --yes" in run(*dropping, stdin=only).stderr
    assert "dropped     ada@example.edu" in done(*dropping, "--yes", stdin=only)
    assert run(*dropping, "--yes", stdin="email,name\n").exit_code == Exit.WRONG_USE


def test_the_last_instructor_stays_at_the_command_line(course: ACourse, made: Sessions) -> None:
    done("roster", "import", "gpu", "-", stdin=ROSTER)
    assert run("course", "enrol", "gpu", "ina@example.edu", "--role", "student").exit_code == Exit.WRONG_USE
    done("course", "enrol", "gpu", "ada@example.edu", "--role", "instructor")
    done("course", "enrol", "gpu", "ina@example.edu", "--role", "student")
    last = read_row(made, select(AuditEvent).order_by(AuditEvent.id.desc()).limit(1))
    assert (last.action, last.detail) == ("member.changed", {"role": ["instructor", "student"]})


def test_a_roster_with_a_mistake_changes_nothing(course: ACourse) -> None:
    result = run("roster", "import", "gpu", "-", stdin=f"{ROSTER}nobody,Bob,student,\n")
    assert result.exit_code == Exit.WRONG_USE
    assert result.stdout == ""
    assert result.stderr.startswith("line 4: “nobody” ")
    assert result.stderr.count("\n") == 1
    assert run("roster", "import", "gpu", "-", stdin="x\n").exit_code == Exit.WRONG_USE
    assert run("roster", "export", "nowhere").exit_code == Exit.WRONG_USE
    assert told("roster", "export", "gpu") == []


@pytest.mark.parametrize("name", ["nonsense", "v100", "v100-sxm2"])
def test_a_device_class_that_nothing_can_measure_on_is_refused(course: ACourse, name: str) -> None:
    wrong = run("assignment", "set", "gpu", "naive", "--device-class", name)
    assert (wrong.exit_code, re.findall(r" (--[a-z-]+): ", wrong.stderr)) == (2, ["--device-class"])


def test_a_new_assignment_has_the_points_of_the_form_in_the_portal(course: ACourse) -> None:
    assert told("assignment", "set", "gpu", "naive")["points"] == AssignmentSettings().points == 10.0


def test_an_assignment_is_set_changed_and_extended(course: ACourse, made: Sessions) -> None:
    done("roster", "import", "gpu", "-", stdin=ROSTER)
    due = ["--due", "2026-03-01T23:59+01:00"]
    said = told("assignment", "set", "gpu", "naive", "--points", "5", *due, "--attempts", "3")
    assert (said["name"], said["due_at"], said["attempts"]) == ("naive", "2026-03-01T22:59:00+00:00", 3)
    said = json.loads(
        done("assignment", "change", "gpu/naive", "--due", "none", "--attempts", "any", "--counts", "last",
             "--unlisted", "--json")
    )  # fmt: skip
    assert said["changed"] == ["attempts", "counts", "due_at", "listed"]
    again = told("assignment", "change", "gpu/naive", "--counts", "last")
    assert again["changed"] == []
    more = ("--late-percent", "20", "--due", "2026-03-02T12:00", "--attempts", "any")
    assert done("assignment", "change", "gpu/naive", *more) == (
        "Changed gpu/naive: late-percent 20, due 2026-03-02 12:00 UTC, attempts any.\n"
    )
    wrong = run("assignment", "change", "gpu/naive", "--points", "-1", "--checks", "-1").stderr
    assert wrong == (
        "tilelab: --points: Points must be between 0 and 100,000. "
        "--checks: Checks per hour must be between 0 and 10,000.\n"
    )
    wrong = run("assignment", "set", "gpu", "tiled", "--name", "A B", "--device-class", "H!", "--arch", "sm_1",
                "--tile", "7", "--points", "-1").stderr  # fmt: skip
    assert re.findall(r" (--[a-z-]+): ", wrong) == ["--name", "--device-class", "--arch", "--tile", "--points"]
    done("assignment", "change", "gpu/naive", "--due", "none")
    assert run("assignment", "extend", "gpu/naive", "ada@example.edu", "--due", "2026-04-01").exit_code == 2
    done("assignment", "change", "gpu/naive", "--attempts", "3")
    extended = ("assignment", "extend", "gpu/naive", "ada@example.edu", "--attempts", "2")
    assert done(*extended, "--reason", "was ill").endswith("for gpu/naive: attempts 2 more.\n")
    assert "without other options" in run(*extended, "--withdraw").stderr
    with made.begin() as session:
        changed = session.scalars(select(Assignment).where(Assignment.slug == "naive")).one()
        assert (changed.points, changed.attempts, changed.counts, changed.listed) == (5.0, 3, Counts.LAST, False)
        assert session.scalars(select(Extension)).one().reason == "was ill"
        assert session.scalars(select(AuditEvent.action).order_by(AuditEvent.id)).all()[-6:] == [
            "assignment.created", *["assignment.deadline_moved"] * 3, "assignment.changed", "extension.granted",
        ]  # fmt: skip
    assert "Removed " in done("assignment", "extend", "gpu/naive", "ada@example.edu", "--withdraw")


def test_students_are_put_into_teams(course: ACourse) -> None:
    done("roster", "import", "gpu", "-", stdin=ROSTER)
    one = ("assignment", "team", "gpu/tiled", "ada@example.edu", "--team")
    assert run(*one, "7").exit_code == Exit.WRONG_USE
    done("assignment", "change", "gpu/tiled", "--team-size", "2")
    assert told(*one, "7") == {"email": "ada@example.edu", "team": "7"}
    table = done("export", "teams", "gpu/tiled")
    assert table.splitlines() == ["email,team", "ada@example.edu,7"]
    assert told("assignment", "teams", "gpu/tiled", "-", stdin="email,team\nada@example.edu,\n") == {
        "changed": {"ada@example.edu": "removed"}
    }


def test_extensions_are_granted_from_a_csv_file(course: ACourse, made: Sessions) -> None:
    done("roster", "import", "gpu", "-", stdin=ROSTER)
    done("assignment", "change", "gpu/tiled", "--due", "2026-04-01T12:00", "--attempts", "3")
    verb = ("assignment", "extend-many", "gpu/tiled", "-")
    wrong = run(
        *verb,
        stdin='reason;email;due;attempts\n;ADA@example.edu;soon\n;ada@example.edu;2026-04-08T12:00;x\n\n;?;;1\n;b@x.edu;;;;\n;"',
    )
    assert wrong.exit_code == Exit.WRONG_USE
    assert re.findall(r"line (\d+): ", wrong.stderr) == ["2", "3", "5", "6", "7"]
    assert "first line" in run(*verb, stdin="due\n2026-04-08").stderr
    table = "email,due,closes,attempts,reason\r\nada@example.edu,2026-04-08T12:00,,2,was ill\r\n"
    wrong = run(*verb, stdin=f"{table}nobody@example.edu,2026-04-08T12:00\nada2@example.edu,2026-03-01T12:00\n")
    assert re.findall(r"line (\d+): ", wrong.stderr) == ["3", "4", "4"]
    assert read_rows(made, select(Extension)) == []
    assert told(*verb, stdin=table) == {"changed": {"ada@example.edu": "new"}}
    (granted,) = read_rows(made, select(Extension))
    assert granted.due_at == datetime(2026, 4, 8, 12, tzinfo=UTC)
    assert (granted.closes_at, granted.extra_attempts, granted.reason) == (None, 2, "was ill")


@pytest.mark.one_in(2, "every second")
@pytest.mark.parametrize(
    "arguments",
    [
        ["set", "gpu", "nothing"], ["set", "gpu", "naive", "--due", "soon"],
        ["change", "gpu/tiled"], ["change", "gpu/none", "--points", "1"],
        ["change", "gpu/tiled", "--attempts", "x"], ["change", "gpu/tiled", "--title", ""],
        ["extend", "gpu/tiled", "nobody@example.edu", "--attempts", "1"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_cannot_be_is_refused(course: ACourse, arguments: list[str]) -> None:
    assert run("assignment", *arguments).exit_code == Exit.WRONG_USE


def test_what_was_handed_in_is_graded_again(course: ACourse, made: Sessions) -> None:
    handed_in(course, "ada", Verdict.DATA_RACE, source=b"// 1")
    handed_in(course, "bob", Verdict.ACCEPTED, source=b"// 2")
    course.hand_in("eve", source=b"// 3")
    said = told("regrade", "gpu/tiled", "--dry-run")
    assert said == {"count": 2, "waiting": 1, "jobs": [], "regrade": None}
    said = told("regrade", "gpu/tiled", "--verdict", "data_race")
    assert (said["count"], len(said["jobs"])) == (1, 1)
    assert len(read_rows(made, select(Job).where(Job.kind == JobKind.REGRADE))) == 1
    assert run("regrade", "gpu/none").exit_code == Exit.WRONG_USE


def test_grades_are_filled_into_a_file(course: ACourse, tmp_path: Path) -> None:
    handed_in(course, "ada", source=b"// 1")
    file, to = tmp_path / "gradescope.csv", tmp_path / "filled.csv"
    text = 'Email,Lab 1,Lab 1 - Max Points\r\nada@example.edu,{},10\r\n"eve@example.edu",,10\r\n'
    file.write_bytes(text.format("").encode())
    verb = ("export", "fill", "gpu", str(file), str(to))
    for odd in ((), ("--column", "none=Lab 1"), ("--column", "tiled=Lab 2"), ("--domain", "x")):
        assert run(*verb, *odd).exit_code == Exit.WRONG_USE, odd
    assert done(*verb, "--column", "tiled=Lab 1") == f"{to}: 1 filled, 1 no such student.\n"
    assert to.read_bytes() == text.format("10").encode()
    twice = text.format("") + text.format("")
    said = run("export", "fill", "gpu", "-", str(to), "--column", "tiled=Lab 1", stdin=twice)
    assert (said.exit_code, said.stderr[:7]) == (Exit.WRONG_USE, "line 5:")
    file.write_text("email\nada@example.edu\n")
    assert run(*verb).exit_code == Exit.WRONG_USE
    assert course.actions("grades") == ["grades.exported"]


def test_grades_are_written(course: ACourse) -> None:
    made = handed_in(course, "ada", source=b"// 1")
    course.person("bob")
    assert done("export", "grades", "gpu").splitlines() == [
        "email,name,section,tiled,total,why,student_id",
        "ada@example.edu,ada,,10,10,,",
        "bob@example.edu,bob,,,0,,",
    ]
    said = told("export", "grades", "gpu")
    assert said[0]["grades"]["tiled"] == {
        "points": 10.0, "why": [], "late_days": 0, "submission": made, "corrected": False, "excused": False,
        "held": False,
    }  # fmt: skip


def test_a_grade_is_corrected_at_the_command_line(course: ACourse) -> None:
    handed_in(course, "ada")
    ada = ("gpu/tiled", "ada@example.edu")
    less = ("grade", "set", *ada, "8", "--reason", "late talk")
    refused = run(*less)
    assert (refused.exit_code, "10 -> 8" in refused.stderr) == (Exit.WRONG_USE, True)
    assert done(*less, "--yes") == ("gpu/tiled, ada@example.edu: 8 of 10 points, set by course staff instead of 10.\n")
    more = ("grade", "set", *ada, "12", "--reason", "bonus")
    assert (run(*more).exit_code, "8 -> 12" in run(*more).stderr) == (Exit.WRONG_USE, True)
    assert done(*more, "--yes").startswith("gpu/tiled, ada@example.edu: 12 of 10 points")
    assert done(*less, "--yes").startswith("gpu/tiled, ada@example.edu: 8 of 10 points")
    assert "Hidden from the student" in done("grade", "hold", *ada)
    assert told("grade", "release", *ada)["grade"]["points"] == 8.0
    assert "excused" in done("grade", "excuse", *ada, "--reason", "was ill", "--yes")
    assert told("export", "grades", "gpu")[0]["grades"]["tiled"]["excused"] is True
    assert run("grade", "set", *ada, "-1", "--reason", "x").exit_code == Exit.WRONG_USE
    assert done("grade", "reset", *ada, "--yes").endswith("10 of 10 points.\n")
    assert done("grade", "show", *ada).endswith("10 of 10 points.\n")


def test_a_command_names_who_loses_points_first(course: ACourse) -> None:
    handed_in(course, "ada")
    change = ("assignment", "change", "gpu/tiled", "--points", "5")
    refused = run(*change)
    assert refused.exit_code == Exit.WRONG_USE
    assert "ada <ada@example.edu>: 10 -> 5" in refused.stderr
    assert told("grade", "show", "gpu/tiled", "ada@example.edu")["grade"]["points"] == 10.0
    done(*change, "--yes")
    assert told("grade", "show", "gpu/tiled", "ada@example.edu")["grade"]["points"] == 5.0


def test_rules_for_points_are_set_at_the_command_line(course: ACourse, made: Sessions) -> None:
    handed_in(course, "ada")
    change = ("assignment", "change", "gpu/tiled")
    assert "No GPU" in run(*change, "--speed-by", "gflops", "--speed-tiers", "0:60 77:100").stderr
    with made.begin() as session:
        session.get_one(Assignment, course.assignment).device_class = "h200"
    assert "rung 77" in run(*change, "--speed-by", "rung", "--speed-tiers", "0:60 77:100").stderr
    tiers = ("--speed-by", "gflops", "--speed-tiers", "0:60 2000:100", "--late-most", "50", "--goals-percent", "40")
    assert "10 -> 6 (60 % " in run(*change, *tiers).stderr
    assert "speed-by gflops" in done(*change, *tiers, "--yes")
    show = ("grade", "show", "gpu/tiled", "ada@example.edu")
    assert done(*show).partition(": ")[2].startswith("6 of 10 points: 60 % ")
    assert "speed-by none" in done(*change, "--speed-by", "none")
    assert told(*show)["grade"]["why"] == []


def test_a_staged_regrade_is_shown_applied_and_dropped(course: ACourse, made: Sessions) -> None:
    handed_in(course, "ada")
    staged = ("regrade", "gpu/tiled", "--stage")
    assert "tilelab admin regrades staged gpu/tiled" in done(*staged)
    assert run("regrade", "gpu/tiled").exit_code == Exit.WRONG_USE
    assert done("regrades", "staged", "gpu/tiled").startswith("1 of 1 are not graded yet")
    job = read_row(made, select(Job.id).where(Job.regrade_id.is_not(None)))
    judged(course, job, Verdict.DATA_RACE)
    said = told("regrades", "staged", "gpu/tiled")
    assert said["grades"] == [{"email": "ada@example.edu", "was": 10.0, "now": 0.0}]
    refused = run("regrades", "apply", "gpu/tiled")
    assert (refused.exit_code, "10 -> 0 points" in refused.stderr) == (Exit.WRONG_USE, True)
    assert done("regrades", "apply", "gpu/tiled", "--yes") == "Applied: 1.\n"
    assert "data_race" in done("submissions", "gpu")
    done(*staged)
    assert done("regrades", "drop", "gpu/tiled") == "Dropped the staged regrade of gpu/tiled.\n"
    assert run("regrades", "drop", "gpu/tiled").exit_code == Exit.WRONG_USE


def test_announcements_are_written_at_the_command_line(course: ACourse, tmp_path: Path) -> None:
    file = tmp_path / "exam.md"
    file.write_text("On *Friday*.")
    assert done("announce", "list", "gpu") == "No announcements in gpu yet.\n"
    assert done("announce", "add", "gpu", "Exam", str(file)) == "Published announcement 1.\n"
    assert told("announce", "add", "gpu/tiled", "Hint", "-", stdin="x")["assignment"] == "tiled"
    assert done("announce", "change", "gpu", "1") == "Nothing to change.\n"
    assert told("announce", "change", "gpu", "1", "--title", "Test")["title"] == "Test"
    done("announce", "withdraw", "gpu", "2")
    listed = told("announce", "list", "gpu")
    assert [(each["number"], each["title"], each["withdrawn"]) for each in listed] == [
        (2, "Hint", True), (1, "Test", False),
    ]  # fmt: skip
    assert "withdrawn" in done("announce", "list", "gpu")
    assert told("announce", "publish", "gpu", "2")["withdrawn"] is False
    file.write_bytes(b"\xff")
    for wrong in (
        ("add", "gpu", "Exam", str(file)), ("add", "none", "Exam", "-"), ("add", "gpu", "x" * 201, "-"),
        ("withdraw", "gpu", "4711"),
    ):  # fmt: skip
        assert run("announce", *wrong, stdin="x").exit_code == Exit.WRONG_USE, wrong


def test_comments_are_written_at_the_command_line(course: ACourse, made: Sessions) -> None:
    public_id = handed_in(course, "ada")
    assert done("comments", "questions", "gpu") == "No open questions in gpu.\n"
    assert done("comments", "show", public_id) == "No comments yet.\n"
    with made.begin() as session:
        found = session.scalars(select(Submission)).one()
        question = write_comment(session, found, found.person, "Why\nso?", line=1).id
    assert "ada@example.edu  none         Why so?" in done("comments", "questions", "gpu")
    course.person("tom", Role.ASSISTANT)
    done("comments", "give", "gpu", str(question), "--answerer", "tom@example.edu")
    assert told("comments", "questions", "gpu", "--unassigned") == {"open": 0, "questions": []}
    assert run("comments", "give", "gpu", str(question), "--answerer", "ada@example.edu").exit_code == Exit.WRONG_USE
    done("comments", "give", "gpu", str(question), "--answerer", "none")
    assert told("comments", "questions", "gpu", "--unassigned")["open"] == 1
    done("comments", "settle", public_id, str(question))
    assert told("comments", "questions", "gpu") == {"open": 0, "questions": []}
    reply = told("comments", "write", public_id, "So.", "--reply", str(question))["number"]
    assert "command line:\n    So." in done("comments", "show", public_id)
    done("comments", "remove", public_id, str(reply))
    (thread,) = told("comments", "show", public_id)
    assert (thread["line"], [each["text"] for each in thread["comments"]]) == (1, ["Why\nso?"])
    for wrong in (
        ("write", public_id, "x", "--line", "99"), ("write", "none", "x"), ("settle", public_id, "4711"),
        ("write", public_id, "x", "--line", "1", "--reply", str(question)), ("write", public_id, " "),
    ):  # fmt: skip
        assert run("comments", *wrong).exit_code == Exit.WRONG_USE, wrong


def test_requests_are_answered_at_the_command_line(course: ACourse, made: Sessions) -> None:
    assert done("requests", "list", "gpu") == "No open requests in gpu.\n"
    for name in ("ada", "bob", "eve"):
        handed_in(course, name)
    with made.begin() as session:
        for found in session.scalars(select(Submission).order_by(Submission.id)).all():
            request_regrade(session, found, found.person, "It\nis right.")
    assert "ada@example.edu  It is right." in done("requests", "list", "gpu")
    assert done("requests", "refuse", "gpu", "1", "See line 2.") == "Refused.\n"
    assert run("requests", "grant", "gpu", "2", "--points", "3").exit_code == Exit.WRONG_USE
    assert done("requests", "grant", "gpu", "2", "--points", "3", "--yes") == "Granted: 3 points.\n"
    assert "regrades staged gpu/tiled" in done("requests", "grant", "gpu", "3")
    assert told("requests", "list", "gpu") == []
    answered = told("requests", "list", "gpu", "--answered")
    assert [(each["number"], each["granted"]) for each in answered] == [(3, True), (2, True), (1, False)]
    assert run("requests", "refuse", "gpu", "4711", "x").exit_code == Exit.WRONG_USE


def test_extension_requests_are_answered_at_the_command_line(course: ACourse, made: Sessions) -> None:
    requests = ("assignment", "requests")
    now = datetime.now(UTC)
    people = [course.person(name) for name in ("ada", "bob")]
    with made.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        assignment.due_at, assignment.closes_at = now + timedelta(days=1), None
        for number in people:
            student = session.get_one(Person, number)
            request_extension(session, assignment, student, now + timedelta(days=3), "Ill")
    assert [one["email"] for one in told(*requests, "list", "gpu")] == [
        "ada@example.edu", "bob@example.edu",
    ]  # fmt: skip
    until = now + timedelta(days=2)
    assert done(*requests, "grant", "gpu", "1", "--due", until.isoformat()) == "Granted.\n"
    assert done(*requests, "refuse", "gpu", "2", "No.") == "Refused.\n"
    assert run(*requests, "refuse", "gpu", "2", "No.").exit_code == Exit.WRONG_USE
    assert run(*requests, "grant", "gpu", "4711").exit_code == Exit.WRONG_USE
    assert told(*requests, "list", "gpu") == []
    assert read_row(made, select(Extension.due_at)) == until
