"""Executes a part's program in a process that dies with its parent.

Runs in a bare interpreter with `worker` on its path and no modules loaded.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from worker.supervision.children import die_with

NO_PROGRAM = 127
"""The exit code for a missing program, as in shells."""

_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ")


def main(arguments: Sequence[str]) -> NoReturn:
    """Execute the command. arguments: the parent's process number, then the command."""
    parent, *command = arguments
    die_with(int(parent))
    for name in _IGNORED_BY_PYTHON:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - becomes the part, without a shell
    except OSError as error:
        sys.stderr.write(f"{command[0]}: cannot start ({error.strerror})\n")
        sys.stderr.flush()
        os._exit(NO_PROGRAM)
