"""Forged, replayed, expired and mixed-up launches: none signs anybody in."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

from sqlalchemy import select

from server.accounts.models import Identity
from server.lti.models import LtiLaunch, LtiPlatform
from tests.server.course import NOW
from tests.server.lti.conftest import brought, code, followed, launched, posted
from tests.server.lti.platform import CLAIM, DL, HERE, KEY, OTHER, ROLE, Platform
from tests.server.sign_on.forger import with_the_public_key
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import stranger

PAST, FUTURE = int(time.time()) - 3600, int(time.time()) + 86_400

# What a platform changes in its claims, and the code of the refusal.
CHANGED: dict[str, tuple[str, dict[str, Any]]] = {
    "another issuer": ("token", {"iss": "https://evil.example"}),
    "no issuer": ("token", {"iss": None}),
    "another audience": ("token", {"aud": "other"}),
    "several audiences": ("token", {"aud": ["tilelab-client", "other"]}),
    "no audience": ("token", {"aud": None}),
    "another party": ("token", {"azp": "other"}),
    "expired": ("token", {"exp": PAST}),
    "no end": ("token", {"exp": None}),
    "issued tomorrow": ("token", {"iat": FUTURE}),
    "no time of issue": ("token", {"iat": None}),
    "a time of issue in words": ("token", {"iat": "now"}),
    "valid from tomorrow": ("token", {"nbf": FUTURE}),
    "issued long ago, with a long life": ("age", {"iat": PAST, "exp": FUTURE}),
    "no subject": ("token", {"sub": None}),
    "a number as the subject": ("token", {"sub": 17}),
    "a subject of two lines": ("token", {"sub": "u-ada\nadmin"}),
    "no nonce": ("token", {"nonce": None}),
    "another launch's nonce": ("over", {"nonce": "x" * 43}),
    "a nonce that no database stores": ("over", {"nonce": "\0"}),
    "a nonce without end": ("over", {"nonce": "x" * 999}),
    "a nonce in a list": ("over", {"nonce": ["x"]}),
    "another deployment": ("deployment", {f"{CLAIM}deployment_id": "deployment-2"}),
    "no deployment": ("deployment", {f"{CLAIM}deployment_id": None}),
    "a deployment in a list": ("deployment", {f"{CLAIM}deployment_id": ["deployment-1"]}),
    "another message": ("message", {f"{CLAIM}message_type": "LtiSubmissionReviewRequest"}),
    "no message": ("message", {f"{CLAIM}message_type": None}),
    "another version": ("message", {f"{CLAIM}version": "1.1.0"}),
    "no link": ("message", {f"{CLAIM}resource_link": None}),
    "no course": ("context", {f"{CLAIM}context": None}),
    "a course without a name": ("context", {f"{CLAIM}context": {"title": "GPU"}}),
    "another site": ("target", {f"{CLAIM}target_link_uri": "https://evil.example/courses/gpu/"}),
    "our site as a user name": ("target", {f"{CLAIM}target_link_uri": f"{HERE}@evil.example/courses/gpu/"}),
    "a page that is no course's": ("target", {f"{CLAIM}target_link_uri": f"{HERE}/account/tokens"}),
    "a page for staff": ("target", {f"{CLAIM}target_link_uri": f"{HERE}/staff/gpu/"}),
    "a way out of the course": ("target", {f"{CLAIM}target_link_uri": f"{HERE}/courses/gpu/../../account"}),
    "a hidden way out": ("target", {f"{CLAIM}target_link_uri": f"{HERE}/courses/gpu/%2e%2e"}),
    "a script": ("target", {f"{CLAIM}target_link_uri": "javascript:alert(1)"}),
    "no page": ("target", {f"{CLAIM}target_link_uri": None}),
    "another course's page": ("elsewhere", {f"{CLAIM}target_link_uri": f"{HERE}/courses/other/tiled/"}),
    "an assignment that isn't there": ("missing", {f"{CLAIM}target_link_uri": f"{HERE}/courses/gpu/none/"}),
    "another course there": ("unconnected", {f"{CLAIM}context": {"id": "c-2"}}),
    "no role": ("unknown", {"email": "new@example.edu", f"{CLAIM}roles": None}),
    "a role in the institution": ("unknown", {
        "email": "new@example.edu", f"{CLAIM}roles": ["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Learner"],
    }),
    "a guest": ("unknown", {"email": "new@example.edu", f"{CLAIM}roles": [ROLE.replace("#", "/Learner#") + "Guest"]}),
    "a choice without an end": ("return", {
        f"{CLAIM}message_type": "LtiDeepLinkingRequest",
        f"{DL}deep_linking_settings": {"accept_types": ["ltiResourceLink"]},
    }),
    "a choice of files": ("return", {
        f"{CLAIM}message_type": "LtiDeepLinkingRequest",
        f"{DL}deep_linking_settings": {"deep_link_return_url": "https://x.example", "accept_types": ["file"]},
    }),
    "a choice with what no database stores": ("return", {
        f"{CLAIM}message_type": "LtiDeepLinkingRequest",
        f"{DL}deep_linking_settings": {
            "deep_link_return_url": "https://x.example", "accept_types": ["ltiResourceLink"], "data": "\0",
        },
    }),
    "a choice by a student": ("student", {
        f"{CLAIM}message_type": "LtiDeepLinkingRequest",
        f"{DL}deep_linking_settings": {
            "deep_link_return_url": "https://x.example", "accept_types": ["ltiResourceLink"],
        },
    }),
}  # fmt: skip

_ENTERED = {"elsewhere", "missing", "unconnected", "student"}
"""Codes of launches that are valid, so that they sign in, but open no page."""


def entered(portal: Portal) -> bool:
    with portal.course.sessions.begin() as session:
        return session.scalar(select(Identity.id)) is not None


def test_launches_with_other_claims_are_refused(portal: Portal, connected: Platform) -> None:
    portal.course.person("ada")
    wrong = {}
    for name, (expected, claims) in CHANGED.items():
        answer = launched(portal, connected, **claims)[1]
        if code(answer) != f"lti_{expected}" or (entered(portal) and expected not in _ENTERED):
            wrong[name] = code(answer) or answer.status
        if expected in _ENTERED:
            with portal.course.sessions.begin() as session:
                for table in (*reversed(Identity.metadata.sorted_tables),):
                    if table.name in {"browser_sessions", "identities"}:
                        session.execute(table.delete())
    assert not wrong


def unsigned(said: dict[str, Any], header: dict[str, Any]) -> str:
    return ".".join([*(encoded(json.dumps(each).encode()) for each in (header, said)), ""])


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def with_other_payload(platform: Platform, said: dict[str, Any]) -> str:
    head, _, signature = platform.signed(said).split(".")
    return f"{head}.{platform.signed(said | {'sub': 'admin'}).split('.')[1]}.{signature}"


BY_SECRET = {"alg": "HS256", "kid": "ours"}
FORGED = {
    "another key": lambda p, said: p.signed(said, OTHER),
    "another key with its own name": lambda p, said: p.signed(said, OTHER, kid="other"),
    "a key in the header": lambda p, said: p.signed(said, OTHER, jwk=OTHER.as_dict(private=False), kid="other"),
    "a link to a key in the header": lambda p, said: p.signed(said, OTHER, jku=f"{p.address}/keys", kid="other"),
    "no signature": lambda p, said: unsigned(said, {"alg": "none", "kid": "ours"}),
    "an empty signature": lambda p, said: unsigned(said, {"alg": "RS256", "kid": "ours"}),
    "the signature of another token": with_other_payload,
    "the public key as a secret": lambda p, said: with_the_public_key(unsigned(said, BY_SECRET), KEY),
    "no token": lambda p, said: "",
    "not a token": lambda p, said: "a.b.c",
    "a token without end": lambda p, said: p.signed(said | {"name": "x" * 70_000}),
}  # fmt: skip


def test_forged_tokens_are_refused(portal: Portal, connected: Platform) -> None:
    portal.course.person("ada")
    wrong = {}
    for name, forge in FORGED.items():
        browser, query = brought(portal, connected)
        answer = followed(browser, posted(browser, query["state"], forge(connected, connected.said(query["nonce"]))))
        if answer.status_code not in {400, 413} or entered(portal):
            wrong[name] = answer.status
    assert not wrong


def test_a_token_counts_once(portal: Portal, connected: Platform) -> None:
    browser, query = brought(portal, connected)
    token = connected.signed(connected.said(query["nonce"]))
    first = posted(browser, query["state"], token)
    assert code(posted(browser, query["state"], token)) == "lti_over"
    page = first.headers["Location"]
    assert browser.get(page).status_code == 303
    assert browser.get(page).headers["Location"] == "/courses/gpu/tiled/"  # the same person, going on
    assert code(stranger(portal).get(page)) == ""  # asked to sign in
    assert stranger(portal).get(page).headers["Location"].startswith("/sign-in")


def test_a_launch_belongs_to_the_browser_that_began_it(portal: Portal, connected: Platform) -> None:
    """Somebody else's launch, in the browser of a victim."""
    browser, query = brought(portal, connected)
    page = posted(browser, query["state"], connected.signed(connected.said(query["nonce"]))).headers["Location"]
    victim, _ = brought(portal, connected)
    assert code(victim.get(page)) == "lti_over"
    assert not entered(portal)


def test_a_cookie_of_another_launch_opens_nothing(portal: Portal, connected: Platform) -> None:
    """The nonce and the state of two launches of one browser."""
    browser, one = brought(portal, connected)
    _, other = brought(portal, connected, browser)
    page = posted(browser, one["state"], connected.signed(connected.said(other["nonce"]))).headers["Location"]
    assert code(browser.get(page)) == "lti_over"


def test_a_launch_ends_after_a_while(portal: Portal, connected: Platform) -> None:
    browser, query = brought(portal, connected)
    page = posted(browser, query["state"], connected.signed(connected.said(query["nonce"]))).headers["Location"]
    with portal.course.sessions.begin() as session:
        session.scalars(select(LtiLaunch)).one().made_at = NOW
    assert code(browser.get(page)) == "lti_over"


def test_two_platforms_are_not_mixed_up(portal: Portal, connected: Platform) -> None:
    """The first one's token, in the state of the second, which has another client."""
    with portal.course.sessions.begin() as session:
        second = LtiPlatform(created_at=NOW, **connected.settings(client_id="second", title="Canvas"))
        session.add(second)
        session.flush()
        number = second.id
    browser, query = brought(portal, connected)
    state = f"{query['state'].rpartition('.')[0]}.{number}"
    said = connected.said(query["nonce"])
    assert code(posted(browser, state, connected.signed(said))) == "lti_token"
    page = posted(browser, state, connected.signed(said | {"aud": "second"})).headers["Location"]
    assert code(browser.get(page)) == "lti_over"
    assert code(browser.get("/lti/login", query_string=connected.login(client_id=None))) == "lti_platform"


def test_only_registered_platforms_begin_a_launch(portal: Portal, connected: Platform) -> None:
    for changed in (
        {"iss": "\0"},
        {"iss": "https://evil.example"},
        {"client_id": "other"},
        {"login_hint": None},
        {"iss": None},
    ):
        answer = stranger(portal).get("/lti/login", query_string=connected.login(**changed))
        assert code(answer) == "lti_platform", changed


def test_states_that_nobody_made_are_refused(portal: Portal, connected: Platform) -> None:
    token = connected.signed(connected.said("x" * 43))
    for state in ("", "1", "x.1", "\0.1", "x" * 200 + ".1", "x.99", "é.1", "x" * 9999, "a.-1"):
        answer = followed(stranger(portal), posted(stranger(portal), state, token))
        assert code(answer) == "lti_over", state
    assert not entered(portal)


def test_a_platform_may_decline(portal: Portal, connected: Platform) -> None:
    _, query = brought(portal, connected)
    form = {"state": query["state"], "error": "login_required"}
    assert code(stranger(portal).post("/lti/launch", data=form)) == "lti_declined"
