"""A record of a few addresses and verbs: what it says, that it is the same again, and that differences are named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden.__main__ import main
from tests.golden.commands import recorded_examples, verbs
from tests.golden.compare import write
from tests.golden.fixed import plain
from tests.golden.page import PageReader
from tests.golden.routes import recorded_routes
from tests.golden.world import SqliteCopies, World, world
from worker.commands.kernel.grade import grade

FORM = """
<h1>Grade</h1><form action="/a" method="post"><input name="score" type="number" max="10" required>
<input type="checkbox" name="held" value="yes"><button name="do" value="keep">Keep</button>
<button name="do" value="drop">Drop</button></form><table><tr><th>Name</th></tr></table><script>unseen()</script>
"""


@pytest.fixture
def there(tmp_path: Path) -> Iterator[World]:
    with world(SqliteCopies(tmp_path), full=False) as found:
        yield found


PATH, CALL = "/staff/gpu/rubric/tiled", "admin course change cs483 --late-days 3"


def test_an_act_of_staff_is_recorded_for_each_role_and_leaves_no_trace(there: World, tmp_path: Path):
    found = dict(recorded_routes(there, PATH))
    page, sent = found[f"GET {PATH}"], found[f"POST {PATH}"]

    statuses = {role: page[role]["status"] for role in ("nobody", "student", "outsider", "instructor")}
    assert statuses == {"nobody": 303, "student": 403, "outsider": 404, "instructor": 200}
    assert f"form post {PATH}" in page["instructor"]["page"]
    assert sent["student"]["empty"]["status"] == 403
    assert any(line.startswith("audit ") for one in sent["instructor"].values() for line in one["left"])

    (call, shown), *_ = recorded_examples(there, tmp_path, CALL)
    assert (call, shown["call"]["exit"], len(shown["call"]["left"])) == (CALL, 0, 1)
    assert dict(recorded_routes(there, PATH)) == found


def test_a_page_has_its_fields_limits_and_headings_and_each_button_sends_its_own():
    page = PageReader()
    page.feed(FORM)

    assert page.lines == [
        "h1: Grade", "form post /a", "field input type=number name=score max=10 required",
        "field input type=checkbox name=held value=yes", "field button name=do value=keep", "button: Keep",
        "field button name=do value=drop", "button: Drop", "th: Name",
    ]  # fmt: skip
    assert [each.button for each in page.sendable] == [("do", "keep"), ("do", "drop")]
    assert page.sendable[1].filled({"score": 7}) == {"score": "7", "do": "drop"}


def test_what_is_random_has_a_word_and_all_else_stays():
    text = f"/submissions/{'0a' * 8} by {'1b' * 8}, 2048 of 1369, #e0e0e0, /reset/{'x' * 43}"
    found = plain({"a": [text, 7, 1_795_886_127.16]}, (("SUBMISSION", "0a" * 8),))

    assert found == {"a": ["/submissions/SUBMISSION by HEX, 2048 of 1369, #e0e0e0, /reset/LINK", 7, "EPOCH"]}
    assert plain(found, ()) == found


def test_each_verb_has_its_help():
    found = dict(verbs(grade, ("grade",)))

    assert list(found) == ["grade"]
    assert "  --json" in "\n".join(found["grade"])


def test_a_difference_is_named_once_with_its_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, maximum in ((old, 10), (new, 12)):
        for path in ("GET /a", "GET /b"):
            staff = {"page": [f"field input max={maximum}"]}
            write(folder, path, {"student": {"status": 403}, "assistant": staff, "instructor": staff})

    assert main(["compare", str(old), str(old)]) == 0
    capsys.readouterr()
    assert main(["compare", str(old), str(new)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "GET_a: assistant, instructor", "GET_b: assistant, instructor",
        '    - "field input max=10"', '    + "field input max=12"',
    ]  # fmt: skip
    (new / "GET_b.json").unlink()
    assert main(["compare", str(old), str(new)]) == 1
    assert "GET_b: assistant, instructor, student\n    only in the old record\n" in capsys.readouterr().out
