"""Takes the judge's place in a runner: does what the request's metric says, as a process taken over might."""

from __future__ import annotations

import ctypes
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from worker.contract.measure_work import MeasureResponse
from worker.gpu import measure_step, runner


def install():
    """Before the runner's own modules are used."""
    for name, stand_in in (
        ("Judge", lambda *_: Mock()),
        ("rehearse_judge", lambda *_: None),
        ("rehearse_library", lambda *_: None),
    ):
        setattr(runner, name, stand_in)
    measure_step.measure = _measure


def _measure(request, backend, judge, ask, quiet=None, clock_mhz=0, inputs=None):
    action, *arguments = json.loads(request.metric)
    found = _ACTIONS[action](ask, *arguments)
    return MeasureResponse((), (), ptx_digests=tuple(map(str, found)), lost=action == "lose")


def _tried(attempt: Callable[[], Any]) -> list[str]:
    try:
        attempt()
    except (OSError, RuntimeError) as error:
        return [type(error).__name__]
    return ["worked"]


def _numbers(ask, count):
    asked = [ask()() for _ in range(count)]
    return [number for each in asked for number in (each.inputs, each.vector)]


def _seconds_of(ask, count):
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        ask()()
        taken.append(time.perf_counter() - began)
    return sorted(taken)


def _say(ask, question):
    os.write(_answers(), json.dumps({"ask": question}).encode() + b"\n")
    return []


def _ask_for(ask, question):
    _say(ask, question)
    time.sleep(30)


def _flood(ask, line):
    data = line.encode() * 1000
    while True:
        os.write(_answers(), data)


def _answers() -> int:
    """The descriptor for answers, as this process was told it."""
    return int(sys.argv[3])


def _connect():
    with socket.socket() as link:
        link.connect(("127.0.0.1", 9))


def _thread():
    done: list[int] = []
    thread = threading.Thread(target=done.append, args=(1,))
    thread.start()
    thread.join()
    assert done


_ORDERS: queue.Queue[Callable[[], Any]] = queue.Queue()
_RESULTS: queue.Queue[list[str]] = queue.Queue()


def _in_driver_thread(attempt):
    """Through a thread that ran before the lock, as a driver's do."""
    _ORDERS.put(attempt)
    return _RESULTS.get(timeout=10)


def _follow_orders():
    while True:
        _RESULTS.put(_tried(_ORDERS.get()))


def start_driver_thread():
    """In place of the driver: while the device starts, after the first wall."""
    threading.Thread(target=_follow_orders, daemon=True).start()


def _open(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags))


def _limits(pid):
    import resource

    resource.prlimit(pid, resource.RLIMIT_CPU)


_ACTIONS: dict[str, Callable[..., Any]] = {
    "numbers": _numbers,
    "seconds": _seconds_of,
    "ask": _ask_for,
    "say": _say,
    "lose": lambda ask: [],
    "flood": _flood,
    "each": lambda ask, orders: [found for action, *rest in orders for found in _ACTIONS[action](ask, *rest)],
    "sleep": lambda ask, seconds: _tried(lambda: time.sleep(seconds)),
    "fail": lambda ask: [1 // 0],
    "crash": lambda ask: [ctypes.string_at(0)],
    "abort": lambda ask: [os.abort()],
    "environment": lambda ask: [f"{name}={value}" for name, value in os.environ.items()],
    "open": lambda ask, path: _tried(lambda: _open(path)),
    "write": lambda ask, path: _tried(lambda: _open(path, os.O_WRONLY | os.O_CREAT)),
    "remove": lambda ask, path: _tried(Path(path).unlink),
    "mode": lambda ask, path: _tried(lambda: Path(path).chmod(0o777)),
    "connect": lambda ask: _tried(_connect),
    "socket": lambda ask: _tried(lambda: socket.socket().close()),
    "fork": lambda ask: _tried(os.fork),
    "program": lambda ask: _tried(lambda: subprocess.run(["/bin/true"], check=True)),
    "become": lambda ask: _tried(lambda: os.execv("/bin/true", ["true"])),
    "kill": lambda ask, pid: _tried(lambda: os.kill(pid, 0)),
    "signal_thread": lambda ask: _tried(lambda: signal.pthread_kill(threading.get_ident(), 0)),
    "limits": lambda ask, pid: _tried(lambda: _limits(pid)),
    "thread": lambda ask: _tried(_thread),
    "driver_open": lambda ask, path: _in_driver_thread(lambda: _open(path)),
    "driver_socket": lambda ask: _in_driver_thread(lambda: socket.socket().close()),
    "driver_become": lambda ask: _in_driver_thread(lambda: os.execv("/bin/true", ["true"])),
}
