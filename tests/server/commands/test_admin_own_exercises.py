"""`tilelab admin exercise`: drafts, proofs, versions and exports of a course's own exercises."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from server.audit.models import AuditEvent
from server.courses.models import Assignment
from server.courses.service import find_assignment
from server.database.engine import Sessions
from server.exercises.upload import read_zip
from server.regrades.staging import find_staged
from tests.server.commands.admin import done, run, told
from tests.server.commands.own_exercises import matvec, replace_in
from tests.server.course import ACourse
from tests.worker.kept_processes import KeptProcesses
from worker.commands.root import Exit

STARTER = """
__global__ void MatVec(float* A, float* x, float* y, int Width) {
    // Compute y[row].
}
"""


@pytest.fixture(autouse=True)
def stages(kept: KeptProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are graded in processes that are kept."""
    monkeypatch.setattr("worker.steps.stages.SandboxedStages", lambda: nullcontext(kept.stages()))


@pytest.fixture
def folder(course: ACourse, tmp_path: Path) -> Path:
    found = matvec(tmp_path / "tiled")
    (found / "starter.cu").write_text(STARTER)
    replace_in(found / "exercise.toml", "[16, 32]", "[16]")
    return found


def number_of(made: Sessions, assignment: str) -> int | None:
    with made.begin() as session:
        found = find_assignment(session, assignment)
        assert found is not None
        return found.exercise.number


@pytest.mark.long("the short suite proves an exercise in tests/worker/commands, and publishes one on a page")
def test_versions_are_added_proven_published_and_exported(folder: Path, made: Sessions, tmp_path: Path) -> None:
    assert told("exercise", "add", "gpu", str(folder))["changed"] is True
    assert run("assignment", "set", "gpu", "tiled", "--own", "--name", "mine").exit_code == Exit.WRONG_USE
    done("exercise", "publish", "gpu/tiled")
    done("assignment", "set", "gpu", "tiled", "--own", "--name", "mine")
    assert number_of(made, "gpu/mine") == 1
    replace_in(folder / "solution.cu", "k = 0", "k = 1")
    done("exercise", "add", "gpu", str(folder))
    refused = run("exercise", "publish", "gpu/tiled", "--json")
    assert refused.exit_code == Exit.NOT_ACCEPTED
    assert [one["file"] for one in json.loads(refused.stdout)["kernels"] if one["problem"]] == ["solution.cu"]
    replace_in(folder / "solution.cu", "k = 1", "k = 0")
    replace_in(folder / "handout.md", "Multiply", "Now multiply")
    done("exercise", "add", "gpu", str(folder))
    done("exercise", "publish", "gpu/tiled")
    assert told("exercise", "list", "gpu")[0] == {
        "exercise": "tiled", "title": "A matrix times a vector", "draft": False, "versions": [2, 1],
        "assignments": {"mine": 1},
    }  # fmt: skip
    done("assignment", "update", "--all")
    done("assignment", "update", "gpu/mine")
    assert (number_of(made, "gpu/mine"), number_of(made, "gpu/tiled")) == (1, None), "updates keep the version"
    assert told("exercise", "use", "gpu/mine", "--version", "2")["staged"] is False
    assert number_of(made, "gpu/mine") == 2
    for number, handout in (("1", b"\nMultiply"), ("2", b"\nNow multiply")):
        file = tmp_path / f"{number}.zip"
        done("exercise", "export", "gpu/tiled", str(file), "--version", number)
        assert handout in read_zip(file.read_bytes()).files["handout.md"]
        assert done("exercise", "add", "gpu", str(file)).count(f"as version {number}.") == 1
    with made.begin() as session:
        actions = {event.action for event in session.query(AuditEvent)}
    assert {"exercise.saved", "exercise.published"} <= actions


def test_a_draft_is_shown_and_discarded(folder: Path) -> None:
    done("exercise", "add", "gpu", str(folder), "--name", "other")
    assert told("exercise", "show", "gpu/other")["draft"] is True
    done("exercise", "discard", "gpu/other")
    for verb in ("show", "discard", "publish", "check"):
        assert run("exercise", verb, "gpu/other").exit_code == Exit.WRONG_USE


@pytest.mark.long("the short suite stages one on a page")
def test_a_version_that_judges_otherwise_is_staged(folder: Path, course: ACourse, made: Sessions) -> None:
    done("assignment", "set", "gpu", str(folder), "--unchecked", "--name", "mine")
    replace_in(folder / "exercise.toml", "TILE_WIDTH + 1", "TILE_WIDTH + 2")
    done("exercise", "add", "gpu", str(folder))
    done("exercise", "publish", "gpu/tiled")
    with made.begin() as session:
        mine = find_assignment(session, "gpu/mine")
        assert mine is not None
        course.assignment = mine.id
    course.hand_in("ada")
    assert told("exercise", "use", "gpu/mine", "--version", "2")["staged"] is True
    assert number_of(made, "gpu/mine") == 1
    with made.begin() as session:
        mine = find_assignment(session, "gpu/mine")
        assert mine is not None
        assert find_staged(session, mine) is not None
    done("regrades", "apply", "gpu/mine")
    assert number_of(made, "gpu/mine") == 2


@pytest.mark.parametrize("broken", ["link", "field", "missing"])
def test_a_broken_folder_is_refused_in_one_line(folder: Path, broken: str) -> None:
    if broken == "link":
        (folder / "more.svg").symlink_to("/etc/passwd")
    elif broken == "field":
        replace_in(folder / "exercise.toml", "metric", "metrics")
    else:
        shutil.rmtree(folder)
        folder.mkdir()
    result = run("exercise", "add", "gpu", str(folder))
    assert result.exit_code == Exit.WRONG_USE
    assert result.stderr.count("\n") == 1


def definitions(made: Sessions) -> dict[str, tuple[int | None, str]]:
    """The owner and the definition of each assignment's exercise."""
    with made.begin() as session:
        return {
            f"{one.course.slug}/{one.slug}": (one.exercise.course_id, one.exercise.definition)
            for one in session.query(Assignment)
        }


def test_each_update_verb_leaves_the_own_exercise_of_another_course(
    folder: Path, made: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    done("course", "add", "cs483", "Parallel programming")
    for name in ("gpu/mine", "cs483/tiled"):
        slug, _, assignment = name.partition("/")
        done("assignment", "set", slug, str(folder), "--unchecked", "--name", assignment)
    before = definitions(made)
    assert before["gpu/mine"][1] == before["cs483/tiled"][1]
    assert len({owner for owner, _ in before.values()}) == 3, "Tilelab's, and one of each course"
    done("assignment", "update", "--all")
    for name in before:
        done("assignment", "update", name)
    assert definitions(made) == before
    replace_in(folder / "exercise.toml", "Width = 4096", "Width = 1024")
    done("assignment", "update", "gpu/mine", "--exercises", str(folder.parent), "--unchecked")
    done("exercise", "add", "gpu", str(folder))
    done("exercise", "use", "gpu/mine", "--version", "1")
    done("exercise", "use", "gpu/mine", "--version", "2")
    replaced = before | {"gpu/mine": (before["gpu/mine"][0], (folder / "exercise.toml").read_text())}
    assert definitions(made) == replaced
    monkeypatch.setattr("kernels.exercise.schema.JUDGE_VERSION", 99)
    assert done("assignment", "update", "--all").count("up to date") == 0
    assert definitions(made) == replaced
