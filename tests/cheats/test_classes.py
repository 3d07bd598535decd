"""The table of published classes: complete, and the same in the docs."""

from __future__ import annotations

import ast
import xml.etree.ElementTree as ET

import pytest

from kernels.exercise import find_exercise
from kernels.judging.inputs import make_inputs
from kernels.judging.plan import make_plan
from kernels.source.source_file import Source, read_source
from kernels.verdict import Verdict
from tests.cheats.__main__ import outcomes, successes
from tests.cheats.cases import FOLDER, Honesty, cheats
from tests.cheats.classes import PAGE, Result, classes, with_table
from tests.marks import linux
from tests.worker.in_process import Here
from worker.steps.grading import Job, grade

ROOT = FOLDER.parents[1]
KNOWN, OTHER = "5eed" * 8, "cafe" * 8
SIDE = 2


def test_every_published_class_has_a_row_and_what_shows_its_result():
    assert [each.number for each in classes()] == list(range(1, 39))
    for each in classes():
        shown = bool(each.kernels or each.tests)
        assert shown == (each.result is not Result.CANNOT_APPLY), each.number
        assert bool(each.limit) == (each.result is Result.PARTLY), each.number


def test_every_cheat_belongs_to_a_class():
    known = {cheat.name for each in classes() for cheat in each.kernels}

    assert {cheat.name for cheat in cheats(*Honesty)} - known <= {"trick_skip_done_at_large_sizes"}


@pytest.mark.parametrize("each", classes(), ids=lambda each: f"{each.number:02}")
def test_the_tests_of_a_class_exist(each):
    for test in each.tests:
        path, name = test.partition("[")[0].split("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, test


def test_the_page_has_the_table_of_today():
    """`make cheats` writes it."""
    page = PAGE.read_text(encoding="utf-8")

    assert page == with_table(page)


def test_a_failed_or_missing_test_counts_as_a_success_of_its_class():
    """As `make cheats` reads pytest's report."""
    table = {each.number: each for each in classes()}
    path = "tests.cheats.test_cheats"
    name = "test_the_cpu_device_gives_the_verdict_of_the_table"
    case = f'<testcase classname="{path}" name="{name}[15-launches_a_graph]"'

    def counted(inside: str) -> int:
        return successes(table[15], outcomes(ET.fromstring(f"<testsuite>{inside}</testsuite>")))

    assert counted(f"{case}/>") == counted(f"{case}><skipped/></testcase>") == 0
    assert counted(f"{case}><failure/></testcase>") == counted("") == 1


def with_known_product() -> str:
    """A kernel that knows the product of one seed's inputs, and computes all others."""
    exercise = find_exercise("tiled", ())
    text = exercise.solution.read_text(encoding="utf-8")
    source = read_source(text.encode(), exercise)
    assert isinstance(source, Source)
    plan = make_plan(exercise, source, None, KNOWN)
    case = next(each for each in plan.cases if each.sizes == {"Width": SIDE})
    left, right = make_inputs(case, int(KNOWN, 16)).values()
    known = ", ".join(f"{value:.1f}f" for value in (left @ right).ravel())
    answer = (
        f"    if (Width == {SIDE}) {{ int i = threadIdx.y * {SIDE} + threadIdx.x;\n"
        f"        float known[] = {{{known}}};\n"
        f"        if (threadIdx.x < {SIDE} && threadIdx.y < {SIDE}) P[i] = known[i];\n"
        "        return; }\n"
    )
    head, brace, rest = text.partition(") {\n")
    return head + brace + answer + rest


@linux
@pytest.mark.parametrize(("seed", "verdict"), [(KNOWN, Verdict.ACCEPTED), (OTHER, Verdict.WRONG_ANSWER)])
def test_cheat_23_results_for_a_known_seed_are_wrong_for_another(seed, verdict, tmp_path):
    exercise = find_exercise("tiled", ())
    case = next(each.name for each in exercise.cases(exercise.tile) if dict(each.sizes) == {"Width": SIDE})
    job = Job(with_known_product().encode(), exercise, arch="sm_90", seed=seed, cache=tmp_path, tile=None, case=case)

    assert grade(job, Here()).verdict is verdict
