"""A web server's process, as an operator starts it, with a new course for each test; and the command `tilelab`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path

from click.testing import CliRunner

from server.accounts.models import Person
from server.accounts.service import create_token
from server.courses.models import Role
from tests.server.course import ACourse
from tests.services.redis_server import free_port
from tests.services.tethered import start, wait_until
from worker.commands.root import tilelab

ROOT = Path(__file__).resolve().parents[3]
NOBODY = "redis://127.0.0.1:1/0"
COMMAND = (sys.executable, "-P", "-m", "worker.commands")
_SECONDS = 120
_OURS = re.compile(r"TILELAB_|XDG_|DATABASE_URL|REDIS_URL|.*_proxy$", re.IGNORECASE)


@dataclass
class Server:
    """It can be ended and started again, at the same address. environment: more of it."""

    database_url: str
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    course: ACourse = field(init=False)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        settings = [f"DATABASE_URL={self.database_url}", f"REDIS_URL={NOBODY}"]
        settings += [f"{name}={value}" for name, value in self.environment.items()]
        words = ["serve", "web", "--port", str(self.port), "--processes", "1"]
        self.process = start(["/usr/bin/env", *settings, *COMMAND, *words], self.log)
        wait_until(self._answers, self.process, self.log, _SECONDS)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(_SECONDS)

    def token(self, name: str, role: Role | None = Role.STUDENT) -> str:
        """A new one, of the person of that name."""
        number = self.course.person(name, role)
        with self.course.sessions.begin() as session:
            return create_token(session, session.get_one(Person, number), "test")

    def _answers(self) -> bool:
        from server.up.watch import NoAnswer, ask

        try:
            return ask(self.url, "GET", "/readyz").status == 200
        except NoAnswer:
            return False


@dataclass
class Student:
    """Somebody at a terminal. told: set in their environment"""

    home: Path
    told: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.home / "config" / "tilelab" / "config.toml"

    @property
    def environment(self) -> Mapping[str, str]:
        clean = {name: value for name, value in os.environ.items() if not _OURS.fullmatch(name)}
        return {**clean, **self._own, "PYTHONPATH": str(ROOT)}

    @property
    def _own(self) -> Mapping[str, str]:
        return {"XDG_CONFIG_HOME": str(self.home / "config"), **self.told}

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """The command, started."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*COMMAND, *words], cwd=self.home, env=self.environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def tilelab(self, *words: str, given: str = "") -> Ended:
        """The command, run to its end in this process: to start another takes longer than most verbs."""
        environment: dict[str, str | None] = {**dict.fromkeys(filter(_OURS.fullmatch, os.environ)), **self._own}
        with chdir(self.home):
            done = CliRunner().invoke(tilelab, words, given, environment)
        return Ended(done.exit_code, done.stdout, done.stderr)


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """What it says in one line on standard error."""
        (line,) = self.err.splitlines()
        assert line.startswith("tilelab: "), line
        return line
