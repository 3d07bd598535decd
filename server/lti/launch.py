"""What a platform says in a launch, checked."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from server.sign_on.openid import Claims, claims_of, one_line
from server.text import storable

LONGEST_NAME = 255
ESSENTIAL = ("nonce", "exp", "iat", "sub")
"""Claims that a launch's token must have."""

AGS = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
NRPS = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
SCORE_SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
MEMBERS_SCOPE = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
DEEP_LINKING = "LtiDeepLinkingRequest"
LAUNCH_PATH, CHOOSE_PATH = "/lti/launch", "/lti/choose"
"""Where a launch leads that names no page, and one to choose an assignment."""

CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
DL_CLAIM = "https://purl.imsglobal.org/spec/lti-dl/claim/"
_MEMBERSHIP = "http://purl.imsglobal.org/vocab/lis/v2/membership"
_STAFF = ("Instructor", "Administrator", "ContentDeveloper")
_OLDEST_SECONDS = 600
_LONGEST_ADDRESS, _LONGEST_DATA = 1000, 8000


class Fault(StrEnum):
    """Why a launch is refused, for any person.

    AGE: it was signed long ago
    DEPLOYMENT: an operator didn't register this installation
    MESSAGE: it is neither a launch nor a request to choose, or of another version
    CONTEXT: it names no course
    TARGET: it leads to no page of a course here
    RETURN: it says nowhere to send the choice, or takes no link
    """

    AGE = "age"
    DEPLOYMENT = "deployment"
    MESSAGE = "message"
    CONTEXT = "context"
    TARGET = "target"
    RETURN = "return"


class LaunchFault(Exception):
    """A launch says something that it may not."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.value)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch, as values that JSON can hold.

    subject, email, email_verified, person_name: the person there; checked is an email unless the platform denies it
    deployment, context, title: the course there
    teaches, learns: whether the person is an instructor or a student of that course, by the platform's word
    course, assignment: of the page that the launch leads to; "" for none
    link, line_item, members: see the tables; "" for none
    return_to, data: where a choice is sent, and what to send back; "" for a launch that asks for none
    """

    subject: str
    email: str
    email_verified: bool
    person_name: str
    deployment: str
    context: str
    title: str
    teaches: bool
    learns: bool
    course: str
    assignment: str
    link: str
    line_item: str
    members: str
    return_to: str
    data: str

    @property
    def plain(self) -> dict[str, Any]:
        return asdict(self)

    def claims(self, issuer: str, *, vouched: bool) -> Claims:
        """The person as an identity. vouched: whether the platform may vouch for any email."""
        verified = vouched and self.email_verified
        return Claims(issuer, self.subject, self.email, verified, self.person_name, session="")


def read_launch(said: Mapping[str, Any], deployments: Collection[str], site: str, now: float | None = None) -> Launch:
    """What a checked token says; raises LaunchFault, or ProviderFault if it names no person.

    site: our own address; no launch leads elsewhere
    """
    if said["iat"] < (time.time() if now is None else now) - _OLDEST_SECONDS:
        raise LaunchFault(Fault.AGE)
    deployment = _name(said.get(f"{CLAIM}deployment_id"), Fault.DEPLOYMENT)
    if deployment not in deployments:
        raise LaunchFault(Fault.DEPLOYMENT)
    chooses = said.get(f"{CLAIM}message_type") == DEEP_LINKING
    known = chooses or said.get(f"{CLAIM}message_type") == "LtiResourceLinkRequest"
    if not known or said.get(f"{CLAIM}version") != "1.3.0":
        raise LaunchFault(Fault.MESSAGE)
    context = _object(said, f"{CLAIM}context")
    name = _name(context.get("id"), Fault.CONTEXT)
    course, assignment = ("", "") if chooses else _page(said.get(f"{CLAIM}target_link_uri"), site)
    return_to, data = _choice(said) if chooses else ("", "")
    person, roles = claims_of(said), said.get(f"{CLAIM}roles")
    words = {role_word(each) for each in roles} if isinstance(roles, list) else set()
    link = one_line(_object(said, f"{CLAIM}resource_link").get("id"), LONGEST_NAME)
    if not chooses and not link:
        raise LaunchFault(Fault.MESSAGE)
    return Launch(
        subject=person.subject,
        email=person.email,
        email_verified=said.get("email_verified", True) in (True, "true"),
        person_name=person.name,
        deployment=deployment,
        context=name,
        title=one_line(context.get("title"), 200) or one_line(context.get("label"), 200) or name[:200],
        teaches=not words.isdisjoint(_STAFF),
        learns="Learner" in words,
        course=course,
        assignment=assignment,
        link=link,
        line_item=_service(_object(said, AGS), "lineitem", SCORE_SCOPE),
        members=_service(_object(said, NRPS), "context_memberships_url"),
        return_to=return_to,
        data=data,
    )


def _page(target: object, site: str) -> tuple[str, str]:
    """The course and the assignment of the page to which a launch leads, "" for none."""
    address = one_line(target, _LONGEST_ADDRESS)
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise LaunchFault(Fault.TARGET) from error
    ours = f"{parts.scheme}://{parts.netloc}" == site and "%" not in parts.path and "\\" not in parts.path
    way = parts.path.strip("/").split("/")
    if ours and parts.path.rstrip("/") in {"", LAUNCH_PATH, CHOOSE_PATH}:
        return "", ""
    if ours and way[0] == "courses" and len(way) in {2, 3} and all(way) and ".." not in way and "." not in way:
        return way[1], way[2] if len(way) == 3 else ""
    raise LaunchFault(Fault.TARGET)


def _choice(said: Mapping[str, Any]) -> tuple[str, str]:
    settings = _object(said, f"{DL_CLAIM}deep_linking_settings")
    return_to, types = one_line(settings.get("deep_link_return_url"), _LONGEST_ADDRESS), settings.get("accept_types")
    data = settings.get("data", "")
    takes_links = isinstance(types, list) and "ltiResourceLink" in types
    usable = isinstance(data, str) and len(data) <= _LONGEST_DATA and storable(data) == data
    if not return_to or not takes_links or not usable:
        raise LaunchFault(Fault.RETURN)
    return return_to, data


def role_word(word: object) -> str:
    """The last word of a role in the course, such as "Learner". Roles in the institution or the system say nothing.

    A teaching assistant is a kind of instructor in LTI, but no instructor here.
    """
    name = word if isinstance(word, str) else ""
    if name.startswith(f"{_MEMBERSHIP}#"):
        return name.partition("#")[2]
    return name if name.isalpha() else ""


def _service(given: Mapping[str, Any], name: str, scope: str = "") -> str:
    """The address of a service of the platform; "" if it has none, or if we may not use it."""
    scopes = given.get("scope")
    allowed = not scope or (isinstance(scopes, list) and scope in scopes)
    return one_line(given.get(name), _LONGEST_ADDRESS) if allowed else ""


def _object(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = said.get(name)
    return found if isinstance(found, dict) else {}


def _name(text: object, fault: Fault) -> str:
    """A name that the platform gives to something; it must be usable unchanged."""
    if not isinstance(text, str) or not text or one_line(text, LONGEST_NAME) != text:
        raise LaunchFault(fault)
    return text
