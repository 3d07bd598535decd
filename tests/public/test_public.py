"""Kernels after the patterns of public course material, graded the way `tilelab grade` does it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernels.verdict import Severity, Verdict
from tests.corpus.expected import Mistaken, exercise_of, in_words
from tests.marks import linux
from worker.steps.grading import Job, grade

FOLDER = Path(__file__).parent
SEED = "5eed" * 8
# A number without a common factor with the usual lengths of a family, so that the sample holds all kinds.
SAMPLE_STEP = 11
NOT_IN_SAMPLE = pytest.mark.long("the short suite has every eleventh of these kernels, and the corpus")


@dataclass(frozen=True, slots=True)
class Entry(Mistaken):
    """One kernel; README.md explains the fields."""

    name: str
    kind: str
    exercise: str
    pattern: str
    verdict: Verdict = Verdict.ACCEPTED
    line: int | None = None
    other_line: int | None = None
    also: tuple[int, ...] = ()
    fault: str = ""
    remark: int | None = None

    @property
    def path(self) -> Path:
        return FOLDER / self.kind / f"{self.name}.cu"


def read_entries() -> tuple[Entry, ...]:
    table = tomllib.loads((FOLDER / "kernels.toml").read_text(encoding="utf-8"))
    return tuple(
        Entry(**{**entry, "verdict": Verdict(entry.get("verdict", "accepted")), "also": tuple(entry.get("also", ()))})
        for entry in table["kernel"]
    )


ENTRIES = read_entries()
SAMPLE = [entry for entry in ENTRIES if not entry.fault][::SAMPLE_STEP]


def as_parameter(entry: Entry) -> object:
    marks = [] if entry in SAMPLE else [NOT_IN_SAMPLE]
    marks += [pytest.mark.xfail(reason=entry.fault)] if entry.fault else []
    return pytest.param(entry, id=f"{entry.kind}-{entry.name}", marks=marks)


def test_every_file_has_one_entry():
    paths = [entry.path for entry in ENTRIES]

    assert len(paths) == len(set(paths))
    assert set(paths) == set(FOLDER.glob("*/*.cu"))
    assert {entry.kind for entry in ENTRIES} == {"right", "wrong", "refused"}
    assert all((entry.kind == "right") == (entry.verdict is Verdict.ACCEPTED) for entry in ENTRIES)


@pytest.mark.one_in(3, "a third of those here")
@linux
@pytest.mark.parametrize("entry", [as_parameter(entry) for entry in ENTRIES])
def test_a_kernel_is_judged_as_it_must_be(entry, cache, kept):
    job = Job(entry.path.read_bytes(), exercise_of(entry.exercise), arch="sm_90", seed=SEED, cache=cache)
    report = grade(job, kept.stages())

    assert report.verdict is entry.verdict, in_words(report)
    if entry.kind == "right":
        found = [(finding.line, finding.severity) for finding in report.findings]
        assert found == ([] if entry.remark is None else [(entry.remark, Severity.WARNING)]), in_words(report)
    else:
        assert any(map(entry.shown_by, report.findings)), in_words(report)
