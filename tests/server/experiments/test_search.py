"""A search on a server: it chooses from stored results, whatever dies in between."""

from __future__ import annotations

import pytest

from kernels.verdict import Verdict
from server.experiments.models import ExperimentState
from server.experiments.plans import UnfitExperiment
from server.experiments.progress import ExperimentRunner
from tests.server.course import NOW, ACourse
from tests.server.databases import ON_SQLITE
from tests.server.experiments.started import (
    TILE,
    checked,
    experiment_of,
    in_queue,
    measured,
    points_of,
    runner_of,
    sent,
    started,
)

AXES = 'TILE_WIDTH = [8, 16, 32]\nWidth = "32:640:+32"\n'
DESIGN = '\n[design]\nkind = "tune"\npoints = {}\ngoal = "gflops"\nseed = 3\n'
SEARCH = TILE.replace("TILE_WIDTH = [4, 8, 16, 32]\n", AXES) + DESIGN.format(16)


def round_(course: ACourse, name: str, runner: ExperimentRunner) -> list[int]:
    """The points of one round, from their choice to their results; the fastest points are 12, 32 and 52."""
    while runner.step(NOW):
        pass
    points = {each.job_id: each.number for each in points_of(course, name) if each.verdict is None}
    for job in sent(course):
        checked(course, job, Verdict.DATA_RACE if points[job] % 10 == 9 else Verdict.ACCEPTED)
    for job in sent(course, "gpu.h200"):
        measured(course, job, 5_000.0 - 200 * _distance(points[job]))
    while runner.step(NOW):
        if in_queue(course):
            break
    return list(points.values())


def _distance(number: int) -> int:
    return abs(number % 20 - 12)


def searched(course: ACourse, *, killed: bool) -> tuple[str, list[list[int]]]:
    name = started(course, text=SEARCH, device_class="h200")
    runner = runner_of(course)
    rounds = []
    for _ in range(20):
        runner = runner_of(course) if killed else runner
        rounds.append(sorted(round_(course, name, runner)))
        if experiment_of(course, name).state is ExperimentState.DONE:
            return name, rounds
    raise AssertionError("it never ends")


@ON_SQLITE
def test_a_search_tries_its_budget_and_makes_the_same_choices_if_its_dispatcher_dies(course):
    name, rounds = searched(course, killed=False)
    found = experiment_of(course, name)
    assert (found.points, found.begun, found.ended, found.tunes) == (16, 16, 16, True)
    tried = [number for each in rounds for number in each]
    assert len(set(tried)) == 16
    assert {len(each) for each in rounds} == {2}, "an eighth of the budget at a time"
    assert min(map(_distance, tried)) == 0
    _, again = searched(course, killed=True)
    assert again == rounds


def test_a_search_chooses_only_when_all_its_points_have_a_result(course):
    name = started(course, text=SEARCH, device_class="h200")
    first, second = runner_of(course), runner_of(course)
    assert first.step(NOW)
    assert not second.step(NOW)
    assert in_queue(course) == 2
    jobs = sent(course)
    for job in jobs[1:]:
        checked(course, job, Verdict.DATA_RACE)
    while first.step(NOW):
        pass
    assert experiment_of(course, name).begun == 2
    checked(course, jobs[0], Verdict.DATA_RACE)
    while first.step(NOW) or second.step(NOW):
        pass
    assert experiment_of(course, name).begun == 4


def test_a_student_s_search_has_at_most_the_points_of_the_quota(course):
    text = SEARCH.replace("points = 16", "points = 41")
    with pytest.raises(UnfitExperiment, match="41 points"):
        started(course, name="ada", text=text, assignment=course.assignment, device_class="h200")
    text = SEARCH.replace("points = 16", "points = 40")
    started(course, name="ada", text=text, assignment=course.assignment, device_class="h200")
