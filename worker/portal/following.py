"""Follow a submission until nothing more becomes of it: by the portal's events, and by asking where there are none."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from worker.portal.answers import Submission
from worker.portal.errors import NoAnswer, NotDone, Unreadable
from worker.portal.portal import Portal
from worker.portal.stream import Event, events

GIVEN_UP_SECONDS = 600.0
"""Of a portal that does not answer at all: its restart, or a laptop's sleep, takes less."""

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 5.0
_AWAY_PAUSE = 15.0
_EVENTS_AGAIN_SECONDS = 60.0


@dataclass(slots=True)
class Follower:
    """Gives each state of a submission as it becomes known, the last of them final.

    troubled: told what keeps it from knowing more, once for each time
    hinted: told what an event says beside, such as which size is being checked
    """

    portal: Portal
    public_id: str
    troubled: Callable[[str], None] = lambda _: None
    hinted: Callable[[Event], None] = lambda _: None
    _streams: bool = field(default=True, init=False)
    _stream_after: float = field(default=0.0, init=False)

    def states(self) -> Iterator[Submission]:
        """Until it is over. Raises PortalError: one that no further try will mend."""
        pause = _FIRST_PAUSE
        while True:
            for _ in self._signs():
                found = self._ask()
                yield found
                if found.over:
                    return
                pause = _FIRST_PAUSE
            time.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311 - so that not all ask at once
            pause = min(1.5 * pause, _LONGEST_PAUSE)

    def _ask(self) -> Submission:
        """How it stands, also through a portal that is away for a while."""
        began, pause, told = time.monotonic(), 1.0, False
        while True:
            try:
                return self.portal.submission(self.public_id)
            except NoAnswer as error:
                if time.monotonic() - began > GIVEN_UP_SECONDS:
                    raise
                if not told:
                    self.troubled(str(error))
                    told = True
                wait = max(pause, error.retry_after or 0.0)
            except NotDone as error:
                if error.status != 429:
                    raise
                wait = max(pause, error.retry_after or 0.0)
            time.sleep(wait)
            pause = min(2 * pause, _AWAY_PAUSE)

    def _signs(self) -> Iterator[None]:
        """One at once, and one for each event that may mean another state, as long as there is a stream of events."""
        yield
        if not self._streams or time.monotonic() < self._stream_after:
            return
        try:
            for event in events(self.portal.connection, f"/api/v1/submissions/{self.public_id}/events"):
                self.hinted(event)
                if event.name not in {"beat", "progress"}:
                    yield
        except (NotDone, Unreadable):
            self._streams = False
        except NoAnswer:
            self._stream_after = time.monotonic() + _EVENTS_AGAIN_SECONDS * random.uniform(0.5, 1.0)  # noqa: S311
