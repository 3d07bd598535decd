"""The portal on a disk that fails for a while or loses what was not synced: it recovers, and loses nothing."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.database.engine import connect, sessions
from server.up.watch import Answer, ask
from tests.server.course import SOURCE, ACourse
from tests.server.programs.serving import Server
from tests.services.faulty_disk import FaultyDisk

pytestmark = pytest.mark.long("the short suite has such faults in tests/server/database/test_faults.py")

RECOVERS_SECONDS = 10.0


@dataclass
class Portal:
    """A server on such a disk, and tokens that were never used: each new one has its first use to be noted."""

    server: Server
    disk: FaultyDisk
    file: Path
    tokens: list[str]

    def submit(self, name: str) -> Answer:
        body = {"assignment": "gpu/tiled", "source": f"{SOURCE.decode()}// {name}\n"}
        return self._ask("POST", "/api/v1/submissions", self.tokens[0], body, {"Idempotency-Key": name})

    def read(self, path: str = "/api/v1/me") -> int:
        return self._ask("GET", path, self.tokens.pop()).status

    def ready(self) -> bool:
        return ask(self.server.url, "GET", "/readyz").status == 200

    def says_unready(self) -> bool:
        """Whether it says so in time: it looks at most once a second."""
        end = time.monotonic() + RECOVERS_SECONDS
        while time.monotonic() < end:
            if not self.ready():
                return True
            time.sleep(0.2)
        return False

    def accepts_again(self, name: str) -> bool:
        """Whether it does so in time, by itself."""
        end = time.monotonic() + RECOVERS_SECONDS
        while time.monotonic() < end:
            if self.submit(name).status == 202 and self.ready():
                return True
            time.sleep(0.2)
        return False

    def _ask(
        self, method: str, path: str, token: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Answer:
        return ask(
            self.server.url, method, path, headers={"Authorization": f"Bearer {token}", **(headers or {})}, body=body
        )


@pytest.fixture(scope="module")
def portal(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    folder = tmp_path_factory.mktemp("disk")
    file = folder / "tilelab.db"
    file.write_bytes(migrated_file.read_bytes())
    disk = FaultyDisk(folder / "faulty", file)
    server = Server(
        f"sqlite:///{file}", folder / "web.log", environment={**disk.environment, "TILELAB_UNDER_WAY": "100"}
    )
    engine = connect(server.database_url)
    server.course = ACourse.make(sessions(engine))
    tokens = [server.token("ada") for _ in range(40)]
    engine.dispose()
    disk.sync()
    server.start()
    yield Portal(server, disk, file, tokens)
    if server.running:
        server.stop()


def test_what_was_accepted_outlives_a_loss_of_power(portal: Portal) -> None:
    accepted = portal.submit("before-the-loss")
    assert accepted.status == 202
    portal.server.stop(signal.SIGKILL)
    portal.disk.lose_power()
    portal.server.start()
    assert portal.read(f"/api/v1/submissions/{accepted.body['id']}") == 200
    assert portal.submit("before-the-loss").body["id"] == accepted.body["id"]


def test_a_read_only_spell_is_told_and_leaves_nothing_behind(portal: Portal) -> None:
    assert portal.submit("before-the-spell").status == 202
    with portal.disk.read_only():
        statuses = [portal.submit("in-the-spell").status for _ in range(4)]
        assert portal.says_unready()
        # so many at once that some need a new connection, which can only be read from
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda _: portal.read(), range(24))) == [200] * 24
    assert statuses == [503] * 4
    assert portal.accepts_again("after-the-spell")
    assert [portal.submit(f"after-the-spell-{number}").status for number in range(8)] == [202] * 8


def test_while_the_disk_is_full_reading_goes_on(portal: Portal) -> None:
    with portal.disk.full():
        refused = portal.submit("on-a-full-disk")
        assert (refused.status, refused.body["code"]) == (503, "disk_full")
        assert portal.says_unready()
        assert portal.read() == 200
    assert portal.accepts_again("on-a-full-disk")


def test_a_lock_that_is_stuck_holds_up_no_reader(portal: Portal) -> None:
    with closing(sqlite3.connect(portal.file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()
        assert portal.read() == 200
        assert time.monotonic() - begun < 2.0
        assert portal.says_unready()
        other.execute("ROLLBACK")
    assert portal.accepts_again("after-the-lock")
