"""A program under test, with what it writes."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from tests.services.processes import alive

LONG = 90.0


class Watched:
    """A process whose lines are collected as they come. A context manager, which kills it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=environment, start_new_session=True,
        )  # fmt: skip
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._thread.join(LONG)
        if self.process.stdout is not None:
            self.process.stdout.close()
        if error is not None:
            print(self.text)  # for the report of the test that failed
        # One that is still on its way out would take the next test's message.
        parts = [int(number) for number in re.findall(r"started \(process (\d+)\)", self.text)]
        wait_until(lambda: gone(*parts))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, words: str, times: int = 1) -> str:
        """The line that holds the words, the so-many-th."""

        def found() -> list[str]:
            return [line for line in tuple(self.lines) if words in line]

        wait_until(lambda: len(found()) >= times or self.process.poll() is not None, lambda: self.text)
        if len(found()) < times:
            self._thread.join(LONG)
        assert len(found()) >= times, f"{words!r} did not come {times} times:\n{self.text}"
        return found()[times - 1]

    def ends(self) -> int:
        """Its exit code, all its lines read."""
        try:
            code = self.process.wait(LONG)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end:\n{self.text}") from None
        self._thread.join(LONG)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))


def wait_until(holds: Callable[[], bool], what: Callable[[], str] = lambda: "", seconds: float = LONG) -> None:
    """Wait for something that has to come; the deadline is only for when it does not."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"it did not come: {what()}"
        time.sleep(0.02)


def gone(*pids: int) -> bool:
    """Whether none of the processes runs any more."""
    return not any(alive(pid) for pid in pids)
