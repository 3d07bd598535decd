"""What people do on a learning management system that is connected to two of the courses.

Everyone there has one name of their own. The platform may vouch for emails, and says which role a person has in a
course there: nobody becomes staff by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from werkzeug.test import TestResponse

from tests.rights.acts_of_sign_on import come_in, whose
from tests.rights.stage import Deed, Stage
from tests.rights.world import AGENTS, CONNECTED, COURSES, STUDENTS, Key, email_of
from tests.server.lti.platform import CLAIM, HERE
from tests.server.web.signed_in import COOKIE, BrowserClient

_ROLES = ("Learner", "Learner", "Learner", "Instructor", "Administrator", "Mentor")
_PLACE = "lti "


def launch(stage: Stage) -> Deed:
    """With the own name there; the email may be denied by the platform, and the way may lead to another course."""
    there, dice = stage.there, stage.dice
    agent = dice.choice(STUDENTS if dice.random() < 0.7 else AGENTS)
    checked = dice.random() < 0.7
    email = email_of(agent) if checked else stage.email()
    slug, role = dice.choice(CONNECTED), dice.choice(_ROLES)
    leads = slug if dice.random() < 0.9 else dice.choice(COURSES)
    client = there.browser()
    sent = _sent(stage, client, _claims(agent, email, checked, slug, role, leads))
    if dice.random() < 0.1:
        client = there.browser(stage.key())  # somebody else opens the address
    before = client.session_token
    answer = _followed(client, sent)
    deed = stage.answered(Deed("launch"), None, answer, email=email)
    deed.accepted = client.session_token != before
    way = sent.headers["Location"]
    if deed.accepted:
        come_in(stage, deed, agent, client.session_token, email if checked else "", _PLACE)
        _joins(stage, deed, slug, role)
    elif f"{way}/sign-in" in deed.text and dice.random() < 0.7:
        return _connect(stage, agent, client, way, slug, role)
    return deed


def _connect(stage: Stage, agent: str, client: BrowserClient, way: str, slug: str, role: str) -> Deed:
    """Go on to an account: with its password, or in a browser that is open."""
    there, dice = stage.there, stage.dice
    known = [each for each in there.typed if each[0] == agent]
    signs_in = bool(known) and dice.random() < 0.6
    if signs_in:
        _, email, password = dice.choice(known)
        client.post_form("/sign-in", email=email, password=password)
    else:
        client.set_cookie(COOKIE, stage.key().secret)
    before = client.session_token
    sent = client.post_form(f"{way}/account")
    deed = stage.answered(Deed("connect a launch"), None, _followed(client, sent))
    deed.accepted = client.session_token != before
    if deed.accepted:
        deed.opened = whose(stage, client.session_token)
        if not signs_in or stage.before.accounts[deed.opened].admin:
            deed.wrongs.append(f"{agent} connects a launch to {deed.opened} without its password")
        there.connected.setdefault(f"{_PLACE}{agent}", deed.opened)
        come_in(stage, deed, agent, client.session_token, "", _PLACE)
        _joins(stage, deed, slug, role)
    elif signs_in and before:
        deed.opened = whose(stage, before)
        there.keys.append(Key(agent, "cookie", before, deed.opened))
    return deed


def _claims(agent: str, email: str, checked: bool, slug: str, role: str, leads: str) -> dict[str, Any]:
    return {
        "user": agent, "role": role, "email": email, "email_verified": checked, "name": f"Name {agent}",
        f"{CLAIM}context": {"id": slug}, f"{CLAIM}target_link_uri": f"{HERE}/courses/{leads}/tiled/",
    }  # fmt: skip


def _sent(stage: Stage, client: BrowserClient, claims: Mapping[str, Any]) -> TestResponse:
    """What the platform's form is answered, which comes from there without cookies."""
    platform = stage.there.platform
    query = platform.asked_to_sign_in(client.get("/lti/login", query_string=platform.login()).headers["Location"])
    token = platform.signed(platform.said(query["nonce"], **claims))
    headers = {"Sec-Fetch-Site": "cross-site"}
    return stage.there.browser().post("/lti/launch", data={"state": query["state"], "id_token": token}, headers=headers)


def _followed(client: BrowserClient, answer: TestResponse) -> TestResponse:
    while answer.headers.get("Location", "").startswith("/lti/launches/"):
        answer = client.get(answer.headers["Location"])
    return answer


def _joins(stage: Stage, deed: Deed, slug: str, role: str) -> None:
    """A student there becomes one in the connected course, and nowhere else."""
    new = {place for place in stage.there.picture().members if place not in stage.before.members}
    if new - {(slug, deed.opened)}:
        deed.wrongs.append(f"a launch into {slug} brings {deed.opened} into {new}")
    deed.joined = role == "Learner"
