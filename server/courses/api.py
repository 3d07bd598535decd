"""The API of the signed-in person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flask import Blueprint, Response, jsonify
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from server.accounts.digest import digest_of
from server.accounts.identity import bearer_token, person_asking
from server.accounts.models import ApiToken, Person, Scope
from server.courses.models import Course, Membership, Role
from server.http.operation import operation
from server.http.site import site

me = Blueprint("me", __name__)


@dataclass(frozen=True, slots=True)
class CourseAnswer:
    """A course of yours. archived: whether it is read-only and takes no submissions."""

    slug: str
    title: str
    role: Role
    archived: bool


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """The token of the request.

    name: given by its owner
    expires_at: None if it doesn't expire
    scopes: what it allows, within its owner's rights
    """

    name: str
    expires_at: datetime | None
    scopes: tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class MeAnswer:
    """The person that the token belongs to.

    admin: whether the person is an operator, who is an instructor in every course
    time_zone: the person's own; "" for the course's
    courses: with the person's role in each
    """

    name: str
    email: str
    admin: bool
    time_zone: str
    courses: tuple[CourseAnswer, ...]
    token: TokenAnswer


@me.get("/me")
@operation(MeAnswer)
def show() -> Response:
    """Get the person that the token belongs to, with their courses."""
    person = person_asking()
    with site().readers.begin() as session:
        answer = _answer(session, person, bearer_token())
    return jsonify(answer)


def _answer(session: Session, person: Person, token: str) -> MeAnswer:
    kept = session.scalars(select(ApiToken).where(ApiToken.digest == digest_of(token))).one()
    query = (
        select(Membership)
        .join(Membership.course)
        .options(joinedload(Membership.course))
        .where(Membership.person_id == person.id, Membership.dropped_at.is_(None))
        .order_by(Course.created_at.desc(), Course.slug)
    )
    courses = tuple(
        CourseAnswer(row.course.slug, row.course.title, row.role, row.course.archived_at is not None)
        for row in session.scalars(query)
    )
    kept_token = TokenAnswer(kept.name, kept.expires_at, kept.allows)
    return MeAnswer(person.name, person.email, person.admin, person.time_zone, courses, kept_token)
