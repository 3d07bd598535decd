"""Collect the mistakes in a run, one finding for each kind and pair of lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernels.facts import Facts
from kernels.verdict import Example, Finding, Severity, Verdict

MAX_FINDINGS = 200
_MOST_CALLS = 20
Described = tuple[Example, str] | tuple[Example, str, Facts]


@dataclass(slots=True)
class _Counted:
    example: Example
    message: str
    facts: Facts
    count: int
    calls: frozenset[int] | None


_Key = tuple[Verdict, int | None, int | None, Severity]


class Findings:
    """All findings of one run. The first instance of a finding gives its example.

    sizes: of the case, which explain the number of an array's elements
    callers: the kernel's lines that call a helper function, by the helper's line
    """

    def __init__(self, sizes: str, callers: Mapping[int | None, tuple[int, ...]]) -> None:
        self.sizes = sizes
        self._callers = callers
        self._found: dict[_Key, _Counted] = {}
        self._late: dict[_Key, _Counted] = {}

    def add(
        self,
        kind: Verdict,
        line: int | None,
        count: int,
        describe: Callable[[], Described],
        *,
        other_line: int | None = None,
        severity: Severity = Severity.ERROR,
        late: bool = False,
        calls: frozenset[int] | None = None,
    ) -> None:
        """Count a finding.

        describe: returns the example, the sentence and its facts; it is called only the first time
        late: whether it says nothing new if another error names its line
        calls: the kernel's lines that call the helper functions with its lines; None for all calls of them
        """
        key = (kind, line, other_line, severity)
        found = self._late if late else self._found
        known = found.get(key)
        if known is not None:
            known.count += count
        elif len(found) < MAX_FINDINGS:
            example, message, *facts = describe()
            found[key] = _Counted(example, message, facts[0] if facts else Facts(), count, calls)

    def _calls(self, known: frozenset[int] | None, *lines: int | None) -> tuple[int, ...]:
        found = {call for line in lines for call in self._callers.get(line, ())} if known is None else known
        return tuple(sorted(found))[:_MOST_CALLS]

    def has(self, kind: Verdict) -> bool:
        return any(found == kind for found, _, _, _ in self._found)

    def result(self) -> tuple[Finding, ...]:
        errors = [key for key in self._found if key[3] is Severity.ERROR]
        named = {each for _, line, other, _ in errors for each in (line, other)}
        late = {key: seen for key, seen in self._late.items() if key[1] not in named}
        return tuple(
            Finding(
                kind,
                seen.message,
                line,
                other,
                seen.count,
                seen.example,
                severity,
                facts=seen.facts,
                called_from=self._calls(seen.calls, line, other),
            )
            for (kind, line, other, severity), seen in (*self._found.items(), *late.items())
        )
