"""Names on leaderboards: a person's name, chosen pseudonym or random name."""

from __future__ import annotations

import unicodedata

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.accounts.random_names import looks_random
from server.accounts.service import normal_name
from server.text import composed

SHORTEST, LONGEST = 3, 40

_BETWEEN = " -_."
_IN_NAMES = "'’,"
_ONE_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK", "HANGUL": "CJK"}


class PseudonymError(ValueError):
    """A name that can't be used; the text says why."""


def board_name(person: Person) -> str:
    """The name that other students see on leaderboards. Staff see the real one too."""
    if person.shows_name and person.proven_at is not None:
        return person.name
    return person.pseudonym or person.made_name


BOARD_NAME: ColumnElement[str] = case(
    (and_(Person.shows_name, Person.proven_at.is_not(None)), Person.name),
    else_=func.coalesce(Person.pseudonym, Person.made_name),
)
"""The same, for a query."""


def free_pseudonym(session: Session, person: Person, text: str) -> str:
    """The pseudonym in its stored form; raises PseudonymError if it is invalid or resembles a taken name."""
    pseudonym = composed(" ".join(text.split()), LONGEST, "NFKC")
    if not SHORTEST <= len(pseudonym) <= LONGEST:
        raise PseudonymError(f"A pseudonym has {SHORTEST} to {LONGEST} characters.")
    _check_letters(pseudonym, _BETWEEN)
    _check_others(session, person, pseudonym)
    return pseudonym


def free_real_name(session: Session, person: Person, text: str) -> str:
    """A person's own name in its stored form; raises PseudonymError or AccountError if it can't be used."""
    name = normal_name(text)
    _check_letters(name, _BETWEEN + _IN_NAMES)
    _check_others(session, person, name)
    return name


def _check_letters(name: str, between: str) -> None:
    letters = [letter for letter in name if letter.isalpha() or unicodedata.category(letter).startswith("M")]
    if not set(name) <= {*letters, *between, *"0123456789"}:
        raise PseudonymError(f"Use letters, the digits 0 to 9, spaces, and {' '.join(between.strip())} only.")
    scripts = {_script(letter) for letter in letters}
    if not scripts:
        raise PseudonymError("Use at least one letter.")
    if len(scripts) > 1:
        raise PseudonymError("Use letters of one alphabet, because letters of two can look the same.")
    if looks_random(name):
        raise PseudonymError("Tilelab creates names like this one itself. Choose another.")


def _check_others(session: Session, person: Person, name: str) -> None:
    """Compare with everyone on this server, because people of other courses may join this one."""
    key = _key(name)
    others = session.execute(
        select(Person.name, Person.pseudonym).where(Person.id != person.id, Person.erased_at.is_(None))
    )
    if any(key in {_key(other), _key(pseudonym or "")} for other, pseudonym in others):
        raise PseudonymError("This name is taken, or too similar to another. Choose another.")


def _key(name: str) -> str:
    """Two names with the same key look alike."""
    return "".join(
        letter for letter in unicodedata.normalize("NFKC", name).casefold() if letter not in _BETWEEN + _IN_NAMES
    )


def _script(letter: str) -> str:
    first = unicodedata.name(letter, "UNNAMED").split(" ", maxsplit=1)[0]
    return _ONE_SCRIPT.get(first, first)
