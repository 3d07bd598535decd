"""The outcome of each case, and the findings of all cases together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernels.facts import Diagnosed, Facts, IncorrectMap
from kernels.judging.compare import NEVER_WRITTEN, Mismatch, incorrect_map
from kernels.judging.diagnosis import Diagnosis
from kernels.judging.plan import CasePlan
from kernels.verdict import CaseStatus, Example, Finding, Severity, Verdict, finding_order
from kernels.wording import part_of

if TYPE_CHECKING:
    from kernels.device import Execution

TOO_LARGE = "too large for the CPU device"
REPEATED = "another case of this size ran too long"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one case.

    ran: the run, if an error failed the case
    is_cut: whether it ran too long after a smaller case did, which proves nothing
    """

    case: CasePlan
    status: CaseStatus
    note: str
    findings: tuple[Finding, ...] = ()
    mismatch: Mismatch | None = None
    diagnoses: tuple[Diagnosis, ...] = ()
    printed: str = ""
    launched: bool = False
    ran: Execution | None = None
    is_cut: bool = False

    @property
    def endless(self) -> bool:
        return self.is_cut or any(finding.kind is Verdict.TIME_LIMIT for finding in self.findings)


def merge(outcomes: Iterable[Outcome]) -> tuple[Finding, ...]:
    """One finding for each kind and pair of lines, with the example of its first case."""
    merged: dict[tuple[Verdict, int | None, int | None, Severity], Finding] = {}
    for outcome in outcomes:
        for finding in outcome.findings:
            key = (finding.kind, finding.line, finding.other_line, finding.severity)
            known = merged.get(key)
            merged[key] = finding if known is None else replace(known, count=known.count + finding.count)
    return tuple(sorted(merged.values(), key=finding_order))


def wrong_answer(by_size: Sequence[Outcome]) -> tuple[Finding, ...]:
    """All incorrect outputs as one finding, with the smallest case's element and the explanations."""
    failing = [outcome for outcome in by_size if outcome.mismatch is not None]
    if not failing:
        return ()
    first, bad = failing[0], failing[0].mismatch
    assert bad is not None
    share = f"{part_of(bad.wrong, bad.elements, 'element')} {'is' if bad.wrong == 1 else 'are'} incorrect"
    example = f"{value_text(bad)} ({size_text(first.case)}). {share}."
    found = explain([outcome.diagnoses for outcome in failing])
    return (
        Finding(
            kind=Verdict.WRONG_ANSWER,
            message=" ".join([example, *(each.sentences for each in found)]),
            count=sum(outcome.mismatch.wrong for outcome in failing if outcome.mismatch is not None),
            example=Example.at(bad.element, case=first.case.name),
            facts=Facts(values=bad.values, example=example if found else "", diagnoses=found, incorrect=_map(failing)),
        ),
    )


def _map(failing: Sequence[Outcome]) -> IncorrectMap | None:
    """Of the largest case in which some elements are correct: there is most to see."""
    for outcome in reversed(failing):
        bad = outcome.mismatch
        if bad is not None and bad.places is not None and not bad.places.all():
            return incorrect_map(outcome.case.name, bad.element.array, bad.places)
    return None


def explain(diagnoses: Sequence[Sequence[Diagnosis]]) -> tuple[Diagnosed, ...]:
    """The mistake and the place that explain most failing cases, with the number of cases."""
    explained = []
    for wanted in (False, True):
        counts: dict[tuple[object, ...], int] = {}
        first: dict[tuple[object, ...], Diagnosis] = {}
        for case in diagnoses:
            for diagnosis in case:
                if diagnosis.is_place is wanted:
                    key = _same(diagnosis)
                    first.setdefault(key, diagnosis)
                    counts[key] = counts.get(key, 0) + 1
        proven = {_same(each) for case in diagnoses for each in case if each.proves}
        counts = {
            key: count
            for key, count in counts.items()
            if key in proven and (count == len(diagnoses) or not first[key].in_all)
        }
        if not counts:
            continue
        key = max(counts, key=counts.__getitem__)
        if 2 * counts[key] >= len(diagnoses):
            best = first[key]
            explained.append(Diagnosed(best.key, best.text, best.more, best.names, counts[key], len(diagnoses)))
    return tuple(explained)


def _same(diagnosis: Diagnosis) -> tuple[object, ...]:
    return diagnosis.key, diagnosis.names


def value_text(bad: Mismatch, verb: str = "is") -> str:
    if bad.found == NEVER_WRITTEN:
        return f"`{bad.element}` {'was' if verb == 'is' else 'is'} never written, but should be {bad.right}"
    if bad.right.startswith("NaN"):  # only a solution computes one
        return f"`{bad.element}` {verb} {bad.found}. The exercise's solution computed NaN, which equals no value"
    return f"`{bad.element}` {verb} {bad.found}, not {bad.right}"


def size_text(case: CasePlan) -> str:
    """The sizes of a case: `Width=17`."""
    return ", ".join(f"{name}={size}" for name, size in case.sizes.items())
