"""What staff do at the desk of a course, mostly of one that they run."""

from __future__ import annotations

import re

from server.courses.models import Role
from tests.rights.stage import Deed, Stage, send
from tests.rights.world import Key, Link, paths_in

ROLES = tuple(role.value for role in Role)


def add(stage: Stage) -> Deed:
    key = stage.key(staff=True)
    fields = {"email": stage.email(), "name": stage.there.word(), "role": stage.dice.choice(ROLES)}
    return send(stage, "add", key, f"/staff/{stage.course_of(key)}/roster", **fields)


def change(stage: Stage) -> Deed:
    key = stage.key(staff=True)
    path = f"/staff/{stage.course_of(key)}/roster/{stage.person()}"
    return send(stage, "change", key, path, role=stage.dice.choice(ROLES), section="")


def drop(stage: Stage) -> Deed:
    key = stage.key(staff=True)
    return send(stage, "drop", key, f"/staff/{stage.course_of(key)}/roster/{stage.person()}/drop")


def take_back(stage: Stage) -> Deed:
    key = stage.key(staff=True)
    return send(stage, "take back", key, f"/staff/{stage.course_of(key)}/roster/{stage.person()}/take-back")


def link(stage: Stage) -> Deed:
    key, person = stage.key(staff=True), stage.person()
    deed = send(stage, "link", key, f"/staff/{stage.course_of(key)}/roster/{person}/link")
    for path in sorted(set(paths_in(deed.text))):
        _hand_over(stage, key, path, person)
    return deed


def invitations(stage: Stage) -> Deed:
    key = stage.key(staff=True)
    deed = send(stage, "invitations", key, f"/staff/{stage.course_of(key)}/roster/invitations.csv")
    by_email = {account.email: number for number, account in stage.before.accounts.items()}
    for line in deed.text.splitlines():
        for path in paths_in(line):
            _hand_over(stage, key, path, by_email[line.lstrip("\ufeff").split(",")[0].strip('"')])
    return deed


def _hand_over(stage: Stage, key: Key, path: str, person: int) -> None:
    """Whoever made it keeps it, too."""
    owner = stage.before.accounts[person].email.partition("@")[0]
    for agent in {owner, key.agent}:
        stage.there.links.append(Link(agent, path, person, key.person))


def import_file(stage: Stage) -> Deed:
    key = stage.key(staff=True)
    course = stage.course_of(key)
    emails = {stage.email() for _ in range(stage.dice.randint(1, 4))}
    rows = [f"{email},Name {email.partition('@')[0]},{stage.dice.choice(ROLES)}" for email in sorted(emails)]
    fields = {"text": "\n".join(("email,name,role", *rows)), "drop": stage.dice.choice(("", "", "", "yes"))}
    looked = stage.there.browser(key).post_form(f"/staff/{course}/roster/import", **fields)
    digest = re.search(r'name="digest" value="(\w+)"', looked.get_data(as_text=True))
    looked.close()
    if digest is None:
        return stage.answered(Deed("import"), key, looked, **fields)
    return send(stage, "import", key, f"/staff/{course}/roster/apply", digest=digest[1], **fields)


def code(stage: Stage) -> Deed:
    key = stage.key(staff=True)
    course = stage.course_of(key)
    deed = send(stage, "code", key, f"/staff/{course}/roster/code", do=stage.dice.choice(("make", "make", "withdraw")))
    if deed.accepted:
        page = stage.there.browser(key).get(f"/staff/{course}/roster").get_data(as_text=True)
        stage.there.codes += re.findall(r">(\w{4}-\w{4}-\w{4})<", page)
    return deed


def by_number(stage: Stage) -> Deed:
    """What staff do to submissions, with the name of any."""
    key = stage.key(staff=True)
    public = stage.dice.choice(list(stage.there.submissions) or ["none"])
    do = stage.dice.choice(("cancel", "retry", "choose"))
    deed = send(stage, do, key, f"/submissions/{public}/{do}")
    if deed.accepted:
        owner, course, _ = stage.there.submissions[public]
        role = stage.before.role(course, key.person)
        if role is None or (role is Role.STUDENT and owner != key.person):
            deed.wrongs.append(f"{key.agent} can {do} a submission of person {owner} in {course}")
    return deed
