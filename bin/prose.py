"""Check texts for people against the style in prose.toml: `python -m bin.prose [--brief] [PATH...]`.

Every finding is listed with a suggestion. Without `--brief`, a table shows findings and reading ease by area.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bin.texts import Sentence, is_read, sentences

ROOT = Path(__file__).resolve().parent.parent
STYLE = tomllib.loads(Path(__file__).with_name("prose.toml").read_text())
AREAS = tuple(STYLE["words"])
LONG, NAME = "long sentence", "name of a module"


@dataclass(frozen=True)
class Finding:
    """A place where a text breaks a rule."""

    rule: str
    instead: str
    where: Sentence


def check(texts: Sequence[Sentence]) -> list[Finding]:
    """Return the findings in these sentences."""
    joined = "\n".join(one.text.lower() for one in texts)
    found = [
        Finding(rule["name"], rule["write"], texts[joined.count("\n", 0, match.start())])
        for rule in STYLE["banned"]
        for match in _pattern(rule["pattern"]).finditer(joined)
    ]
    for one in texts:
        limit = STYLE["words"][one.area]
        if (words := len(words_of(one.text))) >= limit:
            found.append(Finding(LONG, f"{words} words; fewer than {limit}, one idea each", one))
    return found


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE)


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a sentence."""
    return re.findall(r"[A-Za-z0-9][\w'.,/%-]*", text)


def files(paths: Iterable[str]) -> list[str]:
    """Return the tracked files under these paths, relative to the root; all files without paths."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *paths]
    listed = subprocess.run(listing, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def read(names: Iterable[str]) -> tuple[list[Sentence], list[Finding]]:
    """Return every sentence of these files, and every finding."""
    texts: list[Sentence] = []
    found: list[Finding] = []
    for name in names:
        here = list(sentences(name, (ROOT / name).read_text())) if is_read(name) else []
        texts += here
        found += check(here)
        if name.endswith(".py") and Path(name).stem in STYLE["names"]:
            found.append(Finding(NAME, "a noun for what it holds", Sentence(name, 1, "names", Path(name).stem)))
    return texts, found


def counts(found: Iterable[Finding]) -> dict[str, Counter[str]]:
    """Return how often each rule is broken in each area."""
    table = {name: Counter[str]() for name in (*(rule["name"] for rule in STYLE["banned"]), LONG, NAME)}
    for one in found:
        table[one.rule][one.where.area] += 1
    return table


def reading_ease(texts: Sequence[Sentence]) -> tuple[float, float]:
    """Return Flesch's reading ease (60 and more is plain English) and the mean words per sentence."""
    whole = [found for one in texts if len(found := words_of(one.text)) > 3]
    words = sum(map(len, whole)) or 1
    syllables = sum(_syllables(word.lower()) for sentence in whole for word in sentence)
    mean = words / (len(whole) or 1)
    return 206.835 - 1.015 * mean - 84.6 * syllables / words, mean


@cache
def _syllables(word: str) -> int:
    silent = len(word) > 3 and word.endswith("e") and not word.endswith("le")
    return max(1, len(re.findall(r"[aeiouy]+", word)) - silent)


def _print_table(texts: Sequence[Sentence], now: dict[str, Counter[str]]) -> None:
    columns = [*AREAS, "names"]
    print(f"{'':24}" + "".join(f"{name:>11}" for name in columns))
    for rule, areas in now.items():
        if areas:
            print(f"{rule:24}" + "".join(f"{areas[name] or '·':>11}" for name in columns))
    total = [sum(areas[name] for areas in now.values()) for name in columns]
    print(f"{'all':24}" + "".join(f"{n:>11,}" for n in total))
    by_area = {name: [one for one in texts if one.area == name] for name in AREAS}
    print(f"{'sentences':24}" + "".join(f"{len(by_area[name]):>11,}" for name in AREAS))
    ease = [reading_ease(by_area[name]) for name in AREAS]
    print(f"{'reading ease (Flesch)':24}" + "".join(f"{flesch:>11.0f}" for flesch, _ in ease))
    print(f"{'words in a sentence':24}" + "".join(f"{mean:>11.1f}" for _, mean in ease))
    longest = [max((len(words_of(one.text)) for one in by_area[name]), default=0) for name in AREAS]
    print(f"{'longest sentence':24}" + "".join(f"{n:>11}" for n in longest))


def main(arguments: Sequence[str]) -> int:
    """Run the command line."""
    options = {one for one in arguments if one.startswith("--")}
    if options - {"--brief"}:
        print(__doc__, file=sys.stderr)
        return 2
    texts, found = read(files(one for one in arguments if one not in options))
    if not options:
        _print_table(texts, counts(found))
    for one in found:
        print(f"{one.where.path}:{one.where.line}: {one.rule} ({one.instead})\n    {one.where.text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
