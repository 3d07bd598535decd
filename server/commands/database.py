"""The database of a command. Errors end the command in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from sqlalchemy import Engine

from server.accounts.service import AccountError
from server.courses.service import CourseError
from server.database.engine import DatabaseUnavailable, Sessions, connect, sessions
from server.database.faults import explained
from server.database.schema import check
from server.grades.losses import UnconfirmedPoints
from server.settings import SettingError, read_database_url
from worker.commands.root import SystemFault, WrongUse

T = TypeVar("T")


@contextmanager
def engine_in_use() -> Iterator[Engine]:
    """An engine for DATABASE_URL, whatever its tables. Database errors end the command in one line."""
    with in_one_line():
        engine = connect(read_database_url())
        try:
            with explained(engine):
                yield engine
        finally:
            engine.dispose()


@contextmanager
def database_in_use() -> Iterator[Sessions]:
    """Sessions on the database of DATABASE_URL, whose tables must be of this version."""
    with engine_in_use() as engine:
        check(engine)
        yield sessions(engine)


def in_session(command: Callable[..., T]) -> Callable[..., T]:
    """Call a command with a session as first argument. Its transaction ends before the answer is shown."""

    @wraps(command)
    def opened(*arguments: Any, **options: Any) -> T:
        with database_in_use() as sessions, sessions.begin() as session:
            return command(session, *arguments, **options)

    return opened


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn errors into one line: exit code 2 if the caller can correct them, 3 if the machine failed."""
    try:
        yield
    except (AccountError, CourseError, UnconfirmedPoints) as error:
        raise WrongUse(str(error)) from error
    except (DatabaseUnavailable, SettingError) as error:
        raise SystemFault(str(error)) from error
