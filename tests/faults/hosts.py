"""Hosts with names and a network of their own, on this machine: Linux namespaces, joined to it by a wire each."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

# Of the range for measuring networks, which nothing else uses; each test process has a part of its own.
_PART = os.getpid() % 250
_NETWORK = f"198.18.{_PART}"
_SECONDS = 20.0


def why_not() -> str:
    """Why this machine lets us have none; empty where it does."""
    missing = [name for name in ("ip", "unshare", "nsenter") if shutil.which(name) is None]
    if missing:
        return f"{' and '.join(missing)} missing (Debian: iproute2, util-linux)"
    tried = subprocess.run(
        ["unshare", "-num", "ip", "link", "add", "one", "type", "veth", "peer", "name", "two"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return "" if tried.returncode == 0 else f"no network namespaces here: {tried.stderr.strip()}"


class Host:
    """A host, as long as the block lasts. Its wire goes with it.

    name: at most eight letters
    joined_to: the host at the other end of its wire; this machine if None
    ours: the address of the other end, as the host sees it
    theirs: the host's own address
    """

    def __init__(self, name: str, number: int, joined_to: Host | None = None) -> None:
        self.name = name
        self.ours = f"{_NETWORK}.{4 * number + 1}"
        self.theirs = f"{_NETWORK}.{4 * number + 2}"
        self._from = joined_to.entering if joined_to else []
        self._wire = f"tl{_PART}-{name}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def entering(self) -> list[str]:
        """What to put before a command that is to run there."""
        assert self._process
        return ["nsenter", "-t", str(self._process.pid), "-n", "-u", "-m"]

    def cut(self) -> None:
        """Nothing gets through any more, and nobody is told."""
        _run(*self._from, "ip", "link", "set", self._wire, "down")

    def join(self) -> None:
        _run(*self._from, "ip", "link", "set", self._wire, "up")

    def resolve(self, names: Path) -> None:
        """Take this file for the host's /etc/hosts."""
        _run(*self.entering, "mount", "--bind", str(names), "/etc/hosts")

    def __enter__(self) -> Self:
        ready = f"hostname {self.name} && exec sleep 3600"
        self._process = subprocess.Popen(["unshare", "-num", "sh", "-c", ready], start_new_session=True)
        self._wait_until_apart()
        there = str(self._process.pid)
        _run(*self._from, "ip", "link", "add", self._wire, "type", "veth", "peer", "name", "wire", "netns", there)
        _run(*self._from, "ip", "addr", "add", f"{self.ours}/30", "dev", self._wire)
        self.join()
        for words in (
            ("link", "set", "lo", "up"),
            ("addr", "add", f"{self.theirs}/30", "dev", "wire"),
            ("link", "set", "wire", "up"),
        ):
            _run(*self.entering, "ip", *words)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process
        subprocess.run([*self._from, "ip", "link", "del", self._wire], check=False, capture_output=True)
        self._process.kill()
        self._process.wait()

    def _wait_until_apart(self) -> None:
        assert self._process
        own = Path("/proc/self/ns/net").readlink()
        deadline = time.monotonic() + _SECONDS
        while Path(f"/proc/{self._process.pid}/ns/net").readlink() == own:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
