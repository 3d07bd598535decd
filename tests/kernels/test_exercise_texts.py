"""An exercise that came as a text: the one that its folder holds, but for the files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.exercise import ExerciseError, find_exercise, list_exercises, read_exercise
from kernels.exercise.input_words import INPUT_WORDS
from kernels.exercise.schema import DEFINITION, definition_in
from kernels.ladder import read_ladder

TILED = find_exercise("tiled")
TEXT = (TILED.root / DEFINITION).read_text("utf-8")


@pytest.mark.parametrize("exercise", list_exercises(), ids=lambda each: each.name)
def test_it_is_the_exercise_of_its_folder_without_the_folder(exercise):
    text = definition_in(exercise.root)
    assert read_exercise(exercise.name, text, exercise.digest) == replace(exercise, folder=None)


def test_it_has_no_files_and_no_ladder():
    exercise = read_exercise("tiled", TEXT)
    assert read_ladder(exercise) is None
    for file in ("handout", "starter", "solution"):
        with pytest.raises(ValueError, match="tiled: this exercise came as a text"):
            getattr(exercise, file)


def test_a_digest_of_another_judge_is_refused():
    with pytest.raises(ExerciseError, match=r"^tiled/exercise.toml: its digest is 000000000000 .* versions"):
        read_exercise("tiled", TEXT, "0" * 64)


def test_handout_and_docs_name_inputs_as_pages_and_commands_do():
    docs = (Path(__file__).parents[2] / "docs" / "exercises.md").read_text("utf-8")
    assert all(f"| `{kind}` | {words.title} |" in docs for kind, words in INPUT_WORDS.items())
    kinds = {kind for rule in TILED.case_rules for kind in rule.inputs}
    assert [kind for kind in kinds if INPUT_WORDS[kind].title not in TILED.handout.read_text("utf-8")] == []


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("tiled", "title = ", "tiled/exercise.toml: this is not TOML"),
        ("tiled", TEXT.replace('metric = "gflops"', 'metric = "luck"'), "tiled/exercise.toml: metric"),
        ("../tiled", TEXT, "small letters"),
        ("", TEXT, "small letters"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(name, text, words):
    with pytest.raises(ExerciseError, match=words):
        read_exercise(name, text)
