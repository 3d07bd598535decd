"""A random sequence of acts, each of them looked at: who changed what, who comes in where, and who reads what."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.rights.acts import ACTS
from tests.rights.law import Law, leaks
from tests.rights.stage import Deed, Stage
from tests.rights.world import Key, Picture, World, world

ACTS_OF_A_WORLD = 400


@dataclass(slots=True)
class Walk:
    """What became of the acts. wrongs: what nobody had the right to, with the world's seed and the act's number."""

    acts: int = 0
    reads: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrongs: list[str] = field(default_factory=list)


def walk(template: Path, seed: int, count: int, into: Walk) -> None:
    """Do so many acts in one new world. template: a file of SQLite's with all tables"""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(shutil.copy(template, Path(folder) / "tilelab.db"))
        with world(file, seed) as there:
            law, before = Law(), there.picture()
            law.remember(before)
            for number in range(count):
                deed, after = _step(there, before)
                into.acts += 1
                (into.accepted if deed.accepted else into.refused)[deed.act] += 1
                found = [*deed.wrongs, *law.wrongs(before, after, deed)]
                law.remember(after)
                _end_with(there, before, after, deed)
                found += _what_is_read(there, after, deed, into)
                into.wrongs += [f"seed {seed}, act {number}: {wrong}" for wrong in found]
                if found:
                    return
                before = after


def _step(there: World, before: Picture) -> tuple[Deed, Picture]:
    (act,) = there.dice.choices(list(ACTS), list(ACTS.values()))
    return act(Stage(there, before)), there.picture()


def _end_with(there: World, before: Picture, after: Picture, deed: Deed) -> None:
    """Where staff ended a password, as the law let them, nothing of before lets anybody in."""
    for person, account in after.accounts.items():
        was = before.accounts.get(person)
        if person != deed.opened and was is not None and was.password is not None and account.password is None:
            there.passwords[person] = None
            for key in there.keys:
                if key.person == person:
                    key.ended = key.ended or "the end of the password"


def _what_is_read(there: World, now: Picture, deed: Deed, into: Walk) -> Iterator[str]:
    if deed.reader is not None and deed.reader in now.accounts:
        into.reads += 1
        yield from leaks(there, now, deed.reader, deed.text, deed.typed)
    if there.keys:
        into.reads += 1
        yield from _probed(there, now, there.dice.choice(there.keys))


def _probed(there: World, now: Picture, key: Key) -> Iterator[str]:
    """Whether a key opens what it should, and no longer than it should."""
    account = now.accounts[key.person]
    path, shown = ("/account/tokens", account.name) if key.kind == "cookie" else ("/api/v1/me", account.email)
    answer = there.get(key, path)
    text, opens = answer.get_data(as_text=True), answer.status_code == 200
    answer.close()
    if opens and (key.ended or account.disabled):
        yield f"{key.agent} still comes in as {account.email} with a {key.kind} after {key.ended or 'the end of it'}"
    if not opens and not key.ended and not account.disabled:
        yield f"the {key.kind} of {key.agent} for {account.email} is good no more, and nobody ended it"
    if opens and shown not in text:
        yield f"the {key.kind} of {key.agent} for {account.email} opens another account"
