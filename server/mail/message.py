"""The e-mails themselves: plain text, and the same as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.charset import QP, Charset
from email.header import Header
from email.message import Message
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart
from email.utils import format_datetime
from html import escape
from urllib.parse import urlsplit

from server.accounts.models import MailKind

_TITLES = "The titles of the course and the assignment are by its course staff."
_SAFE = "Tilelab never asks for your password by e-mail."
_LINK = "Anyone with this link can sign in as you, so pass it to no one. It works once."
_CLOSING: Mapping[MailKind, Sequence[str]] = {
    MailKind.ACCESS: (_LINK, "If you don’t expect this e-mail, ignore it. Nothing changes then."),
    MailKind.TEST: ("An operator of this server sent this e-mail to see whether it arrives.",),
}


@dataclass(frozen=True, slots=True)
class Letter:
    """An e-mail to send.

    path: of the page that it links to
    key: for the page where the reader turns off this kind; "" for a kind that can't be turned off
    """

    id: int
    made_at: datetime
    kind: MailKind
    address: str
    subject: str
    path: str
    key: str = ""


def message(letter: Letter, sender: str, public_url: str) -> bytes:
    """The e-mail. A repeated try has the same Message-ID, so mail programs show it once.

    `EmailMessage` reads encoded words in a header's value. Some versions of Python write their line feeds as new
    headers. `Header` only encodes.
    """
    made = MIMEMultipart("alternative")
    made["From"] = f"Tilelab <{sender}>"
    # As raw bytes: a whole address must not become an encoded word.
    made["To"] = letter.address.encode().decode("ascii", "surrogateescape")
    made["Subject"] = Header(_one_line(letter.subject), "utf-8", header_name="Subject").encode()
    made["Date"] = format_datetime(datetime.now(UTC))
    host = urlsplit(public_url).hostname
    made["Message-ID"] = f"<tilelab-{letter.id}-{letter.made_at:%Y%m%d%H%M%S}@{host}>"
    made["Auto-Submitted"] = "auto-generated"
    if letter.key:
        made["List-Unsubscribe"] = f"<{_off(letter, public_url)}>"
        made["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    made.attach(_part("plain", _plain(letter, public_url)))
    made.attach(_part("html", _html(letter, public_url)))
    return made.as_bytes(policy=made.policy.clone(linesep="\r\n"))


def _part(kind: str, text: str) -> Message:
    charset = Charset("utf-8")
    charset.body_encoding = QP
    part = MIMENonMultipart("text", kind)
    part.set_payload(text, charset)
    return part


def _plain(letter: Letter, public_url: str) -> str:
    closing = "\n".join(_closing(letter))
    off = f"\nNo more e-mails like this: {_off(letter, public_url)}" if letter.key else ""
    return f"{_one_line(letter.subject)}\n\n{public_url}{letter.path}\n\n--\n{closing}{off}\n"


def _html(letter: Letter, public_url: str) -> str:
    address = escape(f"{public_url}{letter.path}")
    closing = "<br>".join(map(escape, _closing(letter)))
    off = f'<br><a href="{escape(_off(letter, public_url))}">No more e-mails like this</a>' if letter.key else ""
    return (
        f'<!doctype html><meta charset="utf-8"><p>{escape(_one_line(letter.subject))}</p>'
        f'<p><a href="{address}">{address}</a></p><hr><p><small>{closing}{off}</small></p>\n'
    )


def _closing(letter: Letter) -> Sequence[str]:
    return (*_CLOSING.get(letter.kind, (_TITLES,)), _SAFE)


def _off(letter: Letter, public_url: str) -> str:
    return f"{public_url}/no-more-mail/{letter.key}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
