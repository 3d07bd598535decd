"""Requests to an identity provider: encrypted, without redirects, and with a limit of size."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from server.identity_providers import is_loopback

_SECONDS = 10.0
_LARGEST = 512 * 1024
_CHUNK = 16 * 1024


class ProviderFault(Exception):
    """A provider can't be reached, or says something that it may not. The text is for operators."""


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow nothing: a redirect could lead to an address that the provider never named."""


_OPENER = build_opener(_NoRedirect)


def get_json(address: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON object at this address; raises ProviderFault."""
    return _asked(Request(checked(address), headers={"Accept": "application/json", **(headers or {})}))  # noqa: S310 - checked


def post_form(address: str, form: Mapping[str, str], headers: Mapping[str, str]) -> dict[str, Any]:
    """The JSON object that answers this form; raises ProviderFault."""
    body = urlencode(form).encode()
    return _asked(Request(checked(address), body, {"Accept": "application/json", **headers}))  # noqa: S310 - checked


def checked(address: object) -> str:
    """The address, if it is encrypted or this machine's; raises ProviderFault."""
    if isinstance(address, str) and address.isascii() and address.isprintable() and " " not in address:
        try:
            parts = urlsplit(address)
            host = parts.hostname or ""
        except ValueError:
            host = ""
        if host and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))):
            return address
    raise ProviderFault(f"the address {str(address)[:200]!r} isn't encrypted")


def _asked(request: Request) -> dict[str, Any]:
    until = time.monotonic() + _SECONDS
    content = bytearray()
    try:
        with _OPENER.open(request, timeout=_SECONDS / 2) as answer:
            while chunk := answer.read1(_CHUNK):
                content += chunk
                if len(content) > _LARGEST or time.monotonic() > until:
                    raise ProviderFault(f"the answer from {request.host} is too large or too slow")
    except HTTPError as error:
        with error:
            raise ProviderFault(f"{request.host} answers {error.code}{_reason(error)}") from error
    except (OSError, HTTPException, UnicodeError) as error:  # UnicodeError: an odd host name
        raise ProviderFault(f"{request.host} can't be reached: {error}") from error
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ProviderFault(f"the answer from {request.host} isn't JSON") from error
    if not isinstance(found, dict):
        raise ProviderFault(f"the answer from {request.host} isn't a JSON object")
    return found


def _reason(error: HTTPError) -> str:
    """What OAuth calls the error, in its answer."""
    try:
        said = json.loads(error.read1(_CHUNK)).get("error", "")
    except (ValueError, AttributeError, RecursionError, OSError, HTTPException):
        return ""
    return f" ({said[:60]})" if isinstance(said, str) and said.isprintable() and said else ""
