"""The parts of one machine with their commands and environments."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from server.up.embedded_redis import EmbeddedRedis
from worker.supervision.parts import Part
from worker.supervision.process import TELL
from worker.supervision.pulse import Pulse

BROKER, DISPATCHER, RECORDER, WEB, WORKER = "redis", "dispatcher", "recorder", "web", "worker"

_COMMAND = (sys.executable, "-P", "-m", "worker.commands")
_SETTINGS = frozenset({2, 3})
"""Exit codes of commands whose last line says why they can't run."""

_GRACE_SECONDS = 5
"""Time for running steps to finish on exit. It is short, because a person waits at the terminal.

Steps that return to the queue run at the next start."""

_WORKER_STOP_SECONDS = _GRACE_SECONDS + 20.0


@dataclass(frozen=True, slots=True)
class Machine:
    """The settings of the parts.

    worker_url: the worker's own address of Redis
    redis: the embedded Redis; None if another one is used
    descriptor: of the portal's socket
    worker_options: of `tilelab worker start`
    ready: whether the part with this name is ready
    pulses: of parts that are probed, by name
    """

    database_url: str
    redis_url: str
    worker_url: str
    redis: EmbeddedRedis | None
    descriptor: int
    worker_options: tuple[str, ...]
    ready: Callable[[str], bool]
    pulses: Mapping[str, Pulse]

    def parts(self) -> tuple[Part, ...]:
        """All parts, each after the parts that it needs.

        The worker ends before the recorder, so that its last results are recorded.
        """
        broker = () if self.redis is None else (BROKER,)
        parts = [] if self.redis is None else [self._broker(self.redis)]
        parts += [
            self._part(WEB, "serve", "web", "--descriptor", str(self.descriptor), "--tell", TELL),
            self._part(DISPATCHER, "serve", "dispatcher", "--tell", TELL, after=broker),
            self._part(RECORDER, "serve", "recorder", "--tell", TELL, after=broker),
            self._part(
                WORKER, "worker", "start", "--tell", TELL, "--grace", str(_GRACE_SECONDS), *self.worker_options,
                after=(*broker, DISPATCHER, RECORDER),
            ),
        ]  # fmt: skip
        return tuple(parts)

    def _broker(self, redis: EmbeddedRedis) -> Part:
        return Part(
            BROKER, redis.command, environment=_without_secrets(), ready=redis.answers, pulse=self.pulses[BROKER]
        )

    def _part(self, name: str, *words: str, after: tuple[str, ...] = ()) -> Part:
        watched = name in {WEB, WORKER}
        return Part(
            name,
            (*_COMMAND, *words),
            environment=self._environment(name),
            descriptors=(self.descriptor,) if name == WEB else (),
            after=after,
            ready=(lambda: self.ready(name)) if watched else None,
            critical=_SETTINGS,
            pulse=Pulse(other=self.pulses.get(name)),
            stop_seconds=_WORKER_STOP_SECONDS if name == WORKER else 10.0,
        )

    def _environment(self, name: str) -> Mapping[str, str]:
        """The environment of a part. A worker gets neither the database's address nor the server's in Redis."""
        told = {"REDIS_URL": self.worker_url, "PYTHONUNBUFFERED": "1"}
        if name != WORKER:
            told |= {"REDIS_URL": self.redis_url, "DATABASE_URL": self.database_url}
        return {**_without_secrets(), **told}


def _without_secrets() -> dict[str, str]:
    names = {"DATABASE_URL", "DATABASE_URL_FILE", "REDIS_URL", "REDIS_URL_FILE"}
    return {name: value for name, value in os.environ.items() if name not in names}
