"""A real provider of OpenID Connect, and a person who signs in at it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPMessage
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, Request, build_opener

from bin.node_packages import ROOT, node_folder, packages
from server.identity_providers import Provider
from tests.services import tethered
from tests.services.redis_server import free_port

FOLDER = ROOT / "tests/browser"
SECRET = "only for tests"
HERE = "http://localhost"


@contextmanager
def running_provider(
    folder: Path, accounts: Mapping[str, Mapping[str, Any]], here: str = HERE, **settings: Any
) -> Iterator[Provider]:
    """A provider with these accounts, which have their names as keys and claims as values."""
    packages(FOLDER)
    port, log = free_port(), folder / "provider.log"
    client = {
        "client_id": "tilelab", "client_secret": SECRET, "redirect_uris": [f"{here}/sign-on/university/answer"],
        "post_logout_redirect_uris": [f"{here}/sign-in?notice=signed-out"],
        "backchannel_logout_uri": f"{here}/sign-on/university/ended", "backchannel_logout_session_required": True,
    }  # fmt: skip
    given = json.dumps({"port": port, "client": client, "accounts": accounts, **settings})
    process = tethered.start([node_folder() / "node", FOLDER / "identity_provider.mjs", given], log)
    try:
        tethered.wait_until(lambda: "ready" in log.read_text(), process, log)
        yield Provider("university", "Example University", f"http://127.0.0.1:{port}", "tilelab", SECRET)
    finally:
        process.kill()
        process.wait()


class _Reached(Exception):
    """A redirect leads back to us."""


class _UntilHere(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if newurl.startswith(HERE):
            raise _Reached(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Visitor:
    """A browser at the provider, with its own cookies."""

    def __init__(self) -> None:
        policy = DefaultCookiePolicy(rfc2965=True)
        self._open = build_opener(HTTPCookieProcessor(CookieJar(policy)), _UntilHere()).open

    def sign_in(self, address: str, name: str) -> str:
        """Sign in and consent, where asked; returns the address to which the provider sends the browser."""
        sent: bytes | None = None
        try:
            for _ in range(5):
                with self._open(address, sent) as answer:
                    page, where = answer.read().decode(), answer.url
                form = re.search(r'<form[^>]*action="([^"]+)"[^>]*>(.*?)</form>', page, re.DOTALL)
                assert form, page
                hidden = dict(re.findall(r'name="(\w+)" value="(\w+)"', form[2]))
                address = urljoin(where, html.unescape(form[1]))
                sent = urlencode({**hidden, "login": name, "password": "any"}).encode()
        except _Reached as reached:
            return str(reached)
        raise AssertionError("the provider asks without end")
