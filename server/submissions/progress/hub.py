"""One place in each process that knows how watched submissions go on, however many pages watch.

It asks the database once a second, for all of them in one query, and listens to the hints of workers over one
connection to Redis. Without Redis pages miss the hints; without the database they stay as they are, and go on when it
is back. Both begin with the first page that watches, and end a while after the last.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy.exc import SQLAlchemyError

from server.database.engine import Sessions
from server.submissions.progress.jobs import SubmissionStatus, read_statuses
from server.submissions.progress.listener import Listener
from server.submissions.progress.phases import Progress, Trail, follow, progress_of
from worker.contract.hints import Hint
from worker.contract.messages import StepKind

MOST_STREAMS = 600
"""In one process; each takes a thread of the server."""

MOST_OF_ONE_PERSON = 12
_POLL_SECONDS = 1.0
_LINGER_SECONDS = 20.0
_LOOK_SECONDS = 0.2

Form = Callable[[Progress], str]
"""Writes a progress as those who watch want it. The same function for the same text: what it wrote is kept."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TooMany(Exception):
    """No further stream is given. of_person: because this person has enough; else the process has."""

    of_person: bool


@dataclass(slots=True)
class _Channel:
    """A submission that is watched.

    changed: notified when `progress` is another; it shares the lock of the hub
    until: when nobody watches it any more, unless there are streams
    """

    changed: threading.Condition
    progress: Progress
    trails: dict[StepKind, Trail] = field(default_factory=dict)
    written: dict[Form, str] = field(default_factory=dict)
    streams: int = 0
    until: float = 0.0

    def update(self, status: SubmissionStatus) -> None:
        """Take over what is known now; nothing where more was known before, which others may have read meanwhile."""
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
        """The progress in that form, written once for all who want it so."""
        if form not in self.written:
            self.written[form] = form(self.progress)
        return self.written[form]


class Watch:
    """A page that watches a submission; to be closed."""

    def __init__(self, hub: Hub, channel: _Channel, person: int) -> None:
        self._hub, self._channel, self._person = hub, channel, person
        self._open = True
        self._told: str | None = None

    def next(self, form: Form, seconds: float) -> tuple[str, bool] | None:
        """The progress once it is another than the one told before, and whether it is the last; None for nothing new.

        The first is told at once.
        """
        with self._channel.changed:
            self._channel.changed.wait_for(lambda: self._hub.closing or self._is_new(form), seconds)
            if self._hub.closing or not self._is_new(form):
                return None
            self._told = self._channel.text(form)
            return self._told, self._channel.progress.status.over

    def close(self) -> None:
        """Give the place back. Safe to call twice, from any thread."""
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
        """Does nothing until somebody watches.

        most, most_of_one: streams, of all and of one person
        linger_seconds: for which a submission stays watched after the last page asked
        """
        self._readers, self._redis_url = readers, redis_url
        self._most, self._most_of_one, self._linger = most, most_of_one, linger_seconds
        self._lock = threading.RLock()
        self._channels: dict[int, _Channel] = {}
        self._people: Counter[int] = Counter()
        self._thread: threading.Thread | None = None
        self._ends_when: Callable[[], bool] = lambda: False
        self._failing = False
        self.closing = False

    @property
    def streams(self) -> int:
        return self._people.total()

    def end_when(self, over: Callable[[], bool]) -> None:
        """Close once that is true: when the process is told to stop, its streams must not hold it up."""
        self._ends_when = over

    def watch(self, submission: int, person: int, status: SubmissionStatus) -> Watch:
        """A place for a page that wants to know at once. status: as the page found it. Raises TooMany."""
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
        """The progress for a page that asks now and then; from now on hints about it are listened to."""
        with self._lock:
            channel = self._channel(submission, status)
            channel.update(status)
            return channel.progress

    def left(self, channel: _Channel, person: int) -> None:
        """A watch is closed; the lock is held."""
        channel.streams -= 1
        channel.until = time.monotonic() + self._linger
        self._people[person] -= 1
        if self._people[person] <= 0:
            del self._people[person]

    def stop(self) -> None:
        """Close, and wait until nothing of it is left at work."""
        self.close()
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """End all streams at once, and begin no other."""
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
            listener = Listener(self._redis_url, self._heard)
            try:
                while self._goes_on():
                    self._ask()
                    self._rest()
            finally:
                listener.stop()
        finally:
            with self._lock:
                # once nobody watches another may have been begun meanwhile
                if self._thread is threading.current_thread():
                    self._thread = None

    def _goes_on(self) -> bool:
        """Whether anybody watches; forgets what nobody does."""
        with self._lock:
            now = time.monotonic()
            kept = {n: each for n, each in self._channels.items() if each.streams or each.until > now}
            self._channels = kept
            if kept and not self.closing:
                return True
            self._thread = None
            return False

    def _rest(self) -> None:
        until = time.monotonic() + _POLL_SECONDS
        while not self.closing and time.monotonic() < until:
            if self._ends_when():
                self.close()
            time.sleep(_LOOK_SECONDS)

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
                logger.warning(
                    "watched pages stay as they are, the database is away: %s", type(error).__name__
                )
            self._failing = True
        except Exception:
            if not self._failing:
                logger.exception("watched pages stay as they are until this works again")
            self._failing = True
        else:
            self._failing = False

    def _heard(self, hint: Hint) -> None:
        with self._lock:
            for channel in self._channels.values():
                status = channel.progress.status
                if status.id == hint.job:
                    follow(channel.trails, hint, datetime.now(UTC))
                    channel.update(status)
                    return
