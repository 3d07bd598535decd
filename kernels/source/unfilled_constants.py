"""Constants that a file declares and nothing fills, because host code doesn't run here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from kernels.facts import Diagnosed
from kernels.source.conditions import visible_tokens
from kernels.source.kernel import unused_parameters
from kernels.source.statements import statements
from kernels.source.text import Kind, Token
from kernels.verdict import Finding, Verdict
from kernels.wording import listed


def name_unfilled_constants(findings: Iterable[Finding], text: str, filled: Collection[str]) -> tuple[Finding, ...]:
    """The findings. An incorrect result names the first constant that is 0 and that the kernel uses.

    filled: the variables that Tilelab fills
    """
    found = tuple(findings)
    wrong = next((finding for finding in found if finding.kind is Verdict.WRONG_ANSWER), None)
    if wrong is None:
        return found
    constant = next(_unfilled(text, filled), None)
    if constant is None:
        return found
    facts = replace(
        wrong.facts, example=wrong.facts.example or wrong.message, diagnoses=(*wrong.facts.diagnoses, constant)
    )
    named = replace(wrong, message=f"{wrong.message} {constant.sentences}", facts=facts)
    return tuple(named if each is wrong else each for each in found)


def _unfilled(text: str, filled: Collection[str]) -> Iterator[Diagnosed]:
    tokens = visible_tokens(text)
    for token in _declared(tokens):
        used = next((each.line for each in tokens if each.text == token.text and each is not token), None)
        if used is None or token.text in filled:
            continue
        free = [f"`{name}`" for name in unused_parameters(tokens, used, arrays=True)]
        advice = f"Use the parameter {listed(free, 'or')}." if free else ""
        zeros = f"The constant `{token.text}` (line {token.line}) holds only zeros, because host code doesn't run here."
        yield Diagnosed("unfilled_constant", zeros, advice, (token.text,))


def _declared(tokens: list[Token]) -> Iterator[Token]:
    """The names of `__constant__` arrays and variables without an initialiser."""
    for part in statements(tokens):
        texts = {token.text for token in part}
        if "__constant__" in texts and not texts & {"=", "{", "(", "extern"}:
            ends = {"[", ";", ","}
            yield from (token for token, after in pairwise(part) if token.kind is Kind.NAME and after.text in ends)
