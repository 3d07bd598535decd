"""The facts of findings in reports of older versions, which have only messages.

The patterns are of sentences that those versions wrote. New sentences are never matched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kernels.facts import Access, AccessKind, Diagnosed, Facts, Mistake
from kernels.report.model import Report
from kernels.verdict import CaseCheck, Example, Finding, Verdict

_MISTAKES: tuple[tuple[Verdict, str, Mistake], ...] = (
    (Verdict.REJECTED, "`main` is host code", Mistake.MAIN),
    (Verdict.REJECTED, "has different parameters", Mistake.PARAMETERS),
    (Verdict.REJECTED, "is host code", Mistake.HOST_CODE),
    (Verdict.COMPILE_ERROR, r"^A `;` is missing at the end of this line", Mistake.SEMICOLON),
    (Verdict.COMPILE_ERROR, r"A `\{` is never closed", Mistake.NEVER_CLOSED),
    (Verdict.COMPILE_ERROR, r"`\w+` is undefined\. Did you mean `[\w:]+`\?", Mistake.UNDEFINED),
    (Verdict.RESOURCE_LIMIT, "`__launch_bounds__`", Mistake.LAUNCH_BOUNDS),
    (Verdict.RESOURCE_LIMIT, r"largest tile is \d", Mistake.LARGE_TILE),
    (Verdict.OUT_OF_BOUNDS, "`printf`", Mistake.PRINTF),
    (Verdict.BARRIER_DIVERGENCE, "`cuda::barrier`", Mistake.MBARRIER),
    (Verdict.BARRIER_DIVERGENCE, r"`bar\.", Mistake.NAMED_BARRIER),
    (Verdict.TIME_LIMIT, "`cuda::barrier`", Mistake.MBARRIER),
    (Verdict.UNINITIALIZED_READ, "shuffle", Mistake.SHUFFLE),
    (Verdict.RUNTIME_ERROR, "aligned to its size", Mistake.MISALIGNED),
    (Verdict.RUNTIME_ERROR, "the assertion", Mistake.ASSERTION),
    (Verdict.RUNTIME_ERROR, "a trap instruction", Mistake.TRAP),
)
_DIAGNOSES: tuple[tuple[str, str], ...] = (
    ("partly_written", r"\bunwritten\b"),
    ("last_tile", r"\btile is left out\b"),
    ("even", r"\badds up every second element\b"),
    ("narrow_format", r"\bnarrower format\b"),
    ("cut_factors", r"\binputs without their fractions\b"),
    ("scaled_-1", r"\bthe negative of the expected value\b"),
    ("transposed", r"\bresult is transposed\b"),
    ("swapped", r"\bcomputes (?P<second>\w+)\*(?P<first>\w+): the operands are swapped\b"),
    ("both_transposed", r"\b(\w+) transposed times (\w+) transposed\b"),
    ("left_transposed", r"\b(\w+) transposed times\b"),
    ("right_transposed", r"\btimes (\w+) transposed\b"),
    ("tile_cells", r"\bmultiplies `(\w+)\[(\w+)\]\[(\w+)\]` by `(\w+)\[(\w+)\]\[(\w+)\]`"),
)
_GOAL = re.compile(r"Goal (?:of the exercise )?not met: .*?\b[Tt]he limit is [\d,.]*\d(?: bytes)?\.")
_INCORRECT = re.compile(r"^([\d,]+) of ([\d,]+) elements? incorrect$")
_UNDEFINED = re.compile(r"`(\w+)` is undefined\. Did you mean `([\w:]+)`")
_LARGEST = re.compile(r"largest tile is (\d[\d,]*)")
_ELEMENT = re.compile(r"(\w+)((?:\[-?\d+\])*)")
_ELEMENTS = re.compile(r"\(([\d,]+) elements?[,)]")
_VALUES = re.compile(r" is (-?[\d.]+(?:e[-+]?\d+)?), not (-?[\d.]+(?:e[-+]?\d+)?)(?= \()")
_SHARE = re.compile(r"(?<= incorrect\.) ")
_NEXT = re.compile(r" (?=In \d+ of \d+ failing cases: )|(?<! cases:) (?=Incorrect elements: )")
_DIAGNOSIS = re.compile(r"(?:In (\d+) of (\d+) failing cases: )?(.{1,1000}?\.|.*)(?: (.*))?")
_THREAD = r"hread \(([\d,]+)\)"
_BLOCK = r" of block \(([\d,]+)\)"
_TWO = re.compile(rf"T{_THREAD}{_BLOCK} (\D+?) `[^`]{{1,300}}`.{{0,300}}?\. T{_THREAD}(?:{_BLOCK})? (\D+?) it\b")
_BOTH = re.compile(rf"T{_THREAD}{_BLOCK} and t{_THREAD}(?:{_BLOCK})? both (\D+?) `")
_VERBS = {kind.verb: kind for kind in AccessKind} | {
    "read": AccessKind.READ, "write": AccessKind.WRITE, "atomically reads": AccessKind.READ,
    "atomically write": AccessKind.SET, "atomically update": AccessKind.UPDATE,
    "copy asynchronously to": AccessKind.COPY,
}  # fmt: skip


def with_facts(report: Report) -> Report:
    """The report of an older version, with the facts that its messages have."""
    findings = tuple(replace(finding, facts=_facts(finding), example=_example(finding)) for finding in report.findings)
    advice = tuple(replace(each, goal=_goal(each.text)) for each in report.evidence.advice)
    return replace(
        report,
        findings=findings,
        checks=tuple(map(_counted, report.checks)),
        evidence=replace(report.evidence, advice=advice),
    )


def _example(finding: Finding) -> Example | None:
    example = finding.example
    match = _ELEMENT.fullmatch((example and example.element) or "")
    if example is None or match is None:
        return example
    return replace(example, array=match[1], indices=tuple(map(_number, re.findall(r"-?\d+", match[2]))))


def _goal(text: str) -> str:
    match = _GOAL.match(text)
    return "" if match is None else match[0]


def _counted(check: CaseCheck) -> CaseCheck:
    match = _INCORRECT.search(check.note)
    if match is None:
        return check
    return replace(check, incorrect=_number(match[1]), elements=_number(match[2]))


def _facts(finding: Finding) -> Facts:
    text, kind = finding.message, finding.kind
    if kind is Verdict.WRONG_ANSWER:
        return _of_output(text)
    if kind in {Verdict.DATA_RACE, Verdict.ORDER_DEPENDENT}:
        return _of_race(finding)
    mistakes = (mistake for verdict, sign, mistake in _MISTAKES if verdict is kind and re.search(sign, text))
    largest, elements = _LARGEST.search(text), _ELEMENTS.search(text)
    return Facts(
        next(mistakes, Mistake.OTHER),
        names=match.groups() if (match := _UNDEFINED.search(text)) else (),
        largest_tile=_number(largest[1]) if largest and kind is Verdict.RESOURCE_LIMIT else 0,
        elements=_number(elements[1]) if elements and kind is Verdict.OUT_OF_BOUNDS else 0,
        stores=" writes " in text,
    )


def _number(text: str) -> int:
    return int(text.replace(",", "")[:18])


def _of_output(text: str) -> Facts:
    values = _VALUES.search(text)
    example, *rest = _SHARE.split(text, maxsplit=1)
    return Facts(
        values=(float(values[1]), float(values[2])) if values else (),
        example=example if rest else "",
        diagnoses=tuple(map(_diagnosed, _NEXT.split(rest[0]))) if rest else (),
    )


def _diagnosed(text: str) -> Diagnosed:
    match = _DIAGNOSIS.fullmatch(text)
    cases, failing, sentence, more = match.groups() if match else (None, None, text, None)
    key, names = next(_named(sentence), ("", ()))
    return Diagnosed(key, sentence, more or "", names, int(cases or 1), int(failing or 1))


def _named(sentence: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for key, pattern in _DIAGNOSES:
        if match := re.search(pattern, sentence):
            yield key, (match["first"], match["second"]) if key == "swapped" else match.groups()


def _of_race(finding: Finding) -> Facts:
    first, second, text = finding.other_line, finding.line, finding.message
    if (both := _BOTH.search(text)) is not None:
        one, block, other, there, verb = both.groups()
        verbs, first = (verb, verb), second
    elif (two := _TWO.search(text)) is not None:
        one, block, before, other, there, after = two.groups()
        verbs = before, after
    else:
        return Facts()
    if not {*verbs} <= _VERBS.keys():
        return Facts()
    blocks = (_index(block), _index(there)) if there else ((), ())
    return Facts(
        accesses=(
            Access(_index(one), _VERBS[verbs[0]], first, blocks[0]),
            Access(_index(other), _VERBS[verbs[1]], second, blocks[1]),
        ),
        together=both is not None,
        one_warp="`__syncwarp()`" in text,
    )


def _index(text: str) -> tuple[int, ...]:
    return tuple(int(number[:18]) for number in text.split(",") if number)
