"""How the table of mistakes that a GPU doesn't show is made."""

from __future__ import annotations

from tests.gpu.sanitizer import TOOLS
from tests.gpu.unseen import Row, page


def _row(name: str, runs: tuple[bool, ...], **counts: int | None) -> Row:
    return Row(name, "data_race", "reuse", runs, {tool: counts.get(tool, 0) for tool in TOOLS})


def test_only_what_is_right_every_time_is_accepted_and_one_tool_is_enough_to_show_it():
    lines = list(
        page(
            [
                _row("lucky", (True, True)),
                _row("seen", (True, True), racecheck=3),
                _row("sometimes", (True, False)),
                _row("endless", (), memcheck=None),
            ]
        )
    )
    assert lines.count("| **all** | 4 | 2 | 0 | 1 | 0 | 0 | 1 | 1 |") == 2
    assert "| reuse | 4 | 2 | 0 | 1 | 0 | 0 | 1 | 1 |" in lines
    assert "| `sometimes` | data_race | 1 of 2 | 0 | 0 | 0 | 0 |" in lines
    assert "| `endless` | data_race | didn't end | – | 0 | 0 | 0 |" in lines
