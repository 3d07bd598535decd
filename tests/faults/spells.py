"""Long spells, once each, under a light load: how soon after the end submissions are accepted again."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.faults.account import account, unfinished
from tests.faults.campaign import Say, dead, wait_ready
from tests.faults.course import kernels
from tests.faults.faults import SPELL_SECONDS
from tests.faults.load import Load
from tests.faults.target import Target

Begin = Callable[[Target], AbstractContextManager[object] | None]

SPELLS: tuple[tuple[str, float, Begin], ...] = (
    ("read-only database", 50.0, lambda target: target.database_read_only()),
    ("locked database", 75.0, lambda target: target.database_locked()),
    ("full disk of database", 20.0, lambda target: target.database_full()),
)
_LOAD_EVERY_SECONDS = 3.0
_VERDICT_SECONDS = 120.0


def run_spells(target: Target, say: Say) -> bool:
    """Go through all of them; whether each was recovered from in time, and nothing was lost."""
    seconds = sum(length for _, length, _ in SPELLS) + 60.0
    load = Load(target.url, target.tokens, kernels(), int(seconds / _LOAD_EVERY_SECONDS), seconds, seed=1)
    wait_ready(target)
    load.start()
    good = True
    for name, length, begin in SPELLS:
        spell = begin(target)
        if spell is None:
            say(f"{name}: none can be made here")
            continue
        with spell:
            time.sleep(length)
        again = load.probe()
        good = good and again <= SPELL_SECONDS
        say(f"{name} for {length:g} s: accepted again {again:.1f} s after its end")
    end = time.monotonic() + seconds + _VERDICT_SECONDS
    while time.monotonic() < end:
        with target.sessions.begin() as session:
            if load.over and not unfinished(session):
                break
        time.sleep(0.5)
    with target.sessions.begin() as session:
        found = account(session, load.accepted)
    problems = [*found.lost, *found.wrong, *found.broken, *dict.fromkeys(load.refused), *dead(target)]
    for text in problems:
        say(f"BROKEN: {text}")
    say(f"{found.done} of {load.expected} accepted and graded")
    return good and not problems and len(load.accepted) == load.expected
