"""`tilelab submit` asks before it spends late days."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from worker.client.answers import Assignment
from worker.client.errors import NotDone
from worker.client.portal import NewSubmission
from worker.commands.portal import submit as submit_command
from worker.commands.root import Exit, tilelab
from worker.contract.answers import Accepted


class _Portal:
    """A portal at which a submission now spends one of three late days."""

    url = "https://portal.example"

    def __init__(self) -> None:
        self.sent: list[int | None] = []

    def assignments(self) -> tuple[Assignment, ...]:
        return (Assignment("gpu/tiled", "Tiled", "h200", open=True, page="", late_days_left=3, late_days_needed=1),)

    def submit(self, new: NewSubmission) -> Accepted:
        self.sent.append(new.late_days)
        if new.late_days is None:
            raise NotDone("refused", 409, "late_days")
        return Accepted("abc", position=1)


@pytest.fixture
def portal(monkeypatch: pytest.MonkeyPatch) -> _Portal:
    found = _Portal()

    @contextmanager
    def opened() -> Iterator[_Portal]:
        yield found

    monkeypatch.setattr(submit_command, "portal", opened)
    return found


@pytest.mark.parametrize(
    ("words", "answer", "sent", "code"),
    [
        ([], None, [None], Exit.WRONG_USE),
        ([], "n\n", [None], Exit.WRONG_USE),
        ([], "y\n", [None, 1], Exit.ACCEPTED),
        (["--late-days", "1"], None, [1], Exit.ACCEPTED),
        (["--late-days", "0"], None, [0], Exit.ACCEPTED),
    ],
)  # an answer of None: no terminal
def test_a_late_day_is_spent_only_with_a_yes(
    portal: _Portal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    answer: str | None,
    sent: list[int | None],
    code: Exit,
) -> None:
    monkeypatch.setattr(submit_command, "_is_terminal", lambda: answer is not None)
    file = tmp_path / "my.cu"
    file.write_text("__global__ void f() {}\n")
    result = CliRunner().invoke(tilelab, ["submit", str(file), "-a", "gpu/tiled", *words], input=answer)
    assert (result.exit_code, portal.sent) == (code, sent), result.output
    if words == []:
        assert "1 of your 3 late days" in result.stderr
