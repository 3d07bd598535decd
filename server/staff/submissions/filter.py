"""The filter of a course's submissions, from an address or a form.

A list's filter can also start a regrade, so an invalid part must not match more submissions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from kernels.verdict import Verdict
from server.courses.access import Membership
from server.courses.local_time import MomentError, read_moment, zone_named
from server.courses.models import Role
from server.courses.service import assignments_for, is_device_class
from server.fleet.service import device_classes
from server.grading.models import JobState
from server.http.forms import Form
from server.staff.desk import looked_for
from server.staff.submissions.queries import SubmissionCriteria
from server.submissions.models import Mode
from server.submissions.service import CPU

FIELDS = (
    "assignment", "student", "verdict", "state", "mode", "late", "device", "one", "worker", "since", "until",
)  # fmt: skip
Choices = Mapping[str, tuple[tuple[str, str], ...]]
"""The choices of each select field: values and titles."""

_TIMES = ("since", "until")

_ALWAYS: Choices = {
    "verdict": (("", "Any verdict"), *((one.value, one.words) for one in Verdict)),
    "state": (("", "Any state"), *((one.value, one.value) for one in JobState)),
    "mode": (("", "Submissions and checks"), (Mode.RANK.value, "Submissions"), (Mode.CHECK.value, "Checks")),
    "late": (("", "On time and late"), ("yes", "Late"), ("no", "On time")),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """The form's values and the query. If the form has mistakes, the query must not be used."""

    form: Form
    asked: SubmissionCriteria
    choices: Choices

    @property
    def given(self) -> dict[str, str]:
        return {name: self.form[name] for name in FIELDS if self.form[name]}

    @property
    def around(self) -> dict[str, str]:
        """The filter without a single submission: the list that contains it."""
        return {name: value for name, value in self.given.items() if name != "one"}

    @property
    def words(self) -> list[str]:
        labels = {
            "late": "lateness", "device": "measured on", "one": "submission", "since": "submitted from",
            "until": "submitted until",
        }  # fmt: skip
        return [
            f"{labels.get(name, name)}: {dict(self.choices.get(name, ())).get(value, value)}"
            for name, value in self.given.items()
        ]


def read_filter(session: Session, course: Membership, given: Mapping[str, str], now: datetime) -> Filter:
    """Read the filter; adds mistakes to the form."""
    form = looked_for(given, *FIELDS)
    choices = _choices(session, course, form["device"], now)
    for name, offered in choices.items():
        form.choose(name, offered)
    since, until = (_moment(form, name, course) for name in _TIMES)
    words = {name: form[name] for name in FIELDS if name not in _TIMES}
    return Filter(form, SubmissionCriteria(**words, since=since, until=until), choices)


def _choices(session: Session, course: Membership, device: str, now: datetime) -> Choices:
    """device: the requested class, which may be gone from all assignments and workers."""
    found = assignments_for(session, course.course_id, Role.INSTRUCTOR)
    classes = {one.device_class for one in found} | set(device_classes(session, now))
    if is_device_class(device):
        classes.add(device)
    named = ((name, name) for name in sorted(classes - {"", CPU}))
    return {
        "assignment": (("", "All assignments"), *((one.slug, one.title) for one in found)),
        "device": (("", "Any device"), *named, (CPU, "Not measured")),
        **_ALWAYS,
    }


def _moment(form: Form, name: str, course: Membership) -> datetime | None:
    try:
        return read_moment(form[name], zone_named(course.time_zone))
    except MomentError as error:
        # A browser shows the field empty, because it can only hold a time.
        form.mistake(name, f"{form[name]}: {error}")
        return None
