"""Which of a course's submissions are listed or regraded, declared once for pages, the API and commands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from kernels.verdict import Verdict
from server.acts.field import Asked, Field, fields_of
from server.courses.service import DEVICE_CLASS, SHORT_NAME
from server.fields import Range, Text
from server.grading.models import JobState
from server.submissions.models import Mode


@dataclass(frozen=True, slots=True)
class SubmissionCriteria:
    """Which submissions of a course; without a field, any.

    assignment: its short name
    student: an email, or a part of a name or email; person: a student's ID, instead of `student`
    late: yes for late ones, no for the others
    device: the device class to measure on; cpu for none
    submission: the ID of a single one
    worker: the beginning of the name of a worker that graded it
    since, until: the time of the submission, in ISO 8601 with a time zone
    """

    assignment: Annotated[
        str,
        Text(f"({SHORT_NAME})?"),
        Asked(label="Assignment", any="All assignments", help="Only this assignment, by its short name."),
    ] = ""
    student: Annotated[
        str, Text(longest=200), Asked(label="Student", help="Only people whose name or email contains this.")
    ] = ""
    verdict: Annotated[Verdict | None, Asked(label="Verdict", any="Any verdict", help="Only this verdict.")] = None
    state: Annotated[JobState | None, Asked(label="State", any="Any state", help="Only in this state.")] = None
    mode: Annotated[
        Mode | None,
        Asked(
            label="Mode",
            any="Submissions and checks",
            choices=((Mode.RANK.value, "Submissions"), (Mode.CHECK.value, "Checks")),
            help="Only submissions (rank) or checks.",
        ),
    ] = None
    late: Annotated[
        str,
        Text("yes|no|"),
        Asked(
            label="Lateness",
            any="On time and late",
            choices=(("yes", "Late"), ("no", "On time")),
            option="--late/--in-time",
            help="Only late or only punctual submissions.",
        ),
    ] = ""
    device: Annotated[
        str,
        Text(f"({DEVICE_CLASS})?"),
        Asked(
            label="Measured on",
            any="Any device",
            metavar="CLASS",
            help="Only this device class; cpu means not measured.",
        ),
    ] = ""
    submission: Annotated[
        str, Text("[0-9a-zA-Z]{0,32}"), Asked(label="Submission", metavar="ID", help="Only this submission.")
    ] = ""
    worker: Annotated[
        str,
        Text("[!-~]{0,100}"),
        Asked(
            label="Worker",
            hint="The beginning of its name on the fleet page.",
            metavar="NAME",
            help="Only graded by a worker whose name begins with this.",
        ),
    ] = ""
    since: Annotated[datetime | None, Asked(label="Submitted from", help="Only submitted at or after this time.")] = (
        None
    )
    until: Annotated[datetime | None, Asked(label="Until", help="Only submitted up to this time.")] = None
    person: Annotated[int | None, Range(1, 2**53 - 1)] = None

    @property
    def narrowed(self) -> str:
        """The filter in words, for the audit. It names no person, because the entry outlives an erased person."""
        told = replace(self, assignment="", student="by name" if self.student or self.person else "")
        said = ((field.asked.label.lower(), _in_words(field, getattr(told, field.name))) for field in FIELDS)
        return ", ".join(f"{title} {value}" for title, value in said if value)


FIELDS = tuple(each for each in fields_of(SubmissionCriteria) if each.asked.label)
"""The fields that people fill in."""


def _in_words(field: Field, value: object) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    title = dict(field.choices).get(str(value))
    return str(value or "") if title is None else title.lower()
