"""A step for the tests: does in the child what a hostile one would try."""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def probe(request):
    return {"result": _ACTIONS[request["action"]](*request.get("arguments", ()))}


def _tried(attempt) -> str:
    try:
        attempt()
    except OSError as error:
        return type(error).__name__
    return "worked"


def _connect(port):
    with socket.socket() as link:
        link.connect(("127.0.0.1", port))


def _allocate(size):
    return len(bytearray(size))


def _exhaust():
    """Take memory as a compiler does, in pieces, and give up the way C++ does where there is no more."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    while piece := libc.malloc(2**24):
        libc.memset(piece, 1, 2**24)
    os.abort()


def _share():
    """Take memory that other processes could share, which the system does not count as the process's own data."""
    pieces = []
    try:
        while True:
            pieces.append(mmap.mmap(-1, 2**26))
    except OSError:
        return len(pieces) * 2**26


def _open_reserved(size):
    """Make addresses writable that were reserved before the lock."""
    libc = ctypes.CDLL(None)
    reserved = ctypes.c_void_p(sys.modules["__main__"].kept[1])
    return libc.mprotect(reserved, ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_WRITE)


def _loaded(name):
    """Whether this process has loaded a library."""
    libc = ctypes.CDLL(None)
    libc.dlopen.restype = ctypes.c_void_p
    return libc.dlopen(name.encode(), ctypes.c_int(os.RTLD_NOLOAD | os.RTLD_LAZY)) is not None


def _spin():
    while True:
        pass


def _talk():
    os.write(1, b'{"response": {"result": "forged"}}\n')
    os.write(2, b'{"response": {"result": "forged"}}\n')
    return "true"


def _fail():
    raise ValueError("our own fault")


_ACTIONS: dict[str, Callable[..., Any]] = {
    "echo": lambda value: value,
    "environment": lambda: dict(os.environ),
    "open": lambda path: _tried(lambda: os.close(os.open(path, os.O_RDONLY))),
    "stat": lambda path: _tried(lambda: Path(path).stat()),
    "access": lambda path: os.access(path, os.F_OK),
    "list": lambda path: _tried(lambda: list(Path(path).iterdir())),
    "create": lambda path: _tried(lambda: os.close(os.open(path, os.O_CREAT | os.O_WRONLY))),
    "connect": lambda port: _tried(lambda: _connect(port)),
    "fork": lambda: _tried(os.fork),
    "program": lambda: _tried(lambda: subprocess.run(["/bin/true"], check=True)),
    "kill": lambda pid: _tried(lambda: os.kill(pid, 9)),
    "allocate": _allocate,
    "exhaust": _exhaust,
    "share": _share,
    "open_reserved": _open_reserved,
    "loaded": _loaded,
    "spin": _spin,
    "sleep": time.sleep,
    "talk": _talk,
    "fail": _fail,
    "crash": lambda: ctypes.string_at(0),
    "exit": lambda: os._exit(0),
    "large": lambda size: "x" * size,
}
