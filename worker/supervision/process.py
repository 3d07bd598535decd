"""One process of a part. It dies with this process, and its output is read line by line."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from worker.supervision.children import search_path

TELL = "{tell}"
"""Placeholder in a command for the number of the descriptor for the process's reports."""

_BOOTSTRAP = (
    "import sys; sys.path[:0] = sys.argv[1].split(':'); from worker.supervision.start import main; main(sys.argv[2:])"
)
_CHUNK, _CHUNKS = 2**16, 16
_LONGEST_LINE = 2**18


class Lines:
    """The lines from a pipe. Reading never blocks."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.ended = self.closed = False
        self._rest = b""
        os.set_blocking(descriptor, False)

    def read(self) -> Iterator[str]:
        """Yield the available lines, at most a pipe's content. At the end, also a line without a newline."""
        for _ in range(_CHUNKS):
            if self.ended:
                return
            try:
                chunk = os.read(self.descriptor, _CHUNK)
            except BlockingIOError:
                return
            self.ended = not chunk
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            if self._rest and (self.ended or len(self._rest) > _LONGEST_LINE):
                whole.append(self._rest)
                self._rest = b""
            for line in whole:
                yield line.decode("utf-8", "replace").rstrip("\r")

    def close(self) -> None:
        """Close the pipe, and discard unread lines."""
        os.close(self.descriptor)
        self.ended = self.closed = True


class PartProcess:
    """A process with its own group, which the kernel kills when the thread that started it ends.

    A short-lived interpreter asks the kernel for that, and then executes the command. Child processes in the group are
    killed too.

    output: its standard output and standard error together
    told: its reports to the descriptor of TELL; None if its command has no TELL
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
        folder: Path | None = None,
    ) -> None:
        """Start the process. Raises OSError if not even the interpreter starts."""
        with contextlib.ExitStack() as undo, contextlib.ExitStack() as theirs:
            output, their_output = _pipe(undo, theirs)
            passed, told = [*descriptors], None
            if any(TELL in word for word in command):
                told, their_told = _pipe(undo, theirs)
                passed.append(their_told)
                command = [word.replace(TELL, str(their_told)) for word in command]
            start = [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, ":".join(search_path()), str(os.getpid())]
            self._process = subprocess.Popen(
                [*start, *command],
                stdin=subprocess.DEVNULL, stdout=their_output, stderr=their_output, pass_fds=passed,
                env=None if environment is None else dict(environment), cwd=folder, process_group=0,
            )  # fmt: skip
            undo.pop_all()
        self.pid = self._process.pid
        self.output = Lines(output)
        self.told = None if told is None else Lines(told)

    @property
    def pipes(self) -> tuple[Lines, ...]:
        return (self.output,) if self.told is None else (self.output, self.told)

    def ended(self) -> bool:
        """Whether the process has ended. Its number stays reserved until `collect`."""
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found is not None

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process and its group. Don't call it after `collect`."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def collect(self) -> int:
        """Wait for the end, and kill the rest of the group. Returns the exit code or a signal's negative number."""
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self.kill()
        return self._process.wait()


def _pipe(undo: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe with our end, which closes if the start fails, and their end, which always closes here."""
    reading, writing = os.pipe()
    undo.callback(os.close, reading)
    theirs.callback(os.close, writing)
    return reading, writing
