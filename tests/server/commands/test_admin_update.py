"""`tilelab admin assignment update`: a judge that judges otherwise, and what was set before it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy import select

from kernels.exercise import ExerciseError, read_exercise, schema
from kernels.exercise.model import JUDGE_VERSION
from kernels.verdict import Verdict
from server.assignments.exercise_update import is_judged
from server.audit.models import AuditEvent
from server.courses.models import Assignment
from server.database.engine import Sessions
from server.dispatching.dispatch import message_of, take
from server.exercises.stored import material_of
from server.grading.models import Job, Step, StepState
from server.standings.service import board
from tests.server.commands.admin import done, run, told
from tests.server.commands.own_exercises import matvec
from tests.server.course import AFTER_ANY_PAUSE, ACourse
from tests.server.staff.graded import handed_in
from worker.commands.root import Exit
from worker.contract.messages import CPU_QUEUE


@pytest.fixture
def newer(course: ACourse, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the course was made, a judge of another version is installed."""
    monkeypatch.setattr(schema, "JUDGE_VERSION", JUDGE_VERSION + 1)


def sent(made: Sessions) -> list[str]:
    """Give all that waits to workers, which read the exercise as they do; why they refuse, "" where they take it."""
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=50, cap=50, now=AFTER_ANY_PAUSE)
    why = []
    with made.begin() as session:
        for step in session.scalars(select(Step).where(Step.state == StepState.SENT).order_by(Step.id)):
            work = message_of(step, 20.0).check
            assert work is not None
            try:
                read_exercise(work.exercise.name, work.exercise.definition, work.exercise.digest)
                why.append("")
            except ExerciseError as error:
                why.append(str(error))
    return why


def test_what_is_set_is_judged_by_the_new_judge(course: ACourse, made: Sessions, newer: None) -> None:
    course.hand_in("ada", source=b"// 1")
    assert f"(here {schema.JUDGE_VERSION})" in sent(made)[0]
    course.hand_in("bob", source=b"// 2")
    said = done("assignment", "update", "gpu/tiled")
    assert said.startswith("gpu/tiled: ")
    assert " 2 " in said
    assert "`tilelab admin regrade gpu/tiled`" in said
    course.hand_in("eve", source=b"// 3")
    assert sent(made) == ["", "", ""]
    with made.begin() as session:
        (event,) = session.scalars(select(AuditEvent)).all()
        assert (event.action, event.subject, event.detail["waiting"]) == (
            "assignment.updated",
            "assignment gpu/tiled",
            2,
        )
        assert {step.attempt for step in session.scalars(select(Step))} == {1}, "it costs no attempt"
    assert told("assignment", "update", "--all") == {
        "assignments": [{"name": "gpu/tiled", "changed": False, "waiting": 0}], "refused": {},
    }  # fmt: skip


def test_boards_begin_anew_and_a_regrade_fills_them(course: ACourse, made: Sessions, newer: None) -> None:
    handed_in(course, "ada", source=b"// 1")
    said = told("assignment", "update", "--all")
    assert said == {"assignments": [{"name": "gpu/tiled", "changed": True, "waiting": 0}], "refused": {}}
    with made.begin() as session:
        assert not board(session, course.assignment, "").rows
    done("regrade", "gpu/tiled", "--yes")
    assert sent(made) == [""]
    with made.begin() as session:
        jobs = session.scalars(select(Job).order_by(Job.id)).all()
        assert jobs[0].exercise.digest != jobs[1].exercise.digest
        assert jobs[0].verdict is Verdict.ACCEPTED


def test_what_ended_in_a_fault_by_another_judge_is_retried_by_the_new_one(
    course: ACourse, made: Sessions, newer: None
) -> None:
    handed_in(course, "ada", Verdict.UNSUPPORTED, source=b"// 1")
    done("assignment", "update", "gpu/tiled")
    done("jobs", "retry", "1")
    assert sent(made) == [""]


def test_a_course_s_own_exercise_is_judged_by_the_new_judge_without_its_folder(
    course: ACourse, made: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matvec(tmp_path / "mine")
    done("assignment", "set", "gpu", str(tmp_path / "mine"))
    shutil.rmtree(tmp_path / "mine")
    monkeypatch.setattr(schema, "JUDGE_VERSION", JUDGE_VERSION + 1)
    said = told("assignment", "update", "--all")
    assert {"name": "gpu/mine", "changed": True, "waiting": 0} in said["assignments"]
    with made.begin() as session:
        mine = session.scalars(select(Assignment).where(Assignment.slug == "mine")).one().exercise
        assert is_judged(mine)
        given = material_of(session, mine)
        assert given is not None
        assert given.starter == "// Write MatVec here.\n"


def test_what_cannot_be_updated_is_told_and_keeps_none_of_the_others(
    course: ACourse, made: Sessions, newer: None
) -> None:
    done("assignment", "set", "gpu", "naive")
    done("assignment", "set", "gpu", "tiled", "--name", "other")
    with made.begin() as session:
        session.scalars(select(Assignment).where(Assignment.slug == "tiled")).one().tile = 7
        naive = session.scalars(select(Assignment).where(Assignment.slug == "naive")).one()
        naive.exercise.name = "gone"
    result = run("assignment", "update", "--all")
    assert result.exit_code == Exit.WRONG_USE
    assert result.stdout.startswith("gpu/other: ")
    assert result.stdout.count("\n") == 1
    first, second = sorted(result.stderr.splitlines())
    assert "gpu/naive: " in first
    assert " gone" in first
    assert "gpu/tiled: " in second
    assert " tile 7." in second
    for words in ([], ["gpu/tiled", "--all"], ["gpu/none"], ["--all", "--exercises", "x"]):
        assert run("assignment", "update", *words).exit_code == Exit.WRONG_USE


def test_other_files_for_students_change_neither_verdicts_nor_boards(
    course: ACourse, made: Sessions, tmp_path: Path
) -> None:
    matvec(tmp_path / "mine")
    done("assignment", "set", "gpu", str(tmp_path / "mine"))
    with made.begin() as session:
        course.assignment = session.scalars(select(Assignment.id).where(Assignment.slug == "mine")).one()
    handed_in(course, "ada", source=b"// 1")
    course.hand_in("bob", source=b"// 2")
    (tmp_path / "mine" / "handout.md").write_text("# Without a typo\n")
    assert "Judging is unchanged" in done("assignment", "update", "gpu/mine", "--exercises", str(tmp_path))
    with made.begin() as session:
        assert len(board(session, course.assignment, "").rows) == 1
        given = material_of(session, session.get_one(Assignment, course.assignment).exercise)
        assert given is not None
        assert given.handout == "# Without a typo\n"
    assert sent(made) == [""]
