"""The kernels that a GPU is measured with: a backlog like a course's, rows of a reference, cheats."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.gpu.subjects import MIXTURE, backlog, cheats, corpus, cublas_reference, ladder, references
from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan
from kernels.source.source_file import Source, read_source
from kernels.verdict import Verdict


def test_a_backlog_has_its_mixture_and_no_text_twice():
    subjects = backlog(300)
    kinds = Counter(subject.name for subject in subjects)
    assert kinds == {kind: round(300 * share) for kind, share in MIXTURE.items()}
    assert len({subject.source for subject in subjects}) == 300
    assert [subject.name for subject in subjects] != sorted(subject.name for subject in subjects)
    assert {subject.expected for subject in subjects} <= set(Verdict)


def test_a_backlog_is_the_same_each_time_and_as_long_as_asked_for():
    assert backlog(30) == backlog(30)
    assert len(backlog(7)) == 7


@pytest.mark.long("the short suite reads the subjects")
def test_every_submission_of_a_backlog_keeps_the_rules_of_the_course():
    for subject in backlog(120):
        exercise = find_exercise(subject.exercise, ())
        source = read_source(subject.source, exercise)
        assert isinstance(source, Source), (subject.name, source)
        plan = make_plan(exercise, source, subject.tile, "0")
        wrong_by_design = subject.name == "wrong, found on the CPU"
        assert wrong_by_design or all(case.problem is None for case in plan.cases), subject.name


def test_the_rows_of_the_reference_can_be_launched_at_both_sizes():
    rows = references()
    assert len(rows) == 10
    for row in rows:
        assert set(row.gflops) == set(cublas_reference()) == {2048, 4096}
        exercise = find_exercise(row.subject.exercise, ())
        source = read_source(row.subject.source, exercise)
        assert isinstance(source, Source), row.subject.name
        (ranked,) = [case for case in make_plan(exercise, source, row.subject.tile, "0").cases if not case.on_cpu]
        assert ranked.launch is not None, row.subject.name


def test_blocks_of_the_reference_are_those_that_its_rows_name():
    for row in references():
        tile = row.subject.tile
        assert tile is None or f"{tile}x{tile}" in row.subject.name


def test_the_ladder_goes_up_by_its_numbers():
    names = [rung.name for rung in ladder()]
    assert names == sorted(names)
    assert len(names) >= 10


def test_cheats_and_corpus_are_those_of_the_tests():
    assert sum(each.honesty == "cheat" for each in cheats()) >= 30
    assert all(each.grade for each in cheats())
    assert {subject.expected for subject in corpus()} >= {"accepted", "data_race", "wrong_answer"}
