"""Who may do what and see what, told from what happened so far and from nothing that the portal computes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from server.courses.models import Role
from tests.rights.stage import Deed
from tests.rights.world import Account, Picture, World

_STAFF = (Role.ASSISTANT, Role.INSTRUCTOR)


@dataclass(slots=True)
class Past:
    """What a person was so far: roles by course, and when they first were a member or came in."""

    roles: dict[str, set[Role]] = field(default_factory=lambda: defaultdict(set))
    first_in: set[str] = field(default_factory=set)
    first_member: int | None = None
    first_use: int | None = None
    has_password: bool = False


@dataclass(slots=True)
class Law:
    """The history of a world."""

    pasts: dict[int, Past] = field(default_factory=lambda: defaultdict(Past))
    acts: int = 0

    def remember(self, after: Picture) -> None:
        """What is now, after one more act."""
        for (course, person), (role, _) in after.members.items():
            past = self.pasts[person]
            past.roles[course].add(role)
            past.first_member = self.acts if past.first_member is None else past.first_member
            if past.first_member == self.acts:
                past.first_in.add(course)
        for person, account in after.accounts.items():
            past = self.pasts[person]
            past.has_password = account.password is not None
            if (account.sessions or account.tokens) and past.first_use is None:
                past.first_use = self.acts
        self.acts += 1

    def may_change(self, before: Picture, actor: int | None, person: int) -> bool:
        """Whether an account's word is enough to change another account; None is an operator's."""
        if actor is None or actor == person or before.accounts[actor].admin:
            return True
        if before.accounts[person].admin:
            return False
        run = {
            course
            for (course, who), (role, here) in before.members.items()
            if who == actor and here and role is Role.INSTRUCTOR
        }
        past = self.pasts[person]
        elsewhere = set(past.roles) - run
        if not set(past.roles) & run:
            return False
        if elsewhere:
            now = {role for (course, who), (role, _) in before.members.items() if who == person and course in elsewhere}
            never_here = past.first_use is None and not past.has_password
            return never_here and bool(past.first_in & run) and now == {Role.STUDENT}
        assert past.first_member is not None
        return past.first_use is None or past.first_use >= past.first_member

    def wrongs(self, before: Picture, after: Picture, deed: Deed) -> Iterator[str]:
        """What nobody had the right to change."""
        for person, account in after.accounts.items():
            was = before.accounts.get(person)
            if was is not None and was != account:
                yield from self._changed(before, deed, person, was, account)
        for place in after.members.keys() | before.members.keys():
            if before.members.get(place) != after.members.get(place) and not _may_enrol(before, after, deed, place):
                yield f"{deed.act} changed the place of {place} in a course, by {deed.by}"

    def _changed(self, before: Picture, deed: Deed, person: int, was: Account, account: Account) -> Iterator[str]:
        if deed.operator or deed.by == person:
            return
        what = _names(was, account)
        if deed.opened == person:
            if deed.link is not None and not self.may_change(before, deed.link.maker, person):
                yield f"{deed.act}: a link of {deed.link.maker} opened {was.email}"
            if what & {"email", "name", "admin", "disabled"}:
                yield f"{deed.act} changed {what} of {was.email}"
            return
        may = deed.by is not None and self.may_change(before, deed.by, person)
        past = self.pasts[person]
        if deed.act == "import" and past.first_use is None and not past.has_password:
            # A roster's file corrects the name of an account that nobody used.
            what = what - {"name"}
        if what and (not may or what - {"password", "sessions", "tokens", "links"}):
            yield f"{deed.act} by {deed.by} changed {sorted(what)} of {was.email}"


def _may_enrol(before: Picture, after: Picture, deed: Deed, place: tuple[str, int]) -> bool:
    course, person = place
    actor = None if deed.by is None else before.accounts.get(deed.by)
    if deed.operator or (actor is not None and actor.admin):
        return True
    if deed.invitation:
        accepted = {(course, person): (before.invited.get(place, (None, 0))[0], True)}
        return person == deed.by and after.members[place] == accepted[place]
    if _role(before, course, deed.by) is Role.INSTRUCTOR:
        # A person with an account was in the course before, or is asked first.
        return place in before.members or person not in before.accounts
    own = deed.joined and person in {deed.by, deed.opened}
    return own and place not in before.members and after.members[place] == (Role.STUDENT, True)


def _role(before: Picture, course: str, person: int | None) -> Role | None:
    return None if person is None or person not in before.accounts else before.role(course, person)


def _names(was: Account, account: Account) -> set[str]:
    fields = ("email", "name", "password", "proven", "admin", "disabled", "sessions", "tokens", "links")
    return {name for name in fields if getattr(was, name) != getattr(account, name)}


def leaks(there: World, now: Picture, reader: int, text: str, typed: str = "") -> Iterator[str]:
    """What a page tells that its reader may not know. typed: what they sent themselves, which may be said back."""
    who = now.accounts[reader]
    for slug, title in there.titles.items():
        if title in text and now.role(slug, reader) is None and (slug, reader) not in now.invited:
            yield f"{who.email} reads the title of {slug}"
    for public, (owner, slug, word) in there.submissions.items():
        role = now.role(slug, reader)
        if role in _STAFF or (owner == reader and role is not None):
            continue
        if word in text or (public in text and public not in typed):
            yield f"{who.email} reads of submission {public} in {slug}"
    run = {slug for slug in there.titles if now.role(slug, reader) in _STAFF}
    met = {person for slug, person in now.members if slug in run}
    # those who run the server submit wherever they like
    met |= {owner for owner, slug, _ in there.submissions.values() if slug in run}
    asked = {person for slug, person in now.invited if slug in run}
    inviters = {
        person for slug, who in now.invited if who == reader for course, person in now.members if course == slug
    }
    for person in asked - met - inviters - {reader}:
        # Names with a word that nothing else holds.
        name = now.accounts[person].name
        if "word" in name and name in text and name not in typed and not who.admin:
            yield f"{who.email} reads the name of {now.accounts[person].email}, who is only invited"
    met |= asked
    for person, account in now.accounts.items():
        known = person == reader or person in met or who.admin or account.email in typed
        if account.email in text and not known:
            yield f"{who.email} reads the email {account.email}"
