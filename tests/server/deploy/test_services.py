"""The units of deploy/, started by their own commands and files, behind nginx, up to a verdict and a backup."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.marks import linux
from tests.server.deploy.units import DEPLOY, ROOT, units
from tests.server.test_compose_services import a_student, everything_said, hand_in, submitted
from tests.services.redis_server import free_port, redis_program
from tests.worker.fleet.watched import Watched, wait_until

SERVER = ("tilelab-serve@dispatcher.service", "tilelab-serve@recorder.service", "tilelab-serve@web.service")


@dataclass
class Host:
    """A host with the units. Its folders are below one, and its ports are free ones.

    name: of the host in the address of Redis, with TLS; "" for this machine and no TLS
    entering: what goes before a command, to start it there
    settings: more of them than the environment files have
    """

    folder: Path
    stack: ExitStack
    name: str = ""
    entering: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    running: dict[str, Watched] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.units = units()
        self.ports = {"web": 0, "behind": free_port(), "redis": free_port()}
        for name in ("etc", "var/lib/tilelab", "var/tmp", "bin", "tmp"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "bin" / "valkey-server").symlink_to(redis_program())
        secrets = self.folder / "etc" / "secrets"
        tls = ["--tls", self.name] if self.name else []
        subprocess.run([ROOT / "bin" / "make-secrets", *tls, secrets, secrets], check=True)
        self._write(secrets / "database_url", f"sqlite:///{self.folder}/var/lib/tilelab/tilelab.sqlite3")
        url = (secrets / "redis_url").read_text()
        place = f"{self.name or '127.0.0.1'}:{self.ports['redis']}"
        self._write(secrets / "redis_url", url.replace(f"@{self.name or 'redis'}:6379", f"@{place}"))

    @staticmethod
    def _write(file: Path, text: str) -> None:
        file.chmod(0o600)
        file.write_text(text)

    def here(self, text: str) -> str:
        places = {"/opt/tilelab/": f"{ROOT}/", "/etc/tilelab/": f"{self.folder}/etc/", "/var/": f"{self.folder}/var/"}
        return re.sub("|".join(places), lambda found: places[found[0]], text)

    def environment(self, unit: str) -> dict[str, str]:
        own = {name: self.here(value) for name, value in self.units[unit].environment.items()}
        path = f"{self.folder / 'bin'}:/usr/bin:/bin"
        return {"PATH": path, "TMPDIR": str(self.folder / "tmp"), "PYTHONUNBUFFERED": "1", **own, **self.settings}

    def start(self, unit: str, *more: str) -> Watched:
        for name in self.units[unit].words("StateDirectory"):
            (self.folder / "var" / "lib" / name).mkdir(parents=True, exist_ok=True)
        command = [self.here(word) for word in self.units[unit].command]
        return self.begin(unit, [*command, *more], self.environment(unit))

    def begin(self, name: str, command: list[str], environment: Mapping[str, str]) -> Watched:
        self.running[name] = self.stack.enter_context(Watched([*self.entering, *command], environment))
        return self.running[name]

    def run(self, part: str, *words: str) -> subprocess.CompletedProcess[str]:
        """A command with the environment of a part of the server."""
        program = [*self.entering, str(Path(sys.executable).parent / words[0]), *words[1:]]
        environment = self.environment(f"tilelab-serve@{part}.service")
        return subprocess.run(program, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def job(self, unit: str) -> str:
        """What a unit says that runs once."""
        assert self.start(unit).ends() == 0, self.running[unit].text
        return self.running[unit].text


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with ExitStack() as stack:
        yield Host(tmp_path, stack)


NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


def nginx(folder: Path, text: str) -> list[str]:
    """The command of nginx with this text in its part for HTTP."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    whole = f"daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr; events {{}}\n"
    (folder / "nginx.conf").write_text(f"{whole}http {{ access_log off;\n{folders}{text}\n}}\n")
    assert NGINX is not None
    return [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]


@pytest.mark.skipif(NGINX is None or shutil.which("openssl") is None, reason="needs nginx and openssl")
def test_nginx_accepts_its_file(tmp_path: Path):
    secrets = tmp_path / "secrets"
    subprocess.run([ROOT / "bin" / "make-secrets", "--tls", "tilelab.example", secrets], check=True)
    text = (DEPLOY / "nginx.conf").read_text()
    for there, here in (("fullchain.pem", "redis_certificate"), ("privkey.pem", "redis_key")):
        text = text.replace(f"/etc/letsencrypt/live/tilelab.example/{there}", str(secrets / here))
    # it binds its addresses while it checks them
    text = re.sub(r"(?m)^ *listen \[.*\n", "", text)
    text = re.sub(r"listen (443|80)", lambda _: f"listen 127.0.0.1:{free_port()}", text)
    done = subprocess.run([*nginx(tmp_path, text), "-t"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "[warn]" not in done.stderr


def in_front(host: Host) -> list[str]:
    """The command of nginx in front of the portal, at a free port and without the certificate."""
    host.ports["web"] = free_port()
    text = (DEPLOY / "nginx.conf").read_text().rpartition("\nserver {")[0]
    text = re.sub(r"(?m)^ *(ssl_\w+ |listen \[).*\n", "", text)
    text = text.replace("listen 443 ssl http2", f"listen 127.0.0.1:{host.ports['web']}")
    return nginx(host.folder, text.replace("http://127.0.0.1:8000", f"http://127.0.0.1:{host.ports['behind']}"))


def first_bytes(url: str, path: str, token: str) -> bytes:
    """Of an answer that doesn't end yet."""
    connection = http.client.HTTPConnection(url, timeout=20)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    found = connection.getresponse().read1(1000)
    connection.close()
    return found


@linux
@pytest.mark.long("starts every unit; the short suite reads them, in the other tests of this folder")
@pytest.mark.timeout(600)
def test_a_kernel_gets_its_verdict_from_the_units_and_a_batch_job_and_is_in_the_backup(host: Host):
    host.start("tilelab-redis.service", str(host.ports["redis"])).wait_for("Ready to accept connections")
    migrated = host.run("web", "tilelab", "admin", "migrate")
    assert migrated.returncode == 0, migrated.stderr
    host.ports["web"] = host.ports["behind"]
    for name in SERVER:
        host.start(name, *(["--port", str(host.ports["behind"])] if "web" in name else []))
    if NGINX is not None:
        host.begin("nginx", in_front(host), {})
    wait_until(lambda: answers(host.ports["web"]), lambda: everything_said(host))

    token = a_student(host)
    waiting = submitted(host, token)
    event = first_bytes(f"127.0.0.1:{host.ports['web']}", f"{waiting}/events", token)
    assert event.startswith((b"event:", b":", b"id:", b"data:", b"retry:")), event

    address = str(host.folder / "etc" / "redis-url")
    made = host.run("web", "tilelab", "admin", "worker", "add", "host-1", "--queue", "cpu", "--file", address)
    assert made.returncode == 0, made.stderr
    worker = host.start("tilelab-worker.service")
    assert hand_in(host, token) == "accepted", everything_said(host)
    worker.process.send_signal(signal.SIGTERM)
    assert worker.ends() == 0, worker.text

    job = shutil.copy(DEPLOY / "slurm" / "worker.sbatch", host.folder / "job")
    slurm = {**host.environment("tilelab-worker.service"), "SLURM_SUBMIT_DIR": str(ROOT), "HOME": "/nonexistent"}
    batch = host.begin("job", [str(job)], slurm)
    assert hand_in(host, token) == "accepted", everything_said(host)
    batch.process.send_signal(signal.SIGTERM)
    assert batch.ends() == 0, batch.text

    host.job("tilelab-backup.service")
    assert "can be restored" in host.job("tilelab-restore-drill.service").splitlines()[-1]
    backups = str(host.folder / "var" / "lib" / "tilelab" / "backups")
    doctor = host.run("web", "tilelab", "admin", "doctor", "--json", "--backups", backups)
    checks = {each["check"]: each["level"] for each in json.loads(doctor.stdout)["checks"]}
    assert (checks["backups"], checks["secret-files"]) == ("fine", "fine")
    for name in SERVER:
        host.running[name].process.send_signal(signal.SIGTERM)
        assert host.running[name].ends() == 0, host.running[name].text


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection(f"127.0.0.1:{port}", timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
