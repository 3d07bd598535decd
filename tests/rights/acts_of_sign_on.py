"""What people do at a university's sign-in, and what it tells the portal. Everyone there has one identity of their own.

An identity's email is its owner's if the provider has checked it, and otherwise whatever the owner typed.
"""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from sqlalchemy import select
from werkzeug.test import TestResponse

from server.accounts.digest import digest_of
from server.accounts.models import BrowserSession
from tests.rights.stage import Deed, Stage, end_keys
from tests.rights.world import AGENTS, STUDENTS, Key, email_of
from tests.server.sign_on.forger import KEY
from tests.server.sign_on.test_forged import EVENT
from tests.server.web.signed_in import BrowserClient


def sign_on(stage: Stage) -> Deed:
    """With the own identity, whose email may be checked, or typed and another's."""
    there, dice = stage.there, stage.dice
    agent = dice.choice(STUDENTS if dice.random() < 0.7 else AGENTS)
    checked = dice.random() < 0.7
    email = email_of(agent) if checked else stage.email()
    client = there.browser()
    answer = _answered(stage, client, client.get("/sign-on/university").headers["Location"], agent, email, checked)
    deed = stage.answered(Deed("sign on"), None, answer, email=email)
    deed.accepted = bool(client.session_token)
    if not deed.accepted:
        return deed
    come_in(stage, deed, agent, client.session_token, email if checked else "")
    return deed


def come_in(stage: Stage, deed: Deed, agent: str, cookie: str, checked: str, place: str = "") -> None:
    """Note which account an agent's identity opened, and whether it may.

    checked: the email that the provider has checked; "" for none; place: of the identity, "" for the university
    """
    there = stage.there
    name = f"{place}{agent}"
    deed.opened = whose(stage, cookie)
    was = stage.before.accounts.get(deed.opened)
    if name in there.connected:
        if there.connected[name] != deed.opened:
            deed.wrongs.append(f"the identity of {name} opens another account than before")
    elif not checked or (was is not None and (was.email != checked or was.admin)):
        deed.wrongs.append(f"{name} signs on as {checked or 'somebody by an email which nobody checked'}")
    elif deed.opened in there.connected.values():
        deed.wrongs.append(f"a second identity, of {name}, opens {checked}")
    elif was is not None and not was.proven and was.password is not None:
        end_keys(stage, deed.opened, "tokens")
        there.passwords[deed.opened] = None
    elif was is not None and not was.proven:
        end_tokens(stage, deed.opened)
    there.connected[name] = deed.opened
    there.keys.append(Key(agent, "cookie", cookie, deed.opened, subject=name))


def connect(stage: Stage) -> Deed:
    """The own identity with an account; sometimes the attempt goes on in another person's browser."""
    there, dice = stage.there, stage.dice
    key = stage.key()
    present = there.passwords.get(key.person) or "none"
    known = any(agent == key.agent and password == present for agent, _, password in there.typed)
    client = there.browser(key)
    page = client.post_form("/account/sign-on/university", present=present if known else "a guess")
    found = re.search(r'href="(http:[^"]+)"', page.get_data(as_text=True))
    deed = stage.answered(Deed("connect"), key, page)
    deed.accepted = False
    if found is None:
        return deed
    victim = stage.key() if dice.random() < 0.3 else key
    carried = there.browser(victim)
    address = html.unescape(found[1])
    name = f"tilelab-sign-on-{parse_qs(urlsplit(address).query)['state'][0][:8]}"
    kept = client.get_cookie(name)
    assert kept is not None
    carried.set_cookie(name, kept.decoded_value)
    # An attempt that its owner moved to another browser may show the owner's email there.
    email = email_of(key.agent)
    answer = _answered(stage, carried, address, key.agent, email, True)
    deed = stage.answered(Deed("connect"), victim, answer, email=email)
    deed.accepted = "notice=connected" in answer.headers.get("Location", "")
    if deed.accepted:
        if not known or victim is not key:
            deed.wrongs.append(f"{key.agent} connects an identity without a password of account {victim.person}")
        if there.connected.get(key.agent, victim.person) != victim.person:
            deed.wrongs.append(f"the identity of {key.agent} is connected to two accounts")
        there.connected[key.agent] = victim.person
    return deed


def end_there(stage: Stage) -> Deed:
    """The provider says that a person has signed out there."""
    there = stage.there
    agent = stage.dice.choice(AGENTS)
    claims = there.forger.claims(sub=agent, events=EVENT, jti="j", nonce=None, email=None)
    token = jwt.encode({"alg": "RS256", "kid": "ours", "typ": "logout+jwt"}, claims, KEY)
    answer = there.browser().post("/sign-on/university/ended", data={"logout_token": token})
    # The sessions of this person may end, and no other key may.
    deed = stage.answered(Deed("end there", operator=True), None, answer)
    deed.by, deed.reader = None, None
    for key in there.keys:
        if key.subject == agent:
            key.ended = key.ended or "a sign-out at the provider"
    return deed


def end_tokens(stage: Stage, person: int) -> None:
    for key in stage.there.keys:
        if key.person == person and key.kind == "token":
            key.ended = key.ended or "the confirmation of the email"


def _answered(stage: Stage, client: BrowserClient, address: str, agent: str, email: str, checked: bool) -> TestResponse:
    """What the browser gets when it comes back from the provider."""
    forger = stage.there.forger
    forger.asked(address)
    forger.token = lambda made: made.signed(sub=agent, email=email, email_verified=checked, name=f"Name {agent}")
    query = {"code": "c", "state": parse_qs(urlsplit(address).query)["state"][0]}
    return client.get("/sign-on/university/answer", query_string=query)


def whose(stage: Stage, cookie: str) -> int:
    with stage.there.sessions.begin() as session:
        return session.scalars(select(BrowserSession.person_id).where(BrowserSession.digest == digest_of(cookie))).one()
