"""Exercises of a course's own at the command line: they stay what they are, whatever other folders are called."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from sqlalchemy import select

from server.audit.models import AuditEvent
from server.courses.models import Assignment, Exercise
from server.courses.service import find_assignment
from server.database.engine import Sessions
from server.dispatching.dispatch import message_of, take
from server.exercises.stored import figure_of, material_of
from server.grading.models import Step, StepState
from tests.server.commands.admin import done, run
from tests.server.commands.own_exercises import FIGURE, WRONG_SOLUTION, matvec, replace_in
from tests.server.course import AFTER_ANY_PAUSE, ACourse, read_rows
from tests.worker.kept_processes import KeptProcesses
from worker.commands.root import Exit
from worker.contract.messages import CPU_QUEUE

MATVEC, MATMUL = 'kernel = "MatVec"', 'kernel = "MatrixMulKernel"'


@pytest.fixture(autouse=True)
def stages(kept: KeptProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solutions are graded in processes that are kept."""
    monkeypatch.setattr("worker.steps.stages.SandboxedStages", lambda: nullcontext(kept.stages()))


@pytest.fixture
def two_courses(course: ACourse, tmp_path: Path) -> Path:
    """`gpu` has the shipped `tiled`, and `cs483` a `tiled` of its own; returns the folder that the latter lies in."""
    matvec(tmp_path / "ex" / "tiled")
    done("course", "add", "cs483", "Parallel programming")
    done("assignment", "set", "cs483", str(tmp_path / "ex" / "tiled"))
    return tmp_path / "ex"


def assigned(made: Sessions, assignment: str) -> Exercise:
    """The exercise that the assignment has."""
    with made.begin() as session:
        found = find_assignment(session, assignment)
        assert found is not None
        return found.exercise


def test_updating_all_leaves_a_course_s_own_exercise_alone(two_courses: Path, course: ACourse, made: Sessions) -> None:
    assert done("assignment", "update", "--all").count(": up to date.\n") == 2
    with made.begin() as session:
        own = find_assignment(session, "cs483/tiled")
        assert own is not None
        course.course, course.assignment = own.course_id, own.id
    course.hand_in("ada")
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=1, now=AFTER_ANY_PAUSE)
    with made.begin() as session:
        work = message_of(session.scalars(select(Step).where(Step.state == StepState.SENT)).one(), 20.0).check
        assert work is not None
        assert MATVEC in work.exercise.definition


@pytest.mark.parametrize("names", [["--all"], ["gpu/tiled"]])
def test_a_folder_does_not_replace_an_exercise_that_comes_with_tilelab(
    two_courses: Path, made: Sessions, names: list[str]
) -> None:
    result = run("assignment", "update", *names, "--exercises", str(two_courses))
    assert result.exit_code == Exit.WRONG_USE, result.output
    assert MATMUL in assigned(made, "gpu/tiled").definition
    assert MATVEC in assigned(made, "cs483/tiled").definition


def test_an_exercise_that_comes_with_tilelab_does_not_replace_one_whose_folder_is_gone(
    two_courses: Path, made: Sessions
) -> None:
    shutil.rmtree(two_courses / "tiled")
    result = run("assignment", "update", "cs483/tiled", "--exercises", str(two_courses))
    assert result.exit_code == Exit.WRONG_USE
    assert MATVEC in assigned(made, "cs483/tiled").definition


def test_folders_with_equal_definitions_are_two_exercises(course: ACourse, made: Sessions, tmp_path: Path) -> None:
    for name in ("first", "second"):
        folder = matvec(tmp_path / name)
        (folder / "handout.md").write_text(f"# Handout\n\nThis is the {name}.\n")
        done("assignment", "set", "gpu", str(folder))
    before = assigned(made, "gpu/second")
    replace_in(tmp_path / "first" / "exercise.toml", "Width = 4096", "Width = 1024")
    for name in ("second", "first"):
        done("assignment", "update", f"gpu/{name}", "--exercises", str(tmp_path))
    assert assigned(made, "gpu/second").id == before.id
    assert assigned(made, "gpu/first").digest != before.digest
    with made.begin() as session:
        given = {each.name: material_of(session, each) for each in session.scalars(select(Exercise))}
    assert {name: "This is the" in each.handout and name in each.handout for name, each in given.items() if each} == {
        "tiled": False, "first": True, "second": True,
    }  # fmt: skip


def test_students_get_the_files_of_an_exercise_whose_folder_is_gone(
    course: ACourse, made: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matvec(tmp_path / "matvec")
    monkeypatch.chdir(tmp_path)
    done("assignment", "set", "gpu", "./matvec")
    shutil.rmtree(tmp_path / "matvec")
    with made.begin() as session:
        found = find_assignment(session, "gpu/matvec")
        assert found is not None
        given = material_of(session, found.exercise)
        assert given is not None
        assert given.starter == "// Write MatVec here.\n"
        assert set(given.figures) == {"rows.svg"}
        assert "Multiply by a *vector*" in given.handout
        assert figure_of(session, found.exercise, "rows.svg") == FIGURE.encode()
        assert figure_of(session, found.exercise, "solution.cu") is None
        (event,) = session.scalars(select(AuditEvent).where(AuditEvent.action == "assignment.created"))
        assert event.detail["exercise"] == "matvec", "no path of the machine"


def test_a_folder_whose_solution_is_wrong_is_refused(course: ACourse, made: Sessions, tmp_path: Path) -> None:
    folder = matvec(tmp_path / "matvec")
    done("assignment", "set", "gpu", str(folder))
    before = assigned(made, "gpu/matvec").version
    (folder / "solution.cu").write_text(WRONG_SOLUTION)
    for words in (
        ["set", "gpu", str(folder), "--name", "second"],
        ["update", "gpu/matvec", "--exercises", str(tmp_path)],
    ):
        result = run("assignment", *words)
        assert result.exit_code == Exit.WRONG_USE
        assert f"{folder}/solution.cu: wrong_answer: `y[0]` is" in result.stderr
    assert len(read_rows(made, select(Assignment))) == 2
    assert assigned(made, "gpu/matvec").version == before
    done("assignment", "update", "gpu/matvec", "--exercises", str(tmp_path), "--unchecked")
    assert assigned(made, "gpu/matvec").version != before
