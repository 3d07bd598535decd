"""What people hear by e-mail, and that it arrives whatever is killed or away."""

from __future__ import annotations

import re
import shutil
import smtplib
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from server.accounts.models import CHOSEN_MAILS, MailKind, Person
from server.assignments.extension_requests import refuse_request, request_extension
from server.courses.models import Assignment, Correction, Course, Role
from server.grading.models import Job
from server.mail import sender as mail_sender
from server.mail.message import Letter, message
from server.mail.models import Mail
from server.mail.queries import mail_state
from server.mail.sender import Mailer
from server.settings import SettingError, read_settings
from server.submissions.models import Submission
from server.talk.comments import write_comment
from tests.server.course import NOW, ACourse, later
from tests.server.databases import ON_SQLITE
from tests.server.mail.own_certificate import own_certificate
from tests.server.mail.smtp import Inbox, inbox
from tests.server.standings.results import ranked
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient

DAY = 24 * 3600.0
PORTAL = "https://tilelab.example"


@pytest.fixture
def mails() -> Iterator[Inbox]:
    with inbox() as kept:
        yield kept


def mailer(course: ACourse, mails: Inbox) -> Mailer:
    engine = course.sessions.kw["bind"]
    assert isinstance(engine, Engine)
    return Mailer(engine, mails.server, PORTAL)


def commented(course: ACourse, name: str, now: datetime) -> None:
    """Course staff wrote about a new submission of that person."""
    found = course.hand_in(name, f"// {now}\n".encode(), now=now).submission
    ina = course.person("ina", Role.INSTRUCTOR)
    with course.sessions.begin() as session:
        submission = session.get_one(Submission, found.id)
        write_comment(session, submission, session.get_one(Person, ina), "Look at <line 3>.", now=now)


def accepted_invitation(course: ACourse, *names: str) -> None:
    """These people have set their passwords. Before, they get no e-mail from the course."""
    with course.sessions.begin() as session:
        session.execute(
            update(Person).where(Person.email.in_([f"{one}@example.edu" for one in names])).values(password="x")
        )


def titled(course: ACourse, title: str) -> None:
    """The course and its assignment have this title, whatever the forms say."""
    with course.sessions.begin() as session:
        session.get_one(Course, course.course).title = title
        session.get_one(Assignment, course.assignment).title = title


def body(mail: EmailMessage, kind: str = "plain") -> str:
    found = mail.get_body((kind,))
    assert isinstance(found, EmailMessage)
    return str(found.get_content())


def waits(course: ACourse) -> list[Mail]:
    return course.rows(select(Mail).where(Mail.next_at.is_not(None)))


def test_students_hear_once_of_answers_late_results_and_deadlines(course: ACourse, mails: Inbox) -> None:
    sender, due_at = mailer(course, mails), later(DAY)
    for name in ("ada", "bob"):
        course.person(name)
    accepted_invitation(course, "ada", "bob")
    course.change(due_at=due_at)
    job = ranked(course, "bob", 2_000.0)
    commented(course, "ada", later(10))
    with course.sessions.begin() as session:
        session.execute(update(Job).where(Job.id == job).values(ended_at=later(3_600)))
        people = {name: session.get_one(Person, course.people[name]) for name in ("ada", "ina")}
        people["ada"].mails_off = "results"
        assignment = session.get_one(Assignment, course.assignment)
        asked = request_extension(session, assignment, people["ada"], due_at + timedelta(1), "I am ill.", later(20))
        refuse_request(session, asked, people["ina"], "Too late.", later(30))
    assert sender.round(later(3_700)) == 4
    assert mails.subjects("ada") == [
        "[GPU] Answer to your extension request: Tiled",
        "[GPU] Due within a day: Tiled",
        "[GPU] New comment on your submission: Tiled",
    ]
    assert mails.subjects("bob") == ["[GPU] Result: Tiled"]
    ages = [datetime.now(UTC) - parsedate_to_datetime(str(each["Date"])) for each in mails.received]
    assert max(ages) < timedelta(minutes=5), "mail programs sort by it"
    for kind in ("plain", "html"):
        text = "".join(body(each, kind) for each in mails.received)
        assert f"{PORTAL}/courses/gpu/tiled/extension" in text
        assert "line 3" not in text
        assert "Too late" not in text
    assert sender.round(later(3_800)) == 0
    course.change(due_at=due_at + timedelta(hours=1))
    course.person("cleo")
    course.person("dan")
    accepted_invitation(course, "cleo")
    assert sender.round(later(DAY)) == 2
    assert mails.subjects("dan") == [], "the invitation isn't used yet"
    assert len(mails.subjects("cleo")) == 1


@ON_SQLITE
def test_an_excuse_that_is_released_leaves_out_the_deadline(course: ACourse, mails: Inbox) -> None:
    course.change(due_at=later(DAY))
    for name, excused, held in (("ada", True, False), ("bob", True, True), ("cleo", False, False)):
        decision = {"excused": excused, "held": held, "corrected_at": later(0)}
        person = course.person(name)
        with course.sessions.begin() as session:
            session.add(Correction(assignment_id=course.assignment, person_id=person, **decision))
    accepted_invitation(course, "ada", "bob", "cleo")
    assert mailer(course, mails).round(later(10)) == 2
    assert [len(mails.subjects(name)) for name in ("ada", "bob", "cleo")] == [0, 1, 1]
    course.change(grades_held=True)
    assert mailer(course, mails).round(later(20)) == 1


def test_nobody_hears_who_joined_by_a_code_or_turned_it_off(course: ACourse, mails: Inbox) -> None:
    for name, values in (("ada", {"proven_at": None}), ("bob", {"mails_off": "deadlines answers"})):
        commented(course, name, later(10))
        with course.sessions.begin() as session:
            session.execute(update(Person).where(Person.id == course.people[name]).values(values))
    assert mailer(course, mails).round(later(20)) == 0
    assert waits(course) == []


INJECTED = (
    "=?utf-8?q?Reset_your_password=0AReply-To:_evil=40x.org=0AContent-Type:_text/html=0A=0A"
    "<h1>Phish</h1><a_href=3Dhttp://evil.example>log_in</a>?="
)


@ON_SQLITE
@pytest.mark.parametrize("title", [INJECTED, "Übung \u201e1\u201c", "a " * 99 + "é", "Line\n\nReply-To: evil@x.org"])
def test_a_title_adds_no_header_and_no_body(course: ACourse, mails: Inbox, title: str) -> None:
    titled(course, title)
    commented(course, "ada", later(10))
    assert mailer(course, mails).round(later(20)) == 1
    (found,) = mails.received
    assert sorted(found.keys()) == sorted([
        "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "List-Unsubscribe", "List-Unsubscribe-Post",
        "MIME-Version", "Content-Type",
    ])  # fmt: skip
    assert [part.get_content_type() for part in found.iter_parts()] == ["text/plain", "text/html"]
    assert "<h1>" not in body(found, "html")
    subject = " ".join(title.split())
    assert str(found["Subject"]).startswith(f"[{subject}] ")
    assert f"{PORTAL}/submissions/" in body(found)


def test_an_address_with_letters_of_another_script_is_kept() -> None:
    letter = Letter(1, NOW, MailKind.ANSWERS, "ö=?utf-8?q?=0aBcc:x?=@example.edu", "Subject", "/")
    head = message(letter, Inbox().server.sender, PORTAL).partition(b"\r\n\r\n")[0]
    assert "To: ö=?utf-8?q?=0aBcc:x?=@example.edu".encode() in head.splitlines()


@ON_SQLITE
@pytest.mark.parametrize("error", [MessageError("x"), UnicodeEncodeError("ascii", "x", 0, 1, "x"), KeyError("x")])
def test_an_e_mail_that_cannot_be_written_stops_no_other(
    course: ACourse, mails: Inbox, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    for name in ("ada", "bob"):
        commented(course, name, later(10))

    def broken(letter: Letter, *more: str) -> bytes:
        if letter.address.startswith("ada@"):
            raise error
        return message(letter, *more)

    monkeypatch.setattr(mail_sender, "message", broken)
    assert mailer(course, mails).round(later(20)) == 1
    assert waits(course) == [], "the broken one isn't tried again"
    assert len(mails.subjects("bob")) == 1


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"TILELAB_MAIL_FROM": ""}, "TILELAB_MAIL_FROM"),
        ({"TILELAB_MAIL_FROM": "Tilelab <a@b.example>\nBcc: x@y.example"}, "TILELAB_MAIL_FROM"),
        ({"TILELAB_PUBLIC_URL": ""}, "TILELAB_PUBLIC_URL"),
        ({"TILELAB_SMTP_TLS": "ssl"}, "TILELAB_SMTP_TLS"),
        ({"TILELAB_SMTP_USER": "tilelab"}, "TILELAB_SMTP_PASSWORD"),
    ],
)
def test_half_a_mail_server_is_refused_by_the_name_of_the_setting(given: dict[str, str], named: str) -> None:
    whole = {
        "DATABASE_URL": "sqlite://", "REDIS_URL": "redis://127.0.0.1", "TILELAB_PUBLIC_URL": PORTAL,
        "TILELAB_SMTP_HOST": "mail.example", "TILELAB_MAIL_FROM": "tilelab@tilelab.example",
    }  # fmt: skip
    found = read_settings(whole).mail
    assert found is not None
    assert (found.port, found.tls) == (587, "starttls")
    assert read_settings(whole | {"TILELAB_SMTP_HOST": ""}).mail is None
    with pytest.raises(SettingError, match=named):
        read_settings(whole | given)


def test_the_account_has_a_switch_for_each_kind_where_mail_is_sent(
    portal: Portal, ada: BrowserClient, mails: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'name="mail' not in ada.page("/account")
    here = portal.app.extensions["tilelab"]
    monkeypatch.setitem(
        portal.app.extensions, "tilelab", replace(here, settings=replace(here.settings, mail=mails.server))
    )
    fields = {"name": "ada", "shown": "pseudonym"}
    assert ada.post_form("/account", **fields).status_code == 303, "a page from before"
    assert ada.page("/account").count('value="yes" checked') == len(CHOSEN_MAILS)
    assert ada.post_form("/account", **fields, mails="shown", mail_results="yes").status_code == 303
    assert re.findall(r'name="mail_(\w+)" value="yes" checked', ada.page("/account")) == ["results"]


def test_what_a_killed_process_began_is_sent_again_as_the_same_e_mail(course: ACourse, mails: Inbox) -> None:
    commented(course, "ada", later(10))
    mails.silent = True
    with pytest.raises(smtplib.SMTPServerDisconnected):
        mailer(course, mails).round(later(20))
    assert mailer(course, mails).round(later(30)) == 0, "it may be under way"
    assert mailer(course, mails).round(later(200)) == 1
    first, second = mails.received
    assert first["Message-ID"] == second["Message-ID"]
    assert waits(course) == []


def test_one_refused_address_stops_no_other_and_is_given_up(course: ACourse, mails: Inbox) -> None:
    for name in ("ada", "bob"):
        commented(course, name, later(10))
    mails.refused = "ada@"
    sender = mailer(course, mails)
    assert sender.round(later(20)) == 1
    for minute in range(2, 3 * 24 * 60, 180):
        assert sender.round(later(60 * minute)) == 0
        assert len(waits(course)) == 1
    sender.round(later(10 + 3 * DAY))
    assert waits(course) == []
    mails.refused = ""
    assert sender.round(later(20 + 3 * DAY)) == 0
    assert mails.subjects("ada") == []


def test_an_outage_of_a_day_loses_and_delays_nothing(course: ACourse, mails: Inbox) -> None:
    commented(course, "ada", later(10))
    sender = mailer(course, mails)
    away = replace(sender, server=replace(mails.server, port=1))
    for minute in range(1, 24 * 60, 240):
        with pytest.raises(ConnectionRefusedError):
            away.round(later(60 * minute))
    assert sender.round(later(DAY)) == 1
    commented(course, "bob", later(DAY))
    for days in (2, 3.9):
        with pytest.raises(ConnectionRefusedError):
            away.round(later(days * DAY))
    assert away.round(later(4 * DAY)) == 0, "it is given up"
    assert waits(course) == []
    with course.sessions.begin() as session:
        assert [each.email for each in mail_state(session).unsent] == ["bob@example.edu"]


def test_an_ended_round_delays_only_one_e_mail(course: ACourse, mails: Inbox) -> None:
    for name in ("ada", "bob", "cleo"):
        commented(course, name, later(10))
    sender, mails.busy = mailer(course, mails), True
    with pytest.raises(smtplib.SMTPSenderRefused):
        sender.round(later(20))
    assert [sender.round(later(seconds)) for seconds in (50, 80, 150, 400)] == [2, 0, 1, 0]
    assert sorted(str(each["To"]) for each in mails.received) == [
        "ada@example.edu", "bob@example.edu", "cleo@example.edu",
    ]  # fmt: skip


def test_only_the_mail_server_itself_leaves_e_mails_untried(course: ACourse, mails: Inbox) -> None:
    def untried_since() -> datetime | None:
        with course.sessions.begin() as session:
            return mail_state(session).untried_since

    commented(course, "ada", later(10))
    sender, mails.busy, mails.refused = mailer(course, mails), True, "ada@"
    with pytest.raises(smtplib.SMTPSenderRefused):
        sender.round(later(20))
    assert untried_since() == later(10)
    assert sender.round(later(200)) == 0
    assert untried_since() is None
    assert len(waits(course)) == 1


class Once(threading.Event):
    """Lets a loop run once."""

    def wait(self, timeout: float | None = None) -> bool:
        self.set()
        return super().wait(timeout)


@ON_SQLITE
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_e_mails_wait_for_a_certificate_that_is_trusted(
    course: ACourse, tls: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trusted = own_certificate(tmp_path)
    commented(course, "ada", datetime.now(UTC))
    with inbox(tls, tmp_path / "own.pem") as mails:
        sender = mailer(course, mails)
        sender.run(Once())
        assert f"127.0.0.1:{mails.port} is not trusted" in caplog.text
        assert [mail.tries for mail in waits(course)] == [0]
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        sender.run(Once())
        assert (len(mails.received), waits(course)) == (1, [])
