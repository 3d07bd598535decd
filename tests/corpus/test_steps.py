"""The next step after a wrong kernel, by its key, from the file to the report."""

from __future__ import annotations

import tomllib

import pytest

from tests.corpus.test_corpus import FOLDER, SEED, WRONG, exercise_of
from tests.marks import first_of_each, linux
from tests.worker.kept_processes import KeptProcesses
from worker.steps.grading import Job, grade

STEPS: dict[str, list[str]] = tomllib.loads((FOLDER / "steps.toml").read_text("utf-8"))
EXERCISES = {expected.name: expected.exercise for expected in WRONG}


@linux
@pytest.mark.parametrize(
    "entry",
    first_of_each(
        [(step, name) for step, names in STEPS.items() for name in names],
        lambda entry: entry[0],
        lambda entry: entry[1],
        "the short suite has one kernel for each step",
    ),
)
def test_a_wrong_kernel_leads_to_its_next_step(entry, kept: KeptProcesses, tmp_path):
    step, name = entry
    source = (FOLDER / "wrong" / f"{name}.cu").read_bytes()
    job = Job(source, exercise_of(EXERCISES[name]), arch="sm_90", seed=SEED, cache=tmp_path)
    report = grade(job, kept.stages())
    assert report.explanation is not None
    assert report.explanation.advice == step
