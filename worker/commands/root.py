"""The root group: knows its verbs by name and loads one only when it is called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NoReturn

import click

from kernels.wording import did_you_mean
from worker.commands.ending import FAULT, calmly, discard_output

_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Work on a kernel": {
        "analyze": "Show what a kernel does, line by line, and what to look at first.",
        "exercises": "List the exercises, show a handout, or write a starter file.",
        "grade": "Grade one .cu file on this machine.",
        "occupancy": "Show how many blocks of a kernel a multiprocessor holds, and what limits it.",
    },
    "Submit to your course": {
        "login": "Sign in to your course's portal, with a token.",
        "submit": "Submit a file to your course.",
        "status": "Show your submissions and their verdicts.",
        "log": "Show what was found in a submission, and what its kernel printed.",
        "cancel": "Cancel a submission.",
        "leaderboard": "Show an assignment's leaderboard.",
        "open": "Open a page of the portal in the browser.",
        "logout": "Forget the portal and the token.",
    },
    "Run Tilelab for a course": {
        "up": "Run everything on this machine, until Ctrl-C.",
        "serve": "Run one part of the server: web, dispatcher or recorder.",
        "worker": "Run and test a machine that grades for others.",
        "admin": "Look after people, courses, jobs and the database.",
    },
}
_PACKAGES: Mapping[str, str] = {
    "Work on a kernel": "worker.commands.kernel",
    "Submit to your course": "worker.commands.portal",
}
SERVER_VERBS = frozenset({"admin", "serve", "up"})

# What only a machine with the database has installed: extra "server" in pyproject.toml.
_SERVER_PACKAGES = frozenset(
    {"alembic", "argon2", "flask", "gunicorn", "prometheus_client", "psycopg", "sqlalchemy"}
)

tell_option = click.option(
    "--tell", type=click.IntRange(3), hidden=True, help="Descriptor of a supervisor's pipe for beats."
)


class Exit(IntEnum):
    """What the command's exit code says."""

    ACCEPTED = 0
    NOT_ACCEPTED = 1
    WRONG_USE = 2
    SYSTEM_FAULT = FAULT


class WrongUse(click.ClickException):
    """The command cannot do what was asked, and the caller can put it right: one line, exit code 2."""

    exit_code = Exit.WRONG_USE

    def show(self, file: object = None) -> None:  # noqa: ARG002 - click's own signature
        click.echo(f"tilelab: {self.format_message()}", err=True)


class SystemFault(WrongUse):
    """Tilelab or this machine is at fault: one line, exit code 3."""

    exit_code = Exit.SYSTEM_FAULT


class Verbs(click.Group):
    """A group whose commands live in modules of their own names, each loaded only when it is called.

    verbs: name -> what it does, in a line
    package: where these modules are; other verbs of the group may be elsewhere, see `package_of`
    """

    verbs: Mapping[str, str] = {}
    package = ""

    def package_of(self, name: str) -> str:  # noqa: ARG002
        return self.package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.verbs:
            return None
        module = importlib.import_module(f"{self.package_of(cmd_name)}.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was asked for; for a name that is none, suggest the closest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            text = error.message + did_you_mean(args[0], self.verbs)
            raise click.UsageError(text, ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; what nobody planned ends it calmly, before click gives it an ending of its own."""
        with calmly(click.ClickException, click.exceptions.Exit, click.Abort), _server_installed():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of verbs in the help, from the texts here: none has to be loaded for it."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self.verbs.items()))


@contextmanager
def _server_installed() -> Iterator[None]:
    """Say what to install where a verb of the server was called on a machine that has only a worker's packages."""
    try:
        yield
    except ModuleNotFoundError as missing:
        module = missing.name or ""
        name = module.partition(".")[0]
        if name not in _SERVER_PACKAGES and module not in {"server", "server.commands"}:
            raise
        raise SystemFault(
            f"the package {name} is not installed, which the server needs; `bin/setup run` installs all it needs"
            " (from elsewhere: `pip install 'tilelab[server]'`)."
        ) from missing


class RootVerbs(Verbs):
    """All verbs: each section of the help has a package, and those that need the database are the server's."""

    verbs: Mapping[str, str] = {name: text for part in _SECTIONS.values() for name, text in part.items()}

    def package_of(self, name: str) -> str:
        """The server's verbs live with the server."""
        if name in SERVER_VERBS:
            return "server.commands"
        title = next(title for title, verbs in _SECTIONS.items() if name in verbs)
        return _PACKAGES.get(title, "worker.commands")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """What students need, before what operators do."""
        widest = max(map(len, self.verbs))
        for title, verbs in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), text) for name, text in verbs.items()])


@click.group(
    cls=RootVerbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="tilelab", message="tilelab %(version)s")
def tilelab() -> None:
    """Grade CUDA kernels for tiled matrix multiplication: exactly, line by line, without a GPU.

    \b
    Example:
      tilelab exercises tiled --starter > my.cu
      tilelab grade my.cu
    """  # noqa: D301 - click reads the escape


def leave(code: Exit) -> NoReturn:
    """End the command, quietly also where the reader of its output is gone."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    sys.exit(code)
