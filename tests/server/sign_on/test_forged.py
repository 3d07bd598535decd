"""Forged, replayed, expired and mixed-up answers: none signs anybody in."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from sqlalchemy import Engine, select

from server.accounts import service
from server.accounts.models import Identity, Person
from server.identity_providers import SignOn
from tests.server.sign_on.conftest import portal_with
from tests.server.sign_on.forger import KEY, OTHER, SECRET, Forger, forging, secret_key, with_the_public_key
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, stranger

NOW = int(time.time())
FIRST = "a password of mine"


@pytest.fixture
def forger() -> Iterator[Forger]:
    with forging() as made:
        yield made


@pytest.fixture
def portal(database_url: str, engine: Engine, forger: Forger) -> Iterator[Portal]:
    yield from portal_with(database_url, engine, SignOn((forger.provider,)))


def answered(portal: Portal, forger: Forger, browser: BrowserClient | None = None, **query: str):
    """What the browser gets when it comes back with a code."""
    browser = browser or stranger(portal)
    address = browser.get("/sign-on/university").headers["Location"]
    forger.asked(address)
    state = parse_qs(urlsplit(address).query)["state"][0]
    return browser.get("/sign-on/university/answer", query_string={"code": "c", "state": state} | query)


def nobody_came_in(portal: Portal) -> bool:
    with portal.course.sessions.begin() as session:
        return session.scalar(select(Identity.id)) is None


def unsigned(forger: Forger, header: dict[str, Any], signature: str = "") -> str:
    parts = (json.dumps(each).encode() for each in (header, forger.claims()))
    return ".".join([*(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts), signature])


def with_other_payload(forger: Forger) -> str:
    head, _, signature = forger.signed().split(".")
    return f"{head}.{forger.signed(sub='admin').split('.')[1]}.{signature}"


FORGED = {
    "another key": lambda f: f.signed(OTHER),
    "another key with its own name": lambda f: f.signed(OTHER, {"kid": "other"}),
    "a key in the header": lambda f: f.signed(OTHER, {"jwk": OTHER.as_dict(private=False), "kid": "other"}),
    "a link to a key in the header": lambda f: f.signed(OTHER, {"jku": f"{f.issuer}/keys", "kid": "other"}),
    "no signature": lambda f: unsigned(f, {"alg": "none"}),
    "no signature with a name of a key": lambda f: unsigned(f, {"alg": "none", "kid": "ours"}),
    "the algorithm None": lambda f: unsigned(f, {"alg": "None", "kid": "ours"}),
    "an empty signature": lambda f: unsigned(f, {"alg": "RS256", "kid": "ours"}),
    "the signature of another token": with_other_payload,
    "the client's secret as the key": lambda f: f.signed(secret_key(SECRET), {"alg": "HS256"}),
    "the public key as a secret": lambda f: with_the_public_key(unsigned(f, {"alg": "HS256", "kid": "ours"})),
    "another issuer": lambda f: f.signed(iss="https://evil.example"),
    "the issuer with a slash": lambda f: f.signed(iss=f"{f.issuer}/"),
    "issuers in a list": lambda f: f.signed(iss=[f.issuer]),
    "no issuer": lambda f: f.signed(iss=None),
    "another audience": lambda f: f.signed(aud="other"),
    "several audiences": lambda f: f.signed(aud=["tilelab", "other"]),
    "no audience": lambda f: f.signed(aud=None),
    "another party": lambda f: f.signed(azp="other"),
    "expired": lambda f: f.signed(exp=NOW - 3600),
    "no end": lambda f: f.signed(exp=None),
    "an end that isn't a number": lambda f: f.signed(exp="tomorrow"),
    "valid from tomorrow": lambda f: f.signed(nbf=NOW + 86_400),
    "issued tomorrow": lambda f: f.signed(iat=NOW + 86_400),
    "another sign-in's nonce": lambda f: f.signed(nonce="x" * 43),
    "no nonce": lambda f: f.signed(nonce=None),
    "a nonce in a list": lambda f: f.signed(nonce=[f.nonce]),
    "no subject": lambda f: f.signed(sub=None),
    "an empty subject": lambda f: f.signed(sub=""),
    "a number as the subject": lambda f: f.signed(sub=17),
    "a subject that is too long": lambda f: f.signed(sub="x" * 256),
    "no token": lambda f: "",
    "not a token": lambda f: "a.b",
    "a token that isn't JSON": lambda f: "YQ.YQ.YQ",
    "a token without end": lambda f: f.signed(name="x" * 70_000),
    "a critical header that nobody knows": lambda f: f.signed(header={"crit": ["mine"], "mine": True}),
}  # fmt: skip


def test_forged_tokens_are_refused(portal: Portal, forger: Forger) -> None:
    portal.course.person("ada")
    taken = []
    for name, token in FORGED.items():
        forger.token = token
        if answered(portal, forger).status_code != 502 or not nobody_came_in(portal):
            taken.append(name)

    assert not taken


def test_the_same_token_unforged_is_taken(portal: Portal, forger: Forger) -> None:
    assert answered(portal, forger).status_code == 303
    assert not nobody_came_in(portal)


def test_an_answer_counts_once(portal: Portal, forger: Forger) -> None:
    browser = stranger(portal)
    address = browser.get("/sign-on/university").headers["Location"]
    forger.asked(address)
    query = {"code": "c", "state": parse_qs(urlsplit(address).query)["state"][0]}

    codes = [browser.get("/sign-on/university/answer", query_string=query).status_code for _ in range(2)]

    assert codes == [303, 400]


def test_an_answer_to_another_browser_is_refused(portal: Portal, forger: Forger) -> None:
    codes = {answered(portal, forger, state=state).status_code for state in ("", "x", "x" * 43, "é")}
    assert codes == {400}
    assert nobody_came_in(portal)


def test_an_answer_in_another_issuers_name_is_refused(portal: Portal, forger: Forger) -> None:
    assert answered(portal, forger, iss="https://evil.example").status_code == 502
    assert nobody_came_in(portal)


def test_an_answer_without_issuer_is_refused_if_the_provider_always_names_itself(
    portal: Portal, forger: Forger
) -> None:
    named = forger.metadata(authorization_response_iss_parameter_supported=True)
    forger.answers["/.well-known/openid-configuration"] = named
    assert answered(portal, forger).status_code == 502
    assert answered(portal, forger, iss=forger.issuer).status_code == 303


METADATA: dict[str, dict[str, Any]] = {
    "of another issuer": {"issuer": "https://evil.example"},
    "with an unencrypted address": {"token_endpoint": "http://evil.example/token"},
    "with a file": {"jwks_uri": "file:///etc/passwd"},
    "without an address": {"authorization_endpoint": None},
    "with a script": {"authorization_endpoint": "javascript:alert(1)"},
}


def test_bad_metadata_is_refused(portal: Portal, forger: Forger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.sign_on.openid._AT_LEAST", -1.0)
    for name, changed in METADATA.items():
        forger.answers["/.well-known/openid-configuration"] = forger.metadata(**changed)
        assert stranger(portal).get("/sign-on/university").status_code == 502, name


def test_an_odd_host_is_as_good_as_none(portal: Portal, forger: Forger) -> None:
    forger.answers["/.well-known/openid-configuration"] = forger.metadata(token_endpoint="https://a..b.example/token")
    assert answered(portal, forger).status_code == 502


def test_unreadable_answers_are_refused(portal: Portal, forger: Forger) -> None:
    for body in (b"", b"[]", b"{" * 100_000, b" " * 600_000):
        forger.answers["/token"] = body
        assert answered(portal, forger).status_code == 502, body[:2]
    assert nobody_came_in(portal)


def test_new_keys_are_found(portal: Portal, forger: Forger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.sign_on.openid._AT_LEAST", -1.0)
    assert answered(portal, forger).status_code == 303
    forger.answers["/keys"] = {"keys": [OTHER.as_dict(private=False)]}
    forger.token = lambda f: f.signed(OTHER, {"kid": "other"})
    assert answered(portal, forger).status_code == 303


ODD_KEYS: dict[str, dict[str, str]] = {
    "an unknown curve": {"kty": "EC", "crv": "P-999", "x": "YQ", "y": "YQ", "kid": "odd"},
    "a secret": {"kty": "oct", "k": "YQ", "kid": "odd"},
    "half a key": {"kty": "RSA", "e": "AQAB", "kid": "odd"},
    "no kind": {"kid": "odd"},
}


def test_odd_keys_beside_ours_do_no_harm(portal: Portal, forger: Forger) -> None:
    forger.answers["/keys"] = {"keys": [*ODD_KEYS.values(), KEY.as_dict(private=False)]}
    assert answered(portal, forger).status_code == 303


def test_a_silent_provider_is_not_asked_again_at_once(portal: Portal, forger: Forger) -> None:
    asked: list[str] = []
    forger.answers["/.well-known/openid-configuration"] = b"no"
    looked_up = forger.answer

    def counted(path: str) -> Any:
        asked.append(path)
        return looked_up(path)

    forger.answer = counted  # type: ignore[method-assign]
    assert {stranger(portal).get("/sign-on/university").status_code for _ in range(5)} == {502}
    assert len(asked) == 1


def test_an_odd_name_is_no_obstacle(portal: Portal, forger: Forger) -> None:
    for number, name in enumerate(("\u0958" * 150, "", "a\0b", 17)):
        forger.token = lambda f, number=number, name=name: f.signed(  # type: ignore[misc]
            sub=f"u-{number}", email=f"p{number}@example.edu", name=name
        )
        assert answered(portal, forger).status_code == 303, name


# -- the user info -----------------------------------------------------------------------------------------------------


def test_only_true_means_verified(portal: Portal, forger: Forger) -> None:
    for claimed in ("false", 1, [True], "yes"):
        forger.token = lambda f, claimed=claimed: f.signed(email_verified=claimed)  # type: ignore[misc]
        assert answered(portal, forger).status_code == 403, claimed
    assert nobody_came_in(portal)


def test_the_user_info_tells_the_email(portal: Portal, forger: Forger) -> None:
    forger.token = lambda f: f.signed(email=None)
    forger.answers["/userinfo"] = {"sub": "u-1", "email": "ada@example.edu", "email_verified": True}
    assert answered(portal, forger).status_code == 303


def test_the_user_info_of_another_person_is_refused(portal: Portal, forger: Forger) -> None:
    forger.token = lambda f: f.signed(email=None)
    forger.answers["/userinfo"] = {"sub": "u-2", "email": "ada@example.edu", "email_verified": True}
    assert answered(portal, forger).status_code == 502
    assert nobody_came_in(portal)


# -- signing out -------------------------------------------------------------------------------------------------------

EVENT: dict[str, Any] = {"http://schemas.openid.net/event/backchannel-logout": {}}
REFUSED_LOGOUTS: dict[str, dict[str, Any]] = {
    "no event": {"events": {}},
    "another event": {"events": {"http://schemas.openid.net/event/other": {}}},
    "a nonce": {"nonce": "n"},
    "no name for itself": {"jti": None},
    "nobody": {"sub": None},
    "another audience": {"aud": "other"},
    "expired": {"exp": NOW - 3600},
}


def logout(portal: Portal, forger: Forger, key: Any = KEY, **changed: Any) -> int:
    claims = {"events": EVENT, "jti": "j", "nonce": None, "email": None} | changed
    token = jwt.encode({"alg": "RS256", "kid": "ours", "typ": "logout+jwt"}, forger.claims(**claims), key)
    return stranger(portal).post("/sign-on/university/ended", data={"logout_token": token}).status_code


def test_forged_logouts_end_nothing(portal: Portal, forger: Forger) -> None:
    browser = stranger(portal)
    answered(portal, forger, browser)
    codes = {name: logout(portal, forger, **changed) for name, changed in REFUSED_LOGOUTS.items()}
    assert codes == dict.fromkeys(REFUSED_LOGOUTS, 400)
    assert logout(portal, forger, OTHER) == 400
    assert browser.get("/account").status_code == 200


def test_a_logout_ends_that_session_or_all(portal: Portal, forger: Forger) -> None:
    browsers = [stranger(portal) for _ in range(2)]
    for number, browser in enumerate(browsers):
        forger.token = lambda f, number=number: f.signed(sid=f"s-{number}")  # type: ignore[misc]
        answered(portal, forger, browser)

    assert logout(portal, forger, sub="another") == 200
    assert [each.get("/account").status_code for each in browsers] == [200, 200]
    assert logout(portal, forger, sid="s-0") == 200
    assert [each.get("/account").status_code for each in browsers] == [303, 200]
    assert logout(portal, forger) == 200
    assert [each.get("/account").status_code for each in browsers] == [303, 303]


def test_a_logout_of_a_session_ends_the_persons_nameless_ones(portal: Portal, forger: Forger) -> None:
    browser = stranger(portal)
    answered(portal, forger, browser)
    assert logout(portal, forger, sub="another", sid="s-0") == 200
    assert browser.get("/account").status_code == 200
    assert logout(portal, forger, sid="s-0") == 200
    assert browser.get("/account").status_code == 303


def test_a_logout_reaches_the_session_after_a_new_password(portal: Portal, forger: Forger) -> None:
    forger.token = lambda f: f.signed(sid="s-0")
    browser, new = stranger(portal), "another one of mine"
    answered(portal, forger, browser)
    with portal.course.sessions.begin() as session:
        session.scalars(select(Person)).one().password = service.hash_password(FIRST)
    browser.page("/account/password")
    assert browser.post_form("/account/password", present=FIRST, password=new, again=new).status_code == 303
    assert browser.get("/account").status_code == 200
    assert logout(portal, forger, sub="u-1", sid="s-0") == 200
    assert browser.get("/account").status_code == 303
