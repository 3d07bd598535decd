"""OpenID Connect: what a provider publishes, the request for a sign-in, and the check of what the provider signs."""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, KeySet

from server.identity_providers import Provider
from server.sign_on.fetch import ProviderFault, checked, get_json, post_form

T = TypeVar("T")

LONGEST_SUBJECT = 255
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
"""Signatures only: with an algorithm of a shared secret, anyone who knows a public key could sign."""

_LEEWAY = 60
_KEPT_SECONDS, _AT_LEAST, _WAIT_SECONDS = 3600.0, 30.0, 1.0
_AT_ONCE = 3
"""Sign-ins of one provider that ask it at once, in each process: a slow provider must not hold all threads."""

_LONGEST_TOKEN = 64 * 1024
_SIGNED_OUT = "http://schemas.openid.net/event/backchannel-logout"


@dataclass(frozen=True, slots=True)
class Metadata:
    """The addresses that a provider publishes.

    userinfo, end_session: "" for none
    basic: whether it takes the client's secret in a header; otherwise in the form
    names_itself: whether each of its answers names the issuer
    """

    authorization: str
    token: str
    keys: str
    userinfo: str
    end_session: str
    basic: bool
    names_itself: bool


@dataclass(frozen=True, slots=True)
class Request:
    """One sign-in under way: the secrets that tie the provider's answer to this browser."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> Request:
        return cls(*(secrets.token_urlsafe(32) for _ in range(3)))


@dataclass(frozen=True, slots=True)
class Claims:
    """What a provider says about a person.

    subject: never given to another person by this provider
    session: its own name for the session; "" for none
    """

    issuer: str
    subject: str
    email: str
    email_verified: bool
    name: str
    session: str


class _Published(Generic[T]):
    """Something that a provider publishes, as this process read it last. Only one thread reads it anew at a time.

    A failure counts for half a minute, so that no thread waits for a provider that has just been silent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[float, T] | None = None
        self._failed: tuple[float, ProviderFault] | None = None

    def get(self, read: Callable[[], T], *, newer: bool = False) -> T:
        known, now = self._known, time.monotonic()
        if known is not None and now - known[0] < (_AT_LEAST if newer else _KEPT_SECONDS):
            return known[1]
        if not self._lock.acquire(timeout=0 if known is not None else _WAIT_SECONDS):
            if known is not None:
                return known[1]
            raise ProviderFault("the provider is slow")
        try:
            return self._read(read, now)
        finally:
            self._lock.release()

    def _read(self, read: Callable[[], T], asked: float) -> T:
        known, failed = self._known, self._failed
        if known is not None and known[0] > asked:
            return known[1]
        try:
            if failed is not None and time.monotonic() - failed[0] < _AT_LEAST:
                raise failed[1]
            self._known = time.monotonic(), read()
        except ProviderFault as fault:
            if failed is None or fault is not failed[1]:
                self._failed = time.monotonic(), fault
            if known is None:
                raise
            return known[1]
        return self._known[1]


class SignedTokens:
    """What an issuer signs for a client of it. Threads share it.

    keys: the address of its keys; may raise ProviderFault
    """

    def __init__(
        self, issuer: str, client_id: str, keys: Callable[[], str], get: Callable[[str], dict[str, Any]] = get_json
    ) -> None:
        self._issuer, self._client_id, self._address, self._get = issuer, client_id, keys, get
        self._keys = _Published[KeySet]()

    def read(self, token: str, essential: tuple[str, ...]) -> dict[str, Any]:
        """What a token says, if the issuer signed it for the client and it is still valid; raises ProviderFault."""
        if len(token) > _LONGEST_TOKEN:
            raise ProviderFault("the token is too long")
        try:
            try:
                found = jwt.decode(token, self._key_set(), algorithms=_ALGORITHMS).claims
            except (InvalidKeyIdError, BadSignatureError):
                found = jwt.decode(token, self._key_set(newer=True), algorithms=_ALGORITHMS).claims
            if missing := [name for name in essential if not found.get(name)]:
                raise ProviderFault(f"a token has no {missing[0]}")
            jwt.JWTClaimsRegistry(
                leeway=_LEEWAY,
                iss=jwt.ClaimsOption(essential=True, value=self._issuer),
                aud=jwt.ClaimsOption(essential=True, value=self._client_id),
            ).validate(found)
        except (JoseError, ValueError, TypeError) as error:
            raise ProviderFault(f"a token isn't valid: {error}") from error
        party = found.get("azp", self._client_id)
        if party != self._client_id or (isinstance(found["aud"], list) and set(found["aud"]) != {party}):
            raise ProviderFault("a token is for others, too")
        return found

    def _key_set(self, *, newer: bool = False) -> KeySet:
        address = self._address()
        return self._keys.get(lambda: _keys(self._get(address)), newer=newer)


class Client:
    """A provider, as this process knows it. Threads share it."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._metadata = _Published[Metadata]()
        self._tokens = SignedTokens(provider.issuer, provider.client_id, lambda: self.metadata().keys)
        self._asking = threading.BoundedSemaphore(_AT_ONCE)

    def metadata(self) -> Metadata:
        """What the provider publishes, about an hour old at most; raises ProviderFault."""
        address = f"{self.provider.issuer.rstrip('/')}/.well-known/openid-configuration"
        return self._metadata.get(lambda: _metadata(get_json(address), self.provider.issuer))

    def sign_in_address(self, request: Request, back: str, *, again: bool = False) -> str:
        """Where the browser goes to sign in. back: our address for the answer; again: ask who it is, even if known."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(request.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code", "client_id": self.provider.client_id, "redirect_uri": back,
            "scope": "openid email profile", "state": request.state, "nonce": request.nonce,
            "code_challenge": challenge, "code_challenge_method": "S256", **({"prompt": "login"} if again else {}),
        }  # fmt: skip
        return with_query(self.metadata().authorization, query)

    def sign_out_address(self, back: str) -> str:
        """Where the browser goes to end the provider's own session; "" if the provider has no such address."""
        address = self.metadata().end_session
        query = {"client_id": self.provider.client_id, "post_logout_redirect_uri": back}
        return with_query(address, query) if address else ""

    def check_issuer(self, named: str | None) -> None:
        """Raise ProviderFault if the answer names another issuer, or none although this provider always does."""
        if named != self.provider.issuer and (named is not None or self.metadata().names_itself):
            raise ProviderFault("the answer is another provider's")

    def claims(self, code: str, request: Request, back: str) -> Claims:
        """Exchange the code for what the provider says about the person, and check it; raises ProviderFault."""
        if not self._asking.acquire(timeout=_WAIT_SECONDS):
            raise ProviderFault("the provider is slow, and others are waiting for it")
        try:
            return self._claims(code, request, back)
        finally:
            self._asking.release()

    def _claims(self, code: str, request: Request, back: str) -> Claims:
        given = self._exchanged(code, request, back)
        found = self._tokens.read(_token_in(given, "id_token"), essential=("nonce", "exp", "sub"))
        if found["nonce"] != request.nonce:
            raise ProviderFault("the ID token belongs to another sign-in")
        if "email" not in found and (userinfo := self.metadata().userinfo):
            more = get_json(userinfo, {"Authorization": f"Bearer {_token_in(given, 'access_token')}"})
            if more.get("sub") != found["sub"]:
                raise ProviderFault("the user info belongs to another person")
            found = {**more, **found}
        return claims_of(found)

    def signed_out(self, token: str) -> tuple[str, str]:
        """The subject and the session that a provider's logout token ends, one of them perhaps ""."""
        found = self._tokens.read(token, essential=("iat", "exp", "jti", "events"))
        events = found["events"]
        if not isinstance(events, dict) or _SIGNED_OUT not in events or "nonce" in found:
            raise ProviderFault("the token isn't a logout token")
        subject, session = (one_line(found.get(name), LONGEST_SUBJECT) for name in ("sub", "sid"))
        if not subject and not session:
            raise ProviderFault("the logout token names no person and no session")
        return subject, session

    def _exchanged(self, code: str, request: Request, back: str) -> dict[str, Any]:
        provider, headers = self.provider, {}
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": request.verifier,
        }  # fmt: skip
        if self.metadata().basic:
            pair = f"{quote(provider.client_id, safe='')}:{quote(provider.client_secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": provider.client_id, "client_secret": provider.client_secret}
        return post_form(self.metadata().token, form, headers)


def _metadata(given: Mapping[str, Any], issuer: str) -> Metadata:
    if given.get("issuer") != issuer:
        raise ProviderFault(f"the provider calls itself {str(given.get('issuer'))[:200]!r}, not {issuer!r}")
    ways = given.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return Metadata(
        authorization=checked(given.get("authorization_endpoint")),
        token=checked(given.get("token_endpoint")),
        keys=checked(given.get("jwks_uri")),
        userinfo=checked(given["userinfo_endpoint"]) if given.get("userinfo_endpoint") else "",
        end_session=checked(given["end_session_endpoint"]) if given.get("end_session_endpoint") else "",
        basic="client_secret_basic" in ways,
        names_itself=given.get("authorization_response_iss_parameter_supported") is True,
    )


def _keys(given: Mapping[str, Any]) -> KeySet:
    """The keys for signatures that we understand; others may come with them."""
    made = []
    for key in given.get("keys") or ():
        if isinstance(key, dict) and key.get("use", "sig") == "sig" and key.get("kty") in {"RSA", "EC", "OKP"}:
            with suppress(JoseError, ValueError, TypeError, KeyError):
                made.append(JWKRegistry.import_key(key))
    if not made:
        raise ProviderFault("the provider publishes no usable key")
    return KeySet(made)


def claims_of(found: Mapping[str, Any]) -> Claims:
    """What a checked token says about a person; raises ProviderFault if it names none."""
    subject = found["sub"]
    if not isinstance(subject, str) or one_line(subject, LONGEST_SUBJECT) != subject:
        raise ProviderFault("the ID token has no usable subject")
    names = (found.get("name"), f"{found.get('given_name') or ''} {found.get('family_name') or ''}")
    return Claims(
        issuer=found["iss"],
        subject=subject,
        email=one_line(found.get("email"), 254),
        email_verified=found.get("email_verified") is True or found.get("email_verified") == "true",
        name=next((line for each in names if (line := one_line(each, 200))), ""),
        session=one_line(found.get("sid"), LONGEST_SUBJECT),
    )


def one_line(text: object, longest: int) -> str:
    """A text of one line; "" for anything else."""
    line = " ".join(text.split()) if isinstance(text, str) else ""
    return line if len(line) <= longest and line.isprintable() else ""


def _token_in(given: Mapping[str, Any], name: str) -> str:
    token = given.get(name)
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise ProviderFault(f"the provider sends no {name}")
    return token


def with_query(address: str, query: Mapping[str, str]) -> str:
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"
