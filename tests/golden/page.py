"""What a reader sees on a page: its forms with their limits, links, headings, tables and texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from server.accounts.cookies import CSRF_FIELD
from tests.server.web.hostile import FormReader, FoundForm

_INLINE = frozenset({
    "a", "abbr", "b", "br", "code", "em", "i", "kbd", "label", "mark", "output", "q", "s", "small", "span", "strong",
    "sub", "sup", "time", "tspan", "u", "var", "wbr",
})  # fmt: skip
_UNSEEN = frozenset({"script", "style", "template"})
_TYPED = frozenset({"text", "textarea", "number", "datetime-local", "email", "date", "select"})
_FIELDS = frozenset({"input", "select", "textarea", "button", "option"})
_SHOWN = (
    "type", "name", "value", "minlength", "maxlength", "min", "max", "step", "pattern", "accept", "form",
    "formaction", "required", "checked", "selected", "disabled", "readonly", "multiple", "aria-invalid",
)  # fmt: skip


@dataclass(slots=True)
class Sendable:
    """A form as it can be sent. texts: fields to type into, by type; unset: boxes that nobody checked"""

    form: FoundForm
    button: tuple[str, str] | None = None
    texts: dict[str, str] = field(default_factory=dict)
    unset: set[str] = field(default_factory=set)
    chosen: dict[str, str] = field(default_factory=dict)

    def filled(self, examples: Mapping[str, object], *, change: bool = False) -> dict[str, str]:
        """What a browser sends, with an example in each empty field that has one. change: in others, too"""
        given = {name: value for name, value in self.form.fields.items() if name not in {CSRF_FIELD, *self.unset}}
        given |= self.chosen | dict([self.button] if self.button else [])
        for name in self.texts.keys() & examples.keys():
            if change or not given[name].strip():
                example = str(examples[name])
                given[name] = example[:16] if self.texts[name] == "datetime-local" else example
        return given


class PageReader(FormReader):
    """lines: in the order of the page; sendable: one for each form and named button."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.sendable: list[Sendable] = []
        self._kind, self._words, self._unseen = "text", "", 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        given = {name: value or "" for name, value in attrs}
        self._unseen += tag in _UNSEEN
        if tag not in _INLINE or tag in _FIELDS:
            self._end(tag)
        if tag == "form":
            self.lines.append(f"form {given.get('method', 'get')} {given.get('action', '')}")
            self.sendable.append(Sendable(self.forms[-1]))
        elif tag == "a" and "href" in given:
            self.lines.append(f"link {given['href']}")
        elif tag in _FIELDS and given.get("name") != CSRF_FIELD:
            self._field(tag, given)

    def _field(self, tag: str, given: dict[str, str]) -> None:
        shown = [name if given[name] == "" else f"{name}={given[name]}" for name in _SHOWN if name in given]
        self.lines.append(" ".join(("field" if tag != "option" else "  option", tag, *shown)))
        if tag == "option" and "selected" in given and self._open is not None and self._select:
            self.sendable[-1].chosen[self._select] = given.get("value", "")
        if self._open is None or not (name := given.get("name", "")):
            return
        last, kind = self.sendable[-1], given.get("type", "text" if tag == "input" else tag)
        if tag == "button" and last.button is None:
            last.button = (name, given.get("value", ""))
        elif tag == "button":
            button = (name, given.get("value", ""))
            self.sendable.append(Sendable(last.form, button, last.texts, last.unset, last.chosen))
        elif kind in {"checkbox", "radio"} and "checked" in given:
            last.form.fields[name] = given.get("value", "on")
            last.unset.discard(name)
        elif kind == "checkbox":
            last.unset.add(name)
        elif kind in _TYPED:
            last.texts[name] = kind

    def handle_data(self, data: str) -> None:
        super().handle_data(data)
        if not self._unseen:
            self._words += data

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        self._unseen -= tag in _UNSEEN
        if tag not in _INLINE:
            self._end("text")

    def _end(self, kind: str) -> None:
        if words := " ".join(self._words.split()):
            self.lines.append(f"{self._kind}: {words}")
        self._kind, self._words = kind, ""
