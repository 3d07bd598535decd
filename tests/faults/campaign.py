"""One campaign: students hand in while things die, and afterwards everything is counted."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.account import Account, account, unfinished
from tests.faults.course import kernels
from tests.faults.faults import FAULTS
from tests.faults.load import Load
from tests.faults.target import Target
from tests.services.processes import alive

Say = Callable[[str], None]
_LOOK_SECONDS, _SAY_SECONDS = 0.5, 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to happen. The same seed gives the same submissions and the same order of faults.

    seconds: over which submissions and faults are spread; drain_seconds: for what is left after that
    """

    submissions: int
    faults: int
    seed: int
    seconds: float
    drain_seconds: float = 900.0
    students: int = 12


@dataclass(slots=True)
class Outcome:
    """What happened. faults: by name; drained: seconds from the last fault to the last verdict."""

    account: Account
    faults: Counter[str] = field(default_factory=Counter)
    tries: int = 0
    seconds: float = 0.0
    drained: float = 0.0
    orphans: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return self.account.good and not self.orphans


def run(target: Target, plan: Plan, say: Say) -> Outcome:
    """Run a campaign in a target whose parts have been started. Stops them at the end."""
    begun = time.monotonic()
    load = Load(target.url, target.tokens, kernels(), plan.submissions, plan.seconds, plan.seed)
    load.start()
    struck = _strike(target, plan, say)
    calm = time.monotonic()
    _drain(target, load, calm + plan.drain_seconds, say)
    drained = time.monotonic() - calm
    with target.sessions.begin() as session:
        found = account(session, load.accepted)
    if not load.over or len(load.accepted) != plan.submissions:
        found.broken.append(f"only {len(load.accepted)} of {plan.submissions} requests came through in time")
    found.broken.extend(dict.fromkeys(f"answered with {text}" for text in load.refused))
    orphans = _orphans(target)
    return Outcome(found, struck, load.tries, time.monotonic() - begun, drained, orphans)


def _strike(target: Target, plan: Plan, say: Say) -> Counter[str]:
    """Faults one after the other, spread over the time there is."""
    dice = random.Random(plan.seed)
    names, weights = list(FAULTS), [fault.weight for fault in FAULTS.values()]
    struck: Counter[str] = Counter()
    begun = time.monotonic()
    while (number := struck.total()) < plan.faults:
        due = begun + plan.seconds * (number + dice.uniform(0.2, 0.8)) / plan.faults
        time.sleep(max(0.0, due - time.monotonic()))
        (name,) = dice.choices(names, weights)
        if FAULTS[name].strike(target, dice):
            struck[name] += 1
            say(f"{time.monotonic() - begun:6.1f} s  fault {struck.total()}: {name}")
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
