"""All regular expressions of the product, found in its source: also those that functions compile."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("kernels", "worker", "server")
FUNCTIONS = {"compile", "match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split"}
OWN_FUNCTIONS = {"uses"}
"""Functions of ours that take a pattern: of kernels.report.races."""

ANCHORED = {"match", "fullmatch"}
_PLACEHOLDER = "name"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression. anchored: it is only tried at the start of a text; unknown: parts that aren't constant"""

    file: str
    line: int
    text: str
    flags: int
    anchored: bool
    unknown: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


@cache
def patterns() -> tuple[Pattern, ...]:
    """All patterns, each once."""
    files = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    found = [each for path in files if "re" in path.read_text() for each in _Module(path).patterns()]
    return tuple({(each.text, each.flags, each.anchored): each for each in found}.values())


class _Module:
    def __init__(self, path: Path) -> None:
        self.path = path.relative_to(ROOT)
        self.source = path.read_text()
        self.tree = ast.parse(self.source)

    @cached_property
    def names(self) -> dict[str, object]:
        return vars(importlib.import_module(".".join(self.path.with_suffix("").parts)))

    def patterns(self) -> Iterator[Pattern]:
        owners = {
            id(node.value): node.targets[0].id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Call):
                continue
            for given in node.keywords:
                if given.arg == "pattern" and not isinstance(given.value, ast.Name):
                    yield Pattern(str(self.path), node.lineno, self._text(given.value, []), 0, anchored=True)
            name = node.func
            if not isinstance(name, ast.Attribute) or not node.args:
                continue
            if name.attr in OWN_FUNCTIONS:
                yield Pattern(str(self.path), node.lineno, self._text(node.args[0], []), 0, anchored=False)
            if not (isinstance(name.value, ast.Name) and name.value.id == "re" and name.attr in FUNCTIONS):
                continue
            unknown: list[str] = []
            text = self._text(node.args[0], unknown)
            flags = self._flags(node)
            methods = {name.attr} if name.attr != "compile" else self._methods(owners.get(id(node), ""))
            anchored = bool(methods) and methods <= ANCHORED
            yield Pattern(str(self.path), node.lineno, text, flags, anchored, tuple(unknown))

    def _methods(self, owner: str) -> set[str]:
        """How a pattern with this name is used in its module; empty if it is used in another way, too."""
        if not owner:
            return set()
        uses = re.findall(rf"(?<![\w.]){owner}\b(?:\.(\w+))?", self.source)[1:]
        methods = {each for each in uses if each != "pattern"}
        return methods if "" not in methods else set()

    def _text(self, node: ast.expr, unknown: list[str]) -> str:
        if isinstance(node, ast.JoinedStr):
            parts = (each.value if isinstance(each, ast.FormattedValue) else each for each in node.values)
            return "".join(self._text(each, unknown) for each in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._text(node.left, unknown) + self._text(node.right, unknown)
        try:
            value = eval(compile(ast.Expression(node), str(self.path), "eval"), dict(self.names))
        except NameError:
            if isinstance(node, ast.Name) and (local := self._local(node.id)) is not None:
                return self._text(local, unknown)
            unknown.append(ast.unparse(node))
            return _PLACEHOLDER
        if isinstance(value, re.Pattern):
            value = value.pattern
        return value.decode("latin-1") if isinstance(value, bytes) else str(value)

    def _local(self, name: str) -> ast.expr | None:
        """The text that a function assigns to this name, if only one does."""
        found = [
            node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == name
            and isinstance(node.value, (ast.JoinedStr, ast.Constant))
        ]
        return found[0] if len(found) == 1 else None

    def _flags(self, node: ast.Call) -> int:
        given = [each.value for each in node.keywords if each.arg == "flags"] or [
            each for each in node.args[1:] if "re." in ast.unparse(each)
        ]
        return int(eval(compile(ast.Expression(given[0]), "flags", "eval"), {"re": re})) if given else 0
