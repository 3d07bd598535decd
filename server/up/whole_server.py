"""Runs the whole server on this machine: prepares its parts, keeps them running, and reports events."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from server.database.engine import DatabaseUnavailable, connect, sessions
from server.database.schema import upgrade
from server.fleet.worker_keys import renew_key
from server.settings import SettingError, is_set, secret
from server.up.data_folder import DataFolder, DataFolderError, take
from server.up.demo import Demo, DemoSubmission, prepare_demo
from server.up.embedded_redis import EmbeddedRedis, NoRedis, find_redis
from server.up.machine import BROKER, WEB, WORKER, Machine
from server.up.terminal_output import TerminalOutput, log_to
from server.up.watch import Watch
from server.web.web_server import CannotListen, listen, url_of
from worker.contract.broker import BrokerUnavailable, BrokerUrlError, broker_errors, connect_redis
from worker.contract.credential import GPU_QUEUES
from worker.contract.messages import CPU_QUEUE
from worker.supervision.parts import Event
from worker.supervision.supervisor import Supervisor

WORKER_NAME = "up"
"""The name in the key of the worker that `tilelab up` starts."""

_ASK_SECONDS = 3.0


class CannotRun(RuntimeError):
    """Something that the server needs is missing. The text says what to do."""


_KNOWN = (
    BrokerUnavailable, BrokerUrlError, CannotListen, DataFolderError, DatabaseUnavailable, NoRedis, SettingError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line.

    worker: options of `tilelab worker start`
    """

    data: Path
    host: str
    port: int
    demo: bool
    verbose: bool
    worker: tuple[str, ...] = ()


def run_everything(options: Options, write: Callable[[str], None]) -> None:
    """Run until Ctrl-C or SIGTERM. Raises CannotRun."""
    try:
        folder = take(options.data)
        with listen(options.host, options.port) as bound, _broker(folder) as (redis, redis_url):
            _run(options, folder, bound, redis, redis_url, write)
    except _KNOWN as error:
        raise CannotRun(str(error)) from error


def _run(
    options: Options,
    folder: DataFolder,
    bound: socket.socket,
    redis: EmbeddedRedis | None,
    redis_url: str,
    write: Callable[[str], None],
) -> None:
    database_url = _database_url(folder)
    url = url_of(bound)
    demo = _prepare(database_url, folder, url, demo=options.demo)
    output = TerminalOutput(write, log_to(folder.log), verbose=options.verbose)
    watch = Watch(url, redis_url, redis)
    output.describe = lambda part: _about(part, redis, url, watch)
    machine = Machine(
        database_url,
        redis_url,
        _worker_url(database_url, redis_url),
        redis,
        bound.fileno(),
        options.worker,
        watch.ready,
        watch.pulses,
    )
    supervisor = _supervisor(machine, watch, output)
    _say_where(output, folder, url, demo)
    with watch.looking():
        if demo is not None:
            _submit_demo(demo, url, watch, output)
        failure = supervisor.run()
    if failure is not None:
        raise CannotRun(
            f"{failure.part} can't run: {failure.last.removeprefix('tilelab: ') or f'exit code {failure.code}'}"
        )
    output.say("All parts have ended. Submissions are kept; the next start continues.")


def _supervisor(machine: Machine, watch: Watch, output: TerminalOutput) -> Supervisor:
    parts = machine.parts()
    waited_for = {part.name for part in parts if part.ready is not None}

    def seen(event: Event) -> None:
        # printed first, because the demo's submission prints once the watch has seen that the worker is ready
        output.event(event, waited_for=event.part in waited_for)
        watch.see(event)

    def ending() -> None:
        watch.end()
        output.say("\nEnding. Running jobs finish or return to the queue. Press Ctrl-C again to end now.")

    supervisor = Supervisor(on_line=output.line, on_event=seen, on_stop=ending)
    for part in parts:
        supervisor.add(part)
    return supervisor


def _database_url(folder: DataFolder) -> str:
    return secret(os.environ, "DATABASE_URL") if is_set(os.environ, "DATABASE_URL") else folder.database_url


@contextmanager
def _broker(folder: DataFolder) -> Iterator[tuple[EmbeddedRedis | None, str]]:
    """The broker in REDIS_URL, which must answer, or an embedded one to start."""
    if is_set(os.environ, "REDIS_URL"):
        given = secret(os.environ, "REDIS_URL")
        with connect_redis(given, answer_seconds=_ASK_SECONDS) as client, broker_errors(client):
            client.ping()
        yield None, given
    else:
        program = find_redis()
        with folder.socket() as place:
            redis = EmbeddedRedis(program, place)
            yield redis, redis.url


def _prepare(database_url: str, folder: DataFolder, url: str, *, demo: bool) -> Demo | None:
    engine = connect(database_url)
    try:
        upgrade(engine)
        return prepare_demo(sessions(engine), folder.demo, url) if demo else None
    finally:
        engine.dispose()


def _worker_url(database_url: str, redis_url: str) -> str:
    """A new address for this machine's worker. The last start's key stays valid for its last results."""
    engine = connect(database_url)
    try:
        with sessions(engine).begin() as session:
            return renew_key(session, redis_url, WORKER_NAME, (CPU_QUEUE, GPU_QUEUES), datetime.now(UTC))
    finally:
        engine.dispose()


def _submit_demo(demo: Demo, url: str, watch: Watch, output: TerminalOutput) -> None:
    """Submit the demo's kernel in the background, once the portal and a worker are ready."""

    def submit() -> None:
        if watch.wait(WEB) and watch.wait(WORKER):
            output.say("\nA submission:")
            DemoSubmission(url, demo.student, demo.assignment, output.say, watch.pause).run()
            if watch.pause(0):
                output.say(f"\nOpen {url} in a browser. Press Ctrl-C to end.")

    threading.Thread(target=submit, name="demo", daemon=True).start()


def _about(part: str, redis: EmbeddedRedis | None, url: str, watch: Watch) -> str:
    if part == WEB:
        return url
    if part == BROKER and redis is not None:
        return f"{Path(redis.program).name} at a private socket"
    record = watch.worker_record
    if part == WORKER and record is not None:
        return ", ".join(f"{slot.name} ({slot.device})" if slot.device else slot.name for slot in record.slots)
    return ""


def _say_where(output: TerminalOutput, folder: DataFolder, url: str, demo: Demo | None) -> None:
    output.say(f"Tilelab at {url}\nData folder: {folder.path}, log: {folder.log.name}\n")
    if demo is not None:
        output.say("Sign in to the course `demo` with one of these accounts. Their API tokens are in demo.json there:")
        for user in demo.users:
            output.say(f"  {user.role:<11} {user.email:<26} {user.password}")
        output.say(f"The instructor is an operator, too. Others join at {url}/join with the code {demo.code}.\n")
    output.say("Parts:")
