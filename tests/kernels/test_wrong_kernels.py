"""An exercise's wrong kernels: their files, their table, and the mistakes in both."""

from __future__ import annotations

import shutil

import pytest

from kernels.exercise import ExerciseError, find_exercise, load_exercise
from kernels.exercise.wrong_kernels import wrong_kernels
from kernels.verdict import Finding, Severity, Verdict


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(find_exercise("vector-addition").root, tmp_path / "mine")


def test_each_has_a_verdict_and_perhaps_a_line(folder):
    found = {each.name: (each.verdict, each.line) for each in wrong_kernels(load_exercise(folder))}
    assert found["unguarded"] == (Verdict.OUT_OF_BOUNDS, 3)
    assert found["last_block_missing"] == (Verdict.WRONG_ANSWER, None)


def test_an_exercise_may_have_none(folder):
    shutil.rmtree(folder / "wrong")
    (folder / "wrong.toml").unlink()
    assert wrong_kernels(load_exercise(folder)) == ()


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("[unguarded]", "[another]", "unguarded"),
        ('verdict = "wrong_answer"', 'verdict = "accepted"', "last_block_missing.verdict"),
        ('verdict = "wrong_answer"', 'verdict = "wrong"', "last_block_missing.verdict"),
        ("line = 3", "line = 0", "unguarded.line"),
        ("line = 3", "lines = 3", "unguarded.lines"),
        ("[unguarded]", "[unguarded", ""),
    ],
)
def test_mistakes_are_refused_with_their_field(folder, old, new, field):
    table = folder / "wrong.toml"
    table.write_text(table.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(ExerciseError) as caught:
        wrong_kernels(load_exercise(folder))
    assert caught.value.field == field


def test_a_table_without_a_file_and_a_file_without_a_table_are_refused(folder):
    (folder / "wrong" / "unguarded.cu").unlink()
    with pytest.raises(ExerciseError, match="no file wrong/unguarded"):
        wrong_kernels(load_exercise(folder))
    (folder / "wrong.toml").unlink()
    with pytest.raises(ExerciseError, match="this file is missing"):
        wrong_kernels(load_exercise(folder))


def test_either_line_of_a_finding_shows_the_mistake(folder):
    (wrong,) = (each for each in wrong_kernels(load_exercise(folder)) if each.name == "unguarded")
    found = Finding(Verdict.OUT_OF_BOUNDS, "", line=9, other_line=3)
    assert wrong.shown_by(Verdict.OUT_OF_BOUNDS, (found,))
    assert not wrong.shown_by(Verdict.DATA_RACE, (found,))
    assert not wrong.shown_by(Verdict.OUT_OF_BOUNDS, (Finding(Verdict.OUT_OF_BOUNDS, "", line=9),))
    warning = Finding(Verdict.OUT_OF_BOUNDS, "", line=3, severity=Severity.WARNING)
    assert not wrong.shown_by(Verdict.OUT_OF_BOUNDS, (warning,))
