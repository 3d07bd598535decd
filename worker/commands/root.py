"""The command `tilelab` with its verbs. A verb's module loads only when the verb is called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NoReturn

import click

from kernels.wording import did_you_mean
from worker.commands.unplanned_exit import FAULT, calmly, discard_output

_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Work on a kernel": {
        "analyze": "Show a kernel's memory and warp behaviour by line, and what to improve first.",
        "exercises": "List the exercises, show a handout, or write a starter file.",
        "grade": "Grade one .cu file on this machine.",
        "occupancy": "Show how many of a kernel's blocks fit on a multiprocessor, and what limits it.",
    },
    "Run experiments": {"experiment": "Vary a kernel's tile, macros or size, and compare the points."},
    "Submit to your course": {
        "login": "Sign in to your course's portal with a token.",
        "submit": "Submit a file to your course.",
        "status": "Show your submissions and their verdicts.",
        "log": "Show a submission's findings, compiler warnings and printed output.",
        "cancel": "Cancel a submission.",
        "leaderboard": "Show an assignment's leaderboard.",
        "open": "Open a page of the portal in your browser.",
        "logout": "Sign out: remove the token from this machine.",
    },
    "Run Tilelab for a course": {
        "up": "Run the whole server on this machine until Ctrl-C.",
        "serve": "Run one part of the server: web, dispatcher or recorder.",
        "worker": "Run, test and control workers, which grade submissions.",
        "admin": "Manage people, courses, jobs and the database.",
    },
}
_PACKAGES: Mapping[str, str] = {
    "Work on a kernel": "worker.commands.kernel",
    "Submit to your course": "worker.commands.portal",
}
SERVER_VERBS = frozenset({"admin", "serve", "up"})

# Installed only on machines with the database: extra "server" in pyproject.toml.
_SERVER_PACKAGES = frozenset({"alembic", "argon2", "flask", "gunicorn", "prometheus_client", "psycopg", "sqlalchemy"})

tell_option = click.option(
    "--tell", type=click.IntRange(3), hidden=True, help="File descriptor of the supervisor's heartbeat pipe."
)


class Exit(IntEnum):
    ACCEPTED = 0
    NOT_ACCEPTED = 1
    WRONG_USE = 2
    SYSTEM_FAULT = FAULT


class WrongUse(click.ClickException):
    """An error that the caller can correct: one line, exit code 2."""

    exit_code = Exit.WRONG_USE

    def show(self, file: object = None) -> None:  # noqa: ARG002 - click's own signature
        click.echo(f"tilelab: {self.format_message()}", err=True)


class SystemFault(WrongUse):
    """A failure of Tilelab or this machine: one line, exit code 3."""

    exit_code = Exit.SYSTEM_FAULT


class Verbs(click.Group):
    """A group with one module for each command, which loads only when the command is called.

    verbs: name -> one line of help
    package: the package of these modules; `package_of` may name another one for some verbs
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
        """Find the verb. For an unknown name, suggest the closest verb."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            text = error.message + did_you_mean(args[0], self.verbs)
            raise click.UsageError(text, ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb, and end it without a traceback before click handles the error."""
        with calmly(click.ClickException, click.exceptions.Exit, click.Abort), _server_installed():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the verbs in the help without loading their modules."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self.verbs.items()))


@contextmanager
def _server_installed() -> Iterator[None]:
    """Say what to install if a verb of the server runs on a machine without the server's packages."""
    try:
        yield
    except ModuleNotFoundError as missing:
        module = missing.name or ""
        name = module.partition(".")[0]
        if name not in _SERVER_PACKAGES and module not in {"server", "server.commands"}:
            raise
        raise SystemFault(
            f"the server needs the package {name}, which is not installed. Install it with `bin/setup run`,"
            " or outside the source tree with `pip install 'tilelab[server]'`."
        ) from missing


class RootVerbs(Verbs):
    """All verbs of `tilelab`, by section of the help. Verbs that need the database belong to the server."""

    verbs: Mapping[str, str] = {name: text for part in _SECTIONS.values() for name, text in part.items()}

    def package_of(self, name: str) -> str:
        if name in SERVER_VERBS:
            return "server.commands"
        title = next(title for title, verbs in _SECTIONS.items() if name in verbs)
        return _PACKAGES.get(title, "worker.commands")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the verbs for students before the verbs for operators."""
        widest = max(map(len, self.verbs))
        for title, verbs in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), text) for name, text in verbs.items()])


@click.group(cls=RootVerbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="tilelab", message="tilelab %(version)s")
def tilelab() -> None:
    """Grade CUDA kernels for tiled matrix multiplication, bit-exactly and without a GPU.

    \b
    Example:
      tilelab exercises tiled --starter > my.cu
      tilelab grade my.cu
    """


def leave(code: Exit) -> NoReturn:
    """End the command, also if the reader of its output is gone."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    sys.exit(code)
