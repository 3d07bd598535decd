"""Every service of the compose file, started as it would be in its container, on this machine's own processes."""

from __future__ import annotations

import json
import signal
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import CompletedProcess
from typing import Protocol

import pytest

from kernels.exercise import BUILT_IN
from server.up.watch import ask
from tests.marks import linux
from tests.server.compose_house import House
from tests.services.postgres_server import PostgresServer
from tests.worker.fleet.watched import Watched, wait_until

pytestmark = pytest.mark.long("starts every service; the short suite reads the file, in test_compose.py")

SOLUTION = (BUILT_IN / "tiled" / "solution.cu").read_text()
LONG_RUNNING = ("web", "dispatcher", "recorder", "worker")


@pytest.fixture
def house(tmp_path: Path, postgres: PostgresServer) -> Iterator[House]:
    database = f"compose_{uuid.uuid4().hex}"
    postgres.create_database(database)
    with ExitStack() as stack:
        yield House(tmp_path, postgres, database, stack)
    postgres.drop_database(database)


@linux
@pytest.mark.timeout(600)
def test_what_is_handed_in_gets_its_verdict_from_the_services_as_they_are_started(house: House):
    assert not house.healthy("redis")
    house.start("redis")
    house.wait_healthy("redis")
    house.wait_healthy("postgres")

    migrated = house.run("migrate")
    assert migrated.returncode == 0, migrated.stderr
    assert "The tables now have version" in migrated.stdout

    for name in LONG_RUNNING:
        assert not house.healthy(name)
        house.start(name)
    for name in LONG_RUNNING:
        house.wait_healthy(name)

    token = a_student(house)
    verdict = hand_in(house, token)
    assert verdict == "accepted", everything_said(house)

    for name in reversed(LONG_RUNNING):
        house.running[name].process.send_signal(signal.SIGTERM)
        assert house.running[name].ends() == 0, house.running[name].text
        assert not house.healthy(name) or name != "web"
    no_secret_was_said(house)
    every_line_is_json(house)


@linux
def test_a_gpu_worker_without_a_gpu_says_so_in_one_line(house: House):
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there is a GPU here")
    done = house.run("worker-gpu")
    assert done.returncode == 2
    assert done.stderr.startswith("tilelab: --gpus all: this machine has no ")
    assert done.stderr.count("\n") == 1
    assert not done.stdout


class Site(Protocol):
    """Services that run on this machine, from whatever describes them."""

    ports: dict[str, int]
    running: dict[str, Watched]

    def run(self, name: str, /, *words: str) -> CompletedProcess[str]: ...


def a_student(house: Site) -> str:
    """Someone in a course with one assignment, made as an operator makes them; the token."""
    for words in (("course", "add", "demo", "Demo"), ("course", "assign", "demo", "tiled", "--arch", "sm_90")):
        done = house.run("dispatcher", "tilelab", "admin", *words)
        assert done.returncode == 0, done.stderr
    made = house.run(
        "dispatcher",
        "tilelab",
        "admin",
        "user",
        "add",
        "ada@example.edu",
        "Ada",
        "--course",
        "demo",
        "--token",
        "--json",
    )
    assert made.returncode == 0, made.stderr
    token: str = json.loads(made.stdout)["token"]
    return token


def submitted(house: Site, token: str) -> str:
    """Submit over HTTP; the path of the submission."""
    body = {"assignment": "demo/tiled", "source": SOLUTION}
    accepted = ask(
        portal_of(house), "POST", "/api/v1/submissions", headers={"Authorization": f"Bearer {token}"}, body=body
    )
    assert accepted.status == 202, accepted.body
    return str(accepted.body["url"])


def portal_of(house: Site) -> str:
    return f"http://127.0.0.1:{house.ports['web']}"


def hand_in(house: Site, token: str) -> str:
    """Submit, and wait for the verdict."""
    url, headers, place = portal_of(house), {"Authorization": f"Bearer {token}"}, submitted(house, token)

    def over() -> bool:
        return ask(url, "GET", place, headers=headers).body["verdict"] is not None

    wait_until(over, lambda: everything_said(house), seconds=300)
    return str(ask(url, "GET", place, headers=headers).body["verdict"])


def everything_said(house: Site) -> str:
    return "\n".join(f"--- {name}\n{process.text}" for name, process in house.running.items())


def no_secret_was_said(house: House) -> None:
    for name in ("postgres_password", "redis_password"):
        assert house.secret(name) not in everything_said(house)


def every_line_is_json(house: House) -> None:
    for name in LONG_RUNNING:
        lines = [line for line in house.running[name].lines if not is_object(line)]
        assert not lines, name


def is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
