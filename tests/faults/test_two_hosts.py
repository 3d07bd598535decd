"""Two workers on two hosts share the work through one Redis; one is cut off in the middle of a job."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select

from kernels.verdict import Verdict
from server.database.engine import Sessions, connect, sessions
from server.database.schema import upgrade
from server.fleet.worker_keys import register_key
from server.grading.models import Attempt, AttemptOutcome, Job, JobState, Result, Step, StepState
from server.submissions.models import Mode
from tests.faults.hosts import Host, why_not
from tests.faults.kept import Kept
from tests.server.course import ACourse
from tests.services.redis_server import RedisServer, as_worker
from worker.contract.credential import Credential

ROOT = Path(__file__).resolve().parents[2]
REASON = why_not()
LEASE_SECONDS = 3
SECONDS = 120.0

pytestmark = [
    pytest.mark.skipif(bool(REASON), reason=REASON or "there are hosts"),
    pytest.mark.long("takes minutes; the short suite has late results in tests/server/recording/test_record.py"),
]


class Broker(RedisServer):
    """Redis that the hosts can reach."""

    def __init__(self, folder: Path, hosts: list[Host]) -> None:
        super().__init__(folder)
        self._addresses = " ".join(host.ours for host in hosts)

    def _configuration(self) -> bytes:
        return super()._configuration().replace(b"127.0.0.1", f"127.0.0.1 {self._addresses}".encode(), 1)

    def url_for(self, host: Host) -> str:
        return self.url.replace("127.0.0.1", host.ours)


class Place:
    """A server on this machine, and a worker on each host."""

    def __init__(self, made: Sessions, hosts: dict[str, Host], folder: Path) -> None:
        self.sessions, self.hosts, self.folder = made, hosts, folder
        self.course = ACourse.make(made, device_class="")
        self._number = 0

    def hand_in(self, name: str, wait_for: Path | None = None) -> int:
        """The number of the job."""
        self._number += 1
        text = f"// wait for {wait_for}\n" if wait_for else f"// {self._number}\n"
        return self.course.job(name, source=text.encode(), mode=Mode.CHECK)

    def host_of(self, job: int) -> str:
        """Where a job is in work; empty where it is not."""
        with self.sessions.begin() as session:
            step = session.scalars(select(Step).where(Step.job_id == job)).one()
            if step.state is not StepState.RUNNING or step.worker is None:
                return ""
            return step.worker.split(".")[0]

    def attempts(self, job: int) -> list[tuple[str, AttemptOutcome | None]]:
        """By number: the host and how it ended."""
        with self.sessions.begin() as session:
            query = select(Attempt).join(Step).where(Step.job_id == job).order_by(Attempt.number)
            return [((each.worker or "").split(".")[0], each.outcome) for each in session.scalars(query)]

    def done(self, *jobs: int) -> bool:
        with self.sessions.begin() as session:
            states = session.scalars(select(Job.state).where(Job.id.in_(jobs))).all()
        return all(state is JobState.DONE for state in states)

    def until(self, holds: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"in vain: {what}\n{self.logs()}"
            time.sleep(0.05)

    def logs(self) -> str:
        return "\n".join(f"== {log.name}\n{log.read_text()[-3000:]}" for log in self.folder.glob("*.log"))

    def late_result_is_over(self, host: str) -> bool:
        """Whether the recorder refused it, or its worker dropped it, having learned of its lost claim before."""
        return "fenced" in self._log("recorder") or "dropped the result" in self._log(host)

    def _log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()


@pytest.fixture
def place(postgres_url: str, tmp_path: Path) -> Iterator[Place]:
    engine = connect(postgres_url)
    upgrade(engine)
    python, names = sys.executable, ("one", "two")
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        hosts = {name: stack.enter_context(Host(name, number)) for number, name in enumerate(names)}
        broker = stack.enter_context(Broker(tmp_path / "redis", list(hosts.values())))
        own = {name: Credential(name, ("cpu",), secrets.token_hex(32)) for name in names}
        with sessions(engine).begin() as session:
            for credential in own.values():
                register_key(session, as_worker(broker.url, credential), datetime.now(UTC))
        server = {
            "DATABASE_URL": postgres_url, "REDIS_URL": broker.url, "PYTHONPATH": str(ROOT),
            "TILELAB_LEASE_SECONDS": str(LEASE_SECONDS), "TILELAB_REPUBLISH_SECONDS": "2",
        }  # fmt: skip
        for name in ("dispatcher", "recorder"):
            command = [python, "-m", "worker.commands", "serve", name]
            stack.callback(Kept(name, command, server, tmp_path / f"{name}.log").stop)
        worker = ["-m", "bench.queue.worker", "--workplace", "tests.faults.waiting:Waiting"]
        for name, host in hosts.items():
            command = [*host.entering, python, *worker, "--cache", str(tmp_path)]
            theirs = {"REDIS_URL": as_worker(broker.url_for(host), own[name]), "PYTHONPATH": str(ROOT)}
            stack.callback(Kept(name, command, theirs, tmp_path / f"{name}.log").stop)
        yield Place(sessions(engine), hosts, tmp_path)


@pytest.mark.timeout(400)
def test_a_job_of_a_host_that_is_cut_off_ends_on_the_other_and_its_late_result_counts_for_nothing(
    place: Place, tmp_path: Path
) -> None:
    # both have work at once: they share it
    first = [place.hand_in("ada", tmp_path / "both"), place.hand_in("bob", tmp_path / "both")]
    place.until(lambda: {place.host_of(job) for job in first} == {"one", "two"}, "one job on each host")
    (tmp_path / "both").touch()
    place.until(lambda: place.done(*first), "both verdicts")

    job = place.hand_in("eve", tmp_path / "go on")
    place.until(lambda: place.host_of(job), "a job in work")
    lost = place.host_of(job)
    other = "two" if lost == "one" else "one"
    place.hosts[lost].cut()
    place.until(lambda: place.host_of(job) == other, "the job in work on the other host")
    # both hold it now, and both come to an end
    (tmp_path / "go on").touch()
    place.until(lambda: place.done(job), "the verdict")
    expected = [(lost, AttemptOutcome.LOST), (other, AttemptOutcome.DONE)]
    assert place.attempts(job) == expected

    place.hosts[lost].join()
    place.until(lambda: place.late_result_is_over(lost), "the late result")
    assert place.attempts(job) == expected
    with place.sessions.begin() as session:
        (verdict,) = session.scalars(select(Result.verdict).where(Result.job_id == job)).all()
    assert verdict is Verdict.ACCEPTED

    # who was cut off works again
    last = [place.hand_in("ada", tmp_path / "last"), place.hand_in("bob", tmp_path / "last")]
    place.until(lambda: {place.host_of(each) for each in last} == {"one", "two"}, "one job on each host again")
    (tmp_path / "last").touch()
    place.until(lambda: place.done(*last), "the last verdicts")
