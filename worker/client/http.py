"""Requests to the portal. Answers are limited in size and untrusted."""

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
"""Limit for commas and opening brackets in JSON. Each value has one of them and takes up to 150 bytes of memory."""

_PROBLEM_BYTES = 64 * 2**10
_SECONDS = 30.0
_LONGEST_PAUSE = 24 * 3600
_AWAY = frozenset({502, 503, 504})
_TO_SIGN_IN = "Run `tilelab login` to sign in again"


@dataclass(frozen=True, slots=True)
class Connection:
    """Sends requests to an account's portal."""

    account: Account

    def get(self, path: str) -> Any:
        """The JSON at an address. Raises PortalError."""
        return self.ask("GET", path)

    def ask(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Any:
        """Send a request, and return the answer's JSON. Raises PortalError."""
        text = self.text(method, path, body, headers)
        if text.count(b",") + text.count(b"[") + text.count(b"{") > ANSWER_MARKS:
            raise Unreadable("the portal's answer has too many values.")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Unreadable("unexpected answer from the portal, not JSON. A proxy may be in between.") from error

    def text(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> bytes:
        """Send a request, and return the answer's bytes. Raises PortalError."""
        with self.open(method, path, body, headers) as answer:
            try:
                read: bytes = answer.read(ANSWER_BYTES + 1)
            except (OSError, http.client.HTTPException) as error:
                raise self._away(error) from error
        if len(read) > ANSWER_BYTES:
            raise Unreadable(f"the answer of {self.account.url} exceeds {ANSWER_BYTES // 2**20} MiB.")
        return read

    def open(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = _SECONDS,
    ) -> Any:
        """Open an answer, which the caller closes. Raises PortalError. seconds: timeout without a byte."""
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
            return Unreadable(f"{self.account.url} redirects to {where}. If you trust it, run `tilelab login {where}`.")
        problem = _problem(answer)
        if status in _AWAY or (status >= 500 and problem):
            told = problem.get("detail") or "try again later."
            return NoAnswer(f"{self.account.url} can't answer now ({status}): {told}", wait)
        if not problem:
            return Unreadable(
                f"unexpected answer from {self.account.url} (status {status}). Check the portal's address."
            )
        if status == 401:
            told = f"{self.account.url} refused your token. It is unknown, expired or revoked. {_TO_SIGN_IN}."
        else:
            told = _sentences(problem) or str(status)
        return NotDone(told, status, str(problem.get("code", "")), wait)

    def _away(self, error: Exception) -> PortalError:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            return NotTrusted(
                f"the certificate of {self.account.url} is not trusted ({reason.verify_message})."
                " If your university has its own certificate authority, set SSL_CERT_FILE to its certificate."
            )
        if isinstance(reason, ssl.SSLError):
            return NoAnswer(f"the TLS connection to {self.account.url} failed ({reason.reason}).")
        if isinstance(reason, TimeoutError):
            return NoAnswer(f"{self.account.url} does not answer. Check your network, and try again.")
        return NoAnswer(f"cannot reach {self.account.url} ({_why(reason)}).")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, so that a token goes only to its own portal."""

    def redirect_request(self, *arguments: Any) -> None:  # noqa: ARG002 - the standard library's own signature
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def _problem(answer: urllib.error.HTTPError) -> Mapping[str, Any]:
    """The problem in an error's body; empty if the body isn't the portal's."""
    if answer.headers.get_content_type() != "application/problem+json":
        return {}
    try:
        found = json.loads(answer.read(_PROBLEM_BYTES))
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _sentences(problem: Mapping[str, Any]) -> str:
    title, detail = (str(problem.get(name) or "").strip() for name in ("title", "detail"))
    if detail.startswith(title):  # the detail is complete without the title
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
