"""A thousand e-mails, and a mail server that is busy, breaks off, takes without an answer, and is away for hours."""

from __future__ import annotations

import json
import shutil
import smtplib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from bin.node_packages import node_folder, packages
from server.accounts.links import ask_for_mail
from server.accounts.models import LinkPurpose, Person
from server.mail.models import Mail
from server.mail.queries import mail_state
from server.mail.sender import Mailer
from server.settings import MailServer
from tests.server.course import ACourse
from tests.server.databases import ON_POSTGRESQL
from tests.server.mail.own_certificate import own_certificate
from tests.server.sign_on.provider import FOLDER
from tests.services import tethered
from tests.services.redis_server import free_port

pytestmark = [
    ON_POSTGRESQL,
    pytest.mark.long("a minute; the short suite has each fault for one e-mail in test_mail.py"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate"),
]
COUNT, UNKNOWN = 1_000, 20
PASSWORD = "of the mail server"


@dataclass
class BadServer:
    """A process that can be away."""

    folder: Path
    port: int = field(default_factory=free_port)

    @property
    def settings(self) -> MailServer:
        return MailServer("127.0.0.1", self.port, "starttls", "tilelab", PASSWORD, "tilelab@tilelab.example")

    @contextmanager
    def running(self) -> Iterator[None]:
        packages(FOLDER)
        log = self.folder / "server.log"
        given = {
            "port": self.port, "certificate": str(self.folder / "own.pem"), "password": PASSWORD,
            "taken": str(self.folder / "taken"), "busy": 1, "dropped": 1, "unanswered": 1,
        }  # fmt: skip
        process = tethered.start([node_folder() / "node", FOLDER / "mail_server.mjs", json.dumps(given)], log)
        try:
            tethered.wait_until(lambda: "ready" in log.read_text(), process, log)
            yield
        finally:
            process.kill()
            process.wait()
            log.unlink()

    def taken(self) -> list[tuple[str, str, bool]]:
        """Message-ID, address, and whether the sender heard nothing of it."""
        return [tuple(json.loads(line)) for line in (self.folder / "taken").read_text().splitlines()]


def test_each_of_a_thousand_e_mails_arrives_once_or_is_reported(
    course: ACourse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(own_certificate(tmp_path)))
    server, now = BadServer(tmp_path), asked(course)
    engine = course.sessions.kw["bind"]
    assert isinstance(engine, Engine)
    mailer = Mailer(engine, server.settings, "https://tilelab.example")
    with server.running():
        for minute in range(0, 30, 10):
            attempt(mailer, now + timedelta(minutes=minute))
    assert 0 < len(server.taken()) < COUNT
    for hour in range(1, 24, 2):
        with pytest.raises(OSError, match="refused"):
            mailer.round(now + timedelta(hours=hour))
    with server.running():
        for minute in range(0, 24 * 60, 10):
            attempt(mailer, now + timedelta(days=1, minutes=minute))
            if not waiting(course, but="unknown"):
                break
    assert mailer.round(now + timedelta(days=4)) == 0

    sent = {name_of(mail) for mail in course.rows(select(Mail).where(Mail.sent_at.is_not(None)))}
    found = server.taken()
    unheard = Counter(name for name, _, lost in found if lost)
    heard = Counter(name for name, _, lost in found if not lost)
    assert set(heard) == sent
    assert set(heard.values()) == {1}
    assert unheard, "this server answers too well"
    assert not [address for _, address, _ in found if address.startswith("unknown")]
    with course.sessions.begin() as session:
        state = mail_state(session)
    assert (len(sent), state.waiting, state.failed) == (COUNT - UNKNOWN, 0, UNKNOWN)
    assert all(each.email.startswith("unknown") for each in state.unsent)


def attempt(mailer: Mailer, now: datetime) -> None:
    """A round, however far it comes."""
    with suppress(OSError, smtplib.SMTPException):
        mailer.round(now)


def asked(course: ACourse) -> datetime:
    """A thousand people wait for a link. Returns the time of that."""
    with course.sessions.begin() as session:
        for number in range(COUNT):
            name = f"unknown-{number}" if number < UNKNOWN else f"p-{number}"
            person = Person(email=f"{name}@example.edu", name=name, created_at=datetime.now(UTC))
            session.add(person)
            session.flush()
            ask_for_mail(session, person, LinkPurpose.INVITATION)
    return datetime.now(UTC)


def name_of(mail: Mail) -> str:
    return f"<tilelab-{mail.id}-{mail.made_at:%Y%m%d%H%M%S}@tilelab.example>"


def waiting(course: ACourse, but: str) -> list[Mail]:
    known = select(Person.id).where(Person.email.startswith(but))
    return course.rows(select(Mail).where(Mail.next_at.is_not(None), Mail.person_id.not_in(known)))
