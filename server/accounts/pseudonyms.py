"""What a board calls somebody: the name, a pseudonym of their choice, or one that was drawn for them."""

from __future__ import annotations

import unicodedata

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session

from server.accounts.made_names import is_of_their_form
from server.accounts.models import Person

SHORTEST, LONGEST = 3, 40

_BETWEEN = " -_."
_ONE_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK", "HANGUL": "CJK"}


class PseudonymError(ValueError):
    """It cannot be one; the text says why, to who chose it."""


def board_name(person: Person) -> str:
    """What other students read on a board. Staff see through it."""
    if person.shows_name and person.proven_at is not None:
        return person.name
    return person.pseudonym or person.made_name


BOARD_NAME: ColumnElement[str] = case(
    (and_(Person.shows_name, Person.proven_at.is_not(None)), Person.name),
    else_=func.coalesce(Person.pseudonym, Person.made_name),
)
"""The same, for a query."""


def free_pseudonym(session: Session, person: Person, text: str) -> str:
    """The pseudonym as it is kept; raises PseudonymError where it cannot be one, or could be taken for someone else."""
    pseudonym = _normal(text)
    key = _key(pseudonym)
    others = session.execute(
        select(Person.name, Person.pseudonym).where(Person.id != person.id, Person.erased_at.is_(None))
    )
    if any(key in {_key(name), _key(other or "")} for name, other in others):
        raise PseudonymError("Somebody goes by that name, or by one that looks much like it. Choose another.")
    return pseudonym


def _normal(text: str) -> str:
    pseudonym = unicodedata.normalize("NFKC", " ".join(text.split()))
    if not SHORTEST <= len(pseudonym) <= LONGEST:
        raise PseudonymError(f"A pseudonym has {SHORTEST} to {LONGEST} characters.")
    if not all(letter.isalpha() or letter in _BETWEEN or letter in "0123456789" for letter in pseudonym):
        raise PseudonymError(
            "A pseudonym has letters, the digits 0 to 9, spaces, hyphens, underscores and dots."
        )
    scripts = {_script(letter) for letter in pseudonym if letter.isalpha()}
    if not scripts:
        raise PseudonymError("A pseudonym has at least one letter.")
    if len(scripts) > 1:
        raise PseudonymError(
            "Take the letters of a pseudonym from one alphabet: letters of two can look the same."
        )
    if is_of_their_form(pseudonym):
        raise PseudonymError(
            "Names of this form are made by Tilelab for those who choose none. Choose another."
        )
    return pseudonym


def _key(name: str) -> str:
    """What two names share that are read as one."""
    return "".join(
        letter for letter in unicodedata.normalize("NFKC", name).casefold() if letter not in _BETWEEN
    )


def _script(letter: str) -> str:
    first = unicodedata.name(letter, "UNNAMED").split(" ", maxsplit=1)[0]
    return _ONE_SCRIPT.get(first, first)
