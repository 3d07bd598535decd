"""What a campaign strikes: all parts of Tilelab as processes, however they were started."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from server.database.engine import Sessions

LEASE_SECONDS = 4.0
REPUBLISH_SECONDS = 2.0

PARTS = ("portal", "dispatcher", "recorder", "worker")

SETTINGS = {
    "TILELAB_LEASE_SECONDS": str(LEASE_SECONDS),
    "TILELAB_REPUBLISH_SECONDS": str(REPUBLISH_SECONDS),
    "TILELAB_UNDER_WAY": "100000",
    "TILELAB_LOG": "json",
}
"""Short, so that a campaign sees in minutes what else takes hours; its few students hand in for a whole course."""


class Target(Protocol):
    """Everything that a campaign has to do with it. Each part that dies is started anew, by whatever keeps it.

    tokens: of the students, by which they hand in
    temporary: where the workers' processes have their folders; disk_is_small: whether that can be filled
    restarts_hanging: whether something here restarts a part that is alive and does nothing
    """

    folder: Path
    tokens: Sequence[str]
    sessions: Sessions
    temporary: Path
    disk_is_small: bool
    restarts_hanging: bool

    @property
    def url(self) -> str:
        """Of the portal."""

    def pids(self, name: str) -> Sequence[int]:
        """The processes of `portal`, `dispatcher`, `recorder`, `worker` or `Redis`, without those to be started."""

    def workers(self) -> Sequence[int]:
        """The processes below which students' files are run."""

    def kill_redis(self, seconds: float) -> None:
        """Kill Redis; it is back after about so long, empty."""

    def pause_redis(self, seconds: float) -> None:
        """Let Redis answer nobody for so long."""

    def kill_postgres(self, seconds: float) -> bool:
        """Kill PostgreSQL; it is back after about so long. False where there is none."""

    def database_read_only(self) -> AbstractContextManager[object]:
        """Nothing can be written to the database for a while."""

    def database_locked(self) -> AbstractContextManager[object]:
        """Another program holds the lock that every submission needs."""

    def database_full(self) -> AbstractContextManager[object] | None:
        """The disk of the database is full for a while; None where none can be filled."""

    def clock_off_by(self, seconds: int) -> AbstractContextManager[object]:
        """The time of day of all parts is wrong for a while."""

    def lose_power(self) -> bool:
        """Kill all parts at once and drop what none of them has synced. False where that can't be shown."""

    def resume_workers(self) -> None:
        """What an operator does for workers that took themselves out."""

    def stop_parts(self) -> Sequence[int]:
        """End all parts in order; every process that ran in them until now."""
