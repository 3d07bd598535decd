"""Send e-mails. A row is written before the first try, so a killed process loses none."""

from __future__ import annotations

import logging
import smtplib
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.charset import QP, Charset
from email.header import Header
from email.message import Message
from email.utils import format_datetime
from urllib.parse import urlsplit

from sqlalchemy import Engine, Select, delete, select, update
from sqlalchemy.exc import DBAPIError

from kernels.wording import plural
from server.accounts.models import Person
from server.database.engine import DatabaseUnavailable, Sessions, readers, sessions
from server.database.upsert import insert_into
from server.mail.models import Mail
from server.mail.occasions import AHEAD, Occasion, occasions, wants
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


@dataclass(frozen=True, slots=True)
class Letter:
    id: int
    made_at: datetime
    address: str
    subject: str
    path: str


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
            late = update(Mail).where(Mail.next_at.is_not(None), Mail.made_at <= now - AHEAD)
            given_up = session.execute(late.values(next_at=None).returning(Mail.id)).all()
            if given_up:
                logger.warning("%s given up after a day", plural(len(given_up), "e-mail"))
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
                        "next_at": now, "tries": 0,
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
                person = session.get_one(Person, mail.person_id)
                if wants(person, mail.kind):
                    mail.next_at = now + min(_FIRST_PAUSE * 2**mail.tries, _LONGEST_PAUSE)
                    mail.tries += 1
                    return Letter(mail.id, mail.made_at, person.email, mail.subject, mail.path)
                mail.next_at = None
        return None

    def _send(self, connection: smtplib.SMTP, letter: Letter, now: datetime) -> bool:
        try:
            content = self.message(letter)
        except Exception:
            logger.exception("e-mail %d can't be written; it is given up", letter.id)
            self._end(letter)
            return False
        try:
            connection.sendmail(self.server.sender, letter.address, content, _options(letter.address))
        except _OF_ONE as error:
            logger.warning("e-mail %d is not sent: %s", letter.id, type(error).__name__)
            return False
        self._end(letter, sent_at=now)
        return True

    def _end(self, letter: Letter, sent_at: datetime | None = None) -> None:
        with self._write.begin() as session:
            session.execute(update(Mail).where(Mail.id == letter.id).values(sent_at=sent_at, next_at=None))

    def message(self, letter: Letter) -> bytes:
        """The e-mail itself. A repeated try has the same Message-ID, so mail programs show it once.

        `EmailMessage` reads encoded words in a header's value. Some versions of Python write their line feeds as new
        headers. `Header` only encodes.
        """
        message = Message()
        message["From"] = f"Tilelab <{self.server.sender}>"
        # As raw bytes: a whole address must not become an encoded word.
        message["To"] = letter.address.encode().decode("ascii", "surrogateescape")
        message["Subject"] = Header(" ".join(letter.subject.split()), "utf-8", header_name="Subject").encode()
        message["Date"] = format_datetime(datetime.now(UTC))
        host = urlsplit(self.public_url).hostname
        message["Message-ID"] = f"<tilelab-{letter.id}-{letter.made_at:%Y%m%d%H%M%S}@{host}>"
        message["Auto-Submitted"] = "auto-generated"
        charset = Charset("utf-8")
        charset.body_encoding = QP
        message.set_payload(
            f"{' '.join(letter.subject.split())}\n\n{self.public_url}{letter.path}\n\n"
            "--\nThe titles of the course and the assignment are by its course staff. Tilelab never asks for your "
            f"password by e-mail.\nChoose which e-mails you get: {self.public_url}/account\n",
            charset,
        )
        return message.as_bytes(policy=message.policy.clone(linesep="\r\n"))


def failure_text(server: MailServer, error: Exception) -> str:
    """Why the mail server can't be used, in one line for operators."""
    if isinstance(error, ssl.SSLCertVerificationError):
        place, why = f"{server.host}:{server.port}", error.verify_message.rstrip(".")
        return (
            f"the certificate of {place} is not trusted: {why}. Set TILELAB_SMTP_HOST to a name in the "
            "certificate. If your university has its own authority, set SSL_CERT_FILE to its certificate."
        )
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


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
