"""Who was erased: a list without personal data that outlives the database, for restores of older backups."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.orm import sessionmaker

from server.accounts.models import Person
from server.operations.erase import PersonNotFound, erase_rows


class UnreadableList(ValueError):
    """The file isn't a list of erasures; the text says why."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erased account. created_at: of the account, so that the ID means no account of another server."""

    person: int
    created_at: str
    at: str


def erasures_in(connection: Connection) -> tuple[Erasure, ...]:
    """The erasures that a database knows."""
    found = connection.execute(select(Person.id, Person.created_at, Person.erased_at).order_by(Person.id))
    return tuple(Erasure(number, made.isoformat(), at.isoformat()) for number, made, at in found if at is not None)


def add_to_list(file: Path, person: Person, at: datetime) -> None:
    """Note an erasure at the end of the file, on its disk. Raises OSError."""
    line = json.dumps(asdict(Erasure(person.id, person.created_at.isoformat(), at.isoformat()))) + "\n"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, line.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_list(file: Path) -> tuple[Erasure, ...]:
    """The erasures in a file; none if there is no file. Raises OSError or UnreadableList."""
    try:
        lines = file.read_text("utf-8").splitlines()
        return tuple(read_erasures(json.loads(line) for line in lines if line.strip()))
    except FileNotFoundError:
        return ()
    except ValueError as error:
        raise UnreadableList(f"{file} is not a list of erased accounts") from error


def read_erasures(plain: Iterable[Any]) -> Iterator[Erasure]:
    """Erasures from JSON; raises ValueError."""
    for each in plain:
        try:
            yield Erasure(int(each["person"]), str(each["created_at"]), str(each["at"]))
        except (KeyError, TypeError) as error:
            raise ValueError("this isn't an erasure") from error


def erase_again(connection: Connection, known: Iterable[Erasure]) -> int:
    """Erase accounts that a backup brought back, in the connection's transaction. Returns how many."""
    query = select(Person.id, Person.created_at).where(Person.erased_at.is_(None))
    there = {(number, made.isoformat()) for number, made in connection.execute(query)}
    back = {each.person: each.at for each in known if (each.person, each.created_at) in there}
    for person, at in back.items():
        try:
            erase_rows(sessionmaker(connection), person, datetime.fromisoformat(at))
        except PersonNotFound:
            continue
    return len(back)
