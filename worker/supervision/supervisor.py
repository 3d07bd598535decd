"""The supervisor of processes: starts named parts, restarts parts that die or hang, and ends all together.

No part outlives its supervisor. Everything happens in the main thread, because the kernel kills a part when the thread
that started it ends. Other threads use `call`.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType

from worker.supervision.parts import STEADY_SECONDS, Event, Failure, Part, What
from worker.supervision.process import Lines, PartProcess
from worker.supervision.pulse import LISTEN_SECONDS

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
_LOOK_SECONDS = 0.1
_ASKS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class _Kept:
    """A part and its state.

    process: None while it doesn't run
    leaving: it was asked to end
    silent_seconds: its silence, if it was killed for that
    """

    part: Part
    process: PartProcess | None = None
    first_started: float = math.inf
    started: float = 0.0
    ready: bool = False
    was_ready: bool = False
    leaving: bool = False
    killed: bool = False
    pause: float = FIRST_PAUSE
    start_at: float = 0.0
    kill_at: float = math.inf
    silent_seconds: float = 0.0
    last: str = ""


@dataclass(slots=True)
class Supervisor:
    """Starts parts and keeps them running until it is asked to stop. Call `run` once.

    on_line: gets a part's name and a line of its output
    on_event: gets the parts' events
    on_stop: called once when all parts are asked to end
    """

    on_line: Callable[[str, str], None] = lambda _name, _line: None
    on_event: Callable[[Event], None] = lambda _event: None
    on_stop: Callable[[], None] = lambda: None
    _kept: dict[str, _Kept] = field(default_factory=dict)
    _calls: deque[Callable[[], None]] = field(default_factory=deque)
    _asked: int = 0
    _stopping: bool = False
    _failure: Failure | None = None
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _bell: tuple[int, int] = field(default_factory=os.pipe)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: bool = False

    def __post_init__(self) -> None:
        for end in self._bell:
            os.set_blocking(end, False)
        self._selector.register(self._bell[0], selectors.EVENT_READ)

    def add(self, part: Part) -> None:
        """Add a part. Call it in the main thread, before or during `run`."""
        if part.name in self._kept:
            raise ValueError(f"part {part.name} already exists")
        if unknown := [name for name in part.after if name not in self._kept]:
            raise ValueError(f"part {part.name} comes after {unknown[0]}, which doesn't exist")
        self._kept[part.name] = _Kept(part)

    def let_go(self, name: str) -> None:
        """Ask a part to end, and then remove it. Call it in the main thread."""
        if kept := self._kept.get(name):
            self._end(kept, time.monotonic())

    def has(self, name: str) -> bool:
        """Whether the part exists, even if it was asked to end."""
        return name in self._kept

    def pids(self) -> dict[str, int]:
        return {name: kept.process.pid for name, kept in self._kept.items() if kept.process is not None}

    def call(self, what: Callable[[], None]) -> None:
        """Call a function in the main thread. Any thread may use this."""
        self._calls.append(what)
        with self._lock, contextlib.suppress(BlockingIOError):
            if not self._over:
                os.write(self._bell[1], b"!")

    def stop(self) -> None:
        """Ask all parts to end; the second time, kill them. Any thread may use this."""
        self.call(self._ask)

    def run(self) -> Failure | None:
        """Keep the parts running until a signal or `stop` asks for the end, and all have ended.

        The first SIGINT, SIGTERM or SIGHUP ends them in order, and the second at once. An exception kills them.
        """
        with self._listening():
            try:
                while not (self._stopping and not self._kept):
                    self._turn()
            finally:
                self._kill_all()
        return self._failure

    def _turn(self) -> None:
        now = time.monotonic()
        if self._asked and not self._stopping:
            self._stopping = True
            self.on_stop()
        for kept in tuple(self._kept.values()):
            self._look(kept, now)
        if self._stopping:
            self._stop_next(now)
            if not self._kept:
                return
        # Wait for output, a signal, or the next due time
        for key, _ in self._selector.select(max(0.0, self._next(now) - now)):
            if key.data is None:
                with contextlib.suppress(BlockingIOError):
                    os.read(key.fd, 2**12)
            else:
                self._read(*key.data)
        while self._calls:
            self._calls.popleft()()
        for kept in tuple(self._kept.values()):
            if kept.process is not None and kept.process.ended():
                self._gone(kept)

    def _look(self, kept: _Kept, now: float) -> None:
        """Start a part that is due, kill one that hangs or doesn't end, or see whether it became ready."""
        if kept.process is None:
            if not kept.leaving and not self._stopping and now >= kept.start_at and self._may_start(kept.part):
                self._start(kept, now)
        elif now >= kept.kill_at:
            kept.killed, kept.kill_at = True, math.inf
            kept.process.kill()
        elif self._hangs(kept, now):
            kept.process.kill()
        elif not kept.ready and not kept.leaving and kept.part.ready is not None and kept.part.ready():
            self._ready(kept)

    def _hangs(self, kept: _Kept, now: float) -> bool:
        pulse = kept.part.pulse
        if pulse is None or kept.leaving or kept.silent_seconds or not pulse.hangs(now):
            return False
        kept.silent_seconds = pulse.silent_seconds
        return True

    def _may_start(self, part: Part) -> bool:
        return all(self._kept[name].ready for name in part.after if name in self._kept)

    def _start(self, kept: _Kept, now: float) -> None:
        part = kept.part
        kept.started, kept.ready, kept.last, kept.silent_seconds = now, False, "", 0.0
        if part.pulse is not None:
            part.pulse.begin(now)
        kept.first_started = min(kept.first_started, now)
        try:
            kept.process = process = PartProcess(part.command, part.environment, part.descriptors, part.folder)
        except OSError as error:
            kept.last = str(error)
            self._again(kept, now)
            return
        for lines in process.pipes:
            self._selector.register(lines.descriptor, selectors.EVENT_READ, (kept, lines))
        self.on_event(Event(part.name, What.STARTED, process.pid))
        if part.ready is None:
            self._ready(kept)

    def _ready(self, kept: _Kept) -> None:
        kept.ready = kept.was_ready = True
        if kept.part.ready is not None and kept.process is not None:
            self.on_event(Event(kept.part.name, What.READY, kept.process.pid))

    def _gone(self, kept: _Kept) -> None:
        """Collect an ended process. Then remove its part, restart it, or end everything."""
        process, name = kept.process, kept.part.name
        assert process is not None
        code = process.collect()
        for lines in process.pipes:
            self._read(kept, lines)
            self._forget(lines)
        now, kept.process, kept.kill_at = time.monotonic(), None, math.inf
        if kept.leaving:
            del self._kept[name]
            what = What.KILLED if kept.killed else What.ENDED
            self.on_event(Event(name, what, process.pid, code, last=kept.last))
        elif self._is_critical(kept, code, now):
            del self._kept[name]
            self._failure = self._failure or Failure(name, code, kept.last)
            self.on_event(Event(name, What.FAILED, process.pid, code, last=kept.last))
            self._asked = max(self._asked, 1)
        else:
            kept.pause = FIRST_PAUSE if now - kept.started >= STEADY_SECONDS else kept.pause
            self._again(kept, now, process.pid, code)

    def _again(self, kept: _Kept, now: float, pid: int = 0, code: int | None = None) -> None:
        """Restart a part after its pause, which doubles each time."""
        kept.start_at, kept.ready = now + kept.pause, False
        self.on_event(Event(kept.part.name, What.DIED, pid, code, kept.pause, kept.last, kept.silent_seconds))
        kept.pause = min(2 * kept.pause, LONGEST_PAUSE)

    def _is_critical(self, kept: _Kept, code: int, now: float) -> bool:
        if code not in kept.part.critical:
            return False
        return not kept.was_ready if kept.part.ready else now - kept.first_started < STEADY_SECONDS

    def _next(self, now: float) -> float:
        """The next due time; far in the future if nothing is due."""
        due = now + 3600.0
        for kept in self._kept.values():
            if kept.process is None:
                waits = self._may_start(kept.part)
                due = min(due, kept.start_at if waits else due)
            else:
                due = min(due, kept.kill_at)
                if kept.part.pulse is not None:
                    due = min(due, now + LISTEN_SECONDS)
                if not kept.ready and not kept.leaving:
                    due = min(due, now + _LOOK_SECONDS)
        return due

    def _read(self, kept: _Kept, lines: Lines) -> None:
        output = kept.process is not None and lines is kept.process.output
        for line in lines.read():
            if not output:
                if kept.part.pulse is not None:
                    kept.part.pulse.beat()
                if kept.part.told is not None and line:
                    kept.part.told(line)
            else:
                kept.last = line if line.strip() else kept.last
                self.on_line(kept.part.name, line)
        if lines.ended:
            self._forget(lines)

    def _forget(self, lines: Lines) -> None:
        if not lines.closed:
            self._selector.unregister(lines.descriptor)
            lines.close()

    def _ask(self) -> None:
        self._asked += 1

    def _stop_next(self, now: float) -> None:
        """Ask parts to end that no other part needs. After a second request, kill all."""
        if self._asked > 1:
            self._kill_all()
            return
        for kept in reversed(tuple(self._kept.values())):  # parts come after the parts that they need
            if not any(kept.part.name in other.part.after for other in self._kept.values()):
                self._end(kept, now)

    def _end(self, kept: _Kept, now: float) -> None:
        if kept.process is None:
            self._kept.pop(kept.part.name, None)
        elif not kept.leaving:
            kept.leaving, kept.kill_at = True, now + kept.part.stop_seconds
            kept.process.terminate()

    def _kill_all(self) -> None:
        for kept in tuple(self._kept.values()):
            if kept.process is not None:
                kept.leaving = kept.killed = True
                kept.process.kill()
                self._gone(kept)
            else:
                del self._kept[kept.part.name]

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        """Let signals wake the main thread. Restores the former handlers."""

        def asked(_signal: int, _frame: FrameType | None) -> None:
            self._asked += 1

        before = {each: signal.getsignal(each) for each in (*_ASKS, signal.SIGCHLD)}
        bell = signal.set_wakeup_fd(self._bell[1], warn_on_full_buffer=False)
        try:
            signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
            for ask in _ASKS:
                # respect `nohup`, which ignores SIGHUP. Shells ignore SIGINT for background processes, but
                # scripts must still be able to end this one.
                if ask is not signal.SIGHUP or before[ask] is not signal.SIG_IGN:
                    signal.signal(ask, asked)
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler or signal.SIG_DFL)
            signal.set_wakeup_fd(bell)
            with self._lock:
                self._over = True
                self._selector.close()
                for end in self._bell:
                    os.close(end)
