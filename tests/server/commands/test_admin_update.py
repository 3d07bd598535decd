"""`tilelab admin assignment update`: a judge that judges otherwise, and what was set before it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sqlalchemy import select

from kernels.exercise import BUILT_IN, ExerciseError, read_exercise, schema
from kernels.exercise.model import JUDGE_VERSION
from kernels.verdict import Verdict
from server.audit.models import AuditEvent
from server.courses.models import Assignment
from server.database.engine import Sessions
from server.grading.dispatch import message_of, take
from server.grading.models import Job, Step, StepState
from server.standings.service import board
from tests.server.commands.test_admin_staff import course, done, made, run
from tests.server.course import AFTER_ANY_PAUSE, ACourse
from tests.server.staff.graded import handed_in
from worker.commands.root import Exit
from worker.messages import CPU_QUEUE

__all__ = ["course", "made"]


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
    assert "the judges are of different versions" in sent(made)[0]
    course.hand_in("bob", source=b"// 2")
    assert done("assignment", "update", "gpu/tiled") == (
        "gpu/tiled: judged by the exercise as it is now, and so are 2 that waited. "
        "`tilelab admin regrade gpu/tiled` grades the others again.\n"
    )
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
    assert done("assignment", "update", "--all") == "gpu/tiled: it is up to date.\n"


def test_boards_begin_anew_and_a_regrade_fills_them(course: ACourse, made: Sessions, newer: None) -> None:
    handed_in(course, "ada", source=b"// 1")
    told = json.loads(done("assignment", "update", "--all", "--json"))
    assert told == {"assignments": [{"name": "gpu/tiled", "changed": True, "waiting": 0}], "refused": {}}
    with made.begin() as session:
        assert not board(session, course.assignment, "").rows
    done("regrade", "gpu/tiled")
    assert sent(made) == [""]
    with made.begin() as session:
        jobs = session.scalars(select(Job).order_by(Job.id)).all()
        assert jobs[0].exercise_digest != jobs[1].exercise_digest
        assert jobs[0].verdict is Verdict.ACCEPTED


def test_what_ended_in_a_fault_by_another_judge_is_retried_by_the_new_one(
    course: ACourse, made: Sessions, newer: None
) -> None:
    handed_in(course, "ada", Verdict.UNSUPPORTED, source=b"// 1")
    done("assignment", "update", "gpu/tiled")
    done("jobs", "retry", "1")
    assert sent(made) == [""]


def test_what_cannot_be_updated_is_told_and_keeps_none_of_the_others(
    course: ACourse, made: Sessions, newer: None, tmp_path: Path
) -> None:
    shutil.copytree(BUILT_IN / "naive", tmp_path / "mine")
    own = ["--exercises", str(tmp_path)]
    done("assignment", "set", "gpu", "mine", *own)
    with made.begin() as session:
        session.scalars(select(Assignment).where(Assignment.slug == "tiled")).one().tile = 7
        mine = session.scalars(select(Assignment).where(Assignment.slug == "mine")).one()
        was = mine.exercise_digest
    text = (tmp_path / "mine" / "exercise.toml").read_text()
    (tmp_path / "mine" / "exercise.toml").write_text(text.replace("fmad = false", "") + "# as before\n")
    result = run("assignment", "update", "--all")
    assert result.exit_code == Exit.WRONG_USE
    assert result.stdout == ""
    first, second = sorted(result.stderr.splitlines())
    assert "gpu/mine: " in first
    assert "no such exercise" in first
    assert "gpu/tiled: The exercise tiled has no tile 7 any more" in second
    assert "gpu/mine: it is up to date." in done("assignment", "update", "gpu/mine", *own)
    (tmp_path / "mine" / "exercise.toml").write_text(text.replace("largest_on_cpu = ", "largest_on_cpu = 1"))
    assert "gpu/mine: judged by" in done("assignment", "update", "gpu/mine", *own)
    with made.begin() as session:
        assert (
            session.scalars(select(Assignment).where(Assignment.slug == "mine")).one().exercise_digest != was
        )
    for words in ([], ["gpu/tiled", "--all"], ["gpu/none"]):
        assert run("assignment", "update", *words).exit_code == Exit.WRONG_USE
