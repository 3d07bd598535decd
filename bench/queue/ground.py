"""The setting for a bench of the queue: real services, all parts of Tilelab as processes, one course."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from kernels.exercise import find_exercise, read_exercise
from server.accounts.models import Person
from server.courses.models import Assignment, Course, Membership, Role
from server.database.engine import Sessions, connect, sessions
from server.database.schema import upgrade
from server.exercises.stored import Content, keep
from server.fleet.worker_keys import register_key
from server.grading.models import Result
from tests.services import tethered
from tests.services.processes import children_of
from tests.services.redis_server import RedisServer
from worker.contract.broker import connect_redis
from worker.contract.fleet import WorkerState
from worker.contract.redis_fleet import RedisFleet

if TYPE_CHECKING:
    from tests.services.postgres_server import PostgresServer

ROOT = Path(__file__).resolve().parents[2]
CANNED = "bench.queue.canned:Canned"
COURSE = "bench"

_END_SECONDS = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of the assignments of `tiled`. ranking: a smaller ranking size; None for the exercise's own."""

    device_class: str = ""
    arch: str = "sm_90"
    tiles: tuple[int | None, ...] = (None,)
    ranking: int | None = None


class Ground:
    """A context manager that ends everything it started.

    database: "postgresql" or "sqlite"
    people: numbers of the students; assignments: by tile
    """

    def __init__(
        self, folder: Path, *, students: int = 1, terms: Terms | None = None, database: str = "postgresql"
    ) -> None:
        self.folder = folder
        self.parts: dict[str, subprocess.Popen[bytes]] = {}
        self._undo = ExitStack()
        self.redis = self._undo.enter_context(RedisServer(folder / "redis"))
        self.postgres: PostgresServer | None = None
        self.database_url = f"sqlite:///{folder / 'tilelab.db'}"
        if database == "postgresql":
            from tests.services.postgres_server import PostgresServer

            self.postgres = self._undo.enter_context(PostgresServer(folder / "postgres"))
            self.database_url = self.add_database("tilelab")
        self.engine: Engine = connect(self.database_url)
        upgrade(self.engine)
        self.sessions: Sessions = sessions(self.engine)
        with self.sessions.begin() as session:
            self.people, self.assignments = furnish(session, students, terms or Terms())
            register_key(session, self.redis.worker_url, datetime.now(UTC))
        self.client = connect_redis(self.redis.url)
        self.fleet = RedisFleet(self.client)

    def add_database(self, name: str) -> str:
        """Add a database in the same PostgreSQL; return its address."""
        assert self.postgres is not None
        self.postgres.create_database(name)
        return self.postgres.url(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.parts)[::-1]:
            self.stop(name)
        self.client.close()
        self.engine.dispose()
        self._undo.close()

    # -- processes -----------------------------------------------------------------------------------------------------

    def serve(self, *names: str, database_url: str = "") -> None:
        for name in names:
            self.start(name, ["-m", "worker.commands", "serve", name], DATABASE_URL=database_url or self.database_url)

    def work(self, *options: str, slots: int, **environment: str) -> None:
        """Start a worker, and wait until all its slots are warm. options: of bench.queue.worker."""
        environment = {"REDIS_URL": self.redis.worker_url, **environment}
        self.start("worker", ["-m", "bench.queue.worker", *options], **environment)
        self.wait_for(lambda: self._idle() >= slots, "the worker", 300)

    def start(self, name: str, arguments: Sequence[str], **environment: str) -> None:
        """Start a process of this interpreter. Its output is appended to a log with its name."""
        given = {"REDIS_URL": self.redis.url, "PYTHONPATH": _python_path(), **environment}
        words = [f"{key}={value}" for key, value in given.items()]
        command = ["/usr/bin/env", *words, sys.executable, *arguments]
        self.parts[name] = tethered.start(command, self.folder / f"{name}.log")

    def stop(self, name: str) -> None:
        """End a part regularly."""
        process = self.parts.pop(name)
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def hold(self, name: str) -> None:
        self.parts[name].send_signal(signal.SIGSTOP)

    def go_on(self, name: str) -> None:
        self.parts[name].send_signal(signal.SIGCONT)

    def cpu_seconds(self) -> dict[str, float]:
        """Return the processor time so far, by part, of all its living and ended processes."""
        roots = {name: process.pid for name, process in self.parts.items()}
        roots["redis"] = self.redis.process.pid if self.redis.process else 0
        if self.postgres is not None and self.postgres.process is not None:
            roots["postgresql"] = self.postgres.process.pid
        return {name: sum(map(_cpu_seconds, [pid, *_below(pid)])) for name, pid in roots.items()}

    # -- waiting -------------------------------------------------------------------------------------------------------

    def wait_for(self, holds: Callable[[], object], what: str, seconds: float = 120) -> None:
        """Wait until a condition holds. Raise RuntimeError with the ends of the logs."""
        deadline = time.monotonic() + seconds
        while not holds():
            ended = [name for name, process in self.parts.items() if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"timed out waiting for {what}; ended: {ended or 'none'}\n{self._logs()}")
            time.sleep(0.05)

    def recorded(self) -> int:
        with self.sessions.begin() as session:
            return session.scalar(select(func.count()).select_from(Result)) or 0

    def wait_for_results(self, number: int, seconds: float = 600) -> None:
        self.wait_for(lambda: self.recorded() >= number, f"{number} results", seconds)

    def _idle(self) -> int:
        slots = [slot for worker in self.fleet.workers() for slot in worker.slots]
        return sum(slot.state is WorkerState.IDLE for slot in slots)

    def _logs(self) -> str:
        texts = {log.name: log.read_text(errors="replace")[-2000:] for log in self.folder.glob("*.log")}
        return "\n".join(f"== {name}\n{text}" for name, text in texts.items())


def furnish(session: Session, students: int, terms: Terms) -> tuple[list[int], dict[int | None, int]]:
    """Create a course with students, and an assignment for each tile. Return their numbers."""
    now = datetime.now(UTC)
    definition = (find_exercise("tiled").root / "exercise.toml").read_text("utf-8")
    if terms.ranking is not None:
        definition = definition.replace("Width = 2048", f"Width = {terms.ranking}")
    course = Course(slug=COURSE, title="Bench", created_at=now)
    people = [
        Person(email=f"student{number}@example.edu", name=f"Student {number}", created_at=now)
        for number in range(students)
    ]
    session.add_all([course, *people])
    session.flush()
    exercise = keep(session, Content(read_exercise("tiled", definition), definition, {}), course.id, now)
    session.add_all(
        Membership(course_id=course.id, person_id=person.id, role=Role.STUDENT, created_at=now) for person in people
    )
    tasks = {
        tile: Assignment(
            course_id=course.id, exercise_id=exercise.id, slug=f"tiled-{tile or 'own'}", title="Tiled",
            device_class=terms.device_class, arch=terms.arch, tile=tile, points=1.0, created_at=now,
            checks_per_hour=1_000_000,
        )
        for tile in terms.tiles
    }  # fmt: skip
    session.add_all(tasks.values())
    session.flush()
    return [person.id for person in people], {tile: task.id for tile, task in tasks.items()}


def _python_path() -> str:
    given = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([str(ROOT), *filter(None, [given])])


def _below(pid: int) -> list[int]:
    found = children_of(pid)
    return [*found, *(deeper for child in found for deeper in _below(child))]


def _cpu_seconds(pid: int) -> float:
    """Return the processor seconds of a process and of its children that ended and were waited for."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    return sum(map(int, text.rpartition(")")[2].split()[11:15])) / _TICKS
