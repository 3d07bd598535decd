"""Send e-mails. A row is written before the first try, so a killed process loses none."""

from __future__ import annotations

import logging
import secrets
import smtplib
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, Select, and_, case, delete, or_, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from kernels.wording import plural
from server.accounts.links import link_to_send
from server.accounts.models import CHOSEN_MAILS, MailKind, OneTimeLink, Person
from server.database.engine import DatabaseUnavailable, Sessions, readers, sessions
from server.database.upsert import insert_into
from server.mail.message import Letter, message
from server.mail.models import Mail
from server.mail.occasions import AHEAD, LASTS, Occasion, is_over, occasions, wants
from server.settings import MailServer
from server.text import storable

ROUND_SECONDS = 30.0
KEPT = timedelta(days=30)

_FIRST_PAUSE = timedelta(minutes=2)
"""After a try, longer than it can take. Each pause is twice as long as the one before."""

_LONGEST_PAUSE = timedelta(hours=1)
_SECONDS = 20.0
_OF_ONE = (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError, smtplib.SMTPNotSupportedError, ValueError)
"""Errors about one e-mail or its address. After others, the rest of the round can't be sent either."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Mailer:
    """Writes down what people hear of, and sends it. Several may run at once."""

    engine: Engine
    server: MailServer
    public_url: str
    _read: Sessions = field(init=False)
    _write: Sessions = field(init=False)

    def __post_init__(self) -> None:
        self._read, self._write = readers(self.engine), sessions(self.engine)

    def run(self, stop: threading.Event) -> None:
        """Run until `stop` is set. An outage of the database or of the mail server only delays e-mails."""
        while not stop.is_set():
            try:
                self.round(datetime.now(UTC))
            except (DatabaseUnavailable, DBAPIError, OSError, smtplib.SMTPException) as error:
                logger.warning("e-mails wait: %s", failure_text(self.server, error))
            stop.wait(ROUND_SECONDS)

    def round(self, now: datetime) -> int:
        """Write new occasions down, and send what is due. Returns how many were sent."""
        begun = time.monotonic()
        with self._read.begin() as session:
            found = list(occasions(session, now))
        self._write_down(found, now)
        if not self._any_due(now):
            return 0
        count = 0
        with connected(self.server) as connection:
            while letter := self._claim(now + timedelta(seconds=time.monotonic() - begun)):
                count += self._send(connection, letter, now)
        return count

    def _write_down(self, found: Sequence[Occasion], now: datetime) -> None:
        with self._write.begin() as session:
            session.execute(delete(Mail).where(Mail.made_at < now - KEPT))
            over = or_(Mail.made_at <= now - LASTS, and_(Mail.kind == MailKind.DEADLINES, Mail.made_at <= now - AHEAD))
            # While the mail server was away, none was tried.
            tries = case((Mail.tries == 0, 1), else_=Mail.tries)
            late = update(Mail).where(Mail.next_at.is_not(None), over).values(next_at=None, tries=tries)
            given_up = session.execute(late.returning(Mail.id)).all()
            if given_up:
                logger.warning(
                    "%s given up, because the mail server took none in time", plural(len(given_up), "e-mail")
                )
            theirs = select(Mail.person_id, Mail.reference).where(
                Mail.person_id.in_({occasion.person.id for occasion in found})
            )
            known = {tuple(row) for row in session.execute(theirs)}
            new = [occasion for occasion in found if (occasion.person.id, occasion.reference) not in known]
            if new:
                rows = [
                    {
                        "person_id": occasion.person.id, "kind": occasion.kind, "reference": occasion.reference,
                        "subject": storable(occasion.subject)[:300], "path": occasion.path, "made_at": occasion.at,
                        "link_id": occasion.link, "key": secrets.token_urlsafe(24), "next_at": now, "tries": 0,
                    }
                    for occasion in new
                ]  # fmt: skip
                session.execute(insert_into(session, Mail).on_conflict_do_nothing(), rows)

    def _any_due(self, now: datetime) -> bool:
        with self._read.begin() as session:
            return session.scalar(_due(now)) is not None

    def _claim(self, now: datetime) -> Letter | None:
        """The next due e-mail. It is due again later, in case this try fails or this process is killed."""
        with self._write.begin() as session:
            while mail := session.scalar(_due(now).with_for_update(skip_locked=True)):
                if letter := _written(session, mail, now):
                    mail.next_at = now + min(_FIRST_PAUSE * 2**mail.tries, _LONGEST_PAUSE)
                    mail.tries += 1
                    return letter
                mail.next_at = None
        return None

    def _send(self, connection: smtplib.SMTP, letter: Letter, now: datetime) -> bool:
        try:
            content = message(letter, self.server.sender, self.public_url)
        except Exception:
            logger.exception("e-mail %d can't be written; it is given up", letter.id)
            self._end(letter)
            return False
        try:
            connection.sendmail(self.server.sender, letter.address, content, _options(letter.address))
        except _OF_ONE as error:
            logger.warning("e-mail %d is not sent: %s", letter.id, type(error).__name__)
            return False
        except (OSError, smtplib.SMTPException):
            # The server failed, so the e-mail still waits for its first answer.
            with self._write.begin() as session:
                session.execute(update(Mail).where(Mail.id == letter.id).values(tries=Mail.tries - 1))
            raise
        self._end(letter, sent_at=now)
        return True

    def _end(self, letter: Letter, sent_at: datetime | None = None) -> None:
        with self._write.begin() as session:
            session.execute(update(Mail).where(Mail.id == letter.id).values(sent_at=sent_at, next_at=None))


def failure_text(server: MailServer, error: Exception) -> str:
    """Why the mail server can't be used, in one line for operators."""
    if isinstance(error, ssl.SSLCertVerificationError):
        place, why = f"{server.host}:{server.port}", error.verify_message.rstrip(".")
        return (
            f"the certificate of {place} is not trusted: {why}. Set TILELAB_SMTP_HOST to a name in the "
            "certificate. If your university has its own authority, set SSL_CERT_FILE to its certificate."
        )
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _written(session: Session, mail: Mail, now: datetime) -> Letter | None:
    """The e-mail to send; None if it isn't wanted any more."""
    person, path = session.get_one(Person, mail.person_id), mail.path
    if not wants(person, mail.kind):
        return None
    if mail.kind is MailKind.ACCESS:
        link = None if mail.link_id is None else session.get(OneTimeLink, mail.link_id)
        if link is None or is_over(link, now):
            return None
        path = link_to_send(session, link, now)
    key = mail.key if mail.kind in CHOSEN_MAILS else ""
    return Letter(mail.id, mail.made_at, mail.kind, person.email, mail.subject, path, key)


def _options(address: str) -> Sequence[str]:
    return () if address.isascii() else ("SMTPUTF8", "BODY=8BITMIME")


def _due(now: datetime) -> Select[Mail]:
    return select(Mail).where(Mail.next_at <= now).order_by(Mail.next_at, Mail.id).limit(1)


@contextmanager
def connected(server: MailServer, seconds: float = _SECONDS) -> Iterator[smtplib.SMTP]:
    """A connection to the mail server, signed in. seconds: for each wait; raises OSError or SMTPException."""
    trusted = ssl.create_default_context()
    if server.tls == "tls":
        connection: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=seconds, context=trusted)
    else:
        connection = smtplib.SMTP(server.host, server.port, timeout=seconds)
    with connection:
        if server.tls == "starttls":
            connection.starttls(context=trusted)
        if server.user:
            connection.login(server.user, server.password)
        yield connection
