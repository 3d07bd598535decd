"""The next step after a wrong kernel, by its key, from the file to the report. It depends on no word of a message."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace

import pytest

from kernels.rendering.findings import excerpt_labels
from kernels.rendering.page.race_view import race_view
from kernels.rendering.page.verdict_card import verdict_card
from kernels.report import Report
from kernels.report.explanation import explained
from kernels.verdict import Finding
from tests.corpus.expected import exercise_of
from tests.corpus.test_corpus import FOLDER, SEED, WRONG
from tests.marks import linux, some_of
from tests.worker.kept_processes import KeptProcesses
from worker.steps.grading import Job, grade

STEPS: dict[str, list[str]] = tomllib.loads((FOLDER / "steps.toml").read_text("utf-8"))
OF_NAME = {expected.name: expected for expected in WRONG}


@linux
@pytest.mark.parametrize(
    "entry",
    some_of(
        sorted(
            ((step, name) for step, names in STEPS.items() for name in names), key=lambda entry: OF_NAME[entry[1]].slow
        ),
        48,
        lambda entry: entry[1],
        "the short suite has each 48th; test_diagnosis_steps.py has every diagnosis",
    ),
)
def test_a_wrong_kernel_leads_to_its_next_step(entry, kept: KeptProcesses, cache):
    step, name = entry
    source = (FOLDER / "wrong" / f"{name}.cu").read_bytes()
    job = Job(source, exercise_of(OF_NAME[name].exercise), arch="sm_90", seed=SEED, cache=cache)
    report = grade(job, kept.stages())
    assert report.explanation is not None
    assert report.explanation.advice == step
    lines = source.decode("utf-8", "replace").split("\n")
    assert shown(reworded(report), lines) == shown(report, lines)


def reworded(report: Report) -> Report:
    """The report with other words in each message."""
    return replace(report, message="Other words.", findings=tuple(map(_reworded, report.findings)))


def _reworded(finding: Finding) -> Finding:
    diagnoses = tuple(replace(each, text="Other.", more="") for each in finding.facts.diagnoses)
    facts = replace(finding.facts, example="Other words.", diagnoses=diagnoses)
    return replace(finding, message="Other words.", facts=facts)


def shown(report: Report, lines: Sequence[str]) -> tuple[object, ...]:
    """What a report shows besides the messages."""
    explanation = explained(report, lines)
    card = verdict_card(replace(report, explanation=explanation), len(lines))
    labels = [excerpt_labels(finding, len(lines)) for finding in report.findings]
    headlines = [finding.headline for finding in report.findings]
    return explanation, replace(card, sentence="", detail=""), labels, headlines, race_view(report)
