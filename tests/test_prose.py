"""The check of the prose: it finds what was hard to read, lets plain English pass, and sees every text of the tree."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from bin import prose
from bin.prose import check, counts, main, read, reading_ease
from bin.texts import sentences

REWRITTEN = tomllib.loads(Path(__file__).with_name("rewritten.toml").read_text())["text"]


def rules(text: str) -> list[str]:
    return [found.rule for found in check(list(sentences("docs/page.md", text)))]


@pytest.mark.parametrize("text", REWRITTEN, ids=lambda text: text["before"][:40])
def test_a_text_is_found_and_its_rewriting_is_not(text):
    assert rules(text["before"])
    assert not rules(text["after"])


def test_words_are_counted_to_the_end_of_a_sentence():
    nineteen = "word " * 18 + "word."
    assert not rules(f"{nineteen} {nineteen.title()}")
    assert rules(f"word {nineteen}") == ["long sentence"]


def texts(path: str, source: str) -> list[tuple[str, int, str]]:
    return [(one.area, one.line, one.text) for one in sentences(path, source)]


def test_pages_are_read_without_code_and_markup():
    page = "# Title\n\nSee `hand in` and\n[the queue](queue.md). Then\n\n```sh\nboard\n```\n\n"
    page += "| a board | b |\n| - | - |\n| c | d |\n"
    assert texts("docs/page.md", page) == [
        ("docs", 1, "Title"),
        ("docs", 3, "See X and the queue."),
        ("docs", 3, "Then"),
        ("docs", 10, "a board"),
        ("docs", 10, "b"),
        ("docs", 12, "c"),
        ("docs", 12, "d"),
    ]


def test_templates_give_text_attributes_and_arguments():
    template = """{# a comment #}<h1>Your <em>board</em></h1>
<p title="Its turn comes">{% if one %}{{ count }} left{% else %}None <code>left</code>{% endif %}</p>
{{ notice("Hand it in") }}<script>const board = 1;</script>
"""
    assert set(texts("server/web/templates/page.html", template)) == {
        ("pages", 1, "Your board"),
        ("pages", 2, "Its turn comes"),
        ("pages", 2, "X left"),
        ("pages", 2, "None X"),
        ("pages", 3, "Hand it in"),
    }


def test_python_gives_messages_errors_and_help():
    module = '''"""Module's summary."""
# A reason
# on two lines.
WORDS = f"{1} words here"
SQL = "SELECT one FROM two"


@group.command()
def verb():
    """Help for people.

    \b
    Example: verb --word
    """
    raise ValueError("no such " "word")
'''
    assert set(texts("worker/commands/verb.py", module)) == {
        ("commands", 4, "X words here"),
        ("commands", 10, "Help for people."),
        ("errors", 15, "no such word"),
    }


def test_scripts_and_exercises_are_read_too():
    assert texts("server/web/client/a.ts", 'say("The board is closed."); // its board\n') == [
        ("pages", 1, "The board is closed.")
    ]
    assert texts("kernels/exercises/tiled/exercise.toml", 'a = 1\ntitle = "Tiles for any width"\n') == [
        ("handouts", 2, "Tiles for any width")
    ]


def test_a_kernels_comments_and_the_help_of_targets_are_read():
    assert texts("Makefile", "# Why.\nhelp: ## this list\n\t@echo\n") == [("commands", 2, "this list")]
    kernel = "//!tilelab block=(1)\n// The task\n// of one text.\nint a;  // its use\n"
    assert texts("kernels/exercises/tiled/starter.cu", kernel) == [
        ("handouts", 2, "The task of one text."),
        ("handouts", 4, "its use"),
    ]


def test_a_module_is_a_noun_for_what_it_holds(monkeypatch):
    monkeypatch.setattr(prose, "STYLE", {**prose.STYLE, "names": ["prose"]})
    _, found = read(["bin/prose.py"])
    assert counts(found)[prose.NAME] == {"names": 1}


def test_plain_sentences_read_more_easily():
    plain = list(sentences("docs/page.md", "The queue is empty now. You can submit a kernel."))
    hard = list(sentences("docs/page.md", "Simultaneous resubmissions necessitate supplementary administration."))
    assert reading_ease(plain)[0] > 60 > reading_ease(hard)[0]


@pytest.mark.long("`make lint` looks at the whole tree too")
def test_the_tree_has_no_finding(capsys):
    assert main(["--brief"]) == 0, capsys.readouterr().out
    assert main(["--levitate"]) == 2


def test_a_finding_is_listed_with_a_suggestion(tmp_path, capsys, monkeypatch):
    page = tmp_path / "docs/page.md"
    page.parent.mkdir()
    page.write_text("# Title\n\nIt is made anew.\n")
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "files", lambda _: ["docs/page.md"])
    assert main([]) == 1
    assert "docs/page.md:3: anew (again; new)" in capsys.readouterr().out
