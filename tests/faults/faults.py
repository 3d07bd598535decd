"""What can go wrong, as named operations on a target. Each leaves it able to recover by itself."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tests.faults.kept import below, command_line
from tests.faults.slow_clients import slow_clients, trickle
from tests.faults.target import LEASE_SECONDS, Target

Dice = random.Random

OUTAGE_SECONDS = 2.0
NOTICED_SECONDS = 150.0
"""A part that hangs has to be restarted by then, also one that hangs while it starts."""

SPELL_SECONDS = 10.0
START_SECONDS = 120.0
"""From the end of a spell, and from the start of a part or the whole machine, until a submission is accepted."""

SLOW_CLIENTS = 60
DAY = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault.

    strike: does it; False where there was nothing to hit, which counts as no fault; raises NotRecovered
    within: seconds from its end in which a submission has to be accepted; 0 where that is not looked at
    after_acceptance: it strikes as soon as a submission was accepted
    """

    name: str
    weight: int
    strike: Callable[[Target, Dice], bool]
    within: float = 0.0
    after_acceptance: bool = False


class NotRecovered(Exception):
    """Something needed a hand; the text says what."""


def _send(number: signal.Signals, pids: Sequence[int], dice: Dice) -> bool:
    """Send a signal to one of them."""
    if not pids:
        return False
    try:
        os.kill(dice.choice(pids), number)
    except ProcessLookupError:
        return False
    return True


def kill_part(name: str) -> Callable[[Target, Dice], bool]:
    """kill -9 of a part, and so of all that dies with it."""
    return lambda target, dice: _send(signal.SIGKILL, target.pids(name), dice)


def restart_part(name: str) -> Callable[[Target, Dice], bool]:
    """A part ends in order, as for an upgrade."""
    return lambda target, dice: _send(signal.SIGTERM, target.pids(name), dice)


def _answering(target: Target) -> list[int]:
    """The processes that answer requests."""
    return [pid for portal in target.pids("portal") for pid in below(portal)]


def kill_portal_process(target: Target, dice: Dice) -> bool:
    """kill -9 of a process that answers requests, perhaps between its commit and its answer."""
    return _send(signal.SIGKILL, _answering(target), dice)


def _slots(target: Target) -> list[int]:
    return [pid for worker in target.workers() for pid in below(worker) if "worker.slots.slot" in command_line(pid)]


def _runners(target: Target) -> list[int]:
    """The processes that hold students' code."""
    return [pid for worker in target.workers() for pid in below(worker) if "sandbox" in command_line(pid)]


def kill_slot(target: Target, dice: Dice) -> bool:
    """kill -9 of a process that takes steps."""
    return _send(signal.SIGKILL, _slots(target), dice)


def kill_runner(target: Target, dice: Dice) -> bool:
    """kill -9 of a process that runs a student's file, or is about to."""
    return _send(signal.SIGKILL, _runners(target), dice)


def freeze(found: Callable[[Target], Sequence[int]]) -> Callable[[Target, Dice], bool]:
    """SIGSTOP of one of these for longer than a lease; then it goes on as if nothing had been."""

    def strike(target: Target, dice: Dice) -> bool:
        pids = found(target)
        if pids:
            _freeze(dice.choice(pids), LEASE_SECONDS * dice.uniform(1.0, 1.5))
        return bool(pids)

    return strike


def freeze_part(name: str) -> Callable[[Target, Dice], bool]:
    return freeze(lambda target: target.pids(name))


def hang_part(name: str) -> Callable[[Target, Dice], bool]:
    """SIGSTOP of a part, for good: something has to notice it and start another."""

    def strike(target: Target, _dice: Dice) -> bool:
        pids = target.pids(name) if target.restarts_hanging else ()
        if not pids:
            return False
        pid = pids[0]
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
        end = time.monotonic() + NOTICED_SECONDS
        while time.monotonic() < end:
            if set(target.pids(name)) - {pid}:
                return True
            time.sleep(0.2)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        raise NotRecovered(f"nothing restarted it within {NOTICED_SECONDS:g} s")

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


def _spell(
    begin: Callable[[Target, Dice], AbstractContextManager[object] | None], least: float, most: float
) -> Callable[[Target, Dice], bool]:
    """Something that lasts for some seconds, and then is as if nothing had been."""

    def strike(target: Target, dice: Dice) -> bool:
        spell = begin(target, dice)
        if spell is None:
            return False
        with spell:
            time.sleep(dice.uniform(least, most))
        return True

    return strike


def step_clock(target: Target, dice: Dice) -> AbstractContextManager[object]:
    """The time of day is wrong by seconds, an hour or a day, in either direction, and then corrected."""
    return target.clock_off_by(dice.choice([30, 3600, DAY]) * dice.choice([-1, 1]))


def lose_power(target: Target, _dice: Dice) -> bool:
    """All processes die, and what they wrote and did not sync is gone."""
    return target.lose_power()


def be_slow(target: Target, dice: Dice) -> bool:
    """Many clients begin requests and do not end them, while others go on."""
    try:
        with slow_clients(target.url, SLOW_CLIENTS) as connections:
            trickle(connections, dice.uniform(3.0, 8.0))
    except OSError:
        return False  # the portal is about to be started
    return True


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
        Fault("freeze portal process", 2, freeze(_answering)),
        Fault("restart portal", 1, restart_part("portal")),
        Fault("kill dispatcher", 8, kill_part("dispatcher")),
        Fault("freeze dispatcher", 2, freeze_part("dispatcher")),
        Fault("restart dispatcher", 2, restart_part("dispatcher")),
        Fault("kill recorder", 8, kill_part("recorder")),
        Fault("freeze recorder", 2, freeze_part("recorder")),
        Fault("restart recorder", 2, restart_part("recorder")),
        Fault("kill worker", 4, kill_part("worker")),
        Fault("restart worker", 2, restart_part("worker")),
        Fault("kill slot", 8, kill_slot),
        Fault("freeze slot", 5, freeze(_slots)),
        Fault("kill runner", 8, kill_runner),
        Fault("kill Redis", 6, kill_redis),
        Fault("Redis outage", 4, redis_outage),
        Fault("kill PostgreSQL", 5, kill_postgres),
        Fault("full disk of workers", 3, fill_disk),
        Fault("read-only database", 3, _spell(lambda target, _: target.database_read_only(), 3, 8), SPELL_SECONDS),
        Fault("locked database", 3, _spell(lambda target, _: target.database_locked(), 3, 12), SPELL_SECONDS),
        Fault("full disk of database", 3, _spell(lambda target, _: target.database_full(), 3, 6), SPELL_SECONDS),
        Fault("clock step", 3, _spell(step_clock, 3, 6), SPELL_SECONDS),
        Fault("loss of power", 4, lose_power, START_SECONDS, after_acceptance=True),
        Fault("slow clients", 2, be_slow, SPELL_SECONDS),
        Fault("hanging portal", 1, hang_part("portal"), START_SECONDS),
        Fault("hanging dispatcher", 1, hang_part("dispatcher")),
        Fault("hanging recorder", 1, hang_part("recorder")),
        Fault("hanging worker", 1, hang_part("worker")),
        Fault("hanging Redis", 1, hang_part("Redis")),
    )
}
