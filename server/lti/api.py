"""The API of platforms for operators, and of a course's connections to them for its instructors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from flask import Response, jsonify
from sqlalchemy.orm import Session

from server.accounts.models import Scope
from server.acts.act import Target
from server.acts.by_api import change_by_json, done_answer, finished, operate_by_json, request_of
from server.courses.staff_api import (
    NAME,
    PERSON,
    REFUSES_CHANGE,
    ApiDesk,
    DoneAnswer,
    desk_of,
    operator_asking,
    staff_api,
)
from server.http.operation import operation
from server.http.problems import Refused
from server.http.site import site
from server.lti.contexts import CHANGE as CHANGE_CONNECTION
from server.lti.contexts import DISCONNECT, contexts_of
from server.lti.keys import REPLACE, next_key_from
from server.lti.models import LtiContext, LtiPlatform
from server.lti.platforms import CHANGE, REGISTER, REMOVE, PlatformSettings, platforms, settings_of

_NUMBER = {"number": PERSON}
_CONNECTION = {"course": NAME, "number": PERSON}
_PlatformRequest = request_of(REGISTER, "PlatformRequest")
_PlatformChangeRequest = request_of(CHANGE, "PlatformChangeRequest")
_NewKeyRequest = request_of(REPLACE, "NewKeyRequest")
_ConnectionChangeRequest = request_of(CHANGE_CONNECTION, "ConnectionChangeRequest")


@dataclass(frozen=True, slots=True)
class PlatformAnswer:
    """A registered platform. number: in the addresses of its routes."""

    number: int
    settings: PlatformSettings


@dataclass(frozen=True, slots=True)
class PlatformsAnswer:
    """All platforms. next_key_from: when a new key begins to sign; null if none waits."""

    platforms: tuple[PlatformAnswer, ...]
    next_key_from: datetime | None


@dataclass(frozen=True, slots=True)
class ConnectionAnswer:
    """A course on a platform, connected to this one. title: there; see ContextSettings."""

    number: int
    platform: str
    title: str
    adds_students: bool
    sends_grades: bool


@dataclass(frozen=True, slots=True)
class ConnectionsAnswer:
    """The connections of a course, the oldest first."""

    connections: tuple[ConnectionAnswer, ...]


@staff_api.get("/lti/platforms")
@operation(PlatformsAnswer, scope=Scope.STAFF, refuses={403: "You aren't an operator."})
def list_platforms() -> Response:
    """List the registered platforms. For operators."""
    operator_asking()
    with site().readers.begin() as session:
        known = tuple(PlatformAnswer(each.id, settings_of(each)) for each in platforms(session))
        return jsonify(PlatformsAnswer(known, next_key_from(session)))


@staff_api.post("/lti/platforms")
@operation(PlatformAnswer, status=201, takes=_PlatformRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def register_one_platform() -> Response:
    """Register a platform. For operators."""
    return operate_by_json(REGISTER, _PlatformRequest, lambda _: Target(), _answer, 201)


@staff_api.post("/lti/platforms/<int(max=9007199254740991):number>")
@operation(PlatformAnswer, path=_NUMBER, takes=_PlatformChangeRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def change_one_platform(number: int) -> Response:
    """Change a platform's settings. For operators."""
    return operate_by_json(CHANGE, _PlatformChangeRequest, partial(_platform, number), _answer)


@staff_api.post("/lti/platforms/<int(max=9007199254740991):number>/remove")
@operation(DoneAnswer, path=_NUMBER, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def remove_one_platform(number: int) -> Response:
    """Remove a platform: its sign-ins end, and its courses are disconnected. For operators."""
    return operate_by_json(REMOVE, None, partial(_platform, number), finished)


@staff_api.post("/lti/key")
@operation(DoneAnswer, takes=_NewKeyRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def replace_platform_key() -> Response:
    """Replace the key that signs requests to platforms. For operators."""
    return operate_by_json(REPLACE, _NewKeyRequest, lambda _: Target(), finished)


@staff_api.get("/courses/<course>/platforms")
@operation(ConnectionsAnswer, path={"course": NAME}, scope=Scope.STAFF, refuses={403: "You aren't an instructor."})
def list_connections(course: str) -> Response:
    """List a course's connections to platforms. For instructors."""
    desk = desk_of(course, instructor=True)
    with site().readers.begin() as session:
        return jsonify(ConnectionsAnswer(tuple(map(_connection, contexts_of(session, desk.course_id)))))


@staff_api.post("/courses/<course>/platforms/<int(max=9007199254740991):number>")
@operation(DoneAnswer, path=_CONNECTION, takes=_ConnectionChangeRequest, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def change_connection(course: str, number: int) -> Response:
    """Change what a platform may do in a course. For instructors."""
    return change_by_json(CHANGE_CONNECTION, _ConnectionChangeRequest, course, _context(number), done_answer)


@staff_api.post("/courses/<course>/platforms/<int(max=9007199254740991):number>/disconnect")
@operation(DoneAnswer, path=_CONNECTION, scope=Scope.STAFF, refuses=REFUSES_CHANGE)
def disconnect_one_platform(course: str, number: int) -> Response:
    """Disconnect a course from a platform. What was sent stays there. For instructors."""
    return change_by_json(DISCONNECT, None, course, _context(number), finished)


def _answer(_session: Session, _on: Target, made: LtiPlatform) -> PlatformAnswer:
    return PlatformAnswer(made.id, settings_of(made))


def _connection(row: LtiContext) -> ConnectionAnswer:
    return ConnectionAnswer(row.id, row.platform.title, row.title, row.adds_students, row.sends_grades)


def _platform(number: int, session: Session) -> Target:
    found = session.get(LtiPlatform, number)
    if found is None:
        raise Refused(404, "no_such_platform", "Unknown platform", f"Platform {number} doesn't exist.")
    return Target(item=found)


def _context(number: int) -> Callable[[Session, ApiDesk], Target]:
    def find(session: Session, desk: ApiDesk) -> Target:
        found = session.get(LtiContext, number)
        if found is None or found.course_id != desk.course_id:
            raise Refused(404, "no_such_platform", "Unknown connection", f"Connection {number} doesn't exist here.")
        return Target(desk.course(session), item=found)

    return find
