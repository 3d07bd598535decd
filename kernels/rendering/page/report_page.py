"""A report as a page: the verdict, the source with findings at their lines, the cases, measurements and counts.

The result is one complete file, or sections for a page of the portal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from kernels.analysis.model import Analysis
from kernels.exercise.input_words import case_words
from kernels.ladder import Ladder
from kernels.rendering.findings import informative_findings
from kernels.rendering.ladder import modelled_standing, next_idea
from kernels.rendering.measurement import GPU_ONLY
from kernels.rendering.page.cases import cases_view
from kernels.rendering.page.charts.incorrect_map import incorrect_view
from kernels.rendering.page.context import context
from kernels.rendering.page.listing.ptx_view import ptx_view, sass_view
from kernels.rendering.page.listing.syntax import Piece, coloured
from kernels.rendering.page.measurement import measured_figures, measured_view
from kernels.rendering.page.race_view import race_view
from kernels.rendering.page.render import environment, whole_page
from kernels.rendering.page.summary import Figure, figures
from kernels.rendering.page.verdict_card import NEXT_STEP, ExcerptLine, VerdictCard, verdict_card
from kernels.rendering.text_safety import safe_lines
from kernels.report import Report, launch_sentence
from kernels.report.model import first_error
from kernels.verdict import Verdict, errors_of

_PRINTED_LINES = 400
_KEY = (
    "Speed",
    "Bandwidth",
    "Of cuBLAS",
    "Speed of light",
    "Occupancy",
    "Time",
    "Sectors needed",
    "Lost to bank conflicts",
)
"""The figures for the card of an accepted kernel, the most important first."""
_MOST_KEY = 4


@dataclass(frozen=True, slots=True)
class ReportContext:
    """Facts about a report that it doesn't contain.

    file: the author's name for the source
    ladder: the reference kernels of its exercise, if any
    facts: more lines at the top of a complete page, by title
    worth: what it earns, such as "10/10 points, this submission counts"; "" if unknown
    actions: makes the buttons for the card of the verdict, from the line that the card begins with
    """

    file: str = "kernel.cu"
    ladder: Ladder | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    worth: str = ""
    actions: Callable[[int | None], Markup] = lambda _line: Markup()


def render_report(report: Report, source: str, around: ReportContext) -> str:
    return whole_page("report.html", {**_given(report, source, around), "extra": around.facts}, around.file)


def render_sections(report: Report, source: str, around: ReportContext) -> Markup:
    """The sections, the verdict first, for a page with its own first-level heading."""
    given = _given(report, source, around)
    return Markup(environment().get_template("report_sections.html").render(given))  # noqa: S704 - our own template


def analysis_of(report: Report) -> Analysis:
    """The parts of a report that the sections of an analysis show."""
    extent = report.evidence.extent
    return Analysis(
        exercise=report.exercise,
        arch=report.arch,
        tile=report.tile,
        sizes=extent.sizes if extent is not None else {},
        launch=extent.launch if extent is not None else report.launch,
        resources=report.resources,
        occupancy=report.occupancy,
        evidence=report.evidence,
        findings=informative_findings(report),
        warnings=report.warnings,
        isolation=report.isolation,
        seconds=report.seconds,
        device=report.device,
    )


def _given(report: Report, source: str, around: ReportContext) -> dict[str, Any]:
    analysis = analysis_of(report)
    shown = _figures(report, analysis)
    measured = measured_view(report, around.ladder)
    card = verdict_card(report, len(safe_lines(source.rstrip())), next_idea(around.ladder, report.measurement))
    printed = report.printed.removesuffix("\n").split("\n") if report.printed else []
    return {
        **context(analysis, source),
        "figures": shown,
        # The card has the first advice, unless it has the idea of a faster kernel.
        "advice": analysis.evidence.advice[1 if card.label == NEXT_STEP else 0 :],
        "report": report,
        "card": card,
        # The card has all of a single finding, and all errors of the compiler.
        "listed": analysis.findings not in {(), (first_error(report.findings, report.verdict), *card.also)},
        "excerpt": _excerpt(card, source),
        "race": race_view(report),
        "incorrect": incorrect_view(report),
        "worth": around.worth,
        "key_figures": _key_figures(report, shown),
        "actions": around.actions(card.line),
        "launch": launch_sentence(report),
        "gpu_only": GPU_ONLY,
        "wrong": bool(errors_of(report.findings)),
        "cases": cases_view(report, around.file),
        "measured": measured,
        "standing": measured.standing[0]
        if measured and measured.standing
        else modelled_standing(around.ladder, report),
        "ptx": ptx_view(report, source),
        "sass": sass_view(report, source),
        "printed_case": case_words(report.printed_case or ""),
        "printed": printed[:_PRINTED_LINES],
        "printed_more": max(0, len(printed) - _PRINTED_LINES),
    }


def _excerpt(card: VerdictCard, source: str) -> Sequence[tuple[ExcerptLine, Sequence[Piece]]]:
    """The lines of the card with their code, without the indentation that all of them have."""
    pieces = coloured(source) if card.excerpt else []
    shown = [(line, pieces[line.number - 1]) for line in card.excerpt if line.number <= len(pieces)]
    common = _indentation(code for _, code in shown)
    # A narrow page shows only the finding's own lines. It hides what indents all of them.
    deeper = _indentation(code for line, code in shown if line.hit)
    return [
        (
            line,
            [
                *([Piece("deeper", _text(code)[common:deeper])] if line.hit else []),
                *_without_start(code, deeper if line.hit else common),
            ],
        )
        for line, code in shown
    ]


def _indentation(lines: Iterable[Sequence[Piece]]) -> int:
    """The number of characters that indent all of these lines."""
    texts = [text for text in map(_text, lines) if text.strip()]
    return min((len(text) - len(text.lstrip()) for text in texts), default=0)


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def _without_start(pieces: Sequence[Piece], count: int) -> Sequence[Piece]:
    kept = []
    for piece in pieces:
        kept.append(replace(piece, text=piece.text[count:]))
        count = max(0, count - len(piece.text))
    return kept


def _key_figures(report: Report, shown: Sequence[Figure]) -> Sequence[Figure]:
    """The figures for the card; none of an incorrect kernel."""
    if report.verdict is not Verdict.ACCEPTED:
        return ()
    return sorted((each for each in shown if each.title in _KEY), key=lambda each: _KEY.index(each.title))[:_MOST_KEY]


def _figures(report: Report, analysis: Analysis) -> tuple[Figure, ...]:
    """Measured figures, then counted and modelled ones. Occupancy appears once; the driver's has precedence."""
    measured = measured_figures(report)
    known = {figure.title for figure in measured}
    return (*measured, *(figure for figure in figures(analysis) if figure.title not in known))
