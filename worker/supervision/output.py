"""A supervisor's output: its parts' lines with the part's name, and the parts' events.

Text for people, or one JSON object per line for programs. Parts' lines that are JSON objects stay unchanged.
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
    """Writes to a stream from any thread. Ignores write errors, for example if the reader is gone.

    own: the name on the supervisor's own lines
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
    """A part's event as text."""
    how = code_text(event.code) + (f": {event.last}" if event.last else "")
    match event.what:
        case What.STARTED:
            return f"{event.part} started (process {event.pid})"
        case What.READY:
            return f"{event.part} is ready"
        case What.DIED:
            if event.silent_seconds:
                how = f"it hung: no heartbeat for {event.silent_seconds:.0f} s"
            return f"{event.part} died ({how}); restarting in {event.pause:.1f} s"
        case What.ENDED:
            return f"{event.part} ended"
        case What.KILLED:
            return f"{event.part} was killed"
        case What.FAILED:
            return f"{event.part} can't run ({how})"


def code_text(code: int | None) -> str:
    if code is None:
        return "it never started"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def _record(part: str, text: str, level: str) -> str:
    """A line as JSON, with the field names of worker.contract.logging."""
    when = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"at": when, "level": level, "part": part, "text": text})


def _is_object(line: str) -> bool:
    if not line.startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
