"""Becomes the program of a part, as a process that dies with whoever started it.

Runs in a bare interpreter, which has `worker` on its path and nothing loaded.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from worker.supervision.children import die_with

NO_PROGRAM = 127
"""The exit code where there is no such program, as a shell has it."""

_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ")


def main(arguments: Sequence[str]) -> NoReturn:
    """arguments: the number of the process to die with, then the command."""
    parent, *command = arguments
    die_with(int(parent))
    for name in _IGNORED_BY_PYTHON:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - becomes the part, without a shell
    except OSError as error:
        sys.stderr.write(f"{command[0]}: cannot be started ({error.strerror})\n")
        sys.stderr.flush()
        os._exit(NO_PROGRAM)
