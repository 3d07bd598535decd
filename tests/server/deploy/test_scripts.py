"""The scripts of deploy/, run for real: backups and their drill, Redis' settings, and the batch job."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.audit.service import note
from server.database.engine import connect, sessions
from server.operations.backup import ArchiveReader
from tests.server.deploy.test_names import parsed
from tests.server.deploy.units import DEPLOY, ROOT
from worker.contract.broker import read_redis_url
from worker.contract.credential import read_credential

SCRIPTS = [*DEPLOY.glob("*/*.sbatch"), ROOT / "bin" / "make-secrets"]
SCRIPTS += [file for file in DEPLOY.iterdir() if file.is_file() and not file.suffix]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.name)
def test_a_script_is_valid_and_stops_at_the_first_failure(script: Path):
    text = script.read_text()
    shell = re.split("[ /]", text.splitlines()[0])[-1]
    assert os.access(script, os.X_OK)
    assert re.search({"sh": "^set -eu$", "bash": "^set -euo pipefail$"}[shell], text, re.MULTILINE)
    subprocess.run([shell, "-n", script], check=True)
    code = re.sub(r"(?ms)^ *#.*?$|<<'?END'?$.*?^END$|<<END$.*?^END$", "", text)
    # quoted texts, arithmetic, and assignments, which split no words
    code = re.sub(r"\$\(\(.*?\)\)", "0", code)
    code = re.sub(r'"(\$\([^()]*\)|[^"])*"', '""', code)
    code = re.sub(r"(?m)(^|[ ;])\w+\+?=(\$\([^()]*\)|\S)*", "", code)
    assert re.findall(r"\$[\w{(].*", code) == []


def run(script: str, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {"PATH": "/usr/bin:/bin", "TMPDIR": tempfile.gettempdir(), **environment}
    command = [DEPLOY / script, *words]
    return subprocess.run(command, env=given, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def full(sqlite_url: str) -> str:
    """The address of a database with a row."""
    engine = connect(sqlite_url)
    with sessions(engine).begin() as session:
        note(session, None, "worker.key_added", "worker gpu-1")
    engine.dispose()
    return sqlite_url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "backups"
    made.mkdir()
    return made


@pytest.mark.long("starts the command three times; the short suite restores backups in test_backup.py")
def test_a_backup_is_the_days_and_the_weeks_and_its_drill_restores_it(full: str, folder: Path):
    done = run("backup", folder, DATABASE_URL=full)
    assert done.returncode == 0, done.stderr
    day, week = sorted(folder.iterdir())
    assert re.fullmatch(r"tilelab-day-[1-7]\.zip", day.name)
    assert re.fullmatch(r"tilelab-week-[0-4]\.zip", week.name)
    assert day.stat().st_mode & 0o077 == 0
    with week.open("rb") as file, ArchiveReader(file) as archive:
        assert archive.manifest.rows == 1
    drill = run("restore-drill", folder)
    assert (drill.returncode, drill.stderr) == (0, "")


def test_a_drill_without_a_backup_fails(folder: Path):
    assert run("restore-drill", folder).returncode == 1


def test_the_last_seven_days_and_four_whole_weeks_are_kept(tmp_path: Path, folder: Path):
    # the script, where the command writes the number of the day, and the clock is ours
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (tmp_path / "deploy").mkdir()
    shutil.copy(DEPLOY / "backup", tmp_path / "deploy")
    for name, line in (("tilelab", 'echo "$DAY" >"$3.new" && mv "$3.new" "$3"'),
                       ("date", 'exec /bin/date --utc --date="@$((DAY * 86400))" "$@"')):  # fmt: skip
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    first, today = 20_000, 20_050
    for day in range(first, today + 1):
        given = {"PATH": f"{programs}:/usr/bin:/bin", "DAY": str(day)}
        subprocess.run([tmp_path / "deploy" / "backup", folder], env=given, check=True)
    kept = {int(file.read_text()) for file in folder.iterdir()}
    ends_of_weeks = [day for day in range(first, today) if day // 7 != (day + 1) // 7]
    assert kept == {*range(today - 6, today + 1), *ends_of_weeks[-4:]}


@pytest.fixture
def gpg_home() -> Iterator[str]:
    """A key ring with one key. Its path is short, because its agent listens at a socket in it."""
    if shutil.which("gpg") is None:
        pytest.skip("needs gpg")
    home = tempfile.mkdtemp()
    environment = {"PATH": os.environ["PATH"], "GNUPGHOME": home}
    made = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "backups", "future-default"]
    try:
        subprocess.run(made, env=environment, check=True, capture_output=True)
        yield home
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=environment, check=False)
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.long("makes a key; the short suite has a backup that isn't encrypted")
def test_an_encrypted_backup_is_restored_with_its_key_and_a_failed_one_leaves_it(
    full: str, folder: Path, gpg_home: str
):
    done = run("backup", folder, "backups", DATABASE_URL=full, GNUPGHOME=gpg_home)
    assert done.returncode == 0, done.stderr
    before = {file: file.read_bytes() for file in folder.iterdir()}
    assert {file.suffix for file in before} == {".gpg"}
    assert run("backup", folder, "backups", DATABASE_URL="sqlite:////nowhere/db", GNUPGHOME=gpg_home).returncode != 0
    assert {file: file.read_bytes() for file in before} == before
    drill = run("restore-drill", folder, GNUPGHOME=gpg_home)
    assert (drill.returncode, drill.stderr) == (0, "")
    (folder / "tilelab-day-1.zip").write_bytes(b"no backup")
    assert run("restore-drill", folder).returncode == 3


def secrets(folder: Path, *words: str) -> Path:
    subprocess.run([ROOT / "bin" / "make-secrets", *words, folder], check=True)
    return folder


def settings_of_redis(tmp_path: Path, folder: Path) -> dict[str, str]:
    """What the script gives to the server, here a program that prints it."""
    server = tmp_path / "valkey-server"
    server.write_text("#!/bin/sh\ncat\n")
    server.chmod(0o755)
    done = run("redis", folder, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_redis_has_a_password_keeps_nothing_and_refuses_instead_of_forgetting(tmp_path: Path):
    folder = secrets(tmp_path / "secrets")
    settings = settings_of_redis(tmp_path, folder)
    assert settings["requirepass"] == (folder / "redis_password").read_text().strip()
    assert settings["maxmemory-policy"] == "noeviction"
    assert (settings["save"], settings["appendonly"], settings["port"]) == ('""', "no", "6379")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_with_a_certificate_redis_accepts_only_tls_and_addresses_trust_only_it(tmp_path: Path):
    folder = secrets(tmp_path / "secrets", "--tls", "queue.tilelab.example")
    settings = settings_of_redis(tmp_path, folder)
    assert (settings["port"], settings["tls-port"]) == ("0", "6379")
    there = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    there.load_cert_chain(settings["tls-cert-file"], settings["tls-key-file"])
    for name in ("redis_url", "worker_cpu", "worker_gpu"):
        url = read_redis_url({"REDIS_URL_FILE": str(folder / name)})
        assert url.startswith("rediss://")
        assert "@queue.tilelab.example:6379/" in url
        assert "ssl_ca_certs=/run/secrets/redis_certificate" in url
    assert read_credential((folder / "worker_gpu").read_text().strip()).queues == ("gpu",)
    assert connected(there, trusting(folder / "redis_certificate"), "queue.tilelab.example")
    with pytest.raises(ssl.SSLCertVerificationError):
        connected(there, trusting(folder / "redis_certificate"), "other.tilelab.example")
    with pytest.raises(ssl.SSLCertVerificationError):
        connected(there, ssl.create_default_context(), "queue.tilelab.example")


def trusting(certificate: Path) -> ssl.SSLContext:
    """As a client is by default since Python 3.13."""
    context = ssl.create_default_context(cafile=str(certificate))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def connected(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> bool:
    """Shake hands in memory."""
    out, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    both = (client.wrap_bio(back, out, server_hostname=host), server.wrap_bio(out, back, server_side=True))
    waiting = set(both)
    for _ in range(10):
        for end in tuple(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                pass
    return not waiting


def test_a_batch_job_becomes_the_worker_with_the_jobs_gpus_and_ends_in_slurms_time(tmp_path: Path):
    program = tmp_path / ".venv" / "bin" / "tilelab"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$$" "$REDIS_URL_FILE" "$@"\n')
    program.chmod(0o755)
    script = DEPLOY / "slurm" / "worker.sbatch"
    given = {"SLURM_SUBMIT_DIR": str(tmp_path), "HOME": "/home/ada", "PATH": "/usr/bin:/bin"}
    for gpus, wanted in ((None, "none"), ("0,1", "0,1")):
        visible = {} if gpus is None else {"CUDA_VISIBLE_DEVICES": gpus}
        # sbatch runs a copy of the script in a folder of its own
        started = subprocess.Popen([shutil.copy(script, tmp_path / "job")], env=given | visible, stdout=subprocess.PIPE)
        pid, file, *words = started.communicate(timeout=60)[0].decode().split()
        assert int(pid) == started.pid, "Slurm's signal reaches only the script's own process"
        assert file == "/home/ada/.config/tilelab/redis-url"
        options = parsed(tuple(words))
        assert options["gpus"] == wanted
        assert options["idle_exit"] < 3600
        before_the_limit = int(re.findall(r"--signal=B:TERM@(\d+)", script.read_text())[0])
        assert options["grace"] + 15 <= 30 < before_the_limit
