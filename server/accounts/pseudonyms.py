"""What a board calls somebody: the name, a pseudonym of their choice, or one that is made for them."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from sqlalchemy import select
from sqlalchemy.orm import Session

from server.accounts.models import Person

SHORTEST, LONGEST = 3, 40

_FIRST_WORDS = (
    "Agile Amber Ample Azure Balmy Bold Brave Breezy Bright Brisk Calm Candid Cheery Chipper Civil Clever "
    "Copper Coral Cosy Crisp Curious Dapper Daring Deft Eager Early Earnest Easy Elder Fair Fleet Fond Frank "
    "Fresh Gentle Glad Golden Grand Green Handy Happy Hardy Hazel Honest Humble Indigo Ivory Jade Jolly Jovial "
    "Keen Kind Lilac Lively Loyal Lucid Lucky Lunar Maple Mellow Merry Mild Mint Misty Modest Neat Nimble "
    "Noble Olive Opal Patient Pearl Plucky Polite Proud Quick Quiet Rapid Ready Robust Rosy Ruby Russet Sage "
    "Scarlet Sharp Silver Sincere Solar Spry Steady Stellar Sunny Swift Teal Tidy Topaz Trusty Velvet Vivid "
    "Warm Wise Witty Young Zesty"
)
_SECOND_WORDS = (
    "Badger Beaver Bison Bittern Bobcat Bunting Buzzard Camel Caribou Cheetah Chough Cicada Cobra Condor Corgi "
    "Cormorant Coyote Crane Cricket Curlew Dingo Dipper Dolphin Dormouse Dove Dragonfly Dunlin Eagle Egret "
    "Eider Elk Ermine Falcon Ferret Finch Firefly Flamingo Fox Gannet Gazelle Gecko Gibbon Goldcrest Grebe "
    "Grouse Gull Hare Harrier Hawk Hedgehog Heron Hoopoe Ibex Ibis Iguana Impala Jackdaw Jaguar Jay Kestrel "
    "Kingfisher Kite Koala Kudu Lapwing Lark Lemur Leopard Linnet Llama Lynx Magpie Manatee Marmot Marten "
    "Martin Merlin Moose Narwhal Newt Nightjar Ocelot Oriole Osprey Otter Owl Panda Pangolin Pelican Penguin "
    "Petrel Pika Pipit Plover Puffin Puma Quail Rabbit Raven Reindeer Robin Salmon Seal Shrew Skylark Sparrow "
    "Squirrel Starling Stoat Stork Swallow Swan Tapir Tern Thrush Toucan Turtle Vole Walrus Wombat Wren Yak "
    "Zebra"
)
_FIRST, _SECOND = _FIRST_WORDS.split(), _SECOND_WORDS.split()
_MADE = re.compile(rf"(?:{'|'.join(_FIRST)}) ?(?:{'|'.join(_SECOND)}) ?\d+", re.IGNORECASE)
_BETWEEN = " -_."
_ONE_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK", "HANGUL": "CJK"}


class PseudonymError(ValueError):
    """It cannot be one; the text says why, to who chose it."""


def board_name(person: Person) -> str:
    """What other students read on a board. Staff see through it."""
    return person.name if person.shows_name else person.pseudonym or made_for(person)


def made_for(person: Person) -> str:
    """Two friendly words and a number, always the same for the same person.

    When the account was made, to the microsecond, goes into it: who knows a person's number, or their place among
    those that joined, can still not tell which of the names is theirs.
    """
    seed = f"board name {person.id} {person.created_at.isoformat(timespec='microseconds')}"
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")
    number, first = divmod(number, len(_FIRST))
    number, second = divmod(number, len(_SECOND))
    return f"{_FIRST[first]} {_SECOND[second]} {100 + number % 900}"


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
    if _MADE.fullmatch(pseudonym):
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
