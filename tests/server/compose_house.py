"""The services of docker-compose.yml as processes of this machine: their own commands, environments and secrets."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.server.compose_file import ROOT, Service, services
from tests.services.postgres_server import PostgresServer
from tests.services.redis_server import free_port, redis_program
from tests.worker.fleet.watched import Watched, wait_until

# What the image of Redis has beside its server, and this machine has not.
_PING = """#!{python}
import os, redis
client = redis.Redis(port={port}, password=os.environ["REDISCLI_AUTH"], socket_timeout=2)
print("PONG" if client.ping() else "")
"""


@dataclass
class House:
    """All services over one PostgreSQL. A container's host names, ports and folders become those of this machine."""

    folder: Path
    postgres: PostgresServer
    database: str
    stack: ExitStack
    running: dict[str, Watched] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.services = services()
        self.ports = {"web": free_port(), "redis": free_port()}
        self.programs = self.folder / "bin"
        self._lay_out_programs()
        self._make_secrets()

    def _lay_out_programs(self) -> None:
        self.programs.mkdir()
        here = Path(sys.executable).parent
        for name, program in {
            "python": Path(sys.executable),
            "tilelab": here / "tilelab",
            "valkey-server": redis_program(),
        }.items():
            (self.programs / name).symlink_to(program)
        ping = self.programs / "valkey-cli"
        ping.write_text(_PING.format(python=sys.executable, port=self.ports["redis"]))
        ping.chmod(0o755)

    def _make_secrets(self) -> None:
        """As an operator does, and then with the addresses of this machine in place of a container's names."""
        secrets = self.folder / "secrets"
        subprocess.run([ROOT / "bin" / "make-secrets", secrets], check=True)
        for name, there, here in (
            ("redis_url", "@redis:6379/", f"@127.0.0.1:{self.ports['redis']}/"),
            ("worker_cpu", "@redis:6379/", f"@127.0.0.1:{self.ports['redis']}/"),
            ("database_url", "@postgres:5432/tilelab", f"@/{self.database}?host={self.postgres.sockets}"),
        ):
            file = secrets / name
            text = file.read_text()
            assert there in text
            file.chmod(0o600)
            file.write_text(text.replace(there, here))

    def secret(self, name: str) -> str:
        return (self.folder / "secrets" / name).read_text().strip()

    def start(self, name: str) -> Watched:
        """Start a service, which runs until the house is left."""
        started = Watched(self._translated(name, self.services[name].command), self._environment(name))
        self.running[name] = self.stack.enter_context(started)
        return started

    def run(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command where the service runs: its own, or another, as `docker compose run` does."""
        command = self._translated(name, list(words) or self.services[name].command)
        return subprocess.run(
            command, env=self._environment(name), capture_output=True, text=True, timeout=120, check=False
        )

    def healthy(self, name: str) -> bool:
        """What the service's own health check says."""
        return self.run(name, *self.services[name].health).returncode == 0

    def wait_healthy(self, name: str) -> None:
        def holds() -> bool:
            running = self.running.get(name)
            assert running is None or running.process.poll() is None, f"{name} ended:\n{running.text}"
            return self.healthy(name)

        wait_until(holds, lambda: f"{name}:\n{self.running[name].text if name in self.running else ''}")

    def _temporary(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def _translated(self, name: str, words: list[str]) -> list[str]:
        translated = self._replaced(name, words)
        program = shutil.which(translated[0], path=self._path)
        assert program is not None, f"{translated[0]} is not on {self._path}"
        return [program, *translated[1:]]

    def _replaced(self, name: str, words: list[str]) -> list[str]:
        here = self._here(name)
        each = re.compile("|".join(map(re.escape, here)))
        return [each.sub(lambda found: here[found[0]], word) for word in words]

    def _here(self, name: str) -> Mapping[str, str]:
        """What stands in a container's words, and what it is here."""
        common = {"/run/secrets/": f"{self.folder / 'secrets'}/", "/tmp/": f"{self._temporary(name)}/"}
        own: dict[str, Mapping[str, str]] = {
            "redis": {
                "/deploy/redis": str(ROOT / "deploy" / "redis"),
                "/run/secrets": str(self.folder / "secrets"),
                "6379": str(self.ports["redis"]),
            },
            "web": {"0.0.0.0": "127.0.0.1", "8000": str(self.ports["web"])},
            "postgres": {"127.0.0.1": str(self.postgres.sockets)},
        }
        return {**own.get(name, {}), **common}

    @property
    def _path(self) -> str:
        return f"{self.programs}:{self.postgres._programs}:/usr/bin:/bin"

    def _environment(self, name: str) -> dict[str, str]:
        """The service's own and nothing of the test's, beside what every image has."""
        temporary = str(self._temporary(name))
        image = {
            "PATH": self._path, "HOME": temporary, "TMPDIR": temporary, "XDG_CACHE_HOME": f"{temporary}/cache",
            "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        service: Service = self.services[name]
        own = dict(zip(service.environment, self._replaced(name, [*service.environment.values()]), strict=True))
        return {**image, **own}
