"""The form of an assignment's page: a text or a file, to check or to submit."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from flask import request

from kernels.source.paste.decoding import as_utf8, decode
from kernels.source.paste.repairs import Repair, is_plain, plain_repair
from kernels.wire import from_plain
from kernels.wording import byte_size
from server.accounts.digest import digest_of
from server.bounded_work import bounded
from server.courses.models import SOURCE_BYTES
from server.submissions.models import Mode
from server.submissions.source import SubmittedSource, UnusableSource, read_source

_KEY = re.compile(r"[0-9a-f]{32}")
_REQUEST_KEY = re.compile(rf"({_KEY.pattern})-{_KEY.pattern}")
_DAYS = re.compile(r"[0-9]{1,3}")
_SHOWN_NAME = 80

TEXT, FILE = "source", "file"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in a field. field: TEXT or FILE; code: for programs, one for each kind of mistake."""

    field: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The sent form.

    text: for the editor, if the page is shown again: the typed text, or the file's text
    source: the source to submit; None if the form has a mistake
    key: of the form, new each time that the form is shown
    repaired: how to repair the text, if the compiler can't read it
    late_days: how many late days it may spend; None if its sender wasn't asked
    changes: what the repair changed, if the Repair button sent the form; then `text` is the repaired text
    """

    text: str
    source: SubmittedSource | None
    mode: Mode
    key: str
    mistake: Mistake | None = None
    repaired: Repair | None = None
    changes: tuple[str, ...] | None = None
    late_days: int | None = None

    @property
    def request_key(self) -> str:
        """The idempotency key: pressing a button twice makes one submission, a changed text makes another."""
        source = self.source.digest if self.source else ""
        return f"{self.key}-{digest_of(f'{self.mode.value} {source}')[:32]}"


def form_of(request_key: str | None) -> str:
    """The key of the form that sent a submission; "" if a program sent it."""
    found = _REQUEST_KEY.fullmatch(request_key or "")
    return found[1] if found else ""


def new_key() -> str:
    """Make a key for a form."""
    return secrets.token_hex(16)


def read_sent() -> Sent:
    """Read the form of the present request. A file replaces the text.

    A text that the compiler can't read is a mistake before it uses an attempt.
    """
    text = _lines(request.form.get(TEXT, ""))
    days = _late_days()
    # Without a valid mode it is a check, which never uses an attempt. Only a refused submission asks about late days.
    mode = Mode.RANK if request.form.get("mode") == Mode.RANK or days is not None else Mode.CHECK
    key = request.form.get("key", "")
    given = key if _KEY.fullmatch(key) else new_key()
    found = _source(text)
    if isinstance(found, Mistake):
        return Sent(text, None, mode, given, found)
    asked = "repair" in request.form
    code = decode(found.content)
    repair = _repair(code) if isinstance(code, str) and not is_plain(code) else None
    if repair is not None and asked:
        return Sent(repair.text, None, mode, given, changes=repair.changes)
    text = _lines(found.content.decode())
    if repair is not None:
        mistake = Mistake(TEXT, "repairable", repair.sentence)
        return Sent(text, None, mode, given, mistake, repaired=repair)
    if asked:
        return Sent(text, None, mode, given, changes=())
    return Sent(text, found, mode, given, late_days=days)


def _repair(text: str) -> Repair | None:
    plain = bounded(plain_repair, text)
    return None if plain is None else from_plain(Repair, plain)


def _late_days() -> int | None:
    text = request.form.get("late_days", "")
    return int(text) if _DAYS.fullmatch(text) else None


def _lines(text: str) -> str:
    # Browsers send \r\n from a text area, whatever the author typed.
    return text.replace("\r\n", "\n")


def _source(text: str) -> SubmittedSource | Mistake:
    file = request.files.get(FILE)
    if file is not None and file.filename:
        with file.stream:
            return _checked(as_utf8(file.read()), FILE, _name(file.filename))
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
            f"{name} has half a character, which no file can hold. Delete that character or type it again.",
        )
    except UnusableSource as error:
        return Mistake(field, "too_large", f"{name} has {error.size:,} bytes. The limit is {byte_size(SOURCE_BYTES)}.")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return Mistake(
            field, "not_text", f"{name} isn't UTF-8 text (line {line:,}). Save it as UTF-8 and send it again."
        )
    if b"\0" in source.content:
        return Mistake(field, "not_source", f"{name} isn't source code: it has NUL characters.")
    return source


def _name(given: str) -> str:
    name = given.replace("\\", "/").rpartition("/")[2]
    return name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…"
