"""One campaign: students hand in while things die, and afterwards everything is counted."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from server.up.watch import NoAnswer, ask
from tests.faults.account import Account, account, unfinished
from tests.faults.course import kernels
from tests.faults.faults import FAULTS, START_SECONDS, NotRecovered
from tests.faults.load import Load
from tests.faults.target import PARTS, Target
from tests.services.processes import alive, stopped

Say = Callable[[str], None]
_LOOK_SECONDS, _SAY_SECONDS = 0.5, 5.0
_LIVE_SECONDS = 60.0
_MOST_MISSED = 1000


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to happen. The same seed gives the same submissions and the same order of faults.

    seconds: over which submissions and faults are spread; drain_seconds: for what is left after that
    only: part of the names of the faults that are chosen from; without: part of the names of others
    in_time: whether to be accepted again late is a failure; not where other programs keep the machine busy
    canned: whether the workers only say what the source says
    """

    submissions: int
    faults: int
    seed: int
    seconds: float
    drain_seconds: float = 900.0
    students: int = 12
    only: str = ""
    without: str = ""
    in_time: bool = True
    canned: bool = False


@dataclass(slots=True)
class Outcome:
    """What happened.

    faults: by name
    recovered: by the name of a spell, seconds from its end until a submission was accepted
    drained: seconds from the last fault to the last verdict
    """

    account: Account
    faults: Counter[str] = field(default_factory=Counter)
    recovered: dict[str, list[float]] = field(default_factory=dict)
    tries: int = 0
    seconds: float = 0.0
    drained: float = 0.0
    orphans: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return self.account.good and not self.orphans


def run(target: Target, plan: Plan, say: Say) -> Outcome:
    """Run a campaign in a target whose parts have been started. Stops them at the end."""
    wait_ready(target)
    begun = time.monotonic()
    load = Load(target.url, target.tokens, kernels(canned=plan.canned), plan.submissions, plan.seconds, plan.seed)
    load.start()
    struck = _strike(target, load, plan, say)
    calm = time.monotonic()
    _drain(target, load, calm + plan.drain_seconds, say)
    drained = time.monotonic() - calm
    with target.sessions.begin() as session:
        found = account(session, load.accepted)
    if not load.over or len(load.accepted) != load.expected:
        found.broken.append(f"only {len(load.accepted)} of {load.expected} requests came through in time")
    found.broken.extend(dict.fromkeys(f"answered with {text}" for text in load.refused))
    found.broken.extend(struck.broken)
    found.broken.extend(dead(target))
    orphans = _orphans(target)
    seconds = time.monotonic() - begun
    return Outcome(found, struck.faults, struck.recovered, load.tries, seconds, drained, orphans)


@dataclass(slots=True)
class _Struck:
    """What was struck, and what did not recover."""

    faults: Counter[str] = field(default_factory=Counter)
    recovered: dict[str, list[float]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


def _strike(target: Target, load: Load, plan: Plan, say: Say) -> _Struck:
    """Faults one after the other, spread over the time there is."""
    dice = random.Random(plan.seed)
    possible = {
        name: fault
        for name, fault in FAULTS.items()
        if plan.only in name and not (plan.without and plan.without in name)
    }
    names, weights = list(possible), [fault.weight for fault in possible.values()]
    struck = _Struck()
    begun = time.monotonic()
    missed = 0
    while (number := struck.faults.total()) < plan.faults and missed < _MOST_MISSED:
        due = begun + plan.seconds * (number + dice.uniform(0.2, 0.8)) / plan.faults
        time.sleep(max(0.0, due - time.monotonic()))
        (name,) = dice.choices(names, weights)
        fault = FAULTS[name]
        if fault.after_acceptance:
            load.probe()
        try:
            if not fault.strike(target, dice):
                missed += 1
                continue
        except NotRecovered as error:
            struck.broken.append(f"{name}: {error}")
        missed = 0
        struck.faults[name] += 1
        line = f"{time.monotonic() - begun:6.1f} s  fault {struck.faults.total()}: {name}"
        if fault.within:
            seconds = load.probe()
            struck.recovered.setdefault(name, []).append(seconds)
            line += f", accepted again after {seconds:.1f} s"
            if plan.in_time and seconds > fault.within:
                struck.broken.append(f"{name}: accepted again only after {seconds:.1f} s")
        say(line)
    return struck


def _drain(target: Target, load: Load, deadline: float, say: Say) -> None:
    """Wait until everything that was accepted has its verdict, or the time is over."""
    say_at = 0.0
    while (now := time.monotonic()) < deadline:
        with target.sessions.begin() as session:
            left = unfinished(session)
        if load.over and not left:
            return
        if now >= say_at:
            say(f"         {len(load.accepted)} accepted, {left} in work")
            say_at = now + _SAY_SECONDS
        time.sleep(_LOOK_SECONDS)


def wait_ready(target: Target) -> None:
    """Until it accepts submissions for the first time."""
    deadline = time.monotonic() + START_SECONDS
    while _readiness(target):
        if time.monotonic() > deadline:
            raise TimeoutError("the portal is not ready")
        time.sleep(_LOOK_SECONDS)


def _readiness(target: Target) -> str:
    """What keeps the portal from accepting submissions; "" for nothing."""
    try:
        answer = ask(target.url, "GET", "/readyz")
    except NoAnswer:
        return "the portal does not answer"
    return "" if answer.status == 200 else "the portal is not ready"


def dead(target: Target) -> list[str]:
    """What does not work at the end, though everything had time to come back by itself."""
    deadline = time.monotonic() + _LIVE_SECONDS
    while (found := _dead(target)) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    return found


def _dead(target: Target) -> list[str]:
    found = []
    for name in PARTS:
        pids = target.pids(name)
        if not pids or not all(alive(pid) and not stopped(pid) for pid in pids):
            found.append(f"{name} does not run at the end")
    if readiness := _readiness(target):
        found.append(f"{readiness} at the end")
    return found


def _orphans(target: Target) -> tuple[str, ...]:
    """Stop all parts; whatever ran below them must be gone."""
    return leftovers(target.folder, target.stop_parts())


def leftovers(folder: Path, pids: Sequence[int]) -> tuple[str, ...]:
    """Of these processes, those that still run half a minute after their parents were ended."""
    deadline = time.monotonic() + 30
    left = [pid for pid in pids if alive(pid)]
    while left and time.monotonic() < deadline:
        time.sleep(0.2)
        left = [pid for pid in left if alive(pid)]
    return tuple(f"process {pid} outlived its parents" for pid in left)
