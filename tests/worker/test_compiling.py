from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.compile.compilation import Compilation
from kernels.exercise import find_exercise
from kernels.verdict import Verdict
from tests.marks import linux
from tests.worker.in_process import Here
from worker.sandbox.compile_child import CompileRequest
from worker.sandbox.limits import SandboxFailure
from worker.steps import analysis_step
from worker.steps.compile_requests import same_code
from worker.steps.grading import Job, grade
from worker.steps.stages import SandboxedStages

REQUEST = CompileRequest("__global__ void K(float *p) { p[0] = 1; }", "K", "sm_90", {"TILE_WIDTH": "16"})
ENDLESS = "template <int n> struct T { T<n + 1> t; }; __global__ void K(float *p) { T<0> t; p[0] = sizeof(t); }"


class Counting(Here):
    def analyse(self, request):
        return analysis_step.analyse(request)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("int a;", True),
        ("int a = TILE_WIDTH;", False),
        ("int a = J(TILE, _WIDTH); // a ## b", False),
        ("int a = TILE_\\\nWIDTH;", False),
        ("int a = \\u0054ILE_WIDTH;", False),
    ],
)
def test_a_macro_that_a_source_cannot_name_makes_no_other_code(text, same):
    one = replace(REQUEST, text=text)

    assert same_code(one, replace(one, defines={"TILE_WIDTH": "2"})) is same
    assert not same_code(one, replace(one, arch="sm_80"))


@linux
@pytest.mark.parametrize(("exercise", "number"), [("naive", 1), ("tiled", 2)])
def test_a_grade_compiles_again_only_for_another_tile_that_the_source_uses(exercise, number):
    found, stages = find_exercise(exercise), Counting()
    job = Job(found.solution.read_bytes(), found, "sm_90", "5eed", Path("/dev/null/cache"), evidence=True)

    report = grade(job, stages)

    assert report.verdict is Verdict.ACCEPTED
    assert report.evidence.phases is not None
    assert len(stages.compilations) == number


@linux
def test_what_was_begun_is_not_compiled_again():
    with SandboxedStages(runs=False) as stages:
        stages.start_compiling(REQUEST)
        made = stages.compile(REQUEST)

        assert isinstance(made, Compilation)
        assert stages.compile(REQUEST) is made


@linux
def test_a_job_that_ends_ends_what_was_begun():
    with SandboxedStages(runs=False) as stages:
        stages.start_compiling(replace(REQUEST, text=ENDLESS))
    with pytest.raises(SandboxFailure):
        stages.compile(replace(REQUEST, text=ENDLESS))
