"""What a command returns is printed as data or as text, and ends it with its exit code."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner, Result

from worker.commands.answer import Answer, answering
from worker.commands.root import Exit


def called(answer: Answer, *words: str) -> Result:
    @click.command()
    @click.argument("name", default="")
    @answering("Print JSON, for a test.")
    def command(name: str) -> Answer:
        return answer

    return CliRunner().invoke(command, words)


def test_data_or_text_is_printed_with_one_line_end():
    answer = Answer({"word": "größer"}, "bigger")
    assert called(answer).stdout == "bigger\n"
    assert called(answer, "--json").stdout == '{"word": "gr\\u00f6\\u00dfer"}\n'
    assert called(Answer([], "a,b\n")).stdout == "a,b\n"
    assert called(Answer([], "")).stdout == ""
    assert json.loads(called(Answer([], ""), "--json").stdout) == []


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_only_what_is_printed_is_made(words):
    made: list[str] = []
    answer = Answer(lambda: made.append("data"), lambda: made.append("text") or "text")  # type: ignore[func-returns-value]
    assert called(answer, *words).exit_code == 0
    assert made == (["data"] if words else ["text"])


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_refusals_go_to_standard_error_and_the_code_is_the_answers(words):
    done = called(Answer(["done"], "done", Exit.WRONG_USE, ["tilelab: not this"]), *words)
    assert "done" in done.stdout
    assert done.stderr == "tilelab: not this\n"
    assert done.exit_code == Exit.WRONG_USE


def test_an_answer_makes_way_for_what_standard_output_has():
    done = called(Answer({}, "written", err=True))
    assert (done.stdout, done.stderr) == ("", "written\n")


def test_the_help_has_the_option():
    assert "--json  Print JSON, for a test." in called(Answer({}, ""), "--help").stdout
