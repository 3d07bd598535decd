"""The units of deploy/ on a server and two workers, each a host with its own network. One's address is stolen."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select

from server.database.engine import Sessions, connect, sessions
from server.grading.models import Attempt, AttemptOutcome, Job, Result, Step, StepState
from server.grading.refusals import recent_refusals
from server.recording.origin import Distrust
from server.up.watch import NoAnswer, ask
from tests.faults.hosts import Host as Namespace
from tests.faults.hosts import why_not
from tests.server.deploy.test_services import SERVER, Host
from tests.server.deploy.units import ROOT
from tests.server.fleet.test_broker_users import ATTEMPTS
from tests.server.test_compose_services import a_student
from tests.worker.fleet.watched import wait_until

REASON = why_not()
pytestmark = [
    pytest.mark.skipif(bool(REASON), reason=REASON or "there are hosts"),
    pytest.mark.long("starts every unit on three hosts; the short suite reads the units and steals an address alone"),
    pytest.mark.timeout(600),
]

SERVER_NAME = "queue.tilelab.example"
SLOW = """__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || column >= Width) return;
    float sum;
    for (int again = 0; again < 40; again++) {
        sum = 0.0f;
        for (int k = 0; k < Width; k++)
            sum += ((volatile float*)M)[row * Width + k] * ((volatile float*)N)[k * Width + column];
    }
    P[row * Width + column] = sum;
}
"""
"""Accepted after seconds."""


@dataclass
class Site:
    """Three hosts with the units, and the wires of the two workers."""

    server: Host
    workers: dict[str, Host]
    wires: dict[str, Namespace]
    url: str
    sessions: Sessions
    token: str = ""
    jobs: list[int] = field(default_factory=list)

    def submit(self) -> int:
        """The number of the job."""
        body = {"assignment": "demo/tiled", "source": f"// {len(self.jobs)}\n{SLOW}"}
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = ask(self.url, "POST", "/api/v1/submissions", headers=headers, body=body)
        assert answer.status == 202, answer.body
        with self.sessions.begin() as session:
            self.jobs.append(session.scalars(select(Job.id).order_by(Job.id.desc())).first() or 0)
        return self.jobs[-1]

    def step(self, job: int) -> tuple[StepState, str]:
        """Its state and the host that runs it."""
        with self.sessions.begin() as session:
            step = session.scalars(select(Step).where(Step.job_id == job)).one()
            return step.state, (step.worker or "").partition(".")[0]

    def attempts(self, job: int) -> list[tuple[str, AttemptOutcome | None]]:
        with self.sessions.begin() as session:
            query = select(Attempt).join(Step).where(Step.job_id == job).order_by(Attempt.number)
            return [((each.worker or "").partition(".")[0], each.outcome) for each in session.scalars(query)]

    def until(self, holds: Callable[[], bool]) -> float:
        """The seconds that it took."""
        began = time.monotonic()
        wait_until(holds, self.said, seconds=200)
        return time.monotonic() - began

    def running(self, name: str, jobs: list[int]) -> int:
        """The one of these jobs that the host holds, as soon as it holds one."""
        held: list[int] = []

        def one() -> bool:
            held[:] = [job for job in jobs if self.step(job) == (StepState.RUNNING, name)]
            return bool(held)

        self.until(one)
        return held[0]

    def done(self, *jobs: int) -> None:
        """Each has one verdict, of one attempt."""
        self.until(lambda: all(self.step(job)[0] is StepState.DONE for job in jobs))
        for job in jobs:
            assert [outcome for _, outcome in self.attempts(job)].count(AttemptOutcome.DONE) == 1
            with self.sessions.begin() as session:
                verdicts = session.scalars(select(Result.verdict).where(Result.job_id == job)).all()
            assert verdicts == ["accepted"], self.attempts(job)

    def said(self) -> str:
        hosts = (self.server, *self.workers.values())
        return "\n".join(f"--- {name}\n{part.text[-3000:]}" for host in hosts for name, part in host.running.items())

    def admin(self, *words: str) -> str:
        done = self.server.run("dispatcher", "tilelab", "admin", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def states(self) -> dict[str, str]:
        """Of the workers, by host."""
        done = self.server.run("dispatcher", "tilelab", "worker", "status", "--json")
        assert done.returncode == 0, done.stderr
        return {each["id"]: each["state"] for each in json.loads(done.stdout)["workers"]}

    def both_work(self) -> bool:
        time.sleep(1)  # each look starts a program
        return list(self.states().values()).count("idle") == 2

    def id_of(self, name: str) -> str:
        (found,) = [worker for worker in self.states() if worker.startswith(f"{name}.")]
        return found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with ExitStack() as stack:
        server = stack.enter_context(Namespace("server", 0))
        wires = {name: stack.enter_context(Namespace(name, n, server)) for n, name in enumerate(("one", "two"), 1)}
        for space, address in ((server, "127.0.0.1"), *((wire, wire.ours) for wire in wires.values())):
            names = tmp_path / f"{space.name}.hosts"
            names.write_text(f"127.0.0.1 localhost\n{address} {SERVER_NAME}\n")
            space.resolve(names)
        settings = {"TILELAB_LEASE_SECONDS": "3", "TILELAB_REPUBLISH_SECONDS": "2"}
        machine = Host(tmp_path / "server", stack, SERVER_NAME, server.entering, settings)
        queue_begins(machine, tmp_path / "plain")
        machine.run("web", "tilelab", "admin", "migrate").check_returncode()
        for unit in SERVER:
            machine.start(unit, *(["--host", "0.0.0.0"] if "web" in unit else []))
        engine = connect(f"sqlite:///{machine.folder}/var/lib/tilelab/tilelab.sqlite3")
        stack.callback(engine.dispose)
        made = Site(machine, {}, wires, f"http://{server.theirs}:8000", sessions(engine))
        made.until(lambda: answers(made.url))
        made.token = a_student(machine)
        for name, wire in wires.items():
            made.workers[name] = Host(tmp_path / name, stack, SERVER_NAME, wire.entering)
            place = str(made.workers[name].folder / "etc" / "redis-url")
            made.admin("worker", "add", name, "--queue", "cpu", "--file", place)
            made.workers[name].start("tilelab-worker.service", "--cpu-slots", "1")
        made.until(made.both_work)
        yield made


def queue_begins(machine: Host, plain: Path) -> None:
    """Redis as its unit starts it, and TLS in front, because the Redis of the tests has none."""
    secrets = machine.folder / "etc" / "secrets"
    plain.mkdir()
    shutil.copy(secrets / "redis_password", plain)
    unit = "tilelab-redis.service"
    program, folder = (machine.here(word) for word in machine.units[unit].command)
    assert folder == str(secrets)
    machine.begin(unit, [program, str(plain), "6379"], machine.environment(unit)).wait_for("Ready to accept")
    files = [str(secrets / name) for name in ("redis_certificate", "redis_key")]
    front = [sys.executable, str(ROOT / "tests/server/deploy/tls.py"), str(machine.ports["redis"]), "6379", *files]
    machine.begin("tls", front, {}).wait_for("ready")


def answers(url: str) -> bool:
    try:
        return ask(url, "GET", "/readyz").status == 200
    except NoAnswer:
        return False


def test_a_host_that_is_cut_off_and_a_stolen_address_cost_no_verdict(site: Site) -> None:
    # both hosts grade
    first = [site.submit() for _ in range(4)]
    site.running("one", first)
    site.running("two", first)
    site.done(*first)

    # one is cut off in the middle of a job, and comes back
    jobs = [site.submit() for _ in range(4)]
    cut = site.running("two", jobs)
    site.wires["two"].cut()
    site.until(lambda: site.step(cut)[1] == "one")
    site.wires["two"].join()
    site.done(*jobs)
    assert site.attempts(cut) == [("two", AttemptOutcome.LOST), ("one", AttemptOutcome.DONE)]

    # a thief has the address of one, which is drained, and the other is at work
    site.until(site.both_work)
    other = site.id_of("one")
    site.admin("worker", "drain", "two", "--wait")
    jobs = [site.submit() for _ in range(5)]  # one is left when the thief has started
    held = site.running("one", jobs)
    thief = site.workers["two"].begin(
        "thief",
        [sys.executable, "-m", "tests.server.deploy.thief", other, str(held)],
        {"REDIS_URL": (site.workers["two"].folder / "etc" / "redis-url").read_text().strip(), "PYTHONPATH": str(ROOT)},
    )
    tried = json.loads(thief.wait_for("{"))
    assert tried == {what: permitted for what, _, permitted in ATTEMPTS}
    site.done(*jobs)
    assert [site.attempts(job) for job in jobs] == [[("one", AttemptOutcome.DONE)]] * len(jobs)
    assert site.states()[other] in {"idle", "busy"}
    with site.sessions.begin() as session:
        refused = {(each.job, each.why) for each in recent_refusals(session, datetime.now(UTC))}
    (stolen,) = {job for job, _ in refused}
    assert stolen in set(jobs) - {held}
    assert {why for _, why in refused} <= {Distrust.SIGNATURE, Distrust.WORK}

    # the address is revoked while its owner holds a job
    site.admin("worker", "resume", "two", "--wait")
    jobs = [site.submit() for _ in range(4)]
    taken = site.running("two", jobs)
    site.admin("worker", "revoke", "two")
    out = site.until(lambda: any(line.startswith("closed") for line in tuple(thief.lines)))
    assert thief.ends() == 0
    assert thief.lines[-1] == "unknown"
    site.done(*jobs)
    *before, last = site.attempts(taken)
    assert last == ("one", AttemptOutcome.DONE)
    with site.sessions.begin() as session:
        refused = {(each.job, each.why) for each in recent_refusals(session, datetime.now(UTC))}
        # A result that was ready a moment after the revocation is refused, and uses no attempt.
        assert before == [("two", AttemptOutcome.LOST)] or (taken, Distrust.SIGNATURE.value) in refused
    assert out < 5
    print(f"out after {out:.1f} s")
    with site.sessions.begin() as session:
        assert len(session.scalars(select(Result)).all()) == len(site.jobs)
