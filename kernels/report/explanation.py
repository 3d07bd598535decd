"""What the source shows about a mistake: its cause, the next step, the lines, the array of a race.

The source is hostile, and reading it may take long. So it is read once, in the sandbox that graded it. Everything else
shows the stored explanation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from kernels.expression import Expression, ExpressionError
from kernels.report.advice import next_step
from kernels.report.clues import cause, lines_to_look_at
from kernels.report.model import Explanation, LineNote, Report, first_error
from kernels.report.races import only_updates
from kernels.report.source_facts import code_of, is_shared
from kernels.verdict import Verdict

_DEFINED = re.compile(r"^\s*+#\s*+define\s++(\w++)\s++(\d{1,9})\s*+$")
_BARRIER = re.compile(r"\b__syncthreads\w*+\s*+\(|\bthis_thread_block\(\)\.sync\(|\bblock\.sync\(")
_EXTENT = re.compile(r"\[([^\[\]]++)\]")
_MOST = 16
"""Lines of each kind."""

_LONGEST = 2_000
"""Lines of a source that is read. A kernel has far fewer, and some of the rules read all lines for each line."""


def explained(report: Report, lines: Sequence[str]) -> Explanation:
    """Explain a report. lines: of the graded source; none for an explanation by the report alone."""
    if len(lines) > _LONGEST:
        lines = ()
    if report.launches:
        # the threads of the first launch say nothing about a mistake in another one
        report = replace(report, launch=None)
    step = next_step(report, lines)
    found = Explanation(
        cause=cause(report, lines),
        step=step.text,
        advice=step.key,
        marks=_notes(step.marks),
        clues=_notes(lines_to_look_at(report, lines)),
    )
    race = first_error(report.findings, Verdict.DATA_RACE)
    if report.verdict is not Verdict.DATA_RACE or race is None or race.example is None:
        return found
    name = race.array
    barriers = (n for n in range(1, len(lines) + 1) if _BARRIER.search(code_of(n, lines)))
    return replace(
        found,
        lost_update=only_updates(race, lines),
        barriers=tuple(islice(barriers, _MOST)),
        shared=bool(name) and is_shared(name, lines),
        extents=_extents(name, lines, report.tile) if name else (),
    )


def explanation_of(report: Report) -> Explanation:
    """The stored explanation; otherwise one without the source."""
    return report.explanation or explained(report, ())


def marked_lines(notes: Sequence[LineNote]) -> Mapping[int, str]:
    return {note.line: note.text for note in notes}


def _notes(marks: Mapping[int, str]) -> tuple[LineNote, ...]:
    return tuple(LineNote(line, text) for line, text in islice(marks.items(), _MOST))


def _extents(name: str, lines: Sequence[str], tile: int) -> tuple[int, ...]:
    """Rows and columns of an array in shared memory; empty if its declaration doesn't show them."""
    declared = re.compile(rf"\b{re.escape(name)}\s*+((?:\[[^\[\]]++\])++)")
    code = [code_of(number, lines) for number in range(1, len(lines) + 1)]
    macros = {match[1]: int(match[2]) for line in code if (match := _DEFINED.search(line))}
    known = {"TILE_WIDTH": tile, "BLOCK_SIZE": tile, **macros}
    for line in code:
        if "__shared__" in line and (match := declared.search(line)):
            try:
                sizes = [Expression.parse(each).evaluate(known) for each in _EXTENT.findall(match[1])]
            except ExpressionError:
                return ()
            return (sizes[-2] if sizes[1:] else 1, sizes[-1]) if min(sizes) > 0 else ()
    return ()
