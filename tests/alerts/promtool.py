"""Prometheus' own promtool: the one on PATH, or the one in Debian's package of Prometheus, unpacked into `build`."""

from __future__ import annotations

import platform
import shutil
import subprocess
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from bin.node_packages import alone

ROOT = Path(__file__).resolve().parents[2]
_FOLDER = ROOT / "build" / "promtool"
_VERSION = "2.42.0+ds-5+deb12u1"
_SHA256 = {
    "x86_64": "81d59a24fce84f7fbe97a45a4f2914b6a5881b5cd1db2a6a0e129e515e1a5f55",
    "aarch64": "ca131aa102390083398afbc80be9c8dd1dda78f9f92154fc00df8f7f1f4556e9",
}
"""Of the package in Debian 12, by the machine's architecture."""

_SECONDS = 90.0
"""Of one call of apt, which waits for minutes if a firewall drops its packets."""


class NoPromtool(RuntimeError):
    """This machine has none. The text says why."""


@cache
def promtool() -> Path:
    """Raises NoPromtool."""
    if (found := shutil.which("promtool")) is not None:
        return Path(found)
    program = _FOLDER / "usr" / "bin" / "promtool"
    with alone("promtool"):
        if not program.exists():
            _unpack(_package())
    return program


def _package() -> Path:
    """Download the package as apt is set up, without root: with the machine's lists, or else with lists of our own."""
    if shutil.which("apt-get") is None or platform.machine() not in _SHA256:
        raise NoPromtool("neither a promtool on PATH nor a package of Debian for this machine")
    _FOLDER.mkdir(parents=True, exist_ok=True)
    lists = _FOLDER / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    ours = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={_FOLDER}"]
    download = ["download", f"prometheus={_VERSION}"]
    if not (_apt(download) or (_apt([*ours, "update"]) and _apt([*ours, *download]))):
        raise NoPromtool(f"apt has no prometheus {_VERSION}: put promtool on PATH, or renew the version and the hashes")
    return next(_FOLDER.glob("prometheus_*.deb"))


def _apt(words: list[str]) -> bool:
    command = ["apt-get", "--quiet", *words]
    with suppress(subprocess.TimeoutExpired):
        return subprocess.run(command, cwd=_FOLDER, capture_output=True, check=False, timeout=_SECONDS).returncode == 0
    return False


def _unpack(package: Path) -> None:
    if sha256(package.read_bytes()).hexdigest() != _SHA256[platform.machine()]:
        raise NoPromtool(f"{package.name} is not the package whose hash is known")
    files = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", _FOLDER, "./usr/bin/promtool"], input=files, check=True)
    package.unlink()
