"""What the form of an assignment's page sends: a text or a file, and what it is for."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from flask import request

from kernels.wording import byte_size
from server.accounts.digest import digest_of
from server.courses.models import SOURCE_BYTES
from server.submissions.models import Mode
from server.submissions.source import SubmittedSource, UnusableSource, read_source

_KEY = re.compile(r"[0-9a-f]{32}")
_REQUEST_KEY = re.compile(rf"({_KEY.pattern})-{_KEY.pattern}")
_SHOWN_NAME = 80

TEXT, FILE = "source", "file"


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a field. field: TEXT or FILE; code: for programs, one for each kind."""

    field: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent.

    text: to be shown again, so that what is sent next is what was sent now: as it was typed, or that of the file
    source: what is handed in, None where there is a mistake
    key: of the form, new for every time that it is shown
    """

    text: str
    source: SubmittedSource | None
    mode: Mode
    key: str
    mistake: Mistake | None = None

    @property
    def request_key(self) -> str:
        """One for each thing that is sent from one form: pressed twice it is one submission, changed it is another."""
        source = self.source.digest if self.source else ""
        return f"{self.key}-{digest_of(f'{self.mode.value} {source}')[:32]}"


def form_of(request_key: str | None) -> str:
    """The key of the form that a submission was sent from; "" where it came from none."""
    found = _REQUEST_KEY.fullmatch(request_key or "")
    return found[1] if found else ""


def new_key() -> str:
    """For a form that is shown."""
    return secrets.token_hex(16)


def read_sent() -> Sent:
    """The form of the present request. A file counts where there is one, else the text."""
    text = _lines(request.form.get(TEXT, ""))
    mode = Mode.RANK if request.form.get("mode") == Mode.RANK else Mode.CHECK
    key = request.form.get("key", "")
    given = key if _KEY.fullmatch(key) else new_key()
    found = _source(text)
    if isinstance(found, Mistake):
        return Sent(text, None, mode, given, found)
    return Sent(_lines(found.content.decode()), found, mode, given)


def _lines(text: str) -> str:
    """As a text area has them."""
    return text.replace("\r\n", "\n")


def _source(text: str) -> SubmittedSource | Mistake:
    file = request.files.get(FILE)
    if file is not None and file.filename:
        with file.stream:
            return _checked(file.read(), FILE, _name(file.filename))
    if not text.strip():
        return Mistake(TEXT, "empty", "No kernel yet. Type one here or choose a file.")
    return _checked(text, TEXT, "The text")


def _checked(given: str | bytes, field: str, name: str) -> SubmittedSource | Mistake:
    if not given.strip():
        return Mistake(field, "empty", f"{name} is empty.")
    try:
        source = read_source(given)
        source.content.decode()
    except UnicodeEncodeError:
        return Mistake(
            field,
            "half_character",
            f"{name} has half a character, which no file can hold. Delete it, or type it again.",
        )
    except UnusableSource as error:
        return Mistake(
            field,
            "too_large",
            f"{name} has {error.size:,} bytes. The limit is {byte_size(SOURCE_BYTES)}.",
        )
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return Mistake(
            field,
            "not_text",
            f"{name} is not text in UTF-8 (line {line:,}). Save it as UTF-8 in your editor, and send it again.",
        )
    if b"\0" in source.content:
        return Mistake(field, "not_source", f"{name} is not a source: it has characters that no source has.")
    return source


def _name(given: str) -> str:
    name = given.replace("\\", "/").rpartition("/")[2]
    return name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…"
