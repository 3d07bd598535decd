"""Receives all hints of workers over one connection to Redis, and reconnects after any outage."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import redis
from sqlalchemy.exc import SQLAlchemyError

from server.database.engine import Sessions
from server.submissions.progress.jobs import SubmissionStatus, read_statuses
from server.submissions.progress.phases import Progress, Trail, follow, progress_of
from worker.contract.broker import BrokerUrlError, connect_redis
from worker.contract.hints import CHANNELS, Hint, ended_job, kept_hint, read_hint
from worker.contract.messages import StepKind

_LISTEN_SECONDS = 0.25
_PAUSES = (0.5, 1.0, 2.0, 5.0)

logger = logging.getLogger(__name__)


class Listener:
    """A thread that passes on each hint until it is stopped."""

    def __init__(
        self, redis_url: str, heard: Callable[[Hint], None], ended: Callable[[int], None] = lambda _: None
    ) -> None:
        """Start the thread. It calls both functions, which must not raise.

        heard: called for each hint; ended: for each job with an attempt that is over
        """
        self._redis_url = redis_url
        self._heard, self._ended = heard, ended
        self._stop = threading.Event()
        self._wanted: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="hints", daemon=True)
        self._thread.start()

    def recall(self, job: int) -> None:
        """Pass on the job's last hint with output, too, if there is one; returns at once."""
        self._wanted.put(job)

    def stop(self) -> None:
        """Stop listening; returns at once."""
        self._stop.set()

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                self._listen()
                failures = 0
            except BrokerUrlError:
                return  # other parts report an invalid URL
            except (redis.RedisError, OSError, ValueError) as error:
                if failures == 0:
                    logger.info("no hints of progress, Redis is unavailable: %s", type(error).__name__)
                self._stop.wait(_PAUSES[min(failures, len(_PAUSES) - 1)])
                failures += 1

    def _take(self, told_on: object, data: object) -> None:
        if (job := ended_job(told_on, data)) is not None:
            self._ended(job)
        elif (hint := read_hint(told_on, data)) is not None:
            self._heard(hint)

    def _listen(self) -> None:
        with connect_redis(self._redis_url) as client, client.pubsub(ignore_subscribe_messages=True) as pubsub:
            pubsub.psubscribe(CHANNELS)
            while not self._stop.is_set():
                message = pubsub.get_message(timeout=_LISTEN_SECONDS)
                if message is not None:
                    self._take(message.get("channel"), message.get("data"))
                while not self._wanted.empty():
                    kept = kept_hint(client, self._wanted.get())
                    if kept is not None:
                        self._heard(kept)


MOST_STREAMS = 600
"""Streams in one process; each takes a thread of the server."""

MOST_OF_ONE_PERSON = 12
_POLL_SECONDS = 1.0
_LINGER_SECONDS = 20.0
# Short naps, so that the thread ends soon after the hub closes.
_LOOK_SECONDS = 0.2
# The least time between two queries, however many attempts are over.
_SOONEST_SECONDS = 0.1

Form = Callable[[Progress], str]
"""Formats a progress. Its texts are cached by function, so use the same function for the same format."""


@dataclass(slots=True)
class TooMany(Exception):
    """Too many open streams. of_person: of this person; otherwise of the whole process."""

    of_person: bool


@dataclass(slots=True)
class _Channel:
    """A watched submission.

    changed: notified when `progress` changes; uses the hub's lock
    until: when it is dropped if it has no streams
    recalled: the job whose kept hint was requested; 0 for none
    """

    changed: threading.Condition
    progress: Progress
    trails: dict[StepKind, Trail] = field(default_factory=dict)
    written: dict[Form, str] = field(default_factory=dict)
    streams: int = 0
    until: float = 0.0
    recalled: int = 0

    def update(self, status: SubmissionStatus) -> None:
        """Take over a status, unless a newer one is known: another thread may have read it earlier."""
        known = self.progress.status
        if status.id < known.id or (status.id == known.id and known.over and not status.over):
            return
        if status.id != known.id:
            self.trails.clear()
        progress = progress_of(status, self.trails)
        if progress != self.progress:
            self.progress = progress
            self.written.clear()
            self.changed.notify_all()

    def text(self, form: Form) -> str:
        """The formatted progress, written once for all streams of this format."""
        if form not in self.written:
            self.written[form] = form(self.progress)
        return self.written[form]


class Watch:
    """A stream that watches a submission; the caller closes it."""

    def __init__(self, hub: Hub, channel: _Channel, person: int) -> None:
        self._hub, self._channel, self._person = hub, channel, person
        self._open = True
        self._told: str | None = None

    def next(self, form: Form, seconds: float) -> tuple[str, bool] | None:
        """Wait for a change: its text, and whether it is the last; None if there is none. The first returns at once."""
        with self._channel.changed:
            self._channel.changed.wait_for(lambda: self._hub.closing or self._is_new(form), seconds)
            if self._hub.closing or not self._is_new(form):
                return None
            self._told = self._channel.text(form)
            return self._told, self._channel.progress.status.over

    def close(self) -> None:
        """Free the stream. Safe to call twice, from any thread."""
        with self._channel.changed:
            if self._open:
                self._open = False
                self._hub.left(self._channel, self._person)

    def _is_new(self, form: Form) -> bool:
        return self._channel.text(form) != self._told


class Hub:
    """All watched submissions of this process."""

    def __init__(
        self,
        readers: Sessions,
        redis_url: str,
        most: int = MOST_STREAMS,
        most_of_one: int = MOST_OF_ONE_PERSON,
        linger_seconds: float = _LINGER_SECONDS,
    ) -> None:
        """Prepare a hub; its thread starts with the first watched submission.

        most, most_of_one: the limit of streams, of all people and of one person
        linger_seconds: how long a submission stays watched after the last request
        """
        self._readers, self._redis_url = readers, redis_url
        self._most, self._most_of_one, self._linger = most, most_of_one, linger_seconds
        self._lock = threading.RLock()
        self._channels: dict[int, _Channel] = {}
        self._people: Counter[int] = Counter()
        self._thread: threading.Thread | None = None
        self._ends_when: Callable[[], bool] = lambda: False
        self._failing = False
        self._news = threading.Event()
        self.closing = False

    @property
    def streams(self) -> int:
        return self._people.total()

    def end_when(self, over: Callable[[], bool]) -> None:
        """Close the hub once `over` is true, so that open streams don't delay the end of the process."""
        self._ends_when = over

    def watch(self, submission: int, person: int, status: SubmissionStatus) -> Watch:
        """Open a stream for a submission. status: as the request read it. Raises TooMany."""
        with self._lock:
            if self._people[person] >= self._most_of_one:
                raise TooMany(of_person=True)
            if self.closing or self.streams >= self._most:
                raise TooMany(of_person=False)
            channel = self._channel(submission, status)
            channel.update(status)
            channel.streams += 1
            self._people[person] += 1
            return Watch(self, channel, person)

    def look(self, submission: int, status: SubmissionStatus) -> Progress:
        """The progress for a page that polls. From now on, the hub follows hints about the submission."""
        with self._lock:
            channel = self._channel(submission, status)
            channel.update(status)
            return channel.progress

    def left(self, channel: _Channel, person: int) -> None:
        """Note that a watch was closed. The caller holds the lock."""
        channel.streams -= 1
        channel.until = time.monotonic() + self._linger
        self._people[person] -= 1
        if self._people[person] <= 0:
            del self._people[person]

    def stop(self) -> None:
        """Close, and wait for the hub's thread to end."""
        self.close()
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """End all streams at once, and refuse new ones."""
        with self._lock:
            self.closing = True
            for channel in self._channels.values():
                channel.changed.notify_all()

    def _channel(self, submission: int, status: SubmissionStatus) -> _Channel:
        channel = self._channels.get(submission)
        if channel is None:
            made = threading.Condition(self._lock)
            channel = self._channels[submission] = _Channel(made, progress_of(status, {}))
        channel.until = time.monotonic() + self._linger
        if self._thread is None and not self.closing:
            self._thread = threading.Thread(target=self._run, name="hub", daemon=True)
            self._thread.start()
        return channel

    # -- the hub's thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            listener = Listener(self._redis_url, self._heard, self._ended)
            try:
                while self._goes_on():
                    self._ask()
                    self._recall(listener)
                    self._rest()
            finally:
                listener.stop()
        finally:
            with self._lock:
                # A new thread may have started after this one decided to end.
                if self._thread is threading.current_thread():
                    self._thread = None

    def _goes_on(self) -> bool:
        """Drop submissions that aren't watched any more; return whether others are left."""
        with self._lock:
            now = time.monotonic()
            kept = {n: each for n, each in self._channels.items() if each.streams or each.until > now}
            self._channels = kept
            if kept and not self.closing:
                return True
            self._thread = None
            return False

    def _rest(self) -> None:
        now = time.monotonic()
        soonest, until = now + _SOONEST_SECONDS, now + _POLL_SECONDS
        while not self.closing and time.monotonic() < (soonest if self._news.is_set() else until):
            if self._ends_when():
                self.close()
            if self._news.wait(_LOOK_SECONDS):
                time.sleep(max(0.0, soonest - time.monotonic()))
        self._news.clear()

    def _ask(self) -> None:
        with self._lock:
            numbers = [number for number, each in self._channels.items() if not each.progress.status.over]
        if not numbers:
            return
        try:
            with self._readers.begin() as session:
                found = read_statuses(session, numbers, datetime.now(UTC))
            with self._lock:
                for number, status in found.items():
                    if number in self._channels:
                        self._channels[number].update(status)
        except SQLAlchemyError as error:
            if not self._failing:
                logger.warning("watched pages don't change, the database is unavailable: %s", type(error).__name__)
            self._failing = True
        except Exception:
            if not self._failing:
                logger.exception("watched pages don't change until this works again")
            self._failing = True
        else:
            self._failing = False

    def _recall(self, listener: Listener) -> None:
        """Request the hints that came before anyone watched."""
        with self._lock:
            for channel in self._channels.values():
                job = channel.progress.status.id
                if channel.recalled != job and not channel.progress.status.over:
                    channel.recalled = job
                    listener.recall(job)

    def _ended(self, job: int) -> None:
        with self._lock:
            if any(channel.progress.status.id == job for channel in self._channels.values()):
                self._news.set()

    def _heard(self, hint: Hint) -> None:
        with self._lock:
            for channel in self._channels.values():
                status = channel.progress.status
                if status.id == hint.job:
                    # A hint changes only what pages show. The database decides everything else.
                    follow(channel.trails, hint, datetime.now(UTC))
                    channel.update(status)
                    return
