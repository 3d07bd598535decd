"""What every act has: the world, how it was just before, and what became of the act."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from werkzeug.test import TestResponse

from server.courses.models import Role
from tests.rights.world import AGENTS, COURSES, STAFF, STUDENTS, Key, Link, Picture, World, email_of


@dataclass(slots=True)
class Deed:
    """One act, and what became of it.

    by: the account that acted; None for a stranger
    opened: the account that somebody came in with; link: with which link, if with one
    joined: whether a code was used; invitation: whether one was answered
    reader, text, typed: who was answered, what, and what they had sent
    """

    act: str
    accepted: bool = False
    by: int | None = None
    operator: bool = False
    opened: int | None = None
    link: Link | None = None
    joined: bool = False
    invitation: bool = False
    reader: int | None = None
    text: str = ""
    typed: str = ""
    wrongs: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Stage:
    """Where one act happens: the world, and how it was just before."""

    there: World
    before: Picture

    @property
    def dice(self) -> random.Random:
        return self.there.dice

    def key(self, *, staff: bool = False) -> Key:
        """A cookie that works, of whoever; of staff rather where they are asked for. One of `root` always does."""
        good = [key for key in self.there.keys if key.kind == "cookie" and not key.ended]
        if staff and self.dice.random() < 0.9:
            good = [key for key in good if key.agent in STAFF]
        return self.dice.choice(good)

    def token(self) -> Key | None:
        """One that works, of whoever."""
        good = [key for key in self.there.keys if key.kind == "token" and not key.ended]
        return self.dice.choice(good) if good else None

    def course_of(self, key: Key) -> str:
        """Mostly one that they run."""
        run = [slug for slug in COURSES if self.before.role(slug, key.person) is Role.INSTRUCTOR]
        return self.dice.choice(run if run and self.dice.random() < 0.85 else COURSES)

    def email(self) -> str:
        return email_of(self.dice.choice(AGENTS if self.dice.random() < 0.3 else STUDENTS))

    def person(self) -> int:
        """Students more often than staff."""
        by_email = {account.email: number for number, account in self.before.accounts.items()}
        return by_email.get(self.email()) or self.dice.choice(list(by_email.values()))

    def answered(self, deed: Deed, key: Key | None, answer: TestResponse, **typed: str) -> Deed:
        """What the portal said. A redirect to signing in is a refusal like any other."""
        deed.by = deed.by if key is None else key.person
        deed.reader = deed.by
        deed.text, deed.typed = answer.get_data(as_text=True), " ".join(typed.values())
        deed.accepted = answer.status_code < 400 and "/sign-in" not in answer.headers.get("Location", "")
        if answer.status_code >= 500:
            deed.wrongs.append(f"{deed.act}: {answer.status}")
        answer.close()
        return deed


def send(stage: Stage, act: str, key: Key | None, path: str, **fields: str) -> Deed:
    answer = stage.there.browser(key).post_form(path, **fields)
    return stage.answered(Deed(act), key, answer, path=path, **fields)


def end_keys(stage: Stage, person: int, tokens: str, but: Key | None = None) -> None:
    """The cookies of an account should let nobody in any more; its tokens neither, where that is said with a word."""
    for key in stage.there.keys:
        if key.person == person and key is not but and (key.kind == "cookie" or tokens):
            key.ended = key.ended or "a new password"
