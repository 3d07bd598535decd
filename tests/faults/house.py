"""Everything that a fault campaign runs against: real services, and every part of Tilelab as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy.orm import Session

from kernels.exercise import read_exercise
from server.accounts.service import create_person, create_token
from server.courses.models import Assignment, Role
from server.courses.service import create_course, enrol
from server.database.engine import Sessions, connect, sessions
from server.database.schema import upgrade
from server.grading.models import Exercise
from tests.faults.kept import Kept, below
from tests.faults.small_disk import small_disk
from tests.services.postgres_server import PostgresServer
from tests.services.redis_server import RedisServer, free_port

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = "cpu"
"""What the CPU device in a GPU's place calls its class."""

ASSIGNMENT = "faults/tiled"
LEASE_SECONDS = 4.0
REPUBLISH_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Kernel:
    """What is handed in, and the one verdict it must get."""

    name: str
    source: str
    verdict: str
    weight: int


def kernels() -> list[Kernel]:
    """All kernels of kernels.toml."""
    table = tomllib.loads(Path(__file__).with_name("kernels.toml").read_text())
    return [
        Kernel(name, row.get("text") or (ROOT / row["file"]).read_text(), row["verdict"], row["weight"])
        for name, row in table.items()
    ]


class House:
    """One course with its server and its workers. Use as a context manager.

    tokens: of the students, by which they hand in
    temporary: where the workers' processes have their folders
    disk_is_small: whether that can be filled
    """

    def __init__(self, folder: Path, *, students: int, database: str = "postgresql") -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self._undo = ExitStack()
        self.disk_is_small = self._undo.enter_context(small_disk(self.temporary))
        self.redis = self._undo.enter_context(RedisServer(folder / "redis"))
        self.postgres: PostgresServer | None = None
        if database == "postgresql":
            self.postgres = self._undo.enter_context(PostgresServer(folder / "postgres"))
            self.postgres.create_database("tilelab")
            self.database_url = self.postgres.url("tilelab")
        else:
            self.database_url = f"sqlite:///{folder / 'tilelab.db'}"
        engine = connect(self.database_url)
        upgrade(engine)
        self.sessions: Sessions = sessions(engine)
        with self.sessions.begin() as session:
            self.tokens = _furnish(session, students)
        self.port = free_port()
        self.parts: dict[str, Kept] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_parts()
        self._undo.close()

    def stop_parts(self) -> list[int]:
        """End all parts, the workers first; every process that ran in them until now."""
        pids = [pid for part in self.parts.values() for pid in (part.pid, *below(part.pid))]
        for part in reversed(self.parts.values()):
            part.stop()
        return pids

    def resume_workers(self) -> None:
        """What an operator does for workers that are out; one that is not goes on as it was."""
        command = [sys.executable, "-m", "worker.commands", "worker", "resume", "--all"]
        environment = os.environ | {"REDIS_URL": self.redis.url, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=False, timeout=60)

    def start(self, commands: Mapping[str, list[str]]) -> None:
        """Start parts, by name; each is kept alive."""
        environment = {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis.url,
            "TMPDIR": str(self.temporary),
            "TILELAB_LEASE_SECONDS": str(LEASE_SECONDS),
            "TILELAB_REPUBLISH_SECONDS": str(REPUBLISH_SECONDS),
            "TILELAB_LOG": "json",
            "PYTHONPATH": str(ROOT),
        }
        for name, command in commands.items():
            own = environment if not name.startswith("worker") else _without_database(environment)
            self.parts[name] = Kept(name, command, own, self.folder / f"{name}.log")


def _without_database(environment: Mapping[str, str]) -> dict[str, str]:
    """What a worker gets: the broker's address is the only secret it needs."""
    return {name: value for name, value in environment.items() if name != "DATABASE_URL"}


def _furnish(session: Session, students: int) -> list[str]:
    """A course with one assignment that a machine without a GPU can measure, after a fashion; the students' tokens."""
    definition = Path(__file__).with_name("exercise.toml").read_text()
    exercise = read_exercise("tiled-small", definition)
    now = datetime.now(UTC)
    session.add(Exercise(
        digest=exercise.digest, name=exercise.name, title=exercise.title, definition=definition, added_at=now
    ))  # fmt: skip
    session.flush()
    course = create_course(session, ASSIGNMENT.split("/", maxsplit=1)[0], "Faults", now)
    session.add(Assignment(
        course_id=course.id, exercise_digest=exercise.digest, slug=ASSIGNMENT.split("/")[1], title="Tiled",
        device_class=STAND_IN, arch="sm_90", points=1.0, created_at=now,
    ))  # fmt: skip
    people = [
        create_person(session, email=f"student{number}@example.org", name=f"Student {number}")
        for number in range(students)
    ]
    for person in people:
        enrol(session, course, person, Role.STUDENT)
    return [create_token(session, person, "campaign") for person in people]
