"""A page read back: its elements, whether they nest, what they name and where they lead."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_EMPTY = {"meta", "input", "br", "rect", "circle", "polyline", "polygon", "path", "link", "img"}


@dataclass
class Page(HTMLParser):
    """What was found; `wrong` lists tags that do not nest."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self):
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every element of a name."""
        return [attributes for name, attributes in self.tags if name == tag]

    def values(self, attribute: str) -> list[str]:
        """Every value that an attribute has anywhere."""
        return [value for _, found in self.tags if (value := found.get(attribute)) is not None]

    def text(self, within: str | None = None) -> str:
        """The words, of one kind of element or of all."""
        return "".join(data for tag, data in self.texts if within in {None, tag})


def read(html: str) -> Page:
    """The page, closed."""
    page = Page()
    page.feed(html)
    page.close()
    return page
