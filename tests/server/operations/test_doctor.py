"""`tilelab admin doctor`: a healthy deployment, and broken ones. Each is named by its check's code alone."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from redis import Redis
from sqlalchemy import Engine, select, text

from kernels.verdict import Verdict
from kernels.wire import to_plain
from server.accounts.models import MailKind
from server.database.engine import Sessions, connect
from server.database.schema import newest
from server.grading.models import Result, Step, StepState
from server.grading.refusals import note_refusal
from server.mail.models import Mail
from server.operations.backup import ArchiveWriter, back_up
from server.operations.doctor import machine, services
from server.operations.doctor.examination import Check, examine, examine_with
from server.operations.doctor.finding import Deployment, Level, fine
from server.operations.presence import Presence
from server.settings import read_settings
from tests.server.course import ACourse
from tests.server.databases import ON_POSTGRESQL, ON_SQLITE
from tests.server.mail.smtp import Inbox, inbox
from tests.server.operations.a_full_course import connect_platform
from tests.server.sign_on.forger import Forger, forging
from tests.services.redis_server import RedisServer, free_port
from worker.commands.root import Exit, tilelab
from worker.contract.fleet import SlotRecord, WorkerRecord, WorkerState
from worker.contract.messages import VERSION

WORKER = WorkerRecord(
    "host-1.abc", "host-1", 1, WorkerState.IDLE, (SlotRecord("cpu-0", "cpu", "cpu", WorkerState.IDLE),), 0.0,
    versions={"tilelab": version("tilelab"), "messages": str(VERSION)},
)  # fmt: skip
TOKEN = "0123456789abcdef0123456789abcdef"


@dataclass
class Site:
    """A whole deployment, healthy at first.

    folder: as a careless operator makes it: every user can enter it
    others: the settings of its mail server and its identity provider, which only some deployments have
    """

    engine: Engine
    made: Sessions
    redis: Redis
    folder: Path
    given: dict[str, str]
    others: dict[str, str]
    backups: Path = field(init=False)

    def __post_init__(self) -> None:
        self.backups = self.folder / "backups"
        self.backups.mkdir()
        self.backup()
        for name in ("dispatcher", "recorder"):
            Presence(self.redis, name).tell()
        self.worker()

    @property
    def now(self) -> float:
        return float(self.redis.time()[0])

    def backup(self, days: int = 0) -> None:
        """Make the newest backup so old."""
        file = self.backups / "today.zip"
        with file.open("wb") as opened, ArchiveWriter(opened) as writer:
            writer.finish(newest(), datetime.now(UTC) - timedelta(days=days))
        file.chmod(0o600)

    def worker(self, *, silent: float = 0.0, **changed: Any) -> None:
        """Replace the worker's record."""
        beat = self.now - silent
        plain = to_plain(replace(WORKER, **{"beat": beat, **changed}))
        self.redis.sadd("tilelab:worker-ids", WORKER.id)
        self.redis.set(f"tilelab:worker:{WORKER.id}", json.dumps(plain))

    def course(self, device_class: str = "") -> ACourse:
        return ACourse.make(self.made, device_class=device_class)

    def secret(self, name: str, value: str, mode: int = 0o600) -> None:
        """Put a setting into a file."""
        file = self.folder / name.lower()
        file.write_text(value)
        file.chmod(mode)
        self.given.pop(name, None)
        self.given[f"{name}_FILE"] = str(file)

    def sql(self, statement: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(text(statement))

    def found(self) -> dict[str, Level]:
        """The level of each check that isn't fine."""
        lines = examine(self.given, self.backups)
        return {line.check: line.level for line in lines if line.level is not Level.FINE}


@pytest.fixture(scope="module")
def forger() -> Iterator[Forger]:
    with forging() as found:
        yield found


@pytest.fixture(scope="module")
def mails() -> Iterator[Inbox]:
    with inbox() as found:
        yield found


@pytest.fixture
def site(
    engine: Engine, made: Sessions, database_url: str, redis_server: RedisServer, redis_url: str, forger: Forger,
    mails: Inbox,
) -> Iterator[Site]:  # fmt: skip
    with tempfile.TemporaryDirectory(dir="/tmp") as name, redis_server.client() as client:
        folder = Path(name)
        folder.chmod(0o755)
        client.config_set("maxmemory", 0)
        if engine.dialect.name == "sqlite":
            Path(str(engine.url.database)).chmod(0o600)
        given = {
            "DATABASE_URL": database_url, "REDIS_URL": redis_url, "TILELAB_PUBLIC_URL": "https://tilelab.example",
            "TILELAB_METRICS_TOKEN": TOKEN, "TILELAB_FREE_MB": "1",
        }  # fmt: skip
        others = {
            "TILELAB_SMTP_HOST": "127.0.0.1", "TILELAB_SMTP_PORT": str(mails.port), "TILELAB_SMTP_TLS": "none",
            "TILELAB_MAIL_FROM": "tilelab@tilelab.example", "TILELAB_SIGN_ON": str(folder / "sign_on.toml"),
        }  # fmt: skip
        described = Site(engine, made, client, folder, given, others)
        write_provider(described, forger.issuer)
        yield described


def write_provider(site: Site, issuer: str) -> None:
    file = Path(site.others["TILELAB_SIGN_ON"])
    file.write_text(
        f'[[provider]]\nname = "university"\ntitle = "University"\nissuer = "{issuer}"\nclient_id = "tilelab"\n'
        f'client_secret = "{TOKEN}"\n'
    )
    file.chmod(0o600)


def test_a_healthy_deployment_has_nothing_wrong(site: Site) -> None:
    back_up(site.engine, site.backups / "today.zip")
    site.given |= site.others
    site.course()
    told = CliRunner().invoke(tilelab, ["admin", "doctor", "--json", "--backups", str(site.backups)], env=site.given)
    found = json.loads(told.stdout)
    assert [each for each in found["checks"] if each["level"] != "fine"] == []
    assert (told.exit_code, found["problems"], found["warnings"]) == (Exit.ACCEPTED, 0, 0)
    own = {"disk"} if site.engine.dialect.name == "sqlite" else {"database-clock"}
    assert {each["check"] for each in found["checks"]} == own | {
        "settings", "public-address", "secret-files", "secrets", "backups", "backup-disk", "database", "redis",
        "redis-password", "redis-memory", "redis-clock", "dispatcher", "recorder", "workers", "worker-versions",
        "worker-warnings", "queue", "assignments", "results", "mail", "mail-waiting", "sign-on",
    }  # fmt: skip


@ON_SQLITE
def test_the_exit_code_counts_problems_and_not_warnings(site: Site) -> None:
    def run() -> tuple[int, str]:
        told = CliRunner().invoke(tilelab, ["admin", "doctor"], env=site.given)
        return told.exit_code, told.stdout.splitlines()[-2].partition(", ")[0]

    site.given["TILELAB_METRICS_TOKEN"] = "q8Zr2"
    assert run() == (Exit.ACCEPTED, "0 problems")
    site.redis.delete("tilelab:processes")
    assert run() == (Exit.NOT_ACCEPTED, "2 problems")


def half_a_backup(site: Site) -> None:
    file = site.backups / "today.zip"
    file.write_bytes(file.read_bytes()[:-100])


def no_tables(site: Site) -> None:
    connect(url := f"sqlite:///{site.folder}/new.db").dispose()
    site.given["DATABASE_URL"] = url


def no_password(site: Site) -> None:
    site.redis.config_set("requirepass", "")
    site.given["REDIS_URL"] = "redis://" + site.given["REDIS_URL"].rpartition("@")[2]


def waiting(site: Site, *people: str, queue: str = "cpu") -> None:
    """Submissions that nothing has taken since March."""
    course = site.course()
    for person in people or ("ada",):
        course.job(person)
    site.worker(slots=(SlotRecord("s", queue, "", WorkerState.IDLE),))


def late_mail(site: Site) -> None:
    others()(site)
    person, now = site.course().person("ada"), datetime.now(UTC)
    with site.made.begin() as session:
        session.add(
            Mail(
                person_id=person, kind=MailKind.ANSWERS, reference="comment 1", subject="s", path="/",
                made_at=now - timedelta(hours=2), next_at=now,
            )
        )  # fmt: skip


def of_another_version(site: Site) -> None:
    site.course()
    site.sql("UPDATE exercises SET digest = 'other'")


def system_error(site: Site) -> None:
    job = site.course().job("ada")
    site.sql("UPDATE steps SET state = 'failed'")
    with site.made.begin() as session:
        result = {"verdict": Verdict.SYSTEM_ERROR, "device_class": "", "report": b"", "recorded_at": datetime.now(UTC)}
        session.add(Result(job_id=job, **result))


def refused_result(site: Site) -> None:
    with site.made.begin() as session:
        note_refusal(session, 17, WORKER.id, "signature", datetime.now(UTC))


def failing_score(site: Site) -> None:
    course = site.course()
    with site.made.begin() as session:
        connect_platform(session, course.course, course.assignment, course.person("ada"))
    site.sql("UPDATE lti_scores SET fault = 'it answers 403'")


def moving(site: Site) -> None:
    """A full queue of short steps, none of which happens to run now."""
    waiting(site, "ada", "ben")
    with site.made.begin() as session:
        first = session.scalars(select(Step).order_by(Step.id)).first()
        assert first is not None
        first.state, first.ended_at = StepState.DONE, datetime.now(UTC)


def encrypted(site: Site, content: bytes) -> None:
    """A backup that a shell wrote, so that others can read it; and other files, also newer ones."""
    (site.backups / "today.zip").unlink()
    (site.backups / "today.zip.gpg").write_bytes(content)
    (site.backups / "today.zip.gpg").chmod(0o644)
    (site.backups / ".half.zip").touch()
    (site.backups / "backup.log").touch()


def silent_worker(site: Site, started: float) -> None:
    """A worker that was killed a minute ago, and one on its host that started so many seconds after the last beat."""
    site.worker(silent=60)
    record = replace(WORKER, id="host-1.def", beat=site.now, started=site.now - 60 + started)
    site.redis.sadd("tilelab:worker-ids", record.id)
    site.redis.set(f"tilelab:worker:{record.id}", json.dumps(to_plain(record)))


def others(**given: str) -> Callable[[Site], None]:
    """With a mail server and an identity provider, and these settings."""
    return lambda site: site.given.update(site.others | given)


def with_provider(site: Site, issuer: str = "", mode: int = 0o600) -> None:
    site.given |= site.others
    if issuer:
        write_provider(site, issuer)
    Path(site.given["TILELAB_SIGN_ON"]).chmod(mode)


def set_to(**given: str) -> Callable[[Site], None]:
    return lambda site: site.given.update(given)


def dead(scheme: str) -> str:
    return f"{scheme}://user:{TOKEN}@127.0.0.1:{free_port()}/0"


_LONG = pytest.mark.long("the short suite has another deployment for each of these checks")
PROBLEM, WARNING = Level.PROBLEM, Level.WARNING
BROKEN: dict[str, tuple[Callable[[Site], object], dict[str, Level]]] = {
    "a file of a setting is missing": (
        set_to(TILELAB_METRICS_TOKEN="", TILELAB_METRICS_TOKEN_FILE="/nowhere/token"),
        {"settings": PROBLEM},
    ),
    "no public address": (set_to(TILELAB_PUBLIC_URL=""), {"public-address": WARNING}),
    "a public address without https": (
        others(TILELAB_PUBLIC_URL="http://tilelab.example"),
        {"public-address": PROBLEM, "sign-on": PROBLEM},
    ),
    "a secret that others can read": (
        lambda site: site.secret("TILELAB_METRICS_TOKEN", TOKEN, 0o644), {"secret-files": PROBLEM},
    ),
    "a default secret": (set_to(TILELAB_METRICS_TOKEN="Secret"), {"secrets": PROBLEM}),
    "half a backup": (half_a_backup, {"backups": PROBLEM}),
    "an encrypted backup among other files": (lambda site: encrypted(site, b"gpg"), {}),
    "no database": (lambda site: site.given.update(DATABASE_URL=dead("postgresql")), {"database": PROBLEM}),
    "no Redis": (lambda site: site.given.update(REDIS_URL=dead("redis")), {"redis": PROBLEM}),
    "a Redis without a password": (no_password, {"redis-password": WARNING}),
    "a Redis that forgets": (
        lambda site: site.redis.config_set("maxmemory", "1gb", "maxmemory-policy", "allkeys-lru"),
        {"redis-memory": PROBLEM},
    ),
    "no dispatcher and no recorder": (
        lambda site: site.redis.delete("tilelab:processes"), {"dispatcher": PROBLEM, "recorder": PROBLEM},
    ),
    "no worker": (lambda site: site.redis.delete("tilelab:worker-ids"), {"workers": PROBLEM}),
    "a worker that was killed and started again": (lambda site: silent_worker(site, 30), {}),
    "a worker of another version": (
        lambda site: site.worker(versions={"tilelab": "0.0.1"}), {"worker-versions": PROBLEM},
    ),
    "a worker with messages of another version": (
        lambda site: site.worker(versions={**WORKER.versions, "messages": str(VERSION - 1)}),
        {"worker-versions": PROBLEM},
    ),
    "a worker with something to say": (lambda site: site.worker(reason="a gap"), {"worker-warnings": WARNING}),
    "an assignment of another version": (of_another_version, {"assignments": PROBLEM}),
    "a submission that ended in a system error": (system_error, {"results": WARNING}),
    "a queue that stands still": (waiting, {"queue": PROBLEM}),
    "a queue that moves, with a long wait": (moving, {"queue": WARNING}),
    "no mail server": (others(TILELAB_SMTP_PORT="1"), {"mail": PROBLEM}),
    "e-mails that wait": (late_mail, {"mail-waiting": WARNING}),
    "scores that fail": (failing_score, {"scores": WARNING}),
    "no provider": (
        lambda site: with_provider(site, f"http://127.0.0.1:{free_port()}"), {"sign-on": PROBLEM},
    ),
}  # fmt: skip
"""Each check finds something in one of these, or stays quiet where it could give a false alarm."""

MORE: dict[str, tuple[Callable[[Site], object], dict[str, Level]]] = {
    "no backup": (lambda site: (site.backups / "today.zip").unlink(), {"backups": PROBLEM}),
    "a silent worker beside another": (lambda site: silent_worker(site, -30), {"workers": WARNING}),
    "newer tables": (lambda site: site.sql("UPDATE alembic_version SET version_num = '9999'"), {"database": PROBLEM}),
    "a late backup": (lambda site: site.backup(3), {"backups": WARNING}),
    "a GPU that only an assignment has": (lambda site: site.course("h200"), {"workers": WARNING}),
    "a result that can't be trusted": (refused_result, {"results": WARNING}),
    "an address of no database": (set_to(DATABASE_URL="mysql://host/db"), {"settings": PROBLEM}),
    "a provider's secret that others can read": (
        lambda site: with_provider(site, mode=0o644), {"secret-files": PROBLEM},
    ),
    "a short secret": (set_to(TILELAB_METRICS_TOKEN="q8Zr2"), {"secrets": WARNING}),
    "no folder of backups": (lambda site: setattr(site, "backups", site.folder / "none"), {"backups": PROBLEM}),
    "an old backup": (lambda site: site.backup(30), {"backups": PROBLEM}),
    "an empty encrypted backup": (lambda site: encrypted(site, b""), {"backups": PROBLEM}),
    "a backup that others can read": (lambda site: (site.backups / "today.zip").chmod(0o644), {"backups": PROBLEM}),
    "no tables": (no_tables, {"database": PROBLEM}),
    "a wrong password of Redis": (
        lambda site: site.given.update(REDIS_URL=f"redis://:{TOKEN}@{site.given['REDIS_URL'].rpartition('@')[2]}"),
        {"redis": PROBLEM},
    ),
    "a silent worker": (lambda site: site.worker(silent=60, versions={}), {"workers": PROBLEM}),
    "a worker that took itself out": (lambda site: site.worker(state=WorkerState.OUT), {"workers": PROBLEM}),
    "a worker with an unknown record": (
        lambda site: site.redis.set(f"tilelab:worker:{WORKER.id}", "{}"),
        {"workers": PROBLEM, "worker-versions": PROBLEM},
    ),
    "a drained worker": (lambda site: site.worker(state=WorkerState.DRAINED), {"workers": WARNING}),
    "a queue that no worker takes": (lambda site: waiting(site, queue="gpu.h200"), {"queue": PROBLEM}),
    "half of the mail settings": (others(TILELAB_MAIL_FROM=""), {"mail": PROBLEM}),
    "no file for sign-on": (others(TILELAB_SIGN_ON="/nowhere/sign_on.toml"), {"sign-on": PROBLEM}),
}  # fmt: skip


@pytest.fixture
def settings_of_redis(redis_server: RedisServer) -> Iterator[None]:
    """Undo what a test sets in the Redis that others use."""
    with redis_server.client() as client:
        kept = client.config_get("requirepass", "maxmemory", "maxmemory-policy")
        yield
        try:
            client.config_set(*[word for pair in kept.items() for word in pair])
        finally:
            client.close()


@pytest.mark.one_in(2, "every second")
@ON_SQLITE
@pytest.mark.parametrize("broken", [*BROKEN, *(pytest.param(each, marks=_LONG) for each in MORE)])
def test_a_broken_deployment_is_named_by_its_check(broken: str, site: Site, settings_of_redis: None) -> None:
    change, expected = (BROKEN | MORE)[broken]
    change(site)
    assert site.found() == expected


@pytest.mark.parametrize(
    ("url", "level"),
    [
        ("redis://10.0.0.7/0", WARNING), ("rediss://10.0.0.7/0?ssl_cert_reqs=none", WARNING),
        ("rediss://10.0.0.7/0", Level.FINE), ("redis://127.0.0.1/0", None), ("unix:///run/redis.sock", None),
    ],
)  # fmt: skip
def test_the_way_to_another_machines_redis_is_encrypted(url: str, level: Level | None) -> None:
    found = services.redis_encryption(deployment(REDIS_URL=url))
    assert (found and found.level) == level


@ON_SQLITE
def test_a_clock_that_differs_is_a_problem(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time
    monkeypatch.setattr("server.operations.doctor.services.time.time", lambda: now() + 60)
    assert site.found()["redis-clock"] is PROBLEM


@pytest.mark.long("the short suite has the same of Redis, and no PostgreSQL for it alone")
@ON_POSTGRESQL
def test_the_way_to_another_machines_postgresql_is_encrypted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "database-encryption" not in {line.check for line in examine(site.given)}
    monkeypatch.setattr(services, "_crosses_a_network", lambda _: True)
    assert site.found()["database-encryption"] is WARNING


def test_the_network_of_containers_needs_no_encryption(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(services, "_CONTAINER", tmp_path)
    assert services.redis_encryption(deployment(REDIS_URL="redis://redis/0")) is None
    assert services.redis_encryption(deployment(REDIS_URL="redis://redis.tilelab.example/0")) is not None


def test_a_trial_on_one_machine_needs_no_public_address() -> None:
    assert machine.public_address(deployment(REDIS_URL="unix:///run/redis.sock")) is None


@ON_SQLITE
def test_a_full_disk_is_a_problem(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    full = SimpleNamespace(f_bavail=1, f_frsize=1)
    monkeypatch.setattr("os.statvfs", lambda _: full)
    assert site.found() == {"disk": PROBLEM, "backup-disk": WARNING}


def deployment(**given: str) -> Deployment:
    settings = read_settings({"DATABASE_URL": "sqlite://", "REDIS_URL": "redis://127.0.0.1/0", **given})
    return Deployment({}, settings, connect("sqlite://"))


@ON_SQLITE
def test_silent_hosts_cost_a_line_each_and_little_time(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes connections and says nothing
        port = server.getsockname()[1]
        host = f"127.0.0.1:{port}"
        site.given |= site.others | {
            "DATABASE_URL": f"postgresql://user:{TOKEN}@{host}/db", "REDIS_URL": f"redis://:{TOKEN}@{host}/0",
            "TILELAB_SMTP_PORT": str(port),
        }  # fmt: skip
        write_provider(site, f"http://127.0.0.1:{port}")
        begun = time.monotonic()
        lines = examine(site.given, site.backups, seconds=0.3)
        took = time.monotonic() - begun
    for thread in threading.enumerate():  # the end of the server ends them
        if thread.name.startswith("check "):
            thread.join(20)
    assert {line.check for line in lines if line.level is PROBLEM} == {"database", "redis", "mail", "sign-on"}
    assert took < 5


def test_a_check_that_raises_or_hangs_is_a_line_and_hides_no_other() -> None:
    end = threading.Event()

    def broken(_: Deployment) -> None:
        raise ValueError(TOKEN)

    def hung(_: Deployment) -> None:
        end.wait(20)

    checks = [
        Check("raises", broken), Check("hangs", hung), Check("fine", lambda _: fine("yes")),
        Check("needs", broken, frozenset({"hangs"})), Check("applies not", lambda _: None),
    ]  # fmt: skip
    try:
        lines = examine_with(checks, deployment(), seconds=0.2)
    finally:
        end.set()
    assert [(line.check, line.level) for line in lines] == [
        ("raises", PROBLEM), ("hangs", PROBLEM), ("fine", Level.FINE),
    ]  # fmt: skip
    assert not any(TOKEN in line.text for line in lines)
