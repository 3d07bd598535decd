"""Platforms that operators register, by hand or by the platform's own word (dynamic registration)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from server.accounts.browser_sessions import end_where
from server.accounts.models import BrowserSession, Identity, Person
from server.acts.act import Act, Nothing, Target
from server.acts.field import Asked, changes, fields_of
from server.audit.service import note
from server.fields import Text
from server.identity_providers import DOMAIN
from server.lti.contexts import delete_contexts
from server.lti.models import LONGEST_ADDRESS, LONGEST_CLIENT, LONGEST_ISSUER, LtiContext, LtiLaunch, LtiPlatform
from server.sign_on.fetch import ProviderFault, checked

_LONGEST_LIST = 4000
_ADDRESSES = ("authorization", "token", "keys")


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformSettings:
    """What an operator says about a platform; see server.lti.models.LtiPlatform. Lists have spaces between."""

    title: Annotated[str, Text(longest=100), Asked("Name", "As people call it, such as Moodle.", needed=True)] = ""
    issuer: Annotated[str, Text(longest=LONGEST_ISSUER), Asked(
        "Issuer", "Also called platform ID.", needed=True, row=True,
    )] = ""
    client_id: Annotated[str, Text(longest=LONGEST_CLIENT), Asked("Client ID", needed=True)] = ""
    deployments: Annotated[str, Text(longest=_LONGEST_LIST), Asked(
        "Deployment IDs", "Put a space between several. Without one, every launch is refused.",
    )] = ""
    authorization: Annotated[str, Text(longest=LONGEST_ADDRESS), Asked(
        "Authentication request URL", "Also called OIDC authorization endpoint.", needed=True, row=True,
    )] = ""
    token: Annotated[str, Text(longest=LONGEST_ADDRESS), Asked("Access token URL", needed=True)] = ""
    keys: Annotated[str, Text(longest=LONGEST_ADDRESS), Asked(
        "Public keyset URL", "Also called JWKS.", needed=True,
    )] = ""
    audience: Annotated[str, Text(longest=LONGEST_ADDRESS), Asked(
        "Audience for access tokens", "Only if the platform names one, as Brightspace does.",
    )] = ""
    domains: Annotated[str, Text(longest=_LONGEST_LIST), Asked(
        "Domains of emails that it may vouch for",
        "Such as university.edu. The platform can then open accounts with these emails, except operators’. Empty: "
        "people connect their accounts by signing in.",
    )] = ""
# fmt: on


def settings_of(platform: LtiPlatform) -> PlatformSettings:
    """The present settings."""
    return PlatformSettings(
        title=platform.title, issuer=platform.issuer, client_id=platform.client_id,
        deployments=" ".join(platform.deployments), authorization=platform.authorization, token=platform.token,
        keys=platform.keys, audience=platform.audience, domains=" ".join(platform.domains),
    )  # fmt: skip


def mistakes_in(session: Session, given: PlatformSettings, platform: LtiPlatform | None) -> dict[str, str]:
    """Mistakes by field. platform: the one that changes; None for a new one."""
    needed = [field for field in fields_of(PlatformSettings) if field.asked.needed and not getattr(given, field.name)]
    found = {field.name: f"Fill in “{field.asked.label}”." for field in needed}
    for name in _ADDRESSES:
        try:
            checked(getattr(given, name))
        except ProviderFault:
            found.setdefault(name, "Enter a whole address that begins with https.")
    if wrong := next((each for each in given.domains.split() if not DOMAIN.fullmatch(each)), ""):
        found["domains"] = f"“{wrong[:80]}” isn’t a domain in small letters, like university.edu."
    same = find_platform(session, given.issuer, given.client_id)
    if same is not None and same is not platform:
        found["client_id"] = f"{same.title} is registered with this issuer and client ID."
    if platform is not None and (given.issuer, given.client_id) != (platform.issuer, platform.client_id):
        found["issuer"] = "A registered platform keeps its issuer and client ID. Register it again instead."
    return found


def _save(session: Session, on: Target, actor: Person | None, given: PlatformSettings) -> LtiPlatform:
    was = _present(session, on)
    platform = on.item or LtiPlatform(created_at=datetime.now(UTC))
    session.add(platform)
    platform.title, platform.issuer, platform.client_id = given.title, given.issuer, given.client_id
    platform.authorization, platform.token, platform.keys = given.authorization, given.token, given.keys
    platform.audience = given.audience
    platform.deployments, platform.domains = given.deployments.split(), given.domains.split()
    session.flush()
    detail: dict[str, Any] = changes(was, given)
    note(session, actor, "lti.registered", f"platform {platform.id}", **detail)
    return platform


def _remove(session: Session, on: Target, actor: Person | None, _: Nothing) -> bool:
    """The platform opens no account any more, and its courses here are disconnected."""
    platform: LtiPlatform = on.item
    theirs = select(Identity.id).where(Identity.issuer == platform.people)
    began = BrowserSession.identity_id.in_(theirs)
    end_where(session, began)
    session.execute(update(BrowserSession).where(began).values(identity_id=None))
    session.execute(delete(Identity).where(Identity.issuer == platform.people))
    delete_contexts(session, LtiContext.platform_id == platform.id)
    session.execute(delete(LtiLaunch).where(LtiLaunch.platform_id == platform.id))
    note(session, actor, "lti.removed", f"platform {platform.id}", title=platform.title)
    session.delete(platform)
    return True


def _present(_session: Session, on: Target) -> PlatformSettings:
    return PlatformSettings() if on.item is None else settings_of(on.item)


def _wrong(session: Session, on: Target, given: PlatformSettings) -> dict[str, str]:
    return mistakes_in(session, given, on.item)


REGISTER = Act(asks=PlatformSettings, do=_save, wrong=_wrong)
CHANGE = Act(asks=PlatformSettings, do=_save, wrong=_wrong, present=_present)
REMOVE = Act(asks=Nothing, do=_remove)


def platforms(session: Session) -> Sequence[LtiPlatform]:
    return session.scalars(select(LtiPlatform).order_by(LtiPlatform.title, LtiPlatform.id)).all()


def find_platform(session: Session, issuer: str, client_id: str) -> LtiPlatform | None:
    """The platform that calls itself so. client_id: "" if it doesn't say, which suffices for the only one."""
    query = select(LtiPlatform).where(LtiPlatform.issuer == issuer)
    found = session.scalars(query.where(LtiPlatform.client_id == client_id) if client_id else query).all()
    return found[0] if len(found) == 1 else None
