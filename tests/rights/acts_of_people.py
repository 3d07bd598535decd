"""What people do with accounts that they have, and strangers to get one."""

from __future__ import annotations

import re

from sqlalchemy import select

from server.accounts.digest import digest_of
from server.accounts.models import ApiToken
from tests.rights.stage import Deed, Stage, end_keys, send
from tests.rights.world import COURSES, STAFF, STUDENTS, Key, email_of


def join(stage: Stage) -> Deed:
    """With the account that is there, or with a new one for whatever email."""
    there, dice = stage.there, stage.dice
    typed = dice.choice(there.codes[-4:] or ["none"])
    if dice.random() < 0.4:
        deed = send(stage, "join", stage.key(), "/join", code=typed)
        deed.joined = True
        return deed
    agent, email = dice.choice(STUDENTS), stage.email()
    if dice.random() < 0.7:
        known = {account.email for account in stage.before.accounts.values()}
        email = next((email_of(one) for one in STUDENTS if email_of(one) not in known), email_of(agent))
    if dice.random() < 0.7:
        agent = email.partition("@")[0]
    fields = {"code": typed, "email": email, "name": f"Name {there.word()}", "password": there.word()}
    client = there.browser()
    answer = client.post_form("/join", **fields)
    deed = stage.answered(Deed("join anew"), None, answer, **fields)
    deed.accepted = deed.joined = answer.status_code == 303
    if deed.accepted:
        deed.opened = _came_in(stage, agent, client.session_token, email)
        there.passwords[deed.opened] = fields["password"]
        there.typed.append((agent, email, fields["password"]))
    return deed


def sign_in(stage: Stage) -> Deed:
    """With a password that somebody once set, sometimes for another account."""
    there, dice = stage.there, stage.dice
    agent, email, password = dice.choice(there.typed)
    if dice.random() < 0.1:
        email = stage.email()
    client = there.browser()
    deed = stage.answered(
        Deed("sign in"), None, client.post_form("/sign-in", email=email, password=password), email=email
    )
    deed.accepted = bool(client.session_token)
    if deed.accepted:
        deed.opened = _came_in(stage, agent, client.session_token, email)
        if there.passwords.get(deed.opened) != password:
            deed.wrongs.append(f"{agent} signs in as {email} with a password that is none")
    return deed


def follow(stage: Stage) -> Deed:
    """A link that somebody has, also one that should be over."""
    there, dice = stage.there, stage.dice
    if not there.links:
        return Deed("follow")
    found = dice.choice(there.links[-12:] if dice.random() < 0.8 else there.links)
    password, ticked = there.word(), dice.choice(("", "yes"))
    client = there.browser()
    answer = client.post_form(found.path, password=password, again=password, tokens=ticked)
    deed = stage.answered(Deed("follow"), None, answer, path=found.path)
    deed.accepted = answer.status_code == 303
    if not deed.accepted:
        return deed
    deed.link = found
    email = stage.before.accounts[found.person].email
    reset = found.path.startswith("/reset/")
    end_keys(
        stage, found.person, "tokens" if not stage.before.accounts[found.person].proven or (ticked and reset) else ""
    )
    deed.opened = _came_in(stage, found.agent, client.session_token, email)
    there.disconnect(found.person)
    there.passwords[found.person] = password
    there.typed.append((found.agent, email, password))
    return deed


def _came_in(stage: Stage, agent: str, cookie: str, email: str) -> int:
    person = stage.there.people()[email]
    stage.there.keys.append(Key(agent, "cookie", cookie, person))
    return person


def change_password(stage: Stage) -> Deed:
    key = stage.key()
    new, ticked = stage.there.word(), stage.dice.choice(("", "yes"))
    present = stage.there.passwords.get(key.person) or "none"
    known = any(agent == key.agent and password == present for agent, _, password in stage.there.typed)
    client = stage.there.browser(key)
    fields = {"present": present if known else "a guess", "password": new, "again": new, "tokens": ticked}
    deed = stage.answered(Deed("change password"), key, client.post_form("/account/password", **fields))
    if deed.accepted:
        end_keys(stage, key.person, ticked)
        renewed = Key(key.agent, "cookie", client.session_token, key.person, subject=key.subject)
        stage.there.keys.append(renewed)
        stage.there.passwords[key.person] = new
        stage.there.typed.append((key.agent, stage.before.accounts[key.person].email, new))
    return deed


def make_token(stage: Stage) -> Deed:
    key = stage.key()
    deed = send(stage, "make token", key, "/account/tokens", name=stage.there.word(), days="120")
    for token in sorted(set(re.findall(r"tl_[\w-]{40,}", deed.text))):
        stage.there.keys.append(Key(key.agent, "token", token, key.person))
    return deed


def revoke_token(stage: Stage) -> Deed:
    """One's own, or by its number anybody's."""
    key, token = stage.key(), stage.token()
    if token is None:
        return Deed("revoke token")
    with stage.there.sessions.begin() as session:
        number = session.scalars(select(ApiToken.id).where(ApiToken.digest == digest_of(token.secret))).one()
    deed = send(stage, "revoke token", key, f"/account/tokens/{number}/revoke")
    if token.person == key.person:
        token.ended = "revoked"
    return deed


def sign_out(stage: Stage) -> Deed:
    key = stage.key()
    if key.agent == "root" or (key.agent in STAFF and stage.dice.random() < 0.9):
        return Deed("sign out")
    deed = send(stage, "sign out", key, "/sign-out")
    deed.accepted = True
    key.ended = "signed out"
    return deed


def end_others(stage: Stage) -> Deed:
    """All other browsers, or by its number anybody's."""
    key = stage.key()
    if stage.dice.random() < 0.5:
        mine = {one for account in stage.before.accounts.values() for one in account.sessions}
        number = stage.dice.choice(sorted(mine - stage.before.accounts[key.person].sessions) or [0])
        return send(stage, "end session", key, f"/account/sessions/{number}/end")
    deed = send(stage, "end others", key, "/account/sessions/end-others")
    end_keys(stage, key.person, "", key)
    return deed


def answer_invitation(stage: Stage) -> Deed:
    """One's own, or by its number anybody's."""
    key = stage.key()
    numbers = {number: person for (_, person), (_, number) in stage.before.invited.items()}
    if stage.dice.random() < 0.8:
        keys = [one for one in stage.there.keys if one.kind == "cookie" and not one.ended]
        keys = [one for one in keys if one.person in numbers.values()]
        key = stage.dice.choice(keys or [key])
        numbers = {number: person for number, person in numbers.items() if person == key.person} or numbers
    number = stage.dice.choice(sorted(numbers) or [1])
    do = stage.dice.choice(("accept", "accept", "accept", "decline"))
    deed = send(stage, f"{do} invitation", key, f"/invitations/{number}/{do}")
    deed.invitation = True
    return deed


def profile(stage: Stage) -> Deed:
    key = stage.key()
    name = f"Name {stage.there.word()}"
    fields = {"name": name, "shown": stage.dice.choice(("name", "pseudonym")), "pseudonym": ""}
    return send(stage, "profile", key, "/account", **fields)


def submit(stage: Stage) -> Deed:
    there, dice = stage.there, stage.dice
    word, course = there.word(), dice.choice(COURSES)
    source = f"// {word}\n__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {{}}\n"
    token = stage.token()
    if token is not None and dice.random() < 0.5:
        body = {"assignment": f"{course}/tiled", "source": source, "mode": "check"}
        answer = there.api(token, "POST", "/api/v1/submissions", body)
        deed = stage.answered(Deed("submit"), token, answer, source=source)
        public = (answer.get_json() or {}).get("id", "") if deed.accepted else ""
        who = token
    else:
        who = stage.key()
        answer = there.browser(who).post_form(f"/courses/{course}/tiled/submissions", source=source, mode="check")
        deed = stage.answered(Deed("submit"), who, answer, source=source)
        public = answer.headers.get("Location", "").rpartition("/submissions/")[2]
    if deed.accepted and public:
        if stage.before.role(course, who.person) is None:
            deed.wrongs.append(f"{who.agent} submits to {course}, where they are not")
        there.submissions[public] = (who.person, course, word)
    return deed


PAGES = (
    "/", "/account", "/account/tokens", "/account/sessions", "/courses/COURSE/", "/courses/COURSE/tiled/",
    "/courses/COURSE/tiled/board/", "/courses/COURSE/tiled/history",
    "/courses/COURSE/tiled/compare?left=SUBMISSION&right=SUBMISSION", "/staff/COURSE/", "/staff/COURSE/roster",
    "/staff/COURSE/roster?state=all", "/staff/COURSE/roster.csv", "/staff/COURSE/submissions", "/staff/COURSE/grades",
    "/staff/COURSE/grades.csv", "/staff/COURSE/audit", "/staff/COURSE/assignments/tiled", "/submissions/SUBMISSION",
    "/submissions/SUBMISSION/source.cu", "/submissions/SUBMISSION/state", "/fleet", "/fleet/audit",
)  # fmt: skip
ANSWERS = (
    "/api/v1/me", "/api/v1/assignments", "/api/v1/submissions", "/api/v1/submissions/SUBMISSION",
    "/api/v1/submissions/SUBMISSION/source",
)  # fmt: skip


def read(stage: Stage) -> Deed:
    """A page or an answer, with the name of any course and any submission."""
    key = (stage.token() if stage.dice.random() < 0.3 else None) or stage.key()
    path = stage.dice.choice(PAGES if key.kind == "cookie" else ANSWERS)
    public = stage.dice.choice(list(stage.there.submissions)[-20:] or ["none"])
    path = path.replace("COURSE", stage.dice.choice(COURSES)).replace("SUBMISSION", public)
    deed = stage.answered(Deed("read"), key, stage.there.get(key, path), path=path)
    if deed.accepted and path.startswith("/fleet") and not stage.before.accounts[key.person].admin:
        deed.wrongs.append(f"{key.agent} reads {path}")
    return deed
