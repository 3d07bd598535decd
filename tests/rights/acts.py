"""All acts, with how often each is drawn; and what operators do at the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy.orm import Session

from server.accounts.links import create_link, path_of
from server.accounts.models import LinkPurpose, Person
from server.accounts.service import (
    create_person,
    create_token,
    disable,
    enable,
    find_person,
    hash_password,
    replace_password,
)
from server.enrolment.email_confirmation import confirm_email
from tests.rights.acts_of_launches import launch
from tests.rights.acts_of_people import (
    answer_invitation,
    change_password,
    end_others,
    follow,
    join,
    make_token,
    profile,
    read,
    revoke_token,
    sign_in,
    sign_out,
    submit,
)
from tests.rights.acts_of_sign_on import connect, end_there, sign_on
from tests.rights.acts_of_staff import add, by_number, change, code, drop, import_file, invitations, link, take_back
from tests.rights.stage import Deed, Stage, end_keys
from tests.rights.world import STAFF, Key, Link


def operate(stage: Stage) -> Deed:
    """As the commands do it: an account in no course, a token, a link, a password, shut out and let in."""
    there, dice = stage.there, stage.dice
    email = stage.email()
    agent = email.partition("@")[0]
    do = dice.choice(("create", "create", "token", "link", "password", "disable"))
    deed = Deed(f"operator: {do}", operator=True)
    with there.sessions.begin() as session:
        person = find_person(session, email)
        if person is None:
            create_person(session, email=email, name=f"Name {there.word()}")
            deed.accepted = do == "create"
            return deed
        if person.admin or (agent in STAFF and do in {"password", "disable"}):
            return deed
        deed.accepted = True
        if do == "token":
            there.keys.append(Key(agent, "token", create_token(session, person, there.word()), person.id))
        elif do == "link":
            purpose = dice.choice(list(LinkPurpose))
            path = path_of(purpose, create_link(session, person, purpose))
            there.links.append(Link(agent, path, person.id, None))
        elif do == "password":
            _set_password(stage, session, agent, person)
        elif do == "disable":
            (disable if person.disabled_at is None else enable)(session, person)
            end_keys(stage, person.id, "")
    return deed


def _set_password(stage: Stage, session: Session, agent: str, person: Person) -> None:
    password = stage.there.word()
    end_keys(stage, person.id, "" if person.proven_at is not None else "tokens")
    replace_password(session, person, hash_password(password))
    stage.there.disconnect(person.id)
    confirm_email(session, person)
    stage.there.passwords[person.id] = password
    stage.there.typed.append((agent, person.email, password))


ACTS: Mapping[Callable[[Stage], Deed], int] = {
    add: 10, change: 8, drop: 3, take_back: 4, link: 14, invitations: 4, import_file: 6, code: 4, by_number: 2,
    join: 8, sign_in: 8, follow: 12, change_password: 2, make_token: 4, revoke_token: 1, sign_out: 2, end_others: 1,
    profile: 2, submit: 4, read: 14, operate: 5, answer_invitation: 6,
    sign_on: 10, connect: 5, end_there: 1, launch: 10,
}  # fmt: skip
