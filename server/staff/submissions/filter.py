"""The filter of a course's submissions, from an address or a form.

A list's filter can also start a regrade, so an invalid part must not match more submissions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from server.courses.access import Membership
from server.courses.local_time import zone_named
from server.courses.models import Role
from server.courses.service import assignments_for, is_device_class
from server.fleet.service import device_classes
from server.http.forms import Form
from server.staff.acts.field import Field, read
from server.staff.desk import looked_for
from server.staff.submissions.criteria import FIELDS, SubmissionCriteria
from server.submissions.service import CPU

_LINKED = "submission"
Choices = Mapping[str, tuple[tuple[str, str], ...]]
"""The choices of each select field: values and titles."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The form's values and the query. If the form has mistakes, the query must not be used."""

    form: Form
    asked: SubmissionCriteria
    choices: Choices

    @property
    def fields(self) -> list[Field]:
        """The fields to show. A single submission is only chosen by links."""
        return [one for one in FIELDS if one.name != _LINKED or self.form[_LINKED] or _LINKED in self.form.mistakes]

    @property
    def given(self) -> dict[str, str]:
        return {each.name: self.form[each.name] for each in FIELDS if self.form[each.name]}

    @property
    def around(self) -> dict[str, str]:
        """The filter without a single submission: the list that contains it."""
        return {name: value for name, value in self.given.items() if name != _LINKED}

    @property
    def words(self) -> list[str]:
        return [
            f"{each.asked.label.lower()}: {dict(self.choices.get(each.name, ())).get(value, value)}"
            for each in FIELDS
            if (value := self.form[each.name])
        ]


def read_filter(session: Session, course: Membership, given: Mapping[str, str], now: datetime) -> Filter:
    """Read the filter; adds mistakes to the form."""
    form = looked_for(given, *(each.name for each in FIELDS))
    choices = _choices(session, course, form["device"], now)
    for name, offered in choices.items():
        form.choose(name, offered)
    values = {each.name: _value(form, each, course) for each in FIELDS}
    return Filter(form, SubmissionCriteria(**values), choices)


def _choices(session: Session, course: Membership, device: str, now: datetime) -> Choices:
    """device: the requested class, which may be gone from all assignments and workers."""
    found = assignments_for(session, course.course_id, Role.INSTRUCTOR)
    classes = {one.device_class for one in found} | set(device_classes(session, now))
    if is_device_class(device):
        classes.add(device)
    here = {
        "assignment": [(one.slug, one.title) for one in found],
        "device": [*((name, name) for name in sorted(classes - {"", CPU})), (CPU, "Not measured")],
    }
    return {each.name: (("", each.asked.any), *here.get(each.name, each.choices)) for each in FIELDS if each.asked.any}


def _value(form: Form, field: Field, course: Membership) -> Any:
    try:
        return read(field, form[field.name], zone_named(course.time_zone))
    except ValueError as error:
        # A browser shows a time's field empty, because it can only hold a time.
        form.mistake(field.name, f"{form[field.name]}: {error}")
        return None
