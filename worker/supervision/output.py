"""What a supervisor writes: its parts' output, each line with the part's name, and what happens to them.

For a person as text; for programs as one JSON object a line, where lines that are JSON already pass as they are.
"""

from __future__ import annotations

import json
import signal
import threading
from datetime import UTC, datetime
from typing import TextIO

from kernels.rendering.text_safety import safe
from worker.supervision.parts import Event, What


class PartOutput:
    """Writes to a stream, from any thread. Goes on without a word where nobody reads any more.

    own: the name before lines of the supervisor itself
    """

    def __init__(self, stream: TextIO, own: str = "tilelab", *, as_json: bool = False) -> None:
        self._stream = stream
        self._own = own
        self._as_json = as_json
        self._lock = threading.Lock()

    def line(self, part: str, line: str) -> None:
        if self._as_json:
            self._write(line if _is_object(line) else _record(part, line, "info"))
        else:
            self._write(f"{part} | {safe(line)}")

    def say(self, text: str, level: str = "info") -> None:
        self._write(_record(self._own, text, level) if self._as_json else f"{self._own}: {safe(text)}")

    def event(self, event: Event) -> None:
        bad = event.what in {What.DIED, What.KILLED, What.FAILED}
        self.say(event_text(event), "warning" if bad else "info")

    def _write(self, text: str) -> None:
        with self._lock:
            try:
                self._stream.write(f"{text}\n")
                self._stream.flush()
            except (OSError, ValueError):
                return


def event_text(event: Event) -> str:
    """What happened to a part, in words."""
    how = code_text(event.code) + (f": {event.last}" if event.last else "")
    match event.what:
        case What.STARTED:
            return f"{event.part} started (process {event.pid})"
        case What.READY:
            return f"{event.part} is ready"
        case What.DIED:
            if event.silent_seconds:
                how = f"it hung: no beat for {event.silent_seconds:.0f} s"
            return f"{event.part} died ({how}); it starts again in {event.pause:.1f} s"
        case What.ENDED:
            return f"{event.part} ended"
        case What.KILLED:
            return f"{event.part} was killed"
        case What.FAILED:
            return f"{event.part} cannot run ({how})"


def code_text(code: int | None) -> str:
    """An exit code in words."""
    if code is None:
        return "it was never there"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def _record(part: str, text: str, level: str) -> str:
    """With the names that worker.contract.logging gives to what it writes."""
    when = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"at": when, "level": level, "part": part, "text": text})


def _is_object(line: str) -> bool:
    if not line.startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
