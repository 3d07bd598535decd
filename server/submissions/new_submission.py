"""A submission on its way in, by page or program: the same moment, limits and refusals for both.

A program sends an object of JSON that may hold anything; server.submissions.assignment.form reads the form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

from server.accounts import limits
from server.courses.models import SOURCE_BYTES
from server.courses.service import DEVICE_CLASS, is_device_class
from server.database.storage import is_nearly_full
from server.http.bounded import arrived
from server.http.operation import Text
from server.http.problems import Refused
from server.http.site import site
from server.submissions import allowance
from server.submissions.models import Mode
from server.submissions.refusals import DiskFull
from server.submissions.service import Accepted, HandedIn, accept, find_earlier
from server.submissions.source import SubmittedSource, UnusableSource, read_source

ASSIGNMENT = r"[a-z0-9][a-z0-9._\-]{0,59}/[a-z0-9][a-z0-9._\-]{0,59}"
KEY = r"[\x21-\x7e]{1,200}"

_ASSIGNMENT = re.compile(ASSIGNMENT)
_KEY = re.compile(KEY)
_MOST_DIGITS = 20
_DEEPEST = "it is nested too deeply"


@dataclass(frozen=True, slots=True)
class SubmissionRequest:
    """What is handed in.

    assignment: COURSE/ASSIGNMENT, such as demo/tiled
    source: the text of one .cu file, at most 64 KiB in UTF-8
    mode: rank, or check for one that is not measured
    device_class: what to measure on, where it is not to be the assignment's own; not with mode check
    """

    assignment: Annotated[str, Text(ASSIGNMENT)]
    source: Annotated[str, Text(shortest=1, longest=SOURCE_BYTES)]
    mode: Mode = Mode.RANK
    device_class: Annotated[str, Text(DEVICE_CLASS)] | None = None

    SCHEMA: ClassVar[Mapping[str, Any]] = {
        "not": {
            "required": ["mode", "device_class"],
            "properties": {"mode": {"const": "check"}, "device_class": {"type": "string"}},
        }
    }


_FIELDS = tuple(field.name for field in fields(SubmissionRequest))


@dataclass(frozen=True, slots=True)
class NewSubmission:
    """What was handed in, of the right types and within bounds; whether it may be is another question.

    assignment: COURSE/ASSIGNMENT
    device_class: None for the assignment's own
    key: of the request, so that one made twice is one submission
    """

    assignment: str
    source: SubmittedSource
    mode: Mode
    device_class: str | None
    key: str | None


def submit(handed_in: HandedIn) -> Accepted:
    """Take what the present request hands in, as of when all of it was here.

    raise (limits.TooOften): where this person sends requests too fast
    raise (NotAccepted): as `accept` does, and where the disk is full
    """
    _refuse_if_full(handed_in)
    limits.count(site().sessions, allowance.SUBMITS, f"person {handed_in.person}")
    return accept(
        site().sessions,
        handed_in,
        arrived(),
        most_under_way=site().settings.under_way,
        most_a_day=allowance.MOST_A_DAY,
    )


def read_new_submission(body: bytes, key: str | None) -> NewSubmission:
    """What the body asks for; raises Refused, naming the field."""
    asked = _object(body)
    unknown = sorted(set(asked) - set(_FIELDS))
    if unknown:
        raise _invalid(f"`{_short(unknown[0])}` is no field; there are {', '.join(_FIELDS)}.")
    return NewSubmission(_assignment(asked), _source(asked), _mode(asked), _device_class(asked), _key(key))


def _refuse_if_full(handed_in: HandedIn) -> None:
    """Raise DiskFull while there is only room left for what was accepted already, which may be this one, sent again.

    Comes before anything is written.
    """
    here = site()
    if not is_nearly_full(here.engine, here.settings.free_mb):
        return
    with here.readers.begin() as session:
        again = find_earlier(session, handed_in) is not None
    if not again:
        raise DiskFull(
            "The server has almost no disk space left, so nothing was stored. Tell your course's staff, and submit "
            "again later."
        )


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        asked = json.loads(body.decode("utf-8"), parse_constant=_no_number, parse_int=_whole)
    except RecursionError:
        raise _unreadable(_DEEPEST) from None
    except UnicodeDecodeError as error:
        raise _unreadable(f"byte {error.start} is no UTF-8") from None
    except ValueError as error:
        raise _unreadable(str(error)) from None
    if not isinstance(asked, dict):
        raise _unreadable("an object is needed")
    return asked


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _whole(digits: str) -> int:
    """Python reads no number of thousands of digits, and says so in words of its own."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits, and at most {_MOST_DIGITS} are read")
    return int(digits)


def _assignment(asked: Mapping[str, Any]) -> str:
    text = asked.get("assignment")
    if not isinstance(text, str) or not _ASSIGNMENT.fullmatch(text):
        raise _invalid('`assignment` names course and assignment, such as "demo/tiled".')
    return text


def _source(asked: Mapping[str, Any]) -> SubmittedSource:
    text = asked.get("source")
    try:
        return read_source(text if isinstance(text, str) else "")
    except UnicodeEncodeError as error:
        raise _invalid(
            f"`source` has half a character at place {error.start}, which no file can hold."
        ) from None
    except UnusableSource as error:
        if not error.size:
            raise _invalid("`source` is the text of one .cu file, and not empty.") from None
        raise Refused(
            413, "too_large", "The source is too large",
            f"`source` has {error.size:,} bytes; hand in at most {SOURCE_BYTES:,}.",
        ) from None  # fmt: skip


def _mode(asked: Mapping[str, Any]) -> Mode:
    try:
        return Mode(asked.get("mode", Mode.RANK))
    except (ValueError, TypeError):
        raise _invalid('`mode` is "check" or "rank".') from None


def _device_class(asked: Mapping[str, Any]) -> str | None:
    text = asked.get("device_class")
    if text is None:
        return None
    if not isinstance(text, str) or not is_device_class(text):
        raise _invalid(
            '`device_class` is a kind of GPU, such as "h200"; leave it out for the assignment\'s own.'
        )
    return text


def _key(key: str | None) -> str | None:
    if key is not None and not _KEY.fullmatch(key):
        raise Refused(
            400, "bad_key", "The Idempotency-Key cannot be used",
            "It is 1 to 200 visible characters of ASCII, new for every submission.",
        )  # fmt: skip
    return key


def _short(text: str) -> str:
    return "".join(character for character in text if character.isprintable())[:40]


def _unreadable(reason: str) -> Refused:
    return Refused(
        400, "no_json", "The body is no JSON that can be read", f"{reason}. Send one object of JSON in UTF-8."
    )


def _invalid(detail: str) -> Refused:
    return Refused(422, "invalid", "A field has a value that it cannot have", detail)
