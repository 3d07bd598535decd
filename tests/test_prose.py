"""The check of the prose: it finds what was hard to read, lets plain English pass, and sees every text of the tree."""

from __future__ import annotations

from collections import Counter

import pytest

from bin import prose
from bin.prose import check, counts, grown, lowered, main, read, reading_ease
from bin.texts import sentences

# Texts that readers stumbled over, and what was proposed instead.
REWRITTEN = [
    ("Hand in a kernel, and know why", "Submit a kernel. See exactly what's wrong."),
    (
        "Other students see it only where you choose so",
        "Hidden from other students unless you choose otherwise.",
    ),
    ("A few words in a row are good", "A short phrase works well."),
    ("Late costs no points", "No late penalty"),
    ("Graded at a time: at most 5 of yours, checks among them", "Up to 5 in progress at once"),
    ("Measured on nothing: right or wrong is all that counts", "Graded on correctness only"),
    ("your best: right first, then the most points, then the earliest", "Your best submission"),
    ("A file that is sent counts instead of the text", "A file replaces the editor's text."),
    (
        "counts for nothing yet. Put it into the editor, and hand it in there",
        "Not graded. Submit this version",
    ),
    ("A worker is free: its turn comes at once", "Starting now"),
    ("...if those before it take as long as others did lately", "About 40 s, judging by recent jobs"),
    ("does not come to an end in the time it has", "Your kernel ran too long."),
    ("a value that nobody has written", "Your kernel reads memory before writing it."),
    (
        "With one warp run after the other, P[2][0] is -3832",
        "If warps run one at a time, P[2][0] becomes -3832, not 15603.",
    ),
    ("this access came second, the other at line 25", "Second access; first at line 25"),
    ("with other numbers of the same shape", "Reproduce locally (new random values)"),
    ("Loaded bytes used", "Load efficiency"),
    ("Threads at work", "Active threads per warp"),
    ("What binds it now, by the model:", "Likely bottleneck:"),
    ("of 16 such loads, one is left", "This cuts global loads 16x."),
    ("What stops one more", "Limited by"),
    ("Show who is how fast in an assignment of your course.", "Show an assignment's leaderboard."),
    ("Take back what you handed in", "Cancel a submission"),
    ("No worker lives: nothing is graded.", "No workers are running; nothing is being graded."),
    ("all have signed in (of 0)", "No students yet"),
    ("Set an exercise", "New assignment"),
    ("Set it", "Create"),
    ("Lost for each day late, in %", "Late penalty per day (%)"),
    ("Seconds between two", "Minimum seconds between submissions"),
    ("Nobody is shown until it can be read who is asked for.", "Correct the filter to see people."),
    (
        "It counts from then on, also where it is worse; a fault of ours changes nothing.",
        "The new verdict then counts, even if it is worse. System errors change nothing.",
    ),
    ("Verdicts that came out otherwise", "Changed verdicts"),
    ("Would be: nobody.", "Dry run: no changes."),
    ("“x” is no number that this page gives.", "“x” is not a valid ID. Reload the page."),
    (
        "`after` is none. Take the address that `next` of an answer has as it is.",
        "`after` is not a valid cursor. Use the `next` URL unchanged.",
    ),
    (
        "This is a fault of ours: your kernel was not judged, and it is no attempt.",
        "Grading failed on our side. This did not use an attempt.",
    ),
    (
        "In which it is so; who is gone does neither any more.",
        "States that satisfy the request; a vanished worker satisfies any.",
    ),
    (
        "A log in a file that is taken away in time; what cannot be written is not.",
        "Rotating log file; write errors are reported once.",
    ),
    ("who is gone", "people who left"),
    ("the board's order", "the leaderboard's order"),
    ("as slow as a board beside it", "as slow as a dashboard next to it"),
    ("made anew", "new"),
    ("it stands in the table", "it is in the table"),
    ("Nobody is missing", "All students have started"),
    ("what it was told of", "the reported change"),
    ("The queue is to be emptied, or else work is lost", "Empty the queue first. Otherwise, work is lost."),
]


def rules(text: str) -> list[str]:
    return [found.rule for found in check(list(sentences("docs/page.md", text)))]


@pytest.mark.parametrize(("before", "after"), REWRITTEN)
def test_a_text_is_found_and_its_rewriting_is_not(before, after):
    assert rules(before)
    assert not rules(after)


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


def test_python_gives_docstrings_messages_errors_and_help():
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
        ("docstrings", 1, "Module's summary."),
        ("comments", 2, "A reason on two lines."),
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


def test_a_module_is_a_noun_for_what_it_holds(monkeypatch):
    monkeypatch.setattr(prose, "STYLE", {**prose.STYLE, "names": ["prose"]})
    _, found = read(["bin/prose.py"])
    assert counts(found)[prose.NAME] == {"names": 1}


def test_a_count_may_fall_and_not_grow():
    now = {"anew": Counter(docs=2, pages=1), "beside": Counter(docs=4)}
    kept = {"anew": {"docs": 3}, "beside": {"docs": 4}}
    assert grown(now, kept) == [("anew", "pages")]
    assert lowered(now, kept).splitlines()[1:] == ['"anew" = { docs = 2 }', '"beside" = { docs = 4 }']
    assert lowered(now, {}).splitlines()[1:] == [
        '"anew" = { docs = 2, pages = 1 }',
        '"beside" = { docs = 4 }',
    ]


def test_plain_sentences_read_more_easily():
    plain = list(sentences("docs/page.md", "The queue is empty now. You can submit a kernel."))
    hard = list(
        sentences("docs/page.md", "Simultaneous resubmissions necessitate supplementary administration.")
    )
    assert reading_ease(plain)[0] > 60 > reading_ease(hard)[0]


def test_findings_of_one_file_are_listed_with_what_to_write(capsys):
    assert main(["docs/glossary.md"]) == 0
    assert main(["--levitate"]) == 2
    assert "usage" not in capsys.readouterr().out


def test_no_count_grew():
    _, found = read(prose.files([]))
    assert not grown(counts(found), prose.kept_counts())
