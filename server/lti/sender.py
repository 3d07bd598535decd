"""Send scores to platforms. A row is written before the first try, so a killed process loses none."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from joserfc.jwk import RSAKey
from sqlalchemy import Engine, Select, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import joinedload

from server.database.engine import DatabaseUnavailable, Sessions, readers, sessions
from server.lti.keys import our_key
from server.lti.models import LtiContext, LtiLink, LtiPlatform, LtiScore
from server.lti.scores import changes, note_change, refresh, user_of
from server.lti.services import Services
from server.sign_on.fetch import ProviderFault

ROUND_SECONDS = 30.0
_REST = 30.0
"""Seconds of rest for each second that comparing all points took, which a large site notices."""

_FIRST_PAUSE = timedelta(minutes=2)
"""After a try, longer than it can take. Each pause is twice as long as the one before."""

_LONGEST_PAUSE = timedelta(hours=6)
_MOST_DOUBLED = 8
_LONGEST_FAULT = 200
_SLOW_SECONDS, _OTHERS = 1.0, 4
"""After a try that took longer than this, other platforms have so many times as long."""

_AT_ONCE = 20
"""Scores that one transaction queues: on SQLite, others wait for it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A score that is being sent. user: the platform's name for the student; pause: before the next try."""

    id: int
    made_at: datetime
    platform: LtiPlatform
    line_item: str
    user: str
    points: float | None
    most: float
    pause: timedelta

    @property
    def score(self) -> dict[str, Any]:
        """What the platform gets. Without points, it clears the score."""
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        if self.points is None:
            return {
                "userId": self.user, "timestamp": now, "activityProgress": "Initialized", "gradingProgress": "NotReady",
            }  # fmt: skip
        return {
            "userId": self.user, "timestamp": now, "scoreGiven": self.points, "scoreMaximum": self.most,
            "activityProgress": "Completed", "gradingProgress": "FullyGraded",
        }  # fmt: skip


@dataclass(slots=True)
class ScoreSender:
    """Queues scores that changed, and sends them. Several may run at once."""

    engine: Engine
    _read: Sessions = field(init=False)
    _write: Sessions = field(init=False)
    _services: Services = field(init=False)
    _compared: float = 0.0
    _resting: dict[int, datetime] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._read, self._write = readers(self.engine), sessions(self.engine)
        self._services = Services(self._key)

    def run(self, stop: threading.Event) -> None:
        """Run until `stop` is set. An outage of the database or of a platform only delays scores."""
        while not stop.is_set():
            try:
                self.round(datetime.now(UTC), stop)
            except (DatabaseUnavailable, DBAPIError) as error:
                logger.warning("scores wait: %s", type(error).__name__)
            except Exception:
                logger.exception("scores wait")
            stop.wait(max(ROUND_SECONDS, _REST * self._compared))

    def round(self, now: datetime, stop: threading.Event | None = None) -> int:
        """Queue what changed, and send what is due. Returns how many scores were sent."""
        begun, count = time.monotonic(), 0
        with self._read.begin() as session:
            changed = changes(session)
        self._compared = time.monotonic() - begun
        for start in range(0, len(changed), _AT_ONCE):
            with self._write.begin() as session:
                for link, person in changed[start : start + _AT_ONCE]:
                    note_change(session, link, person, now)
        if not self._any_due(now):
            return 0

        def moment() -> datetime:
            return now + timedelta(seconds=time.monotonic() - begun)

        while (stop is None or not stop.is_set()) and (claimed := self._claim(moment())):
            sent_at = moment()
            count += self._send(claimed, moment)
            if (spent := moment() - sent_at) > timedelta(seconds=_SLOW_SECONDS):
                self._resting[claimed.platform.id] = moment() + _OTHERS * spent
        return count

    def _any_due(self, now: datetime) -> bool:
        with self._read.begin() as session:
            return session.scalar(self._due(now)) is not None

    def _due(self, now: datetime) -> Select[LtiScore]:
        """The next due score of a platform that doesn't rest."""
        self._resting = {platform: until for platform, until in self._resting.items() if until > now}
        query = select(LtiScore).where(LtiScore.next_at <= now)
        if self._resting:
            theirs = select(LtiLink.id).join(LtiLink.context).where(LtiContext.platform_id.in_(self._resting))
            query = query.where(LtiScore.link_id.not_in(theirs))
        whose = joinedload(LtiScore.link).joinedload(LtiLink.context).joinedload(LtiContext.platform)
        query = query.options(whose, joinedload(LtiScore.link).joinedload(LtiLink.assignment))
        return query.order_by(LtiScore.tries, LtiScore.next_at, LtiScore.id).limit(1)

    def _claim(self, now: datetime) -> Claimed | None:
        """The next due score, as it is now. It is due again later, in case this try fails or the process is killed."""
        with self._write.begin() as session:
            while row := session.scalar(self._due(now).with_for_update(skip_locked=True, of=LtiScore)):
                refresh(session, row, now)
                context, user = row.link.context, user_of(session, row)
                if not user:
                    row.next_at = row.sent_at = None
                if row.next_at is not None:
                    pause = min(_FIRST_PAUSE * 2 ** min(row.tries, _MOST_DOUBLED), _LONGEST_PAUSE)
                    row.next_at = now + pause
                    row.tries += 1
                    return Claimed(
                        row.id, row.made_at, context.platform, row.link.line_item, user, row.points, row.most, pause
                    )  # fmt: skip
                session.flush()
        return None

    def _send(self, claimed: Claimed, moment: Callable[[], datetime]) -> bool:
        try:
            self._services.send_score(claimed.platform, claimed.line_item, claimed.score)
        except ProviderFault as fault:
            logger.warning("score %d isn't sent: %s", claimed.id, fault)
            self._failed(claimed, fault, moment())
            return False
        except Exception:
            logger.exception("score %d can't be sent", claimed.id)
            self._failed(claimed, ProviderFault("system error, see the dispatcher's log", 400), moment())
            return False
        self._sent(claimed, moment())
        return True

    def _sent(self, claimed: Claimed, now: datetime) -> None:
        """Note that the platform has the score, unless it changed meanwhile: then it is due again."""
        with self._write.begin() as session:
            this = update(LtiScore).where(LtiScore.id == claimed.id)
            same = this.where(LtiScore.made_at == claimed.made_at)
            done = same.values(sent_at=now, next_at=None, fault="", tries=0).returning(LtiScore.id)
            if not session.execute(done).all():
                session.execute(this.where(LtiScore.next_at.is_not(None)).values(next_at=now, tries=0))

    def _failed(self, claimed: Claimed, fault: ProviderFault, now: datetime) -> None:
        """Note why. If the platform itself is away or busy, its other scores wait as long."""
        until = now + max(claimed.pause, min(timedelta(seconds=fault.pause), _LONGEST_PAUSE))
        with self._write.begin() as session:
            said = {"fault": str(fault)[:_LONGEST_FAULT]}
            session.execute(update(LtiScore).where(LtiScore.id == claimed.id).values(next_at=until, **said))
            if fault.status in {0, 401, 429} or fault.status >= 500:
                theirs = select(LtiLink.id).join(LtiLink.context).where(LtiContext.platform_id == claimed.platform.id)
                due = LtiScore.link_id.in_(theirs), LtiScore.next_at < until
                session.execute(update(LtiScore).where(*due).values(next_at=until, **said))

    def _key(self) -> RSAKey:
        with self._write.begin() as session:
            return our_key(session)
