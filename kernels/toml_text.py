"""Reads TOML that people write, in time that grows with its length.

Python's reader takes quadratic time and memory for keys of many parts, such as `a.a.a.a`. No file needs so many.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_PARTS = 16
_DEEP = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]{0,200}+"|'[^'\n]{0,200}+')[ \t]*+\.[ \t]*+){16}""", re.ASCII)


def read_toml(text: str) -> dict[str, Any]:
    """The table that a text describes. Raises ValueError, whose text may end in `(at line 3, column 5)`."""
    if match := _DEEP.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise ValueError(f"A key has more than {MOST_PARTS} parts (at line {line}, column 1)")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("Its values are nested too deeply") from None
