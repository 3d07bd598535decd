"""A process that applies a staged regrade once for each line of its input, and is killed at that statement.

python -m tests.server.staff.killed_apply DATABASE_URL ASSIGNMENT_ID

Each line is a number of a statement that writes, from 1; the process dies before it runs. One number past the last
statement, it dies before the commit, and then right after it. For each line it prints where, and the signal.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from sqlalchemy import Engine, event

from server.courses.models import Assignment
from server.database.engine import connect, sessions
from server.regrades.staging import apply


def main() -> None:
    """Fork for each line, so that only the first one imports modules and compiles statements."""
    engine, assignment = connect(sys.argv[1]), int(sys.argv[2])
    with sessions(engine)() as session:
        apply(session, session.get_one(Assignment, assignment), None)
        session.rollback()
    engine.dispose()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _apply(engine, assignment, int(line))
        _, status = os.waitpid(child, 0)
        print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, flush=True)


def _apply(engine: Engine, assignment: int, last: int) -> NoReturn:
    run = 0

    def count(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        nonlocal run
        run += not statement.lstrip().startswith("SELECT")
        if run == last:
            _die("a statement")

    with sessions(engine).begin() as session:
        found = session.get_one(Assignment, assignment)
        event.listen(engine, "before_cursor_execute", count)
        apply(session, found, None)
        session.flush()
        if run + 1 == last:
            _die("the commit")
    _die("nothing")


def _die(what: str) -> NoReturn:
    print(what, end=" ", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


if __name__ == "__main__":
    main()
