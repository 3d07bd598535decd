"""One run of a part: a process that dies with us, with its output line by line."""

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
"""In a command: the number of the descriptor that the process writes its messages to."""

_BOOTSTRAP = (
    "import sys; sys.path[:0] = sys.argv[1].split(':'); "
    "from worker.supervision.start import main; main(sys.argv[2:])"
)
_CHUNK, _CHUNKS = 2**16, 16
_LONGEST_LINE = 2**18


class Lines:
    """The lines that come out of a pipe; reading never waits."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.ended = self.closed = False
        self._rest = b""
        os.set_blocking(descriptor, False)

    def read(self) -> Iterator[str]:
        """Those that are there now, of as many bytes as a pipe holds; at the end also one without an end of line."""
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
        """Give up what was not read."""
        os.close(self.descriptor)
        self.ended = self.closed = True


class PartProcess:
    """A process with a group of its own, which is killed as soon as the thread that made it ends.

    The command is executed by a short-lived interpreter that first asks the kernel for that. What the process starts
    stays in its group unless it leaves it, and is killed with it.

    output: its standard output and standard error, together
    told: what it writes to the descriptor that TELL stands for; None where its command has none
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
        folder: Path | None = None,
    ) -> None:
        """Start it; raises OSError where not even the interpreter starts."""
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
        """Whether the process is gone. Its number stays taken until `collect`."""
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found is not None

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, with all that is left of its group. Not after `collect`."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def collect(self) -> int:
        """Wait for the end; the exit code, or the signal's number below zero. Ends what it left in its group."""
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self.kill()
        return self._process.wait()


def _pipe(undo: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    """Our end, closed if the start fails, and theirs, closed here in any case."""
    reading, writing = os.pipe()
    undo.callback(os.close, reading)
    theirs.callback(os.close, writing)
    return reading, writing
