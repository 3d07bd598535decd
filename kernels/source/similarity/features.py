"""The features of a source that survive new names, another layout, other comments and another order."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from kernels.source.similarity.statements import Code, normal

_SHORTEST = 3
Lines = tuple[int, int]
"""The first and the last line."""


@dataclass(frozen=True, slots=True)
class Features:
    """The features of a source, as hashes: statements without order, with their lines; and names by all their uses."""

    statements: Mapping[str, tuple[Lines, ...]]
    names: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.names | self.statements.keys()


def features_of(code: Code) -> Features:
    lines: dict[str, list[Lines]] = defaultdict(list)
    uses: dict[str, list[str]] = defaultdict(list)
    for statement in code.statements:
        texts = normal(statement)
        feature = _hash(" ".join(sorted(code.kinds.get(text, text) for text in texts)))
        if len(statement.texts) >= _SHORTEST:
            lines[feature].append((statement.line, statement.end))
        for name in {text for text in texts if text in code.kinds}:
            uses[name].append(f"{texts.count(name)} in {feature}")
    names = frozenset(_hash("; ".join((code.kinds[name], *sorted(each)))) for name, each in uses.items())
    return Features({feature: tuple(found) for feature, found in lines.items()}, names)


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
