"""What a student's commands ask of the portal."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from worker.client.answers import Accepted, Assignment, Assignments, Board, Me, Submission, Submissions, read
from worker.client.errors import NoAnswer, Unreadable
from worker.client.http import Connection

T = TypeVar("T")

PATIENCE_SECONDS = 90.0
"""How long one request is sent again to a portal that does not answer."""

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 15.0
_ID = re.compile(r"[0-9A-Za-z]{1,32}")
_ASSIGNMENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}/[a-z0-9][a-z0-9._-]{0,59}")


@dataclass(frozen=True, slots=True)
class Handed:
    """What is handed in; device_class: None for the assignment's own."""

    assignment: str
    source: str
    check: bool
    device_class: str | None


@dataclass(frozen=True, slots=True)
class Portal:
    """Each raises PortalError. trying: told why, before a request is sent again."""

    connection: Connection
    trying: Callable[[str], None] = lambda _: None

    @property
    def url(self) -> str:
        return self.connection.account.url

    def look(self) -> None:
        """Nothing where a portal answers at the address, whatever the token."""
        self.connection.get("/api/v1/openapi.json")

    def me(self) -> Me:
        return read(Me, self.connection.get("/api/v1/me"))

    def assignments(self) -> tuple[Assignment, ...]:
        found = read(Assignments, self.connection.get("/api/v1/assignments")).assignments
        if not all(_ASSIGNMENT.fullmatch(one.id) for one in found):
            raise Unreadable("the portal's answer names an assignment as none can be named.")
        return found

    def submit(self, handed: Handed) -> Accepted:
        """Hand in. However often it has to be sent, it is one submission: each time it has the same key."""
        body = {
            "assignment": handed.assignment,
            "source": handed.source,
            "mode": "check" if handed.check else "rank",
            **({} if handed.device_class is None else {"device_class": handed.device_class}),
        }
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        answer = self._until_answered(
            lambda: self.connection.ask("POST", "/api/v1/submissions", body, headers), PATIENCE_SECONDS
        )
        accepted = read(Accepted, answer)
        if not _ID.fullmatch(accepted.id):
            raise Unreadable("the portal's answer names no submission.")
        return accepted

    def submission(self, public_id: str) -> Submission:
        return read(Submission, self.plain(submission_path(public_id)))

    def source(self, public_id: str) -> str:
        return self.connection.text("GET", f"{submission_path(public_id)}/source").decode("utf-8", "replace")

    def cancel(self, public_id: str) -> Any:
        return self.connection.ask("POST", f"{submission_path(public_id)}/cancel")

    def latest(self, limit: int, patience: float = 0.0) -> tuple[Submission, ...]:
        """One's own submissions, the latest first; patience: as for `plain`."""
        return read(Submissions, self.plain(latest_path(limit), patience)).submissions

    def board(self, assignment: str, device_class: str) -> Board:
        return read(Board, self.plain(board_path(assignment, device_class)))

    def plain(self, path: str, patience: float = 0.0) -> Any:
        """The JSON at an address, as it came: for other programs, which may know more of it.

        patience: seconds for which a portal that does not answer is asked again
        """
        return self._until_answered(lambda: self.connection.get(path), patience)

    def _until_answered(self, ask: Callable[[], T], seconds: float) -> T:
        """The answer, after as many tries as it takes and the seconds allow."""
        end, pause = time.monotonic() + seconds, _FIRST_PAUSE
        while True:
            try:
                return ask()
            except NoAnswer as error:
                wait = max(pause, error.retry_after or 0.0)
                if time.monotonic() + wait > end:
                    raise
                self.trying(f"{error} Trying again in {wait:.0f} s.")
            time.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)


def id_of(text: str) -> str | None:
    """The id in what was typed: an id itself, or the address of a submission's page; None where there is none."""
    path = urlsplit(text.strip()).path if "://" in text else text.strip()
    parts = [part for part in path.split("/") if part]
    if "submissions" in parts[:-1]:
        parts = [parts[parts.index("submissions") + 1]]
    return parts[0] if len(parts) == 1 and _ID.fullmatch(parts[0]) else None


def submission_path(public_id: str) -> str:
    """Where a submission is read."""
    return f"/api/v1/submissions/{quote(public_id, safe='')}"


def latest_path(limit: int) -> str:
    """Where one's own submissions are read."""
    return f"/api/v1/submissions?{urlencode({'limit': limit})}"


def board_path(assignment: str, device_class: str) -> str:
    """Where a board is read."""
    course, _, name = assignment.partition("/")
    return "/api/v1/leaderboards/" + "/".join(quote(part, safe="") for part in (course, name, device_class))
