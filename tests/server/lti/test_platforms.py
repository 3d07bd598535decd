"""Platforms that operators register, by hand and by the platform's own word."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from joserfc.jwk import KeySet
from sqlalchemy import select

from server.accounts.models import Identity, Person
from server.enrolment.admins import appoint
from server.lti.models import LtiContext, LtiPlatform
from server.lti.services import trusted
from tests.server.lti.conftest import code, launched
from tests.server.lti.platform import CLIENT, DEPLOYMENT, Platform, running_platform
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import BrowserClient, client_of

PRIVATE = "10.0.0.7"


@pytest.fixture
def operator(portal: Portal) -> BrowserClient:
    return client_of(portal, "ina", None, admin=True)


@pytest.fixture
def unknown() -> Iterator[Platform]:
    """A platform that nobody registered."""
    with running_platform() as found:
        yield found


def typed(platform: Platform, **changed: str) -> dict[str, str]:
    made = {name: " ".join(each) if isinstance(each, list) else each for name, each in platform.settings().items()}
    return {**made, **changed}


def kept(portal: Portal) -> list[LtiPlatform]:
    return portal.course.rows(select(LtiPlatform).order_by(LtiPlatform.id))


def test_an_operator_registers_a_platform_by_hand(portal: Portal, operator: BrowserClient, unknown: Platform):
    assert "/lti/keys" in operator.page("/lti/platforms")
    assert operator.post_form("/lti/platforms", **typed(unknown)).status_code == 303
    assert {name: getattr(kept(portal)[0], name) for name in unknown.settings()} == unknown.settings()
    assert operator.post_form("/lti/platforms", **typed(unknown)).status_code == 422

    changed = operator.post_form("/lti/platforms/1", **typed(unknown, title="Canvas", deployments="1 2", domains=""))
    assert changed.status_code == 303
    assert (kept(portal)[0].title, kept(portal)[0].deployments, kept(portal)[0].domains) == ("Canvas", ["1", "2"], [])
    assert portal.course.actions("lti") == ["lti.registered"] * 2


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("title", ""), ("issuer", ""), ("client_id", ""), ("token", "http://moodle.example/token"),
        ("keys", "file:///etc/passwd"), ("authorization", "javascript:alert(1)"), ("domains", "Example.edu"),
        ("domains", "@example.edu"), ("client_id", "x" * 201),
    ],
)  # fmt: skip
def test_a_mistake_is_named(portal: Portal, operator: BrowserClient, unknown: Platform, field: str, text: str):
    answer = operator.post_form("/lti/platforms", **typed(unknown, **{field: text}))
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.get_data(as_text=True)
    assert kept(portal) == []


def test_a_platform_keeps_its_people(portal: Portal, operator: BrowserClient, platform: Platform):
    """Another client would be another platform, whose people have other identities."""
    assert operator.post_form("/lti/platforms/1", **typed(platform, client_id="other")).status_code == 422


def test_a_removed_platform_opens_nothing(portal: Portal, operator: BrowserClient, connected: Platform):
    browser, _ = launched(portal, connected)
    assert browser.get("/account").status_code == 200
    assert operator.post_form("/lti/platforms/1/remove").status_code == 303
    assert browser.get("/account").status_code == 303
    assert (kept(portal), portal.course.rows(select(Identity)), portal.course.rows(select(LtiContext))) == ([], [], [])
    assert operator.get("/lti/platforms/1").status_code == 404


def registration(platform: Platform) -> str:
    return f"{platform.address}/.well-known/openid-configuration"


def test_a_platform_registers_itself_with_an_operators_yes(portal: Portal, operator: BrowserClient, unknown: Platform):
    query = {"openid_configuration": registration(unknown), "registration_token": "once"}
    page = operator.get("/lti/register", query_string=query)
    assert registration(unknown) in page.get_data(as_text=True)
    assert kept(portal) == []

    form = {"configuration": registration(unknown), "token": "once", "domains": "example.edu"}
    answer = operator.post_form("/lti/register", **form)

    assert answer.headers["Location"].startswith("/lti/platforms/1"), answer.get_data(as_text=True)
    (found,) = kept(portal)
    assert (found.client_id, found.deployments, found.domains) == (CLIENT, [DEPLOYMENT], ["example.edu"])
    assert found.token == f"{unknown.address}/token"
    assert unknown.refused == []


def test_a_platform_in_a_frame_registers_in_a_new_tab(portal: Portal, unknown: Platform):
    browser = BrowserClient(portal.app, portal.app.response_class, use_cookies=True)
    query = {"openid_configuration": registration(unknown), "registration_token": "once"}
    page = browser.get("/lti/register", query_string=query, headers={"Sec-Fetch-Dest": "iframe"})
    assert "frame-ancestors *" in page.headers["Content-Security-Policy"]
    assert 'target="_blank"' in page.get_data(as_text=True)


@pytest.mark.parametrize(
    "lie",
    [
        {"issuer": "https://moodle.example"}, {"issuer": None}, {"token_endpoint": "http://moodle.example/token"},
        {"token_endpoint": "http://127.0.0.1:1/token"}, {"jwks_uri": None},
        {"registration_endpoint": "http://127.0.0.1:1/register"},
    ],
)  # fmt: skip
def test_a_platform_that_lies_is_not_registered(
    portal: Portal, operator: BrowserClient, unknown: Platform, lie: dict[str, str | None]
):
    unknown.registered = lie
    form = {"configuration": registration(unknown), "token": "once", "domains": ""}
    assert operator.post_form("/lti/register", **form).status_code == 422
    assert kept(portal) == []


def test_a_platform_may_speak_for_an_issuer_that_the_operator_names(
    portal: Portal, operator: BrowserClient, unknown: Platform
):
    unknown.registered = {"issuer": "https://canvas.example"}
    form = {"configuration": registration(unknown), "token": "once", "domains": ""}
    assert operator.post_form("/lti/register", **form, issuer="https://evil.example").status_code == 422
    assert operator.post_form("/lti/register", **form, issuer="https://canvas.example").status_code == 303
    assert kept(portal)[0].issuer == "https://canvas.example"


def test_our_keys_stay(portal: Portal, operator: BrowserClient):
    first, second = (operator.get("/lti/keys").get_json() for _ in range(2))
    assert first == second
    (key,) = KeySet.import_key_set(first).keys
    assert not key.is_private
    assert set(first["keys"][0]) >= {"kid", "n", "e", "alg"}
    assert code(operator.get("/lti/login")) == "lti_platform"


def test_a_platform_cannot_register_in_anothers_place(
    portal: Portal, operator: BrowserClient, connected: Platform, unknown: Platform
) -> None:
    before = kept(portal)[0].keys
    unknown.registered = {"issuer": connected.address}
    form = {"configuration": registration(unknown), "token": "once", "domains": ""}
    assert operator.post_form("/lti/register", **form).status_code == 422
    assert [each.keys for each in kept(portal)] == [before]


def test_who_becomes_an_operator_is_disconnected_from_platforms(portal: Portal, connected: Platform) -> None:
    browser, _ = launched(portal, connected, "ada")
    with portal.course.sessions.begin() as session:
        appoint(session, session.scalars(select(Person).where(Person.email == "ada@example.edu")).one())
    assert browser.get("/account").status_code == 303


def test_only_the_issuers_host_may_be_in_a_private_network(unknown: Platform) -> None:
    settings = {**unknown.settings(), "keys": f"https://{PRIVATE}:8443/admin"}
    assert trusted(LtiPlatform(**settings)) == {urlsplit(unknown.address).netloc}
