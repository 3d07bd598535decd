from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from worker.client.answers import Assignment, Assignments, Codes, Me, NewToken, Submission, Submissions, read
from worker.client.errors import NoAnswer, NotDone, Unreadable
from worker.client.http import Connection
from worker.contract.answers import Accepted, Board

T = TypeVar("T")

PATIENCE_SECONDS = 90.0
"""How long to retry a request if the portal doesn't answer."""

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 15.0
_LONGEST_LOGIN = 3600
_ID = re.compile(r"[0-9A-Za-z]{1,32}")
_ASSIGNMENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}/[a-z0-9][a-z0-9._-]{0,59}")


@dataclass(frozen=True, slots=True)
class NewSubmission:
    """A kernel to submit or check.

    device_class: None for the assignment's
    late_days: how many late days it may spend; None to be asked
    """

    assignment: str
    source: str
    check: bool
    device_class: str | None
    late_days: int | None = None


@dataclass(frozen=True, slots=True)
class Portal:
    """A portal. Its methods raise PortalError. trying: called with the reason before a retry."""

    connection: Connection
    trying: Callable[[str], None] = lambda _: None

    @property
    def url(self) -> str:
        return self.connection.account.url

    def look(self) -> None:
        """Check that a portal answers at the address, whatever the token."""
        self.connection.get("/api/v1/openapi.json")

    def begin_login(self, host: str) -> Codes:
        return read(Codes, self.connection.ask("POST", "/api/v1/login", {"host": host}))

    def login_token(self, codes: Codes) -> str:
        """Wait until a person confirms the code, and return the token. Raises NotDone if they don't."""
        pause = min(max(codes.interval, _FIRST_PAUSE), _LONGEST_PAUSE)
        end = time.monotonic() + min(codes.expires_in, _LONGEST_LOGIN)
        while True:
            time.sleep(pause)
            try:
                return read(
                    NewToken, self.connection.ask("POST", "/api/v1/login/token", {"device_code": codes.device_code})
                ).token
            except (NoAnswer, NotDone) as error:
                if isinstance(error, NotDone) and error.code not in {"login_pending", "too_often"}:
                    raise
                if time.monotonic() > end:
                    raise
                pause = max(pause, min(error.retry_after or 0.0, _LONGEST_PAUSE))

    def me(self) -> Me:
        return read(Me, self.connection.get("/api/v1/me"))

    def assignments(self) -> tuple[Assignment, ...]:
        found = read(Assignments, self.connection.get("/api/v1/assignments")).assignments
        if not all(_ASSIGNMENT.fullmatch(one.id) for one in found):
            raise Unreadable("the portal's answer has an invalid assignment name.")
        return found

    def submit(self, new: NewSubmission) -> Accepted:
        """Submit a kernel. Retries use the same idempotency key, so they make only one submission."""
        body = {
            "assignment": new.assignment,
            "source": new.source,
            "mode": "check" if new.check else "rank",
            **({} if new.device_class is None else {"device_class": new.device_class}),
            **({} if new.late_days is None else {"late_days": new.late_days}),
        }
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        answer = self._until_answered(
            lambda: self.connection.ask("POST", "/api/v1/submissions", body, headers), PATIENCE_SECONDS
        )
        accepted = read(Accepted, answer)
        if not _ID.fullmatch(accepted.id):
            raise Unreadable("the portal's answer has no valid submission ID.")
        return accepted

    def submission(self, public_id: str) -> Submission:
        return read(Submission, self.plain(submission_path(public_id)))

    def source(self, public_id: str) -> str:
        return self.connection.text("GET", f"{submission_path(public_id)}/source").decode("utf-8", "replace")

    def cancel(self, public_id: str) -> Any:
        return self.connection.ask("POST", f"{submission_path(public_id)}/cancel")

    def show_hint(self, public_id: str, hint: str) -> None:
        self.connection.ask("POST", f"{submission_path(public_id)}/hints/{hint}")

    def latest(self, limit: int, patience: float = 0.0) -> tuple[Submission, ...]:
        """Your own submissions, newest first. patience: see `plain`."""
        return read(Submissions, self.plain(latest_path(limit), patience)).submissions

    def board(self, assignment: str, device_class: str) -> Board:
        return read(Board, self.plain(board_path(assignment, device_class)))

    def plain(self, path: str, patience: float = 0.0) -> Any:
        """The unchanged JSON at an address, for programs that know more fields.

        patience: seconds to retry if the portal doesn't answer
        """
        return self._until_answered(lambda: self.connection.get(path), patience)

    def _until_answered(self, ask: Callable[[], T], seconds: float) -> T:
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
    """The id in typed text, which is an id or the address of a submission's page. None for other text."""
    path = urlsplit(text.strip()).path if "://" in text else text.strip()
    parts = [part for part in path.split("/") if part]
    if "submissions" in parts[:-1]:
        parts = [parts[parts.index("submissions") + 1]]
    return parts[0] if len(parts) == 1 and _ID.fullmatch(parts[0]) else None


def submission_path(public_id: str) -> str:
    return f"/api/v1/submissions/{quote(public_id, safe='')}"


def latest_path(limit: int) -> str:
    """The API's path of your own submissions."""
    return f"/api/v1/submissions?{urlencode({'limit': limit})}"


def board_path(assignment: str, device_class: str) -> str:
    course, _, name = assignment.partition("/")
    return "/api/v1/leaderboards/" + "/".join(quote(part, safe="") for part in (course, name, device_class))
