"""What happens at the lines of a finding, such as what the two threads of a data race do."""

from __future__ import annotations

from kernels.facts import Mistake
from kernels.verdict import Finding, Verdict

_STARTS = frozenset({Mistake.UNFINISHED, Mistake.REGISTER_FENCE})
"""Races in which a line only starts an asynchronous operation."""

CALL = "called here"
"""What happens at a kernel's line that calls the helper function with the mistake."""


def roles(finding: Finding) -> tuple[str, str]:
    """What happens at a finding's other line and at its own line."""
    accesses = finding.facts.accesses if finding.kind is Verdict.DATA_RACE else ()
    return (accesses[0].kind.noun, accesses[1].kind.noun) if len(accesses) == 2 else finding.kind.roles


def role_of_both(race: Finding) -> str:
    """What happens at the line of a race with only one: `both write`, or `read` if a single access is known."""
    if race.facts.mistake in _STARTS:
        return "starts here"
    nouns = sorted({access.kind.noun for access in race.facts.accesses})
    if len(race.facts.accesses) == 1:
        return nouns[0]
    return " and ".join(nouns) if nouns[1:] else f"both {nouns[0]}" if nouns else "both accesses"
