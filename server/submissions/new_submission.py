"""New submissions from pages and programs, with the same limits and refusals for both.

A program sends a JSON object, which this module reads. server.assignments.form reads the page's form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from sqlalchemy.orm import Session

from server.accounts import limits
from server.accounts.identity import note_use
from server.courses.models import MOST_LATE_DAYS, SOURCE_BYTES
from server.courses.service import DEVICE_CLASS, SHORT_NAME
from server.database.storage import is_nearly_full
from server.fields import Range, Text
from server.http.concurrency_limit import arrived
from server.http.json_body import invalid, read_body
from server.http.problems import Refused
from server.http.site import site
from server.submissions import allowance
from server.submissions.models import Mode
from server.submissions.refusals import DiskFull
from server.submissions.service import Accepted, SubmissionInput, accept, is_repeated
from server.submissions.source import SubmittedSource, UnusableSource, read_source

ASSIGNMENT = f"{SHORT_NAME}/{SHORT_NAME}"
KEY = r"[\x21-\x7e]{1,200}"


@dataclass(frozen=True, slots=True)
class SubmissionRequest:
    """A new submission.

    assignment: COURSE/ASSIGNMENT, such as demo/tiled
    source: the text of one .cu file, at most 64 KiB in UTF-8
    mode: rank for a submission, check for a free check, which isn't measured
    device_class: the GPU to measure on, if not the assignment's own; not with mode check
    late_days: how many of your late days it may spend; 0 for the late penalty
    """

    assignment: Annotated[str, Text(ASSIGNMENT, says='COURSE/ASSIGNMENT, such as "demo/tiled"')]
    source: Annotated[str, Text(shortest=1, longest=SOURCE_BYTES)]
    mode: Mode = Mode.RANK
    device_class: (
        Annotated[str, Text(DEVICE_CLASS, says='a kind of GPU, such as "h200". Leave it out for the assignment\'s own')]
        | None
    ) = None
    late_days: Annotated[int, Range(0, MOST_LATE_DAYS)] | None = None

    SCHEMA: ClassVar[Mapping[str, Any]] = {
        "not": {
            "required": ["mode", "device_class"],
            "properties": {"mode": {"const": "check"}, "device_class": {"type": "string"}},
        }
    }


def submit(submitted: SubmissionInput, *, positioned: bool) -> Accepted:
    """Accept the submission of the present request, dated by the arrival of its last byte.

    positioned: as for `accept`

    raise (limits.TooOften): this person sends requests too fast
    raise (NotAccepted): as `accept`, or the disk is full
    """
    _refuse_if_full(submitted)
    limits.forget_old(site().sessions, allowance.SUBMITS, datetime.now(UTC))

    def count(session: Session) -> None:
        limits.count_in(session, allowance.SUBMITS, f"person {submitted.person}")
        note_use(session)

    return accept(
        site().sessions,
        submitted,
        arrived(),
        most_under_way=site().settings.under_way,
        most_a_day=allowance.MOST_A_DAY,
        positioned=positioned,
        first=count,
    )


def read_new_submission(body: bytes) -> tuple[SubmissionRequest, SubmittedSource]:
    """Read a submission from a request's body; raises Refused, naming the field.

    Whether the person may submit it is decided later.
    """
    asked = read_body(SubmissionRequest, body, unlimited=("source",))
    try:
        return asked, read_source(asked.source)
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


def read_key(key: str | None) -> str | None:
    """The idempotency key of a request's header; raises Refused."""
    if key is not None and not re.fullmatch(KEY, key):
        raise Refused(
            400, "bad_key", "Invalid Idempotency-Key",
            "It must be 1 to 200 visible ASCII characters, new for each submission.",
        )  # fmt: skip
    return key


def _refuse_if_full(submitted: SubmissionInput) -> None:
    """Raise DiskFull while the remaining space is reserved for accepted submissions.

    Runs before anything is written. A repeated request passes, because its submission is stored already.
    """
    here = site()
    if not is_nearly_full(here.engine, here.settings.free_mb):
        return
    with here.readers.begin() as session:
        again = is_repeated(session, submitted)
    if not again:
        raise DiskFull(
            "The server has almost no disk space left, so nothing was stored. Tell your course staff, and submit "
            "again later."
        )
