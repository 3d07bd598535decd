"""`tilelab admin` as it is called."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from worker.commands.root import Exit, tilelab


def run(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(tilelab, ["admin", *words], input=stdin)


def done(*words: str, stdin: str = "") -> str:
    """What it prints."""
    result = run(*words, stdin=stdin)
    assert result.exit_code == Exit.ACCEPTED, result.output
    return result.stdout


def told(*words: str, stdin: str = "") -> Any:
    """What it prints for programs."""
    return json.loads(done(*words, "--json", stdin=stdin))


def refused(*words: str, code: Exit = Exit.WRONG_USE, stdin: str = "") -> str:
    """Its only line, for people."""
    result = run(*words, stdin=stdin)
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    assert result.stderr.count("\n") == 1
    return result.stderr
