"""Requests that no page of ours sends: what may stand in a field, how a body may be written, where forms are found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote_plus

from hypothesis import strategies as st

from server.http.arrival import REQUEST_BYTES

ROOT = Path(__file__).resolve().parents[3]
BOUNDARY = "of-a-test"

VALUES = (
    "", " ", "\0", "a\0b", "\ud800", "x\udfffy", "\x1b[31m", "\r\n", "a\r\nSet-Cookie: b=c", "\u202egnp.exe",
    "\ufeff", "\N{PILE OF POO}" * 3, "x" * 300, "x" * 11_000, "\u0661", "\u00b2", "-1", "0", "00", "1.5", "1e3",
    "1e999", "-1e999", "nan", "inf", "9" * 19, "9" * 400, str(2**31), str(2**63), "0x10", "1_0", "+1", "yes", "on",
    "true", "null", "[]", "{}", "9999-12-31T23:59", "9999-12-31T23:59:59.999999", "0001-01-01T00:00",
    "0001-01-01T00:00+23:59", "2026-02-30T00:00", "2026-03-29T02:30", "2026-10-25T02:30", "2026-W10", "20260101",
    "12:00", "2026-01-01", "Europe/Vienna", "../../etc/passwd", "/etc/localtime", "Europe", "posixrules",
    "//evil.example/", "/\\evil.example", "javascript:alert(1)", "\\", "'", '"', "%", "%s", "{0}", "{{7*7}}",
    "<script>alert(1)</script>", "a@b", "ada@example.edu", "a@" + "b" * 300, "@", "A@B.example", "instructor",
    "student", "assistant", "admin", "none", "gpu", "tiled", "tiled-2", "h200", "cpu", "rank", "check", "best",
    "last", "chosen", "1", "2", "3", "1e5_1_a", "1e308_9999999999999999_a", "-1_0_0", "nan_1_a", "1.5.5_1_a",
    "email,name\nada@example.edu,Ada\n", 'email\n"', "email,name,role,section\na\0@b.example,\ud800,x,y\n",
    "email\r" * 50,
)  # fmt: skip
"""What forms have stumbled over somewhere."""

RAW = (b"", b"\xff\xfe", b"%", b"%zz=%", b"&&&===", b"a" * REQUEST_BYTES, b"\0", b"csrf", b"--of-a-test", b'{"a": 1}')
TYPES = (
    "application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=utf-16",
    "application/x-www-form-urlencoded; charset=nothing", "multipart/form-data",
    f"multipart/form-data; boundary={BOUNDARY}", "multipart/form-data; boundary=" + "b" * 300, "text/plain",
    "application/json", "", "\xff", "a/b; c",
)  # fmt: skip

text = st.one_of(st.sampled_from(VALUES), st.text(st.characters(exclude_categories=()), max_size=40))


@dataclass(frozen=True, slots=True)
class Part:
    """A field as it is sent. file: the name of a file; None for a field that is none"""

    name: str
    value: str
    file: str | None = None


@dataclass(slots=True)
class FoundForm:
    """A form of a page. fields: with what the page puts there."""

    action: str
    posted: bool
    fields: dict[str, str] = field(default_factory=dict)


def urlencoded(parts: Sequence[Part]) -> bytes:
    """Fields as a browser writes them, with what no browser would write."""
    return "&".join(f"{_quoted(part.name)}={_quoted(part.value)}" for part in parts).encode()


def multipart(parts: Sequence[Part]) -> bytes:
    """The same as a form with a file has them."""
    lines: list[bytes] = []
    for part in parts:
        file = "" if part.file is None else f'; filename="{part.file}"\r\nContent-Type: text/plain'
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{part.name}"{file}\r\n\r\n'
        lines += [_bytes(head), _bytes(part.value), b"\r\n"]
    return b"".join([*lines, f"--{BOUNDARY}--\r\n".encode()])


def query(parts: Sequence[Part]) -> str:
    """Fields as they stand behind the question mark of an address."""
    return urlencoded(parts).decode()


def in_path(value: str) -> str:
    """A part of a path; its length is that of an address that servers take."""
    return _quoted(value[:500]).replace("+", "%20")


def field_names() -> list[str]:
    """Names of fields and of parts of addresses that the server's code and pages read, wherever they do."""
    found: set[str] = set()
    for file in sorted((ROOT / "server").glob("*/**/*.py")):
        source = "" if "node_modules" in file.parts else file.read_text("utf-8")
        found |= set(re.findall(r"\.get(?:list)?\(\"([a-z_]{1,30})\"", source))
        for call in re.findall(r"(?:sent|asked)\(([^()]*)\)", source):
            found |= set(re.findall(r"\"([a-z_]{1,30})\"", call))
    for file in sorted((ROOT / "server").glob("*/templates/**/*.html")):
        source = file.read_text("utf-8")
        found |= set(re.findall(r"name=\"([a-z_]{1,30})\"", source))
        found |= set(re.findall(r"forms\.\w+\(\w+, \"([a-z_]{1,30})\"", source))
    return sorted(found - {"csrf"})


class FormReader(HTMLParser):
    """The forms of a page, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[FoundForm] = []
        self.links: list[str] = []
        self._open: FoundForm | None = None
        self._area = self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "form":
            self._open = FoundForm(given.get("action", ""), given.get("method", "get").lower() == "post")
            self.forms.append(self._open)
        if self._open is None:
            return
        if tag in {"input", "button"} and name:
            self._open.fields.setdefault(name, given.get("value", ""))
        elif tag in {"textarea", "select"} and name:
            self._open.fields[name] = ""
            self._area, self._select = (name, "") if tag == "textarea" else ("", name)
        elif tag == "option" and self._select and ("selected" in given or not self._open.fields[self._select]):
            self._open.fields[self._select] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._area and self._open is not None:
            self._open.fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        if tag in {"textarea", "select", "form"}:
            self._area = self._select = ""


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def _quoted(value: str) -> str:
    return quote_plus(value, errors="surrogatepass")
