"""An act by a route of the API: fields that the request leaves out keep their present values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import make_dataclass, replace
from datetime import datetime
from inspect import cleandoc
from typing import Any

from flask import Response, jsonify, request
from sqlalchemy.orm import Session

from server.accounts.models import Person
from server.acts.act import Act, Mistakes, Target, assignment_target
from server.acts.field import Field, Values
from server.courses.staff_api import CONFIRM, ApiDesk, DoneAnswer, desk_of, operator_asking, read_change, time_to_keep
from server.http.json_body import invalid, json_object
from server.http.site import site
from server.submissions.changes import revoke


def request_of(act: Act[Any], name: str) -> type[Any]:
    """The class of an act's requests, for the API's description."""
    asked = [_asked(field, needed=field.asked.needed and act.present is None) for field in act.fields]
    text = cleandoc(act.asks.__doc__ or "")
    for field in act.fields:
        text = re.sub(rf"\b{field.name}\b", field.json, text)
    if act.lowers:
        asked.append(("confirm", CONFIRM, ""))
        text += "\nconfirm: the value of `confirm` in the problem `lowers_points`"
    cls = make_dataclass(name, asked, frozen=True, slots=True, kw_only=True)
    cls.__doc__ = text
    return cls


def _asked(field: Field, *, needed: bool) -> tuple[Any, ...]:
    return (field.json, field.annotation) if needed else (field.json, field.annotation, field.default)


def change_by_json(
    act: Act[Values],
    takes: type[Any] | None,
    course: str,
    find: Callable[[Session, ApiDesk], Target],
    answer: Callable[[Session, Target, Any], Any],
    status: int = 200,
) -> Response:
    """Carry out an act.

    takes: None for a request without a body
    answer: of the target, and of what the act did
    """
    desk = desk_of(course, instructor=not act.assistants)
    return _change(act, takes, desk.person_id, lambda session: find(session, desk), answer, status)


def operate_by_json(
    act: Act[Values],
    takes: type[Any] | None,
    find: Callable[[Session], Target],
    answer: Callable[[Session, Target, Any], Any],
    status: int = 200,
) -> Response:
    """Carry out an act of operators, as `change_by_json` does for course staff."""
    return _change(act, takes, operator_asking().id, find, answer, status)


def _change(
    act: Act[Values],
    takes: type[Any] | None,
    actor: int,
    find: Callable[[Session], Target],
    answer: Callable[[Session, Target, Any], Any],
    status: int,
) -> Response:
    asked = None if takes is None else read_change(takes)
    named = () if takes is None else json_object(request.get_data(), tuple(takes.__dataclass_fields__))
    given = {field.name: getattr(asked, field.json) for field in act.fields if field.json in named}
    for field in act.fields:
        if field.kind == datetime and field.name in given:
            given[field.name] = time_to_keep(field.json, given[field.name])

    def change(now: Any) -> Any:
        return replace(now, **given)

    with site().sessions.begin() as session:
        on = find(session)
        try:
            done = act.carry_out(session, on, session.get_one(Person, actor), change, getattr(asked, "confirm", ""))
        except Mistakes as wrong:
            json = next(field.json for field in act.fields if field.name == wrong.fields[0])
            raise invalid(f"`{json}`: {wrong}") from None
        answered = jsonify(answer(session, on, done))
    if act.revokes:
        revoke(site().settings.redis_url, done)
    answered.status_code = status
    return answered


def of_assignment(name: str, *students: int) -> Callable[[Session, ApiDesk], Target]:
    """Find an assignment, or what these students have in it; raises Refused."""

    def find(session: Session, desk: ApiDesk) -> Target:
        people = (desk.student(session, person).person_id for person in students)
        return assignment_target(desk.assignment(session, name), *people)

    return find


def done_answer(_session: Session, _on: Target, changed: bool) -> DoneAnswer:
    """The answer of an act that only reports whether it changed something."""
    return DoneAnswer(changed)


def finished(_session: Session, _on: Target, _done: Any) -> DoneAnswer:
    """The answer of an act that always changes something, or refuses."""
    return DoneAnswer(changed=True)
