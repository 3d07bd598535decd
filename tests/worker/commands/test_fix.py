"""`tilelab grade --fix` repairs a file, keeps the old one, and says what it changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernels.source.paste.repairs import repair_of
from worker.commands.kernel.grade import repaired
from worker.commands.root import Exit, WrongUse, tilelab
from worker.commands.submission import read_file

BROKEN = "```\nint\u00a0a;\n#include <mine.h>\n```\n"
REPAIRED = "int a;\n#include <mine.h>\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my.cu"
    path.write_text(BROKEN, encoding="utf-8")
    return path


def grade(*arguments: object) -> Result:
    return CliRunner().invoke(tilelab, ["grade", *map(str, arguments)])


def test_the_file_is_repaired_then_graded(file):
    result = grade(file, "--fix", "--json")
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert '"line": 2' in result.stdout
    assert file.read_text() == REPAIRED
    assert file.with_name("my.cu.orig").read_text(encoding="utf-8") == BROKEN
    repair = repair_of(BROKEN)
    assert repair is not None
    *changes, last = (line.rpartition("my.cu: ")[2] for line in result.stderr.splitlines())
    assert (tuple(changes), last) == (repair.changes, f"repaired. The old file is {file}.orig.")


def test_without_the_option_nothing_is_changed(file):
    result = grade(file, "--json")
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert '"line": 1' in result.stdout
    assert file.read_text(encoding="utf-8") == BROKEN
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("content", [REPAIRED.encode(), b"\xff"])
def test_a_file_without_need_stays_as_it_is(file, content, capsys):
    file.write_bytes(content)
    assert repaired(str(file), content) == content
    assert "nothing to repair" in capsys.readouterr().err
    assert list(file.parent.iterdir()) == [file]


def test_the_old_file_is_never_overwritten(file):
    kept = file.with_name("my.cu.orig")
    kept.write_text("first")
    with pytest.raises(WrongUse, match=r"my\.cu\.orig: this file exists"):
        repaired(str(file), BROKEN.encode())
    assert (kept.read_text(), file.read_text(encoding="utf-8")) == ("first", BROKEN)


def test_standard_input_cannot_be_repaired():
    assert grade("-", "--fix").exit_code == Exit.WRONG_USE


def test_the_line_ends_of_the_file_stay(file):
    file.write_bytes(BROKEN.replace("\n", "\r\n").encode())
    repaired(str(file), read_file(str(file)))
    assert file.read_bytes() == REPAIRED.replace("\n", "\r\n").encode()


def test_utf16_is_read_as_text(file):
    file.write_bytes(REPAIRED.encode("utf-16"))
    assert read_file(str(file)) == REPAIRED.encode()


def test_such_a_file_is_not_submitted(file):
    result = CliRunner().invoke(tilelab, ["submit", str(file), "-a", "demo/tiled"])
    repair = repair_of(BROKEN)
    assert repair is not None
    assert (result.exit_code, result.stdout) == (Exit.WRONG_USE, "")
    assert repair.sentence in result.stderr
