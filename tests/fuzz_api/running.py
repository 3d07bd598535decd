"""A portal with some submissions in it, and Schemathesis at work on it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernels.verdict import Verdict
from server.accounts.models import Person
from server.accounts.service import create_token
from server.courses.models import Assignment
from server.database.engine import connect, sessions
from server.database.schema import upgrade
from server.submissions.models import Mode
from server.up.watch import NoAnswer, ask
from tests.server.course import ACourse
from tests.server.submissions.test_api import grade
from tests.services.redis_server import free_port
from tests.services.tethered import start, wait_until

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = Path(__file__).with_name("schemathesis.toml")
_CASES = re.compile(r"(\d[\d,]*) generated")
_MANY = 10**6


@dataclass(frozen=True)
class Target:
    """A portal. ids: of submissions in it; token: of the student who handed them in."""

    url: str
    token: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """What came of it. cases: requests that were made up"""

    cases: int
    passed: bool
    text: str


@contextmanager
def target(folder: Path) -> Iterator[Target]:
    """A real server on loopback, until it is left."""
    url = f"sqlite:///{folder / 'tilelab.db'}"
    engine = connect(url)
    upgrade(engine)
    course = ACourse.make(sessions(engine))
    ids = tuple(_fill(course))
    with course.sessions.begin() as session:
        session.get_one(Assignment, course.assignment).checks_per_hour = _MANY
        token = create_token(session, session.get_one(Person, course.person("ada")), "fuzz")
    engine.dispose()
    port, log = free_port(), folder / "web.log"
    command = [sys.executable, "-P", "-m", "tests.fuzz_api.server", url, str(port)]
    process = start(["/usr/bin/env", f"PYTHONPATH={ROOT}", *command], log)
    try:
        there = f"http://127.0.0.1:{port}"
        wait_until(lambda: _ready(there), process, log, 120)
        yield Target(there, token, ids)
    finally:
        process.terminate()
        process.wait(60)


def _fill(course: ACourse) -> Iterator[str]:
    """Of every kind: right, wrong, of another, only checked, waiting."""
    for name, verdict in (("ada", Verdict.ACCEPTED), ("ada", Verdict.DATA_RACE), ("ben", Verdict.ACCEPTED)):
        yield course.hand_in(name, source=f"// {name} {verdict}\n".encode()).submission.public_id
        grade(course, verdict)
    yield course.hand_in("ada", mode=Mode.CHECK).submission.public_id
    yield course.hand_in("ada").submission.public_id


def fuzz(there: Target, seed: int, examples: int, folder: Path) -> Run:
    """Schemathesis, with all its checks, in all its phases. examples: at most, for each operation and phase."""
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(SETTINGS), "run",
        f"{there.url}/api/v1/openapi.json", "--header", f"Authorization: Bearer {there.token}", "--checks", "all",
        "--max-examples", str(examples), "--seed", str(seed), "--generation-database", "none", "--no-color",
        "--suppress-health-check", "all", "--warnings", "off",
    ]  # fmt: skip
    more = {"TILELAB_FUZZ_THERE": json.dumps({"ids": there.ids}), "TILELAB_FUZZ_SEED": str(seed)}
    environment = {**os.environ, **more, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    found = _CASES.search(done.stdout)
    return Run(int(found[1].replace(",", "")) if found else 0, done.returncode == 0, done.stdout)


def _ready(url: str) -> bool:
    try:
        return ask(url, "GET", "/readyz").status == 200
    except NoAnswer:
        time.sleep(0.1)
        return False
