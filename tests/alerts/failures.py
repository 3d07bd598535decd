"""Failures of a real server, provoked one after the other, with what the portal's `/metrics` says meanwhile."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from sqlalchemy import delete, select, update

from server.accounts.models import Identity, Person
from server.courses.models import Assignment
from server.database.engine import connect
from server.database.schema import upgrade
from server.grading.attempts import ticket_of
from server.grading.models import Job, Step, StepState
from server.lti.models import LtiContext, LtiLink, LtiPlatform, LtiScore
from server.mail.models import Mail
from server.mail.queries import ask_for_test
from tests.faults.course import ASSIGNMENT, ROOT
from tests.faults.house import House
from tests.faults.kept import Kept, below, command_line
from tests.faults.parts import Numbers, parts
from tests.faults.small_disk import FEW_BYTES, filled, small_disk
from tests.server.mail.smtp import inbox
from tests.services.redis_server import free_port
from worker.contract.broker import ResultSender, celery_app
from worker.contract.messages import StepResult, encode

T = TypeVar("T")
Samples = Mapping[str, float]
"""By series, as the text of a scrape has them. Without `up`, which Prometheus adds."""

_SECONDS = 300.0
_LIVING = 'tilelab_slots{queue="cpu"} 1'
_OPEN = ('tilelab_steps_waiting{queue="cpu"', 'tilelab_steps_in_flight{queue="cpu"')
_RUNNING = 'tilelab_steps_in_flight{queue="cpu",state="running"}'
_FREE_MB = 64


@dataclass(slots=True)
class Site:
    """A server with one worker, whose slot finds everything right."""

    house: House
    url: str = ""
    _submitted: list[str] = field(default_factory=list)

    @property
    def backup(self) -> Path:
        """The newest one, which is encrypted."""
        return self.house.folder / "backups" / "tilelab.zip.gpg"

    def scrape(self) -> Samples | None:
        """None while the portal is away."""
        try:
            with urllib.request.urlopen(f"{self.url or self.house.url}/metrics", timeout=30) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return None
        split = [line.rpartition(" ") for line in lines if line and line[0] != "#"]
        return {series: float(value) for series, _, value in split}

    def until(self, *wanted: str) -> Samples:
        """The first scrape with all these lines."""
        deadline = time.monotonic() + _SECONDS
        while True:
            found = self.scrape() or {}
            if all(found.get(series) == float(value) for series, _, value in (line.rpartition(" ") for line in wanted)):
                return found
            assert time.monotonic() < deadline, f"in vain: {wanted} in {found}"
            time.sleep(0.2)

    def submit(self, source: str) -> None:
        body = json.dumps({"assignment": ASSIGNMENT, "source": f"// {source} "}).encode()
        self._submitted.append(str(self._post("/api/v1/submissions", body)["id"]))

    def cancel(self) -> None:
        """Cancel every submission that is not over."""
        while self._submitted:
            with suppress(urllib.error.HTTPError):
                self._post(f"/api/v1/submissions/{self._submitted.pop()}/cancel", b"")

    def _post(self, path: str, body: bytes) -> Mapping[str, object]:
        headers = {"Authorization": f"Bearer {self.house.tokens[0]}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.house.url}{path}", body, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: Mapping[str, object] = json.load(answer)
            return found

    def start(self, name: str, *words: str) -> None:
        """Start a part again, with other settings."""
        if (part := self.house.parts.pop(name, None)) is not None:
            part.stop()
        command = parts(self.house, Numbers(web_processes=1), canned=True)[name]
        words = (f"TILELAB_BACKUPS={self.backup.parent}", *words)
        if name == "worker":
            command[command.index("--slots") + 1] = "1"
        self.house.start({name: ["/usr/bin/env", *words, *command]})


Failure = Callable[[Site, Path], Samples | None]
"""Provokes it, and ends it. Returns what was scraped while it lasted. Files of its own go into the folder."""


def quiet(site: Site, folder: Path) -> Samples | None:
    """Submissions are graded as on any day."""
    before = site.until(_LIVING)['tilelab_verdicts_total{verdict="wrong_answer"}']
    for _ in range(3):
        site.submit("wrong_answer")
    return site.until(f'tilelab_verdicts_total{{verdict="wrong_answer"}} {before + 3}', "tilelab_results_waiting 0")


def no_worker(site: Site, folder: Path) -> Samples | None:
    """The worker is killed with all that it started, and work waits."""

    def look() -> Samples:
        site.submit("wrong_answer")
        return site.until('tilelab_slots{queue="cpu"} 0')

    return _crashed(site, "worker", look)


def no_gpu(site: Site, folder: Path) -> Samples | None:
    """The worker checks, and none measures what waits for it."""

    def put_there() -> None:
        site.submit("wrong_answer")
        with site.house.sessions.begin() as session:
            session.execute(update(Step).where(Step.state == StepState.QUEUED).values(queue="gpu.cpu"))

    _crashed(site, "dispatcher", put_there)
    found = site.until(_LIVING, 'tilelab_steps_waiting{queue="gpu.cpu"} 1', *_WELL)
    site.cancel()
    return found


def stuck(site: Site, folder: Path) -> Samples | None:
    """One check does not end, and another waits behind it: for minutes, which its time says instead."""
    ended = folder / "ended"
    site.submit(f"wait {ended}")
    site.until(f"{_RUNNING} 1")
    site.submit("wrong_answer")
    with site.house.sessions.begin() as session:
        session.execute(update(Job).values(queued_at=datetime.now(UTC) - timedelta(minutes=40)))
    found = site.scrape()
    ended.touch()
    return found


def no_process(name: str) -> Failure:
    """It is killed, and reports no more."""
    return lambda site, folder: _crashed(site, name, lambda: site.until(f'tilelab_processes{{process="{name}"}} 0'))


def no_portal(site: Site, folder: Path) -> Samples | None:
    return _crashed(site, "portal", site.scrape)


def no_redis(site: Site, folder: Path) -> Samples | None:
    site.house.redis.kill()
    found = site.until("tilelab_broker_up 0")
    site.house.redis.start()
    return found


def no_database(site: Site, folder: Path) -> Samples | None:
    site.house.postgres.kill()
    found = site.until("tilelab_database_up 0")
    site.house.postgres.start()
    return found


def slot_dies(site: Site, folder: Path) -> Samples | None:
    """Something kills the slot at each step, as a machine without memory does."""
    deadline = time.monotonic() + _SECONDS
    while not (found := site.scrape() or {}).get('tilelab_workers{state="out"}'):
        assert time.monotonic() < deadline
        if not any(number for series, number in found.items() if series.startswith(_OPEN)):
            site.submit(f"wait {folder / 'never'}")
        if found.get(_RUNNING):
            for pid in below(site.house.parts["worker"].pid):
                if "worker.slots.slot" in command_line(pid):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            site.until(f"{_RUNNING} 0")
        time.sleep(0.2)
    site.cancel()
    found = site.until('tilelab_workers{state="out"} 1', 'tilelab_steps_waiting{queue="cpu"} 0')
    site.house.resume_workers()
    return found


def forged(site: Site, folder: Path) -> Samples | None:
    """A result without a signature."""
    ended = folder / "forged"
    site.submit(f"wait {ended}")
    site.until(f"{_RUNNING} 1")
    with site.house.sessions.begin() as session:
        step = session.scalars(select(Step).where(Step.state == StepState.RUNNING)).one()
        body = encode(StepResult(ticket_of(step), "stranger.1", None, fault="forged"))
    with closing(ResultSender(celery_app(site.house.redis.worker_url))) as sender:
        sender.send(body)
    found = site.until('tilelab_refused_results_total{why="unsigned"} 1')
    ended.touch()
    return found


def no_mail(site: Site, folder: Path) -> Samples | None:
    """Nothing listens where the mail server should be, until the setting is corrected."""
    _mail(site, free_port())
    _ask_for_mail(site)
    _said(site, "e-mails wait")
    found = site.until('tilelab_emails{state="waiting"} 1')
    with inbox() as box:
        _mail(site, box.port)
        site.until('tilelab_emails{state="waiting"} 0')
    return found


def one_mailbox(site: Site, folder: Path) -> Samples | None:
    """The mail server refuses one address, and an e-mail to it waits for hours."""
    with inbox() as box:
        box.refused = "@"
        _mail(site, box.port)
        _ask_for_mail(site)
        _said(site, "is not sent")
        found = site.until('tilelab_emails{state="waiting"} 1')
        box.refused = ""
        with site.house.sessions.begin() as session:
            session.execute(update(Mail).where(Mail.next_at.is_not(None)).values(next_at=datetime.now(UTC)))
        site.until('tilelab_emails{state="waiting"} 0')
    return found


def _mail(site: Site, port: int) -> None:
    """Let the dispatcher send e-mails to this port, with a log of its own."""
    settings = ("TILELAB_SMTP_HOST=127.0.0.1", "TILELAB_SMTP_TLS=none", "TILELAB_MAIL_FROM=tilelab@tilelab.example")
    (site.house.folder / "dispatcher.log").unlink()
    site.start("dispatcher", f"TILELAB_SMTP_PORT={port}", f"TILELAB_PUBLIC_URL={site.house.url}", *settings)


def _ask_for_mail(site: Site) -> None:
    """Of two hours ago."""
    with site.house.sessions.begin() as session:
        person = session.scalars(select(Person)).first()
        assert person
        ask_for_test(session, person)
        session.flush()
        session.execute(update(Mail).values(made_at=datetime.now(UTC) - timedelta(hours=2)))


def _said(site: Site, words: str) -> None:
    """Wait until the dispatcher's log has these words."""
    deadline = time.monotonic() + _SECONDS
    while words not in (site.house.folder / "dispatcher.log").read_text():
        assert time.monotonic() < deadline, f"in vain: {words}"
        time.sleep(0.2)


def no_platform(site: Site, folder: Path) -> Samples | None:
    """Nothing listens where a platform should take a score."""
    place, now = f"http://127.0.0.1:{free_port()}", datetime.now(UTC)
    with site.house.sessions.begin() as session:
        assignment, person = session.scalars(select(Assignment)).one(), session.scalars(select(Person)).first()
        assert person
        platform = LtiPlatform(
            title="Platform", issuer=place, client_id="tilelab", deployments=["1"], authorization=place, token=place,
            keys=place, domains=[], created_at=now,
        )  # fmt: skip
        context = LtiContext(
            platform=platform, course_id=assignment.course_id, deployment="1", name="1", title="C", connected_at=now
        )
        link = LtiLink(context=context, assignment_id=assignment.id, name="1", line_item=place)
        identity = Identity(person_id=person.id, issuer=platform.people, subject="1", created_at=now, used_at=now)
        score = LtiScore(link=link, person_id=person.id, points=None, most=1.0, made_at=now, next_at=now)
        session.add_all([platform, context, link, identity, score])
    found = site.until('tilelab_lti_scores{state="failing"} 1')
    with site.house.sessions.begin() as session:
        for table in (LtiScore, LtiLink, LtiContext, LtiPlatform, Identity):
            session.execute(delete(table))
    return found


def wrong_clock(site: Site, folder: Path) -> Samples | None:
    """The clock of the server's parts is two minutes ahead, and Redis's isn't."""
    with site.house.clock_off_by(120):
        return site.scrape()


def old_backup(site: Site, folder: Path) -> Samples | None:
    """The last backups failed."""
    backup = site.backup
    then = time.time() - timedelta(days=3).total_seconds()
    os.utime(backup, (then, then))
    found = site.scrape()
    backup.touch()
    return found


def full_disk(site: Site, folder: Path) -> Samples | None:
    """Another program fills the small disk with the SQLite database."""
    with filled(folder / "disk"):
        return site.scrape()


def _crashed(site: Site, name: str, look: Callable[[], T]) -> T:
    found: list[T] = []
    site.house.parts[name].crash(lambda: found.append(look()))
    return found[0]


FAILURES: Mapping[str, Failure] = {
    "quiet day": quiet,
    "no worker": no_worker,
    "no worker that measures": no_gpu,
    "stuck queue": stuck,
    "no dispatcher": no_process("dispatcher"),
    "no recorder": no_process("recorder"),
    "no portal": no_portal,
    "no Redis": no_redis,
    "no database": no_database,
    "no mail server": no_mail,
    "mailbox that refuses": one_mailbox,
    "no platform": no_platform,
    "wrong clock": wrong_clock,
    "old backup": old_backup,
    "forged result": forged,
    "slot that dies": slot_dies,
    "full disk": full_disk,
}
PHASES = ("before", "during", "after")
_WELL = (
    "tilelab_database_up 1", "tilelab_broker_up 1", 'tilelab_processes{process="dispatcher"} 1',
    'tilelab_processes{process="recorder"} 1', "tilelab_results_waiting 0",
)  # fmt: skip
_IDLE = (*_WELL, _LIVING, 'tilelab_steps_waiting{queue="cpu"} 0', 'tilelab_oldest_waiting_seconds{queue="cpu"} 0',
    'tilelab_workers{state="out"} 0')  # fmt: skip


def record(folder: Path, say: Callable[[str], None]) -> Mapping[str, tuple[Samples | None, ...]]:
    """What is scraped before, during and after each failure."""
    found = {}
    with House(folder, students=1, device_class="") as house:
        site = Site(house)
        site.backup.parent.mkdir()
        site.backup.write_text("encrypted")
        for part in parts(house, canned=True):
            site.start(part)
        for name, failure in FAILURES.items():
            say(name)
            if failure is full_disk:
                with _on_small_disk(house, folder / "disk") as small:
                    found[name] = (small.until(*_WELL), failure(small, folder), small.until(*_WELL))
            else:
                found[name] = (site.until(*_IDLE), failure(site, folder), site.until(*_IDLE))
    return found


@contextmanager
def _on_small_disk(house: House, folder: Path) -> Iterator[Site]:
    """A second portal, with an empty SQLite database on a small disk."""
    with small_disk(folder, FEW_BYTES) as is_small:
        assert is_small, "it takes the right to mount"
        address = f"sqlite:///{folder}/tilelab.sqlite3"
        engine = connect(address)
        upgrade(engine)
        engine.dispose()
        port = free_port()
        command = [sys.executable, "-m", "worker.commands", "serve", "web", "--port", str(port), "--processes", "1"]
        settings = {"DATABASE_URL": address, "REDIS_URL": house.redis.url, "PYTHONPATH": str(ROOT)}
        portal = Kept("small", command, {**settings, "TILELAB_FREE_MB": str(_FREE_MB)}, house.folder / "small.log")
        try:
            yield Site(house, f"http://127.0.0.1:{port}")
        finally:
            portal.stop()
