"""Which processes there are."""

from __future__ import annotations

import subprocess
from pathlib import Path

PROC = Path("/proc")
HAS_PROC = (PROC / "self" / "stat").exists()


def children_of(parent: int) -> list[int]:
    """The processes that a process has started, and not those that these started."""
    if HAS_PROC:
        numbers = [int(folder.name) for folder in PROC.iterdir() if folder.name.isdecimal()]
        return [number for number in numbers if _state_and_parent(number)[1:] == [str(parent)]]
    pairs = (line.split() for line in _ps("-axo", "pid=,ppid=").splitlines())
    return [int(number) for number, of in pairs if int(of) == parent]


def alive(process: int) -> bool:
    """Whether a process is there, and not only its end that nobody has asked for."""
    if HAS_PROC:
        return _state_and_parent(process)[:1] not in ([], ["Z"], ["X"])
    return _ps("-o", "stat=", "-p", str(process)).strip()[:1] not in {"", "Z"}


def stopped(process: int) -> bool:
    """Whether a process is there and does nothing until it is told to go on."""
    if HAS_PROC:
        return _state_and_parent(process)[:1] == ["T"]
    return _ps("-o", "stat=", "-p", str(process)).strip()[:1] == "T"


def _state_and_parent(process: int) -> list[str]:
    """As /proc says; nothing where the process is gone."""
    try:
        text = (PROC / str(process) / "stat").read_text(errors="replace")
    except OSError:
        return []
    # the name before them may hold blanks and brackets
    return text.rpartition(")")[2].split()[:2]


def _ps(*arguments: str) -> str:
    return subprocess.run(["ps", *arguments], stdout=subprocess.PIPE, text=True, check=False).stdout
