"""The recipes of docs/extending.md as data, and what is done to a copy of the repository to follow them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "extending.md"
_STEP = re.compile(
    r"^(?:New file|In) `(?P<path>[^`]+)`"
    r"(?:, at the end|, (?P<where>after|before|in place of) the line with (?P<quote>`+) ?(?P<line>.+?) ?(?P=quote))?"
    r":\n\n```[a-z]+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# A folder whose files belong together is one place.
_TOGETHER = re.compile(r"kernels/exercises/[^/]+|tests/corpus")


@dataclass(frozen=True, slots=True)
class Step:
    """A text for a file. where: "after", "before" or "in place of" the one line that holds `line`; "" for its end."""

    path: str
    where: str
    line: str
    text: str

    @property
    def place(self) -> str:
        together = _TOGETHER.match(self.path)
        return self.path if together is None else together[0]

    def follow(self, root: Path) -> None:
        """Raises ValueError where not exactly one line is the one that is meant."""
        file = root / self.path
        file.parent.mkdir(exist_ok=True)
        lines = file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []
        text = [self.text] if not lines else ["\n", self.text]
        at = slice(len(lines), len(lines))
        if self.where:
            found = [number for number, line in enumerate(lines) if self.line in line]
            if len(found) != 1:
                raise ValueError(f"{self.path} has {len(found)} lines with {self.line}")
            start, text = found[0] + (self.where == "after"), [self.text]
            at = slice(start, start + (self.where == "in place of"))
        lines[at] = text
        file.write_text("".join(lines), "utf-8")


def recipes(page: str) -> dict[str, tuple[Step, ...]]:
    """The steps of each recipe, by its heading; chapters without steps are left out."""
    found = {}
    for chapter in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        steps = tuple(
            Step(step["path"], step["where"] or "", step["line"] or "", step["text"])
            for step in _STEP.finditer(chapter)
        )
        if steps:
            found[chapter.partition("\n")[0]] = steps
    return found


def copy_tree(to: Path) -> None:
    """All that belongs to the repository, changes that aren't committed among it, as a repository of its own."""
    for name in _git(ROOT, "ls-files", "-z", "-co", "--exclude-standard").split("\0"):
        if (file := ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes(file.read_bytes())
            (to / name).chmod(file.stat().st_mode)
    _git(to, "init", "-q")


def known_types() -> Path:
    """Where mypy keeps what it knows of a copy's files for the next copy: it compares their contents.

    At first, that is what it knows of the repository, if anything.
    """
    known, own = ROOT / "build" / "types_of_copy", ROOT / ".mypy_cache"
    if own.is_dir() and not known.exists():
        shutil.copytree(own, known)
    return known


def follow(steps: Sequence[Step], root: Path, run: Callable[..., str]) -> None:
    """Take all steps, and format what they changed, as their reader does."""
    for step in steps:
        step.follow(root)
    _git(root, "add", "-A")
    run("ruff", "format", *{step.path for step in steps if step.path.endswith(".py")})


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
