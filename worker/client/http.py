"""One request to the portal, and what comes back: bounded, and never believed."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from worker.client.account import Account
from worker.client.errors import NoAnswer, NotDone, NotTrusted, PortalError, Unreadable

ANSWER_BYTES = 24 * 2**20
ANSWER_MARKS = 600_000
"""Commas and opening brackets of JSON: a value takes one of them, and up to 150 bytes of memory."""

_PROBLEM_BYTES = 64 * 2**10
_SECONDS = 30.0
_LONGEST_PAUSE = 24 * 3600
_AWAY = frozenset({502, 503, 504})
_TO_SIGN_IN = "make a token on the page of your account, then run `tilelab login`"


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to ask, and as whom."""

    account: Account

    def get(self, path: str) -> Any:
        """The JSON at an address; raises PortalError."""
        return self.ask("GET", path)

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON that is answered; raises PortalError."""
        return _json(self.text(method, path, body, headers))

    def text(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        """What is answered, whole; raises PortalError."""
        with self.open(method, path, body, headers) as answer:
            try:
                read: bytes = answer.read(ANSWER_BYTES + 1)
            except (OSError, http.client.HTTPException) as error:
                raise self._away(error) from error
        if len(read) > ANSWER_BYTES:
            raise Unreadable(f"{self.account.url} answered with more than {ANSWER_BYTES // 2**20} MiB.")
        return read

    def open(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = _SECONDS,
    ) -> Any:
        """The answer, to be read and closed; raises PortalError. seconds: without a byte, then it is given up."""
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - http and https alone, see portal_url
            f"{self.account.url}{path}",
            data=sent,
            method=method,
            headers={
                "Authorization": f"Bearer {self.account.token}",
                "Accept": "application/json",
                "User-Agent": f"tilelab/{version('tilelab')}",
                **({"Content-Type": "application/json"} if sent is not None else {}),
                **(headers or {}),
            },
        )
        try:
            return _OPENER.open(request, timeout=seconds)
        except urllib.error.HTTPError as answer:
            with answer:
                raise self._refused(answer) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._away(error) from error

    def _refused(self, answer: urllib.error.HTTPError) -> PortalError:
        status, wait = answer.code, _seconds(answer.headers.get("Retry-After"))
        if 300 <= status < 400:
            there = urlsplit(answer.headers.get("Location") or "")
            where = f"{there.scheme}://{there.netloc}" if there.netloc else "elsewhere"
            return Unreadable(
                f"{self.account.url} sends on to {where}; if that is the portal, `tilelab login {where}`."
            )
        problem = _problem(answer)
        if status in _AWAY or (status >= 500 and problem):
            told = problem.get("detail") or "try again in a while"
            return NoAnswer(f"{self.account.url} cannot answer now ({status}): {told}", wait)
        if not problem:
            return Unreadable(
                f"{self.account.url} answered {status}, and not as a portal does; is the address right?"
            )
        if status == 401:
            told = f"{self.account.url} does not know this token, or no longer: {_TO_SIGN_IN}."
        else:
            told = _sentences(problem) or str(status)
        return NotDone(told, status, str(problem.get("code", "")), wait)

    def _away(self, error: Exception) -> PortalError:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            return NotTrusted(
                f"{self.account.url} cannot show that it is the portal: its certificate is not trusted"
                f" ({reason.verify_message}). If your university has an authority of its own, SSL_CERT_FILE names its"
                " certificate."
            )
        if isinstance(reason, ssl.SSLError):
            return NoAnswer(f"{self.account.url} does not speak TLS as it should ({reason.reason}).")
        if isinstance(reason, TimeoutError):
            return NoAnswer(
                f"{self.account.url} does not answer; look whether you are online, and try again."
            )
        return NoAnswer(f"{self.account.url} cannot be reached ({_why(reason)}).")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A token goes to the portal that it is for, and is not sent on."""

    def redirect_request(self, *arguments: Any) -> None:  # noqa: ARG002 - the standard library's own signature
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def _json(text: bytes) -> Any:
    if text.count(b",") + text.count(b"[") + text.count(b"{") > ANSWER_MARKS:
        raise Unreadable("the portal's answer holds more than a portal's does.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(
            "the portal's answer is no JSON; is there something between here and the portal?"
        ) from error


def _problem(answer: urllib.error.HTTPError) -> Mapping[str, Any]:
    """What an error's body says; nothing where it is not one of the portal's."""
    if answer.headers.get_content_type() != "application/problem+json":
        return {}
    try:
        found = json.loads(answer.read(_PROBLEM_BYTES))
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _sentences(problem: Mapping[str, Any]) -> str:
    """What is wrong, and what to do about it."""
    title, detail = (str(problem.get(name) or "").strip() for name in ("title", "detail"))
    if detail.startswith(title):  # they begin alike where the detail is a sentence that stands by itself
        return detail
    return f"{title}. {detail}" if detail else title


def _seconds(text: str | None) -> float | None:
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return min(float(text), _LONGEST_PAUSE)


def _why(reason: object) -> str:
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return str(reason) or type(reason).__name__
