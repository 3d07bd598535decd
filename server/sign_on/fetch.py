"""Requests to an identity provider: encrypted, without redirects, and with limits of size and time."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse
from ipaddress import ip_address
from socket import SHUT_RDWR, SOCK_STREAM, create_connection, getaddrinfo, socket
from threading import Timer
from typing import IO, Any, Self
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import (
    AbstractHTTPHandler,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

from server.identity_providers import is_loopback

_SECONDS = 10.0
_LARGEST = 512 * 1024
_CHUNK = 16 * 1024


class ProviderFault(Exception):
    """A provider can't be reached, or says something that it may not. The text is for operators.

    status: of an answer that refuses; 0 for none
    pause: the seconds for which it asks to wait; 0 for none
    """

    def __init__(self, text: str, status: int = 0, pause: int = 0) -> None:
        super().__init__(text)
        self.status, self.pause = status, pause


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow nothing: a redirect could lead to an address that the provider never named."""


class _Watching(AbstractHTTPHandler):
    def __init__(self, watched: Callable[[HTTPConnection], HTTPConnection]) -> None:
        super().__init__()
        self._watched = watched

    def do_open(self, http_class: Any, req: Request, **http_conn_args: Any) -> HTTPResponse:
        return super().do_open(lambda *host, **more: self._watched(http_class(*host, **more)), req, **http_conn_args)


class _Plain(_Watching, HTTPHandler):
    pass


class _Encrypted(_Watching, HTTPSHandler):
    pass


class _Exchange:
    """The connections of one request. They end with its time, however the other side spreads its bytes."""

    def __init__(self, *, public: bool = False) -> None:
        self.over, self._public = False, public
        self.opener = build_opener(_NoRedirect, _Plain(self._watched), _Encrypted(self._watched))
        self._sockets: list[socket] = []
        self._end = Timer(_SECONDS, self._ended)

    def __enter__(self) -> Self:
        self._end.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.cancel()

    def _watched(self, connection: HTTPConnection) -> HTTPConnection:
        connect = connection.connect

        def connected() -> None:
            if self._public and not connection._tunnel_host:  # type: ignore[attr-defined]  # noqa: SLF001 - else it is the operator's proxy
                connection._create_connection = _to_public  # type: ignore[attr-defined]  # noqa: SLF001
            connect()
            self._sockets.append(connection.sock)
            if self.over:
                self._ended()

        connection.connect = connected  # type: ignore[method-assign]
        return connection

    def _ended(self) -> None:
        self.over = True
        for each in self._sockets:
            with suppress(OSError):
                # The socket's own: that of an encrypted one also drops what the reading thread uses.
                socket.shutdown(each, SHUT_RDWR)


def _to_public(address: tuple[str, int], *more: Any) -> socket:
    """A connection that doesn't lead into a private network, whatever the name of the host means there."""
    places = [(str(place[0]), address[1]) for *_, place in getaddrinfo(*address, type=SOCK_STREAM)]
    for host, _ in places:
        found = ip_address(host.partition("%")[0])
        if not (getattr(found, "ipv4_mapped", None) or found).is_global:
            raise OSError("it isn't a public address")
    for place in places[:-1]:
        with suppress(OSError):
            return create_connection(place, *more)
    return create_connection(places[-1], *more)


def exchange(request: Request, trusted: Collection[str]) -> tuple[HTTPMessage, bytes]:
    """Send a request to an address that others named; returns the answer's headers and content.

    Raises ProviderFault. trusted: hosts with ports that an operator named. Others must be public and encrypted.
    """
    own = urlsplit(checked(request.full_url)).netloc in trusted
    if not own and request.type != "https":
        raise ProviderFault(f"the address of {request.host} isn't encrypted")
    return _exchanged(request, public=not own)


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
    return json_object(request.host, _exchanged(request)[1])


def json_object(host: str, content: bytes) -> dict[str, Any]:
    """The JSON object in an answer of this host; raises ProviderFault."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ProviderFault(f"the answer from {host} isn't JSON") from error
    if not isinstance(found, dict):
        raise ProviderFault(f"the answer from {host} isn't a JSON object")
    return found


def _exchanged(request: Request, *, public: bool = False) -> tuple[HTTPMessage, bytes]:
    with _Exchange(public=public) as running:
        try:
            found = _answer(running.opener, request)
        except (OSError, HTTPException, UnicodeError) as error:  # UnicodeError: an odd host name
            raise ProviderFault(f"{request.host} can't be reached: {error}") from error
        if running.over:
            raise ProviderFault(f"{request.host} is too slow")
    return found


def _answer(opener: OpenerDirector, request: Request) -> tuple[HTTPMessage, bytes]:
    content = bytearray()
    try:
        with opener.open(request, timeout=_SECONDS / 2) as answer:
            while chunk := answer.read1(_CHUNK):
                content += chunk
                if len(content) > _LARGEST:
                    raise ProviderFault(f"the answer from {request.host} is too large")
    except HTTPError as error:
        with error:
            said = f"{request.host} answers {error.code}{_reason(error)}"
            raise ProviderFault(said, error.code, _pause(error.headers)) from error
    return answer.headers, bytes(content)


def _pause(headers: Message) -> int:
    """The seconds in Retry-After; 0 for none, or for a date."""
    said = headers.get("Retry-After", "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 6 else 0


def _reason(error: HTTPError) -> str:
    """What OAuth calls the error, in its answer."""
    try:
        said = json.loads(error.read1(_CHUNK)).get("error", "")
    except (ValueError, AttributeError, RecursionError, OSError, HTTPException):
        return ""
    return f" ({said[:60]})" if isinstance(said, str) and said.isprintable() and said else ""
