"""An exercise's wrong kernels: their files, their table, and the mistakes in both."""

from __future__ import annotations

import shutil

import pytest

from kernels.exercise import ExerciseError, find_exercise, load_exercise
from kernels.exercise.wrong_kernels import right_kernels, wrong_kernels
from kernels.report import Report
from kernels.report.exercise_proof import ProofKernel, proof_kernels
from kernels.verdict import CaseCheck, CaseStatus, Finding, Severity, Verdict


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(find_exercise("vector-addition").root, tmp_path / "mine")


def test_each_has_a_verdict_and_perhaps_a_line(folder):
    found = {each.name: (each.verdicts, each.line) for each in wrong_kernels(load_exercise(folder))}
    assert found["unguarded"] == ((Verdict.OUT_OF_BOUNDS,), 3)
    assert found["last_block_missing"] == ((Verdict.WRONG_ANSWER,), None)


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
        ('verdict = "wrong_answer"', 'verdict = ["wrong_answer", "accepted"]', "last_block_missing.verdict"),
        ('verdict = "wrong_answer"', "verdict = []", "last_block_missing.verdict"),
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


def report(verdict, *findings, checks=()):
    return Report(verdict, "", "mine", "cpu", "sm_90", 256, findings, checks)


def test_a_kernel_may_have_several_allowed_verdicts(folder):
    table = folder / "wrong.toml"
    text = table.read_text("utf-8")
    table.write_text(text.replace('verdict = "out_of_bounds"', 'verdict = ["data_race", "out_of_bounds"]'), "utf-8")
    exercise = load_exercise(folder)
    (wrong,) = (each for each in wrong_kernels(exercise) if each.name == "unguarded")
    kernel = ProofKernel("wrong/unguarded.cu", wrong=wrong)
    for verdict in (Verdict.DATA_RACE, Verdict.OUT_OF_BOUNDS):
        assert not kernel.problem(exercise, report(verdict, Finding(verdict, "", line=3)))
        assert kernel.problem(exercise, report(verdict, Finding(verdict, "", line=4)))
    assert kernel.problem(exercise, report(Verdict.WRONG_ANSWER, Finding(Verdict.WRONG_ANSWER, "", line=3)))


def test_further_correct_kernels_must_be_accepted(folder):
    (folder / "right").mkdir()
    (folder / "right" / "strided.cu").write_text("", "utf-8")
    exercise = load_exercise(folder)
    assert right_kernels(exercise) == ("right/strided.cu",)
    (kernel,) = (each for each in proof_kernels(exercise, (), right_kernels(exercise)) if "/" in each.file)
    assert not kernel.problem(exercise, report(Verdict.ACCEPTED))
    assert kernel.problem(exercise, report(Verdict.DATA_RACE))


@pytest.mark.parametrize(
    ("failed", "incorrect", "warned"),
    [
        (["n=1 random"], 1, False),  # its output has one element
        (["n=255 random"], 1, True),
        (["n=255 random", "n=257 random"], 2, True),
        (["n=255 random", "n=257 random"], 3, False),
        (["n=1 random", "n=257 random"], 2, True),
    ],
)
def test_a_mistake_that_shows_in_single_elements_is_a_warning(folder, failed, incorrect, warned):
    exercise = load_exercise(folder)
    (wrong,) = (each for each in wrong_kernels(exercise) if each.name == "last_block_missing")
    checks = (CaseCheck("n=2 random", CaseStatus.PASSED), *(CaseCheck(each, CaseStatus.FAILED) for each in failed))
    found = report(Verdict.WRONG_ANSWER, Finding(Verdict.WRONG_ANSWER, "", count=incorrect), checks=checks)
    kernel = ProofKernel("wrong/last_block_missing.cu", wrong=wrong)
    assert bool(kernel.warning(exercise, found)) is warned
    assert not kernel.problem(exercise, found)
    assert not ProofKernel("starter.cu").warning(exercise, found)
