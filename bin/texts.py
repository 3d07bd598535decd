"""Find all texts that users read, by sentence: pages, docs, handouts, messages, help.

Code, names in backquotes, and inserted values become `X`, so that rules only see words.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import PurePosixPath
from typing import Any

from markdown_it import MarkdownIt

PYTHON = ("kernels", "worker", "server", "migrations", "bin", "bench")
SUFFIXES = frozenset({".md", ".html", ".toml", ".ts", ".py", ".cu"})


@dataclass(frozen=True)
class Sentence:
    """A sentence, heading, label or cell. `line` is where its text begins."""

    path: str
    line: int
    area: str
    text: str


def is_read(path: str) -> bool:
    """Return whether a file of this name may have texts."""
    return PurePosixPath(path).suffix in SUFFIXES or path == "Makefile"


def sentences(path: str, source: str) -> Iterator[Sentence]:
    """Yield all texts for people in a file. `path` is relative to the root and decides the kind of file."""
    for area, line, text in _texts(path, source):
        for sentence in _split(text):
            yield Sentence(path, line, area, sentence)


def _texts(path: str, source: str) -> Iterator[tuple[str, int, str]]:
    top, suffix = path.partition("/")[0], PurePosixPath(path).suffix
    in_exercise = path.startswith("kernels/exercises/")
    if suffix == ".md" and (top in {"docs", "README.md"} or in_exercise):
        area = "handouts" if in_exercise else "docs"
        yield from ((area, line, text) for line, text in _markdown(source))
    elif suffix == ".html" and top != "tests":
        area = "reports" if top == "kernels" else "pages"
        yield from ((area, line, text) for line, text in _template(source))
    elif suffix == ".toml" and in_exercise:
        for text in _strings_of(tomllib.loads(source)):
            yield "handouts", source[: source.find(text[:20])].count("\n") + 1, text
    elif suffix == ".ts" and top == "server":
        yield from (("pages", line, text) for line, text in _script(source))
    elif suffix == ".py" and top in PYTHON:
        yield from _python(path, source)
    elif suffix == ".cu" and in_exercise:
        yield from (("handouts", line, text) for line, text in _comments(source))
    elif path == "Makefile":
        yield from (("commands", line, text) for line, text in _targets(source))


def _split(text: str) -> list[str]:
    """Return the sentences of a text, each on one line."""
    text = re.sub(r"`[^`]*`|\{[^{}]*\}|%\(\w+\)s|%[sd]", "X", text)
    text = " ".join(unescape(text).replace("’", "'").split())
    return [one for one in re.split(r"(?<=[.?!:])[\"”)*]*\s+(?=[\"“(*]*[A-Z0-9])", text) if re.search(r"[a-z]", one)]


def _markdown(source: str) -> Iterator[tuple[int, str]]:
    line = 1
    for token in _parser().parse(source):
        if token.map:
            line = token.map[0] + 1
        if token.type == "inline":
            parts = (
                "X" if part.type == "code_inline" else " " if part.type == "softbreak" else part.content
                for part in token.children or ()
                if part.type != "html_inline"
            )
            yield line, "".join(parts)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


_INLINE = r"</?(?:a|abbr|b|br|em|i|small|span|strong|sub|sup|time|var|wbr)\b[^>]*>"
_SPOKEN = re.compile(r"\b(?:title|alt|placeholder|content|aria-label|data-[a-z-]+)=\"([^\"]*)\"")


def _template(source: str) -> Iterator[tuple[int, str]]:
    """Yield the text between tags, in attributes that people see or hear, and in strings for macros."""

    def keep_lines(match: re.Match[str], instead: str) -> str:
        return instead + "\n" * match[0].count("\n")

    text = re.sub(
        r"\{#.*?#\}|<(?:script|style)\b.*?</(?:script|style)>", lambda m: keep_lines(m, ""), source, flags=re.DOTALL
    )
    for match in re.finditer(r"\{[{%].*?[}%]\}", text, flags=re.DOTALL):
        line = text[: match.start()].count("\n") + 1
        strings = re.findall(r"\"([^\"]*)\"", match[0])
        yield from ((line, said) for said in strings if re.search(r"[a-z] ", said))
    text = re.sub(r"\{\{.*?\}\}", lambda m: keep_lines(m, "X"), text, flags=re.DOTALL)
    text = re.sub(
        r"\{%-?\s*(\w+).*?%\}",
        lambda m: keep_lines(m, "\f" if m[1] in {"elif", "else", "call", "endcall", "block"} else ""),
        text,
        flags=re.DOTALL,
    )
    for match in _SPOKEN.finditer(text):
        if " " in match[1]:
            yield text[: match.start()].count("\n") + 1, match[1]
    text = re.sub(r"<(code|kbd|pre|samp)\b.*?</\1>", lambda m: keep_lines(m, "X"), text, flags=re.DOTALL)
    text = re.sub(_INLINE, lambda m: keep_lines(m, ""), text)
    line = 1
    for part in re.split(r"(<[^>]*>|\f)", text):
        if part.strip() and not part.startswith("<"):
            yield line + len(part[: len(part) - len(part.lstrip())].split("\n")) - 1, part
        line += part.count("\n")


def _script(source: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(source.splitlines(), 1):
        if not line.lstrip().startswith(("//", "*", "/*", "import ")):
            for match in re.finditer(r"\"([^\"\\]*)\"|`([^`]*)`", line):
                text = re.sub(r"\$\{[^}]*\}", "X", match[1] or match[2] or "")
                if re.match(r"[A-Z“X][^<;=]* [a-z]", text):
                    yield number, text


def _strings_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if re.search(r"[a-z] [a-z]", value):
            yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings_of(one)


def _python(path: str, source: str) -> Iterator[tuple[str, int, str]]:
    plain = "commands" if "/commands/" in path else "reports" if path.startswith("kernels/") else "messages"
    done: set[int] = set()
    of_commands = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(body=[first, *_]) if _is_command(node):
                of_commands.add(id(first))
            case ast.Expr(value=ast.Constant(value=str(text)) as docstring):
                done.add(id(docstring))
                if id(node) in of_commands:
                    yield from (("commands", node.lineno, part) for part in _paragraphs(text))
            case ast.Raise(exc=ast.expr() as raised):
                for inner in ast.walk(raised):
                    yield from (("errors", line, text) for line, text in _string(inner, done))
            case ast.Constant() | ast.JoinedStr():
                yield from ((plain, line, text) for line, text in _string(node, done))


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield a kernel's comments, adjacent lines as one text, unless they are indented like a table."""
    first, lines = 0, list[str]()
    for number, line in enumerate([*source.splitlines(), ""], 1):
        code, found, comment = line.partition("//")
        alone = found and not code.strip() and not comment.startswith("!")
        if lines and not (alone and comment.strip() and not comment.startswith("   ")):
            yield from ((first, part) for part in _paragraphs("\n".join(lines)))
            lines = []
        if not alone:
            if code.endswith(" ") and code.strip() and comment.startswith(" "):
                yield number, comment
        elif comment.startswith("   "):
            yield from ((number, cell) for cell in re.split(r" {2,}", comment.strip()))
        elif comment.strip():
            first = first if lines else number
            lines.append(comment)


def _targets(source: str) -> Iterator[tuple[int, str]]:
    """Yield the help of a Makefile's targets."""
    for number, line in enumerate(source.splitlines(), 1):
        if match := re.match(r"[a-z-]+:.*?## (.*)", line):
            yield number, match[1]


def _is_command(function: ast.FunctionDef) -> bool:
    calls = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    return any(isinstance(one, ast.Attribute) and one.attr in {"command", "group"} for one in calls)


def _paragraphs(docstring: str) -> list[str]:
    plain = (part for part in re.split(r"\n\s*\n", docstring) if not part.lstrip(" ").startswith(("\b", ">>>")))
    return [one for part in plain for one in re.split(r"\n(?=\s*(?:[-*] |\w+(?:, \w+)*: ))", part)]


_CODE = re.compile(
    r"[{};\\]\s*\n|\\|</|::|->|\w\(\w+ \w+|==|__global__|#define|redis\.call|^\W*(?:SELECT|INSERT|PRAGMA|UPDATE|CASE)\b"
    r"|^[A-Za-z0-9\s]{200,}$|^import \w+;"
)


def _string(node: ast.AST, done: set[int]) -> Iterator[tuple[int, str]]:
    """Yield a string of several words that isn't code. `done` holds nodes that were read with another."""
    if id(node) in done or not isinstance(node, ast.Constant | ast.JoinedStr):
        return
    if isinstance(node, ast.JoinedStr):
        done.update(id(one) for one in ast.walk(node))
        text = "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in node.values)
    else:
        done.add(id(node))
        text = node.value if isinstance(node.value, str) else ""
    if re.search(r"[A-Za-z,'’] [A-Za-z]", text) and not _CODE.search(text):
        yield from ((node.lineno, part) for part in _paragraphs(text))
