"""The advice and the card for a report and the lines of its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernels.rendering.page.verdict_card import VerdictCard, verdict_card
from kernels.report import Report
from kernels.report.explanation import explained


def with_source(report: Report, lines: Sequence[str]) -> Report:
    return replace(report, explanation=explained(report, lines))


def advice_for(report: Report, lines: Sequence[str]) -> str:
    return explained(report, lines).step


def card_of(report: Report, lines: Sequence[str], idea: str = "") -> VerdictCard:
    return verdict_card(with_source(report, lines), len(lines), idea)
