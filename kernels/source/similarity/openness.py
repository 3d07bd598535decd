"""How much of an exercise its students write themselves, and from which share on its copies are worth a look."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernels.source.similarity.comparison import LEAST_SHARE
from kernels.source.similarity.features import features_of
from kernels.source.similarity.statements import read_code

FEW_STATEMENTS = 3
"""With so few open statements, honest students write the same program; see `python -m bench.copies --exercises`."""


_CODE = re.compile(r"^```(?:cuda|cpp|c)\b[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def code_in(handout: str) -> list[str]:
    """The blocks of code in a handout."""
    return _CODE.findall(handout.replace("\r\n", "\n"))


def open_statements(solution: str, given: Iterable[str]) -> int:
    """How many kinds of statements a solution has that the given code lacks."""
    known = {statement for text in given for statement in features_of(read_code(text)).statements}
    return len(features_of(read_code(solution)).statements.keys() - known)


def proposed_percent(solution: str, given: Iterable[str]) -> int:
    """The share from which pairs are worth a look, in %; 0 if too few programs are possible."""
    few = open_statements(solution, given) <= FEW_STATEMENTS
    return 0 if few else round(100 * LEAST_SHARE)
