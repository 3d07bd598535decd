"""A provider that signs whatever a test wants."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

from server.identity_providers import Provider

SECRET = "a secret of at least thirty-two characters"
KEY, OTHER = (RSAKey.generate_key(2048, {"kid": kid, "use": "sig"}) for kid in ("ours", "other"))


@dataclass
class Forger:
    """What it answers, by path; a test changes these.

    token: makes the ID token from the nonce of the request
    """

    issuer: str = ""
    nonce: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    token: Callable[[Forger], str] = lambda forger: forger.signed()

    @property
    def provider(self) -> Provider:
        return Provider("university", "Example University", self.issuer, "tilelab", SECRET)

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = int(time.time())
        made = {
            "iss": self.issuer, "aud": "tilelab", "sub": "u-1", "nonce": self.nonce, "iat": now, "exp": now + 300,
            "email": "ada@example.edu", "email_verified": True, "name": "Ada Lovelace", **changed,
        }  # fmt: skip
        return {name: value for name, value in made.items() if value is not None}

    def signed(self, key: Any = KEY, header: Mapping[str, Any] | None = None, **changed: Any) -> str:
        head = {"alg": "RS256", "kid": "ours", **(header or {})}
        return jwt.encode(head, self.claims(**changed), key, algorithms=[head["alg"]])

    def asked(self, address: str) -> None:
        """Note what the browser brings."""
        (self.nonce,) = parse_qs(urlsplit(address).query)["nonce"]

    def answer(self, path: str) -> Any:
        if path in self.answers:
            return self.answers[path]
        if path == "/token":
            return {"id_token": self.token(self), "access_token": "access", "token_type": "Bearer"}
        return {
            "/keys": KeySet([RSAKey.import_key(KEY.as_dict(private=False))]).as_dict(),
            "/.well-known/openid-configuration": self.metadata(),
        }.get(path)

    def metadata(self, **changed: Any) -> dict[str, Any]:
        places = {
            "authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys",
            "userinfo_endpoint": "/userinfo", "end_session_endpoint": "/end",
        }  # fmt: skip
        return {"issuer": self.issuer, **{name: self.issuer + path for name, path in places.items()}, **changed}


@contextmanager
def forging() -> Iterator[Forger]:
    forger = Forger()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = forger.answer(self.path)
            body = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(200 if found is not None else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    forger.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield forger
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def secret_key(text: str) -> OctKey:
    return OctKey.import_key(text)


def with_the_public_key(token: str, key: RSAKey = KEY) -> str:
    """A token without signature, signed as if the public key were a shared secret, which joserfc refuses to do."""
    head = token.rstrip(".")
    signature = hmac.digest(key.as_pem(private=False), head.encode(), "sha256")
    return f"{head}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
