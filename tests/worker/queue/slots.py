"""A real slot process, and the other end of the queue as a test plays it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis

from kernels.wire import from_plain
from tests.services.redis_server import A_WORKER, as_worker
from worker.contract.broker import STEP_TASK, Sender, StepSender, celery_app, connect_redis, queue_length
from worker.contract.claims import Claim
from worker.contract.credential import unseal
from worker.contract.fleet import SlotRecord, WorkerState
from worker.contract.messages import StepMessage, StepResult, Ticket, decode
from worker.contract.redis_claims import RedisClaims

SECONDS = 90.0
WORKER = "host-1.test"
SCRIPTED = ("--workplace", "tests.worker.queue.workplaces:Scripted")


def until(holds: Callable[[], Any], what: str = "") -> Any:
    """Wait until it holds; what it says then."""
    deadline = time.monotonic() + SECONDS
    while not (found := holds()):
        assert time.monotonic() < deadline, f"in vain: {what or holds}"
        time.sleep(0.02)
    return found


class Slot:
    """A process `python -m worker.slots.slot` on the queue `cpu`; its records and its log can be read."""

    def __init__(self, url: str, folder: Path, *more: str, name: str = "cpu-0", **environment: str) -> None:
        self.log = folder / f"{name}.log"
        self._told, theirs = os.pipe()
        os.set_blocking(self._told, False)
        command = [
            sys.executable, "-m", "worker.slots.slot", "--name", name, "--queue", "cpu", "--worker", WORKER, "--cache",
            str(folder), "--leave-seconds", "3", "--tell", str(theirs), "--parent", str(os.getpid()),
            *(more or SCRIPTED),
        ]  # fmt: skip
        given = {**os.environ, "REDIS_URL": as_worker(url), "TILELAB_LOG": "json", "PYTHONWARNINGS": "error"}
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, pass_fds=[theirs], env={**given, **environment},
                start_new_session=True,
            )  # fmt: skip
        os.close(theirs)
        self._text = ""
        self.records: list[SlotRecord] = []

    def look(self) -> SlotRecord | None:
        """What it told last."""
        try:
            while data := os.read(self._told, 2**16):
                self._text += data.decode()
        except BlockingIOError:
            pass
        *lines, self._text = self._text.split("\n")
        self.records += [from_plain(SlotRecord, json.loads(line)) for line in lines if line]
        return self.records[-1] if self.records else None

    def wait(self, holds: Callable[[SlotRecord], bool]) -> SlotRecord:
        """Wait for a record like this; what it tells then."""

        def seen() -> SlotRecord | None:
            assert self.process.poll() is None, self.log.read_text()
            record = self.look()
            return record if record and holds(record) else None

        found: SlotRecord = until(seen, "a record")
        return found

    def idle(self, done: int = 0) -> SlotRecord:
        return self.wait(lambda it: it.state is WorkerState.IDLE and it.done + it.failed >= done)

    def busy(self, job: int) -> SlotRecord:
        return self.wait(lambda it: it.state is WorkerState.BUSY and it.job == job)

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def ended(self) -> int:
        return self.process.wait(SECONDS)

    def lines(self) -> list[dict[str, Any]]:
        """All that it logged."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def logged(self, text: str) -> bool:
        return text in self.log.read_text()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._told)


class Server:
    """Dispatcher and recorder, as far as a slot can see them."""

    def __init__(self, url: str) -> None:
        self.app = celery_app(url)
        self.client: redis.Redis = connect_redis(url)
        self.claims = RedisClaims(self.client)
        self._steps, self._plain = StepSender(self.app), Sender(self.app)

    def send(self, message: StepMessage, queue: str = "cpu") -> Ticket:
        self._steps.send(queue, message)
        return message.ticket

    def send_body(self, body: Any) -> None:
        self._plain.send(STEP_TASK, "cpu", body)

    def take(self) -> StepResult | None:
        """The next result, if one waits; nothing is settled yet."""
        body = self.client.rpop("results")
        if body is None:
            return None
        sealed = unseal(json.loads(b64decode(json.loads(str(body))["body"]))[0][0])
        assert sealed.signed_with(A_WORKER.key)
        return decode(StepResult, sealed.body)

    def record(self) -> StepResult:
        """Wait for a result and settle it."""
        result: StepResult = until(self.take, "a result")
        self.claims.settle(result.ticket)
        return result

    def claim(self, ticket: Ticket) -> Claim:
        return self.claims.look([ticket])[0]

    def waiting(self, queue: str = "cpu") -> int:
        return queue_length(self.client, queue)

    def close(self) -> None:
        self._steps.close()
        self._plain.close()
        self.client.close()
