"""The command line as a student uses it, for the tests of what the course's documents hold."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

from click.testing import CliRunner, Result

from kernels.analysis.model import Analysis
from kernels.analysis.model import from_json as read_analysis
from kernels.evidence import AccessEvidence, BranchEvidence, PhaseTable, TheoryRow
from kernels.exercise import find_exercise
from kernels.report import Report
from kernels.report import from_json as read_report
from tests.kernels.analysed import InProcess
from worker.commands.root import tilelab
from worker.steps.analysis_step import AnalysisRequest, AnalysisResponse

CORPUS = Path(__file__).resolve().parents[1] / "corpus"


class Here(InProcess):
    """Stages in this process, which is quicker than several; counts are then those of the PTX.

    The launch of the leaderboard's size is left out, which only the speed of light is made from.
    """

    def analyse(self, request: AnalysisRequest) -> AnalysisResponse:
        return super().analyse(replace(request, light=None))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@cache
def tilelab_says(command: str, text: str, *options: str, sandboxed: bool = False) -> Result:
    """One call of the command on a text; the same call is made once.

    sandboxed: whether it starts the processes of its own that it does for a student, the disassembler among them
    """
    arguments = [command, "-", *options]
    result = CliRunner().invoke(tilelab, arguments, input=text, obj=None if sandboxed else Here())
    assert result.exit_code in {0, 1}, result.output
    return result


def solution(exercise: str) -> str:
    return find_exercise(exercise).solution.read_text()


def starter(exercise: str) -> str:
    return find_exercise(exercise).starter.read_text()


def right(name: str) -> str:
    return (CORPUS / f"right/{name}.cu").read_text()


def wrong(name: str) -> str:
    return (CORPUS / f"wrong/{name}.cu").read_text()


def changed(text: str, *changes: tuple[str, str]) -> str:
    """A text with some passages replaced, each of which must be there once."""
    for old, new in changes:
        assert text.count(old) == 1, (text.count(old), old)
        text = text.replace(old, new)
    return text


def line_of(text: str, part: str) -> int:
    """The number of the one line that has this in it."""
    (found,) = [number for number, line in enumerate(text.splitlines(), 1) if part in line]
    return found


def graded(exercise: str, text: str, *options: str, sandboxed: bool = False) -> Report:
    result = tilelab_says("grade", text, "-e", exercise, *options, "--json", sandboxed=sandboxed)
    return read_report(json.loads(result.stdout))


def outcomes(report: Report) -> set[str]:
    """What became of the cases that the CPU device ran."""
    return {check.status.value for check in report.checks} - {"not_run"}


def occupancy_of(*options: str) -> dict[str, Any]:
    """What `tilelab occupancy` answers to figures."""
    result = CliRunner().invoke(tilelab, ["occupancy", *options, "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@dataclass(frozen=True)
class Analysed:
    """An analysis, and the text that its lines are of."""

    text: str
    analysis: Analysis

    @property
    def theory(self) -> dict[str, TheoryRow]:
        return {row.key: row for row in self.analysis.evidence.theory}

    @property
    def phases(self) -> PhaseTable:
        assert self.analysis.evidence.phases is not None
        return self.analysis.evidence.phases

    def access(self, name: str, part: str, verb: str = "") -> AccessEvidence:
        """The accesses to a variable on the one line that has `part` in it."""
        number = line_of(self.text, part)
        (line,) = [line for line in self.analysis.evidence.lines if line.line == number]
        (found,) = [each for each in line.accesses if each.name == name and verb in {"", each.verb.value}]
        return found

    def branches(self, part: str) -> BranchEvidence:
        number = line_of(self.text, part)
        (line,) = [line for line in self.analysis.evidence.lines if line.line == number]
        assert line.branches is not None
        return line.branches


def analysed(exercise: str, text: str, *options: str, sandboxed: bool = False) -> Analysed:
    """What `tilelab analyze` finds; the kernel has to be one that can be analysed, and without a fault."""
    result = tilelab_says("analyze", text, "-e", exercise, *options, "--json", sandboxed=sandboxed)
    analysis = read_analysis(json.loads(result.stdout))
    assert result.exit_code == 0, analysis.findings
    assert not analysis.findings, analysis.findings
    return Analysed(text, analysis)
