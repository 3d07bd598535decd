"""The root of the command: verbs of the server beside those of a worker, which needs nothing of the server."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from worker.commands.root import RootVerbs, Verbs, tilelab

WITHOUT = """
import sys
sys.modules[{package!r}] = None
sys.argv = ["tilelab", *{words!r}]
from worker.commands import main
main()
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.one_in(4, "one of four verbs")
@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("sqlalchemy", ["up"]),
        ("gunicorn", ["serve", "web"]),
        ("sqlalchemy", ["admin", "migrate"]),
        ("server", ["serve"]),
    ],
)
def test_a_verb_of_the_server_says_what_to_install_where_that_is_missing(package: str, words: list[str]):
    done = run(WITHOUT.format(package=package, words=words))
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"tilelab: the server needs the package {package}, which is not installed")
    assert "bin/setup run" in line


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["grad"], "`grade`"),
        (["worker", "selftst"], "`selftest`"),
        (["exercises", "tild"], "`tiled`"),
        (["grade", __file__, "-e", "tild"], "`tiled`"),
    ],
)
def test_a_name_that_is_nearly_right_is_suggested(words: list[str], meant: str):
    done = CliRunner().invoke(tilelab, words)
    assert done.exit_code == 2
    assert f"Did you mean {meant}?" in done.stderr


def test_the_help_keeps_students_and_operators_apart():
    parts = CliRunner().invoke(tilelab, ["--help"]).stdout.split("\n\n")[-4:]
    commands = [[line.split()[0] for line in part.splitlines()[1:] if line[2] != " "] for part in parts]
    assert commands == [
        ["analyze", "exercises", "grade", "occupancy"],
        ["experiment"],
        ["login", "submit", "status", "log", "cancel", "leaderboard", "open", "logout"],
        ["up", "serve", "worker", "admin"],
    ]


def test_the_help_loads_nothing_of_the_server():
    done = run(
        "import sys\nfrom worker.commands.root import tilelab\n"
        "tilelab(['--help'], standalone_mode=False)\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'server', 'sqlalchemy', 'flask', 'celery'}))"
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
    assert " up " in done.stdout


@pytest.mark.one_in(3, "two of five verbs")
@pytest.mark.parametrize(
    "words", [["--help"], ["worker", "--help"], ["experiment", "--help"], ["serve", "--help"], ["admin", "--help"]]
)
def test_a_verb_is_loaded_only_when_it_is_called(words: list[str]):
    done = run(
        f"import sys\nfrom worker.commands.root import tilelab\ntilelab({words!r}, standalone_mode=False)\n"
        "places = ('worker.commands.', 'server.commands.')\n"
        "print([name for name in sys.modules if name.startswith(places) and name.count('.') > 2])"
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_every_verb_is_found_where_its_section_or_group_says():
    for name in RootVerbs.verbs:
        command = tilelab.get_command(click.Context(tilelab), name)
        assert command is not None
        assert command.name == name
        if isinstance(command, Verbs):
            verbs = [command.get_command(click.Context(command), verb) for verb in command.verbs]
            assert [verb.name for verb in verbs if verb is not None] == list(command.verbs)
