"""What commands print: each verb's help, and the examples in it, tried out on a course."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tests.golden.fixed import fix_dice, plain
from tests.golden.world import World
from tests.server.staff.proven import FILES
from tests.server.web.conftest import NOBODY, SOURCE
from tests.server.web.served import served
from worker.commands.root import tilelab

_TRIED = re.compile(
    r"(?!admin (backup|restore|migrate)\b)"  # they know the kind of database
    r"(admin|cancel|exercises|experiment (cancel|retry|status|submit)|leaderboard|log|open|status|submit)\b"
    r"(?!.* --(wait|watch)\b)"
)
_THERE = (
    (r"^admin course add cs483", "admin course add next"),
    (r"^admin user add ada@\S+", "admin user add new@example.edu"),
    (r"\b(bob|tom)@", "STUDENT@"),
    (r"@\w+\.edu\b", "@example.edu"),
    (r"\b(cs483|demo)\b", "gpu"),
    (r"\bgpu/matvec\b", "gpu/drafted"),
    (r"\bgpu [37]\b", "gpu 1"),
    (r" (17|18)\b", " 1"),
    (r"^(experiment \w+) [0-9a-f]{16}", r"\1 EXPERIMENT"),
    (r"\b(6f1c2a9e|5d2c6e0f8a1b4c3d)\b", "SUBMISSION"),
    (r"\b81d0c7b3\b", "OTHER"),
    (r"^(open(?!.*--print).*)", r"\1 --print"),
    (r" [>|<] [^-]*", ""),
)
"""Names in the examples, and what the recorded courses have instead."""

_FILES = {
    "extensions.csv": b"email,due\nada@example.edu,2026-03-09 23:59\n",
    "midterm.md": b"On *Friday*.\n",
    "my.cu": SOURCE.encode(),
    "students.csv": b"email,name\nnew@example.edu,New Person\nada@example.edu,Ada\n",
} | {f"my_exercises/matvec/{name}": content for name, content in FILES.items()}


def verbs(command: click.Command = tilelab, words: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    """Each verb and its help."""
    shown = CliRunner().invoke(tilelab, [*words, "--help"], terminal_width=120)
    yield " ".join(words), shown.output.splitlines()
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from verbs(found, (*words, name))


def examples(said: list[str]) -> list[str]:
    """Calls in a help that can be tried on a course, without `tilelab`."""
    lines = (line.strip() for line in said)
    called = [line.removeprefix("tilelab ") for line in lines if line.startswith("tilelab ")]
    return [line for line in called if _TRIED.match(line)]


def recorded_examples(world: World, folder: Path, only: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """What each example prints, and what it left behind; afterwards nothing has changed."""
    with served(world.house.portal.app) as url, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "DATABASE_URL": world.copies.url, "REDIS_URL": NOBODY, "TILELAB_URL": url, "NO_COLOR": "1", "TZ": "UTC",
            "TILELAB_TOKEN": world.house.tokens["owner"], "TILELAB_PUBLIC_URL": "https://tilelab.example",
            "HOME": str(folder),
        }.items():  # fmt: skip
            patch.setenv(name, value)
        calls = {call: said for verb, said in verbs() for call in examples(said) if call.startswith(verb)}
        for call, said in calls.items():
            if call.startswith(only):
                offered = [f" {each}" for each in ("--json", "--yes") if each in " ".join(said) and each not in call]
                yield call, {f"call{more}": _tried(world, call + more, folder) for more in ("", *offered)}


def _tried(world: World, call: str, folder: Path) -> dict[str, Any]:
    for pattern, word in (*_THERE, ("STUDENT", world.house.names["student"])):
        call = re.sub(pattern, word, call)
    fix_dice(world.patch, call)
    with tempfile.TemporaryDirectory(dir=folder) as here, pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        for name, content in _FILES.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content)
        words = shlex.split(world.house.named(call))
        done = CliRunner().invoke(tilelab, words, input="correct horse\n" * 2)
    out = done.stdout_bytes.decode(errors="replace").splitlines()
    found = {"call": call, "exit": done.exit_code, "out": out, "error": done.stderr.splitlines(), "left": world.left()}
    world.restore()
    return dict(plain(found, world.names))
