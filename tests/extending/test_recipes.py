"""docs/extending.md is followed to the letter in a copy of the repository; what it promises is then there."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.extending.recipes import PAGE, Step, copy_tree, follow, known_types, recipes
from tests.marks import linux

RECIPES = recipes(PAGE.read_text("utf-8"))
MOST_PLACES = 4
WORD = {
    "An exercise": "exercise",
    "A counter": "counter",
    "A verdict": "verdict",
    "A route of the API": "route",
    "An act of staff": "act",
    "A setting of an assignment": "setting",
    "A page": "page",
}
"""What the tests in the copy call each."""

IN_COPY = ("tests/extending/kernels_in_copy.py", "tests/server/web/recipes_in_copy.py")
GUARDS = (
    "tests/corpus/test_corpus.py::test_every_kernel_has_one_entry_and_the_other_way_round",
    "tests/corpus/test_corpus.py::test_the_corpus_is_large_and_holds_every_verdict_a_kernel_can_earn",
    "tests/kernels/test_report_text.py::test_every_verdict_has_its_sentence_and_its_advice",
    "tests/server/database/test_schema.py::test_migrations_and_models_do_not_differ",
    "tests/server/web/test_access.py::test_every_route_is_in_the_matrix_under_its_name",
    "tests/server/web/test_openapi.py",
    "tests/test_counters.py",
    "tests/test_docs.py::test_every_exercise_is_listed_for_students",
    "tests/test_docs.py::test_a_table_has_every_verdict_in_order",
    "tests/test_packaging.py::test_what_a_package_reads_is_installed_with_it",
    "tests/worker/test_exercises.py::test_every_exercise_has_a_starter_whose_verdict_is_known",
)
"""What notices a place that was forgotten."""


class Copy:
    """The repository with all recipes followed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, module: str, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", module, *words],
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def pytest(self, *tests: str) -> dict[str, bool]:
        """Whether each of these tests passed."""
        results = self.root / "results.xml"
        options = ("-q", "-p", "no:cacheprovider", f"--junitxml={results}")
        self.run("pytest", *options, *tests)
        cases = ET.parse(results).iter("testcase")
        return {each.get("name", ""): len(each) == 0 for each in cases}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    made = Copy(tmp_path_factory.mktemp("copy"))
    copy_tree(made.root)
    follow([step for steps in RECIPES.values() for step in steps], made.root, made.run)
    return made


@pytest.fixture(scope="module")
def passed(copy: Copy) -> dict[str, bool]:
    return copy.pytest(*IN_COPY, *GUARDS)


def test_every_block_of_the_page_is_a_step() -> None:
    fences = re.findall(r"^```", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    assert 2 * sum(len(steps) for steps in RECIPES.values()) == len(fences)
    assert RECIPES.keys() == WORD.keys()


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_touches_four_places_at_most(recipe: str) -> None:
    assert 1 <= len({step.place for step in RECIPES[recipe]}) <= MOST_PLACES


def test_a_step_finds_exactly_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\ntwo\n")
    with pytest.raises(ValueError, match="2 lines with two"):
        Step("a.txt", "after", "two", "new\n").follow(tmp_path)
    Step("a.txt", "in place of", "one", "new\n").follow(tmp_path)
    assert (tmp_path / "a.txt").read_text() == "new\ntwo\ntwo\n"


@linux
@pytest.mark.long("the short suite takes all steps in a copy, and lints what they changed")
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_does_what_it_says(recipe: str, passed: dict[str, bool]) -> None:
    mine = [name for name in passed if WORD[recipe] in name.split("[")[0].split("_")]
    assert mine
    assert all(passed[name] for name in mine)


@linux
def test_lint_passes_in_the_copy(copy: Copy) -> None:
    changed = {step.path for steps in RECIPES.values() for step in steps if step.path.endswith(".py")}
    copy.run("ruff", "check", *changed)


@linux
@pytest.mark.timeout(600)
@pytest.mark.long("the short suite lints what was changed")
def test_all_that_compares_passes_in_the_copy(copy: Copy) -> None:
    copy.pytest(
        "tests/test_docs.py", "tests/test_packaging.py", "tests/server/web/test_access.py",
        "tests/kernels/test_advice.py", "tests/kernels/test_goals.py", "tests/kernels/test_diagnosis.py",
        "--deselect=tests/test_docs.py::test_the_output_shown_is_what_the_command_prints",
        # the matrix is compared with routes, not with a database
        "-k=not postgresql",
    )  # fmt: skip
    copy.run("mypy", f"--cache-dir={known_types()}")
