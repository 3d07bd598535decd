"""Print C++ text in a given layout: indentation, braces, spaces. The tokens stay the same."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.source.text import Comment, Directive, Kind, Token, scan

_JOINED = {
    "++", "--", "+=", "-=", "*=", "/=", "%=", "<<", ">>", "&&", "||", "==", "!=", "<=", ">=",
}  # fmt: skip
_HEADS = {"if", "for", "while", "else"}
_TYPES = {"float", "int", "double", "char", "void", "const", "unsigned", "size_t"}
_BINARY = {"+", "-", "*", "/", "%", "<", ">", "&", "|", "=", "?", ":"} | (_JOINED - {"++", "--"})


@dataclass(frozen=True, slots=True)
class Layout:
    """indent: of one level; own_line: whether opening braces have a line; spaced: whether operators have spaces."""

    indent: str = "    "
    own_line: bool = False
    spaced: bool = True
    star_left: bool = True


def laid_out(text: str, layout: Layout) -> str:
    """The text with one statement a line, in this layout."""
    return _Printer(layout).printed(text)


def joined(tokens: list[Token]) -> list[str]:
    """The texts of the tokens, with operators of two characters as one."""
    texts: list[str] = []
    for token in tokens:
        if token.glued and texts and texts[-1] + token.text in _JOINED:
            texts[-1] += token.text
        else:
            texts.append(token.text)
    return texts


class _Printer:
    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._lines: list[str] = []
        self._line: list[Token] = []
        self._level = self._pending = self._round = 0
        self._last = 0

    def printed(self, text: str) -> str:
        items = scan(text)
        for place, item in enumerate(items):
            if isinstance(item, Comment):
                self._comment(item)
            elif isinstance(item, Directive):
                self._flush()
                self._lines.append(_directive(item))
            else:
                following = items[place + 1] if place + 1 < len(items) else None
                self._token(item, following.text if isinstance(following, Token) else "")
        self._flush()
        return "\n".join(self._lines) + "\n"

    def _comment(self, item: Comment) -> None:
        words = item.text.strip()
        if self._line:
            return
        if item.line == self._last and self._lines:
            self._lines[-1] += f"  // {words}"
        else:
            self._lines.append(f"{self._layout.indent * self._level}// {words}")

    def _token(self, token: Token, following: str) -> None:
        text = token.text
        if text == "{" and not self._round:
            if self._layout.own_line or not self._line:
                self._flush()
                self._pending = 0
            self._line.append(token)
            self._flush()
            self._level += 1
            return
        if text == "}" and not self._round:
            self._flush()
            self._level -= 1
        self._round += (text == "(") - (text == ")")
        self._line.append(token)
        self._last = token.line
        ends = not self._round and (text == ";" or (text == "}" and following != ";"))
        head = self._line[0].text
        if ends:
            self._flush()
            self._pending = 0
        elif not self._round and (
            (text == ")" and head in _HEADS and following not in {"{", ";"})
            or (text == "else" and following not in {"{", "if"})
        ):
            self._flush()
            self._pending += 1

    def _flush(self) -> None:
        if self._line:
            indent = self._layout.indent * (self._level + self._pending)
            self._lines.append(indent + self._spaced(self._line))
            self._line = []

    def _spaced(self, tokens: list[Token]) -> str:
        texts = joined(tokens)
        line = ""
        for place, text in enumerate(texts):
            before = texts[place - 1] if place else ""
            unary = _unary(texts, place - 1)
            line += (" " if place and self._gap(before, text, texts, place, unary=unary) else "") + text
        return line

    def _gap(self, before: str, text: str, texts: list[str], place: int, *, unary: bool) -> bool:
        if text in {",", ";", ")", "]", ".", "++", "--"} and not (text in {"++", "--"} and before in {";", ","}):
            return False
        if before in {"(", "[", ".", "!", "~", "++", "--"} or (unary and before not in {"?", ":", "="}):
            return before in {"++", "--"} and text in _BINARY and self._layout.spaced
        if text == "*" and before in _TYPES:
            return not self._layout.star_left
        if before == "*" and place > 1 and texts[place - 2] in _TYPES:
            return self._layout.star_left
        if text in {"(", "["}:
            return before in _HEADS | _BINARY | {",", ";", "return"} and (before not in _BINARY or self._layout.spaced)
        if text in _BINARY or before in _BINARY:
            return self._layout.spaced or text in {"&&", "||"} or before in {"&&", "||"}
        return "::" not in {before, text}


def _unary(texts: list[str], place: int) -> bool:
    if place < 0 or texts[place] not in {"-", "+", "*", "&"}:
        return False
    before = texts[place - 1] if place else ""
    return place == 0 or before in _BINARY | {"(", "[", ",", "return", "{"}


def _directive(item: Directive) -> str:
    text = f"#{item.name}"
    for place, token in enumerate(item.tokens):
        text += ("" if place and token.glued else " ") + token.text
    return text


def names_in(text: str) -> list[str]:
    """All names in the text, each once, in order."""
    found: dict[str, None] = {}
    for item in scan(text):
        tokens = item.tokens if isinstance(item, Directive) else [item] if isinstance(item, Token) else []
        found.update((token.text, None) for token in tokens if token.kind is Kind.NAME)
    return list(found)
