"""What is graded on a GPU machine, and what counts as a difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.verdict import Verdict
from tests.gpu import verdicts
from tests.gpu.verdicts import EXPLAINED, PARTS, TESTS, _as_expected, _table, subjects
from tests.marks import linux


@pytest.mark.parametrize(
    ("part", "folder"),
    [
        ("wrong", "corpus/wrong"),
        ("right", "corpus/right"),
        ("cheats", "cheats/sources"),
        ("hostile", "hostile/sources"),
    ],
)
def test_every_source_is_graded(part, folder):
    assert {each.name for each in subjects(part)} == {path.stem for path in (TESTS / folder).glob("*.cu")}


def test_reasons_are_about_right_kernels():
    assert set(_table(EXPLAINED)) <= {each.name for each in subjects("right")}
    assert all(entry["why"] and Verdict(entry["verdict"]) for entry in _table(EXPLAINED).values())


@pytest.mark.long("it tests the tests for a GPU, which aren't in the short suite")
@linux
def test_differences_are_printed_and_counted(monkeypatch, capsys):
    def wrongly_expected(part):
        found = next(iter(subjects(part)))
        return [found, replace(found, expected=("data_race",))] if part == "solutions" else [found]

    monkeypatch.setattr(verdicts, "subjects", wrongly_expected)

    assert verdicts.main(["--cpu", "solutions", "hostile"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("DIFFERS solutions") for line in lines) == 1
    assert lines[-1].endswith("; 1 differ")
    assert set(PARTS) > {line.partition(":")[0] for line in lines[-3:-1]}


@pytest.mark.long("it tests the tests for a GPU, which aren't in the short suite")
@linux
def test_a_verdict_at_another_line_is_a_difference(monkeypatch):
    (subject,) = (each for each in subjects("wrong") if each.name == "no_first_barrier")
    seen = []

    def keep(*given):
        seen.append(given)
        return True

    monkeypatch.setattr(verdicts, "_as_expected", keep)
    monkeypatch.setattr(verdicts, "subjects", lambda _: [subject])
    verdicts.main(["--cpu", "wrong"])
    ((_, report),) = seen

    assert _as_expected(subject, report)
    elsewhere = tuple(replace(finding, line=1, other_line=2) for finding in report.findings)
    assert not _as_expected(subject, replace(report, findings=elsewhere))
    assert not _as_expected(subject, replace(report, verdict=Verdict.ACCEPTED))
