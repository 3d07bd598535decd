"""Kernels that try to be accepted, or to break the judge, without doing the work: what the CPU device makes of them."""

from __future__ import annotations

import tomllib

import pytest

from kernels.exercise import find_exercise
from kernels.verdict import Verdict
from tests.cheats.cases import EXPECTED, GOES_ON, SOURCES, Honesty, cheats
from tests.cheats.classes import numbers
from tests.marks import first_of_each, linux
from tests.worker.in_process import Here
from worker.steps.grading import Job, grade

ALL = cheats(*Honesty)
CHEATS = cheats()

# What the table must have at least one kernel of.
KINDS = {
    "replay", "skip_done", "skip_launches", "inputs", "sizes", "launch", "half_work", "one_element", "fooling_checks",
    "far_writes", "far_reads", "persisting_cache", "endless", "crash", "output", "nan", "precision", "input_kinds",
    "other_blocks", "stale", "path", "race", "budget",
    "judge_code", "streams", "setup", "library", "host_code", "passed_through", "nothing",
}  # fmt: skip


# The CPU device tries more orders of their atomics than any others', for four seconds each.
SLOW = {"skip_after_the_checks", "trick_table_of_an_earlier_launch"}


@linux
@pytest.mark.parametrize(
    "cheat",
    first_of_each(
        sorted(ALL, key=lambda cheat: cheat.name in SLOW),
        lambda cheat: (Honesty.CHEAT if cheat.name in SLOW else cheat.honesty, cheat.kind),
        lambda cheat: f"{numbers(cheat)}-{cheat.name}",
        "the short suite has one of each kind",
    ),
)
def test_the_cpu_device_gives_the_verdict_of_the_table(cheat, cache):
    source, exercise = cheat.path.read_bytes(), find_exercise(cheat.exercise, ())
    job = Job(source, exercise, arch="sm_90", seed="5eed" * 8, cache=cache, tile=cheat.tile)

    report = grade(job, Here())

    assert report.verdict is cheat.cpu, [report.message, *report.findings]


def test_every_source_has_one_entry_and_the_other_way_round():
    names = [cheat.name for cheat in ALL]

    assert len(names) == len(set(names))
    assert set(names) == {path.stem for path in SOURCES.glob("*.cu")}


def test_every_kind_is_tried():
    assert len(CHEATS) >= 36
    assert {cheat.kind for cheat in CHEATS} == KINDS


@pytest.mark.parametrize("cheat", ALL, ids=lambda cheat: cheat.name)
def test_a_source_says_what_it_tries_and_what_should_catch_it(cheat):
    header = cheat.path.read_text(encoding="utf-8").split("\n\n")[0].splitlines()

    assert all(line.startswith("// ") and len(line) <= 120 for line in header)
    assert header[0].startswith("// Tries: ")
    assert sum(line.startswith("// Caught by: ") for line in header) == 1


def test_no_grade_accepts_a_cheat():
    assert not [cheat.name for cheat in CHEATS if Verdict.ACCEPTED in cheat.grade]
    assert all(cheat.grade == (Verdict.ACCEPTED,) for cheat in ALL if cheat.honesty is not Honesty.CHEAT)


def test_a_grade_is_what_the_two_devices_make_of_it():
    for cheat in ALL:
        assert cheat.grade == (cheat.gpu if cheat.cpu in GOES_ON else (cheat.cpu,)), cheat.name


def test_a_measurement_at_small_sizes_gives_a_verdict_of_the_gpu():
    for cheat in ALL:
        assert cheat.small is None or (cheat.small in cheat.gpu and cheat.cpu is Verdict.ACCEPTED), cheat.name


def test_more_than_one_verdict_has_a_reason():
    for cheat in ALL:
        assert bool(cheat.differs) == (len(cheat.gpu) > 1), cheat.name


def test_the_table_has_no_other_fields():
    known = {"name", "kind", "exercise", "tile", "cpu", "gpu", "small", "grade", "differs"}
    table = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))

    assert set(table) == set(Honesty)
    assert all(set(entry) <= known for entries in table.values() for entry in entries)
