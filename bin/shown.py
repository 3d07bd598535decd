"""Keep the command output that README.md and docs/ show true.

A comment `<!-- output of: tilelab ... -->` stands before a block of code; the block is what that command prints.
A command may end in ` | until "Words"`: then only what it prints before that line stands there.
`make docs` writes the blocks anew, `tests/test_docs.py` fails when one is out of date.
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
    """Every page that may show output."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def shown(page: Path) -> dict[str, str]:
    """What a page claims: command -> output."""
    return {match["command"]: match["shown"] for match in _BLOCK.finditer(page.read_text())}


def output_of(command: str) -> str:
    """What the command prints now, on a screen of 80 columns without colour."""
    typed, _, end = command.partition(" | until ")
    words = shlex.split(typed)
    words[0] = str(Path(sys.executable).with_name("tilelab"))
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout.strip():
        raise RuntimeError(f"{command} printed nothing and ended with exit code {done.returncode}")
    return until(done.stdout, end.strip('"')).rstrip() + "\n"


def until(output: str, end: str) -> str:
    """What stands before the line that begins with these words; all of it where there are none."""
    if not end:
        return output
    before, found, _ = output.partition(f"\n{end}")
    if not found:
        raise RuntimeError(f"no line begins with {end!r}")
    return before


def lasting(output: str) -> str:
    """The part of an output that is the same on every run and every machine."""
    output = re.sub(
        r"^Not enforced on this machine:.*?(?=\n\n|\Z)", "", output, flags=re.DOTALL | re.MULTILINE
    )
    return re.sub(r"\d+\.\d+(?= s\b|,|\.$)", "_", output, flags=re.MULTILINE).rstrip()


def rewrite(page: Path, output: Callable[[str], str] = output_of) -> bool:
    """Write the blocks of a page anew; True where one had changed in its lasting part."""
    before = page.read_text()
    outputs = {command: output(command) for command in shown(page)}
    if all(lasting(outputs[command]) == lasting(text) for command, text in shown(page).items()):
        return False
    page.write_text(_BLOCK.sub(lambda match: match[1] + outputs[match["command"]], before))
    return True


def main() -> None:
    """Bring every page up to date and name those that changed."""
    for page in pages():
        if rewrite(page):
            print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
