"""New submissions from pages and programs, with the same limits and refusals for both.

A program sends a JSON object, which this module reads. server.assignments.form reads the page's form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

from server.accounts import limits
from server.courses.models import MOST_LATE_DAYS, SOURCE_BYTES
from server.courses.service import DEVICE_CLASS, SHORT_NAME, is_device_class
from server.database.storage import is_nearly_full
from server.fields import Range, Text
from server.http.concurrency_limit import arrived
from server.http.json_body import invalid, json_object
from server.http.problems import Refused
from server.http.site import site
from server.submissions import allowance
from server.submissions.models import Mode
from server.submissions.refusals import DiskFull
from server.submissions.service import Accepted, SubmissionInput, accept, find_earlier
from server.submissions.source import SubmittedSource, UnusableSource, read_source

ASSIGNMENT = f"{SHORT_NAME}/{SHORT_NAME}"
KEY = r"[\x21-\x7e]{1,200}"

_ASSIGNMENT = re.compile(ASSIGNMENT)
_KEY = re.compile(KEY)


@dataclass(frozen=True, slots=True)
class SubmissionRequest:
    """A new submission.

    assignment: COURSE/ASSIGNMENT, such as demo/tiled
    source: the text of one .cu file, at most 64 KiB in UTF-8
    mode: rank for a submission, check for a free check, which isn't measured
    device_class: the GPU to measure on, if not the assignment's own; not with mode check
    late_days: how many of your late days it may spend; 0 for the late penalty
    """

    assignment: Annotated[str, Text(ASSIGNMENT)]
    source: Annotated[str, Text(shortest=1, longest=SOURCE_BYTES)]
    mode: Mode = Mode.RANK
    device_class: Annotated[str, Text(DEVICE_CLASS)] | None = None
    late_days: Annotated[int, Range(0, MOST_LATE_DAYS)] | None = None

    SCHEMA: ClassVar[Mapping[str, Any]] = {
        "not": {
            "required": ["mode", "device_class"],
            "properties": {"mode": {"const": "check"}, "device_class": {"type": "string"}},
        }
    }


_FIELDS = tuple(field.name for field in fields(SubmissionRequest))


@dataclass(frozen=True, slots=True)
class NewSubmission:
    """A submission with valid types and sizes. Whether the person may submit it is decided later.

    assignment: COURSE/ASSIGNMENT
    device_class: None for the assignment's own
    key: the idempotency key; a repeated request with the same key is one submission
    late_days: how many late days it may spend; None if not given
    """

    assignment: str
    source: SubmittedSource
    mode: Mode
    device_class: str | None
    key: str | None
    late_days: int | None


def submit(submitted: SubmissionInput) -> Accepted:
    """Accept the submission of the present request, dated by the arrival of its last byte.

    raise (limits.TooOften): this person sends requests too fast
    raise (NotAccepted): as `accept`, or the disk is full
    """
    _refuse_if_full(submitted)
    limits.count(site().sessions, allowance.SUBMITS, f"person {submitted.person}")
    return accept(
        site().sessions, submitted, arrived(), most_under_way=site().settings.under_way, most_a_day=allowance.MOST_A_DAY
    )


def read_new_submission(body: bytes, key: str | None) -> NewSubmission:
    """Read a submission from a request's body; raises Refused, naming the field."""
    # A misspelled field must not be ignored: `mod: check` would use an attempt.
    asked = json_object(body, _FIELDS)
    return NewSubmission(
        _assignment(asked), _source(asked), _mode(asked), _device_class(asked), _key(key), _late_days(asked)
    )


def _refuse_if_full(submitted: SubmissionInput) -> None:
    """Raise DiskFull while the remaining space is reserved for accepted submissions.

    Runs before anything is written. A repeated request passes, because its submission is stored already.
    """
    here = site()
    if not is_nearly_full(here.engine, here.settings.free_mb):
        return
    with here.readers.begin() as session:
        again = find_earlier(session, submitted) is not None
    if not again:
        raise DiskFull(
            "The server has almost no disk space left, so nothing was stored. Tell your course staff, and submit "
            "again later."
        )


def _assignment(asked: Mapping[str, Any]) -> str:
    text = asked.get("assignment")
    if not isinstance(text, str) or not _ASSIGNMENT.fullmatch(text):
        raise invalid('`assignment` must be COURSE/ASSIGNMENT, such as "demo/tiled".')
    return text


def _source(asked: Mapping[str, Any]) -> SubmittedSource:
    text = asked.get("source")
    try:
        return read_source(text if isinstance(text, str) else "")
    except UnicodeEncodeError as error:
        raise invalid(
            f"`source` has half a character (a lone surrogate) at position {error.start}. No file can hold it."
        ) from None
    except UnusableSource as error:
        if not error.size:
            raise invalid("`source` must be the text of one .cu file, not empty.") from None
        raise Refused(
            413, "too_large", "The source is too large",
            f"`source` has {error.size:,} bytes; the limit is {SOURCE_BYTES:,}.",
        ) from None  # fmt: skip


def _mode(asked: Mapping[str, Any]) -> Mode:
    try:
        return Mode(asked.get("mode", Mode.RANK))
    except (ValueError, TypeError):
        raise invalid('`mode` must be "check" or "rank".') from None


def _device_class(asked: Mapping[str, Any]) -> str | None:
    text = asked.get("device_class")
    if text is None:
        return None
    if not isinstance(text, str) or not is_device_class(text):
        raise invalid('`device_class` must be a kind of GPU, such as "h200". Leave it out for the assignment\'s own.')
    return text


def _late_days(asked: Mapping[str, Any]) -> int | None:
    number = asked.get("late_days")
    if number is None:
        return None
    if isinstance(number, float) and number.is_integer():
        number = int(number)  # 2.0 is a whole number in JSON
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= MOST_LATE_DAYS:
        raise invalid(f"`late_days` must be a whole number from 0 to {MOST_LATE_DAYS}.")
    return number


def _key(key: str | None) -> str | None:
    if key is not None and not _KEY.fullmatch(key):
        raise Refused(
            400, "bad_key", "Invalid Idempotency-Key",
            "It must be 1 to 200 visible ASCII characters, new for each submission.",
        )  # fmt: skip
    return key
