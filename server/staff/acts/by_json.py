"""An act by a route of the API: fields that the request leaves out stay unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import make_dataclass, replace
from inspect import cleandoc
from typing import Any

from flask import Response, jsonify, request
from sqlalchemy.orm import Session

from server.http.json_body import invalid, json_object
from server.http.site import site
from server.staff.acts.act import Act, Fields, Mistakes, Target
from server.staff.api_desk import CONFIRM, desk_of, read_change
from server.staff.desk import printable


def request_of(act: Act[Any], name: str) -> type[Any]:
    """The class of an act's requests, for the API's description."""
    asked = [(field.json, field.annotation, field.default) for field in act.fields]
    cls = make_dataclass(name, [*asked, ("confirm", CONFIRM, "")], frozen=True, slots=True)
    text = cleandoc(act.asks.__doc__ or "")
    for field in act.fields:
        text = re.sub(rf"\b{field.name}\b", field.json, text)
    cls.__doc__ = f"{text}\nconfirm: the value of `confirm` in the problem `lowers_points`"
    return cls


def change_by_json(
    act: Act[Fields],
    takes: type[Any],
    course: str,
    assignment: str,
    person: int,
    answer: Callable[[Session, Target], Any],
) -> Response:
    """Carry out an act on a student's part of an assignment."""
    desk = desk_of(course, instructor=True)
    asked = read_change(takes)
    named = json_object(request.get_data(), (*(field.json for field in act.fields), "confirm"))
    given = {field.name: getattr(asked, field.json) for field in act.fields if field.json in named}
    given = {name: printable(value) if isinstance(value, str) else value for name, value in given.items()}

    def change(now: Any) -> Any:
        return replace(now, **given)

    with site().sessions.begin() as session:
        on = Target(desk.assignment(session, assignment), desk.student(session, person).person_id)
        try:
            act.carry_out(session, on, desk.actor(session), asked.confirm, change)
        except Mistakes as wrong:
            json = next(field.json for field in act.fields if field.name == wrong.fields[0])
            raise invalid(f"`{json}`: {wrong}") from None
        answered = answer(session, on)
    return jsonify(answered)
