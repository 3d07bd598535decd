"""What can go wrong, as named operations on a target. Each leaves it able to recover by itself."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.faults.kept import below, command_line
from tests.faults.target import LEASE_SECONDS, Target

Dice = random.Random

OUTAGE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault. strike: does it; False where there was nothing to hit, which counts as no fault."""

    name: str
    weight: int
    strike: Callable[[Target, Dice], bool]


def _kill(pid: int | None) -> bool:
    if pid is None:
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_part(name: str) -> Callable[[Target, Dice], bool]:
    """kill -9 of a part, and so of all that dies with it."""
    return lambda target, _dice: _kill(target.pid(name))


def kill_portal_process(target: Target, dice: Dice) -> bool:
    """kill -9 of a process that answers requests, perhaps between its commit and its answer."""
    portal = target.pid("portal")
    processes = below(portal) if portal is not None else []
    return bool(processes) and _kill(dice.choice(processes))


def _slots(target: Target) -> list[int]:
    return [pid for worker in target.workers() for pid in below(worker) if "worker.slot" in command_line(pid)]


def _runners(target: Target) -> list[int]:
    """The processes that hold students' code."""
    return [pid for worker in target.workers() for pid in below(worker) if "sandbox" in command_line(pid)]


def kill_slot(target: Target, dice: Dice) -> bool:
    """kill -9 of a process that takes steps."""
    slots = _slots(target)
    return bool(slots) and _kill(dice.choice(slots))


def kill_runner(target: Target, dice: Dice) -> bool:
    """kill -9 of a process that runs a student's file, or is about to."""
    runners = _runners(target)
    return bool(runners) and _kill(dice.choice(runners))


def freeze_slot(target: Target, dice: Dice) -> bool:
    """SIGSTOP of a process that takes steps, for longer than its lease; then it goes on as if nothing had been."""
    slots = _slots(target)
    if not slots:
        return False
    _freeze(dice.choice(slots), LEASE_SECONDS * 1.5)
    return True


def freeze_part(name: str) -> Callable[[Target, Dice], bool]:
    """SIGSTOP of a part for longer than a lease."""

    def strike(target: Target, dice: Dice) -> bool:
        pid = target.pid(name)
        if pid is None:
            return False
        _freeze(pid, LEASE_SECONDS * dice.uniform(1.0, 1.5))
        return True

    return strike


def _freeze(pid: int, seconds: float) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)


def kill_redis(target: Target, dice: Dice) -> bool:
    """Redis dies with all that it held, and comes back within two seconds."""
    target.kill_redis(dice.uniform(0.0, OUTAGE_SECONDS))
    return True


def redis_outage(target: Target, _dice: Dice) -> bool:
    """Redis answers nobody for two seconds, and then goes on with what it held."""
    target.pause_redis(OUTAGE_SECONDS)
    return True


def kill_postgres(target: Target, dice: Dice) -> bool:
    """PostgreSQL dies with all its processes, and comes back by its log."""
    return target.kill_postgres(dice.uniform(0.0, 1.0))


def fill_disk(target: Target, _dice: Dice) -> bool:
    """The disk with the workers' temporary files is full for two seconds."""
    if not target.disk_is_small:
        return False
    with contextlib.ExitStack() as undo:
        filled = 0
        while filled < 10_000:
            path = target.temporary / f"fill-{filled}"
            try:
                path.touch()
            except OSError as error:
                if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
                    raise
                break
            undo.callback(path.unlink)
            filled += 1
        else:
            return False
        time.sleep(2.0)
    # a worker that failed too often took itself out; once there is room again, an operator lets it back in
    target.resume_workers()
    return True


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("kill portal", 3, kill_part("portal")),
        Fault("kill portal process", 6, kill_portal_process),
        Fault("kill dispatcher", 8, kill_part("dispatcher")),
        Fault("freeze dispatcher", 2, freeze_part("dispatcher")),
        Fault("kill recorder", 8, kill_part("recorder")),
        Fault("freeze recorder", 2, freeze_part("recorder")),
        Fault("kill worker", 4, kill_part("worker")),
        Fault("kill slot", 8, kill_slot),
        Fault("freeze slot", 5, freeze_slot),
        Fault("kill runner", 8, kill_runner),
        Fault("kill Redis", 6, kill_redis),
        Fault("Redis outage", 4, redis_outage),
        Fault("kill PostgreSQL", 5, kill_postgres),
        Fault("full disk", 3, fill_disk),
    )
}
