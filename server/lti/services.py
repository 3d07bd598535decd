"""Requests to a platform in our name: an access token first, then scores or the list of people."""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPMessage
from typing import Any, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import Request

from joserfc.jwk import RSAKey

from server.lti.keys import signed
from server.lti.launch import MEMBERS_SCOPE, SCORE_SCOPE
from server.lti.models import LtiPlatform
from server.sign_on.fetch import ProviderFault, checked, exchange, json_object

T = TypeVar("T")

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_SCORE_TYPE = "application/vnd.ims.lis.v1.score+json"
_MEMBERS_TYPE = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
_MOST_PAGES, _ROSTER_SECONDS = 100, 30
_KEPT_SECONDS, _LEFT_SECONDS = 3600, 60
_NEXT = re.compile(r'<([^<>]+)>\s*;[^,<]*\brel="?next"?', re.IGNORECASE)


@dataclass(slots=True)
class Services:
    """Requests to platforms. Threads share it: an access token serves many requests, as long as it is valid.

    key: gives our key
    """

    key: Callable[[], RSAKey]
    _granted: dict[tuple[str, ...], tuple[float, str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send_score(self, platform: LtiPlatform, line_item: str, score: Mapping[str, Any]) -> None:
        """Send a score to a column of the platform's gradebook; raises ProviderFault."""
        parts = urlsplit(checked(line_item))
        address = parts._replace(path=f"{parts.path.rstrip('/')}/scores", fragment="").geturl()
        body = json.dumps(score).encode()
        headers = {"Content-Type": _SCORE_TYPE}
        self._authorized(platform, SCORE_SCOPE, lambda token: _ask(platform, address, token, headers, body))

    def members(self, platform: LtiPlatform, address: str) -> Iterator[Mapping[str, Any]]:
        """The people of a course on the platform, page by page; raises ProviderFault."""
        until = time.monotonic() + _ROSTER_SECONDS
        for _ in range(_MOST_PAGES):
            if time.monotonic() > until:
                raise ProviderFault(f"{platform.title} is too slow")
            ask = partial(_ask, platform, address, headers={"Accept": _MEMBERS_TYPE})
            headers, content = self._authorized(platform, MEMBERS_SCOPE, ask)
            page = json_object(platform.title, content).get("members")
            if not isinstance(page, list):
                raise ProviderFault(f"{platform.title} sends no list of people")
            yield from (each for each in page if isinstance(each, dict))
            more = _NEXT.search(headers.get("Link", ""))
            if more is None:
                return
            address = urljoin(address, more[1])
        raise ProviderFault(f"{platform.title} lists people without end")

    def _authorized(self, platform: LtiPlatform, scope: str, ask: Callable[[str], T]) -> T:
        """Ask with an access token, and once more with a new one if the platform no longer takes it."""
        try:
            return ask(self._token(platform, scope))
        except ProviderFault as fault:
            with self._lock:
                known = self._granted.pop(_name(platform, scope), None)
            if fault.status != 401 or known is None:
                raise
        return ask(self._token(platform, scope))

    def _token(self, platform: LtiPlatform, scope: str) -> str:
        with self._lock:
            until, token = self._granted.get(_name(platform, scope), (0.0, ""))
        if time.monotonic() < until:
            return token
        given = _granted(platform, self.key(), scope)
        new, seconds = given.get("access_token"), given.get("expires_in", _KEPT_SECONDS)
        if not isinstance(new, str) or not new.isascii() or not new.isprintable() or not new:
            raise ProviderFault(f"{platform.title} grants no access")
        kept = min(seconds, _KEPT_SECONDS) - _LEFT_SECONDS if isinstance(seconds, int) else 0
        with self._lock:
            self._granted[_name(platform, scope)] = (time.monotonic() + kept, new)
        return new


def _name(platform: LtiPlatform, scope: str) -> tuple[str, ...]:
    return platform.issuer, platform.client_id, platform.token, scope


def _granted(platform: LtiPlatform, key: RSAKey, scope: str) -> dict[str, Any]:
    assertion = {
        "iss": platform.client_id, "sub": platform.client_id, "aud": platform.audience or platform.token,
        "jti": secrets.token_urlsafe(16),
    }  # fmt: skip
    form = {
        "grant_type": "client_credentials", "client_assertion_type": _ASSERTION,
        "client_assertion": signed(key, assertion), "scope": scope,
    }  # fmt: skip
    request = Request(platform.token, urlencode(form).encode(), {"Accept": "application/json"})  # noqa: S310 - `exchange` checks it
    return json_object(platform.title, exchange(request, trusted(platform))[1])


def keys_of(platform: LtiPlatform, address: str) -> dict[str, Any]:
    """The platform's public keys; raises ProviderFault."""
    request = Request(checked(address), headers={"Accept": "application/json"})  # noqa: S310 - checked
    return json_object(platform.title, exchange(request, trusted(platform))[1])


def _ask(
    platform: LtiPlatform, address: str, token: str, headers: Mapping[str, str], body: bytes | None = None
) -> tuple[HTTPMessage, bytes]:
    request = Request(checked(address), body, {**headers, "Authorization": f"Bearer {token}"})  # noqa: S310 - as above
    return exchange(request, trusted(platform))


def trusted(platform: LtiPlatform) -> frozenset[str]:
    """The issuer's own host, which may be in a private network: an operator named it."""
    named = (urlsplit(each) for each in (platform.authorization, platform.token, platform.keys))
    return frozenset(each.netloc for each in named if each.hostname == urlsplit(platform.issuer).hostname)
