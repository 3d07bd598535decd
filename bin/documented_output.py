"""Keep the command output in README.md and docs/ up to date.

A comment `<!-- output of: tilelab ... -->` comes before a block of code with the command's output. A command may end in
` | until "Words"`. Then the block only has the output before the line that begins with these words. `make docs`
rewrites the blocks. `tests/test_docs.py` fails if a block is out of date.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(
    r"(<!-- output of: (?P<command>tilelab [^\n]*?) -->\n```[a-z]*\n)(?P<shown>.*?)(?=```\n)", re.DOTALL
)


def pages() -> list[Path]:
    """Return every page that may have output."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> dict[str, str]:
    """Return the output blocks of a page: command -> output."""
    return {match["command"]: match["shown"] for match in _BLOCK.finditer(page.read_text())}


def output_of(command: str) -> str:
    """Return the command's output on a screen of 80 columns without colour."""
    typed, _, end = command.partition(" | until ")
    words = shlex.split(typed)
    words[0] = str(Path(sys.executable).with_name("tilelab"))
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout.strip():
        raise RuntimeError(f"{command} printed nothing and ended with exit code {done.returncode}")
    return until(done.stdout, end.strip('"')).rstrip() + "\n"


def until(output: str, end: str) -> str:
    """Return the output before the line that begins with these words; everything without words."""
    if not end:
        return output
    before, found, _ = output.partition(f"\n{end}")
    if not found:
        raise RuntimeError(f"no line begins with {end!r}")
    return before


def lasting(output: str) -> str:
    """Return the part of an output that is the same on every run and machine."""
    output = re.sub(r"^Not enforced on this machine:.*?(?=\n\n|\Z)", "", output, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\d+\.\d+(?= s\b|,|\.$)", "_", output, flags=re.MULTILINE).rstrip()


def rewrite(page: Path, output: Callable[[str], str] = output_of) -> bool:
    """Rewrite the blocks of a page if the lasting part of any has changed. Return whether it has."""
    before = page.read_text()
    outputs = {command: output(command) for command in blocks(page)}
    if all(lasting(outputs[command]) == lasting(text) for command, text in blocks(page).items()):
        return False
    page.write_text(_BLOCK.sub(lambda match: match[1] + outputs[match["command"]], before))
    return True


def main() -> None:
    """Update every page, and print the changed ones."""
    for page in pages():
        if rewrite(page):
            print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
