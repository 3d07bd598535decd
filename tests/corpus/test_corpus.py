"""Kernels of students' kinds, wrong and right, graded the way `tilelab grade` does it, many in the same processes."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import pytest

from kernels.facts import Mistake
from kernels.rendering.page.report_page import ReportContext, render_sections
from kernels.report import Report
from kernels.report.causes import Cause, cause_of
from kernels.verdict import Verdict
from tests.corpus.expected import Mistaken, exercise_of, in_words
from tests.corpus.lines_on_page import follows_its_line, lines_of, marks_of
from tests.kernels.page.page_text import read
from tests.marks import first_of_each, linux
from tests.worker.kept_processes import KeptProcesses
from worker.steps.grading import Job, grade

FOLDER = Path(__file__).parent
SEED = "5eed" * 8
# Blocks of 64, 256 and 1,024 threads.
TILES = (8, 16, 32)
# Several blocks in both directions, of which the last are not full where the exercise has such a size.
ONE_SIZE = {
    "naive": "Width=37",
    "tiled": "Width=37",
    "tiled-square": "Width=32",
    "tensor-mma": "rows=80",
    "hopper-wgmma": "rows=128",
    "tensor-cores": "rows=144",
}
# The mistakes with asynchronous operations, as README.md names them, and the facts of their findings.
MISTAKES = {
    "proxy_fence": {Mistake.PROXY_FENCE},
    "registers": {Mistake.REGISTER_FENCE, Mistake.TRANSFER},
    "reuse": {Mistake.TRANSFER, Mistake.EARLY_TRANSFER},
    "bytes": {Mistake.MBARRIER},
    "init": {
        Mistake.OTHER,
        Mistake.MBARRIER,
        Mistake.NO_BARRIER,
        Mistake.PROXY_FENCE,
        Mistake.TRANSFER,
        Mistake.CLUSTER_RACE,
    },
    "lifetime": {Mistake.CLUSTER_LIFETIME, Mistake.CLUSTER_RACE, Mistake.EARLY_TRANSFER},
}
_OF_CAUSE = tomllib.loads((FOLDER / "causes.toml").read_text(encoding="utf-8"))
CAUSES_MISSED = set(_OF_CAUSE.pop("missed"))
CAUSES = {name: Cause(cause) for cause, names in _OF_CAUSE.items() for name in names}
# The compiler reads each of these for a second.
LARGE_HEADER = re.compile(r"#include <(cooperative_groups\.h|cuda/\w+)>")


@dataclass(frozen=True, slots=True)
class Expected(Mistaken):
    """One kernel of the corpus; README.md explains the fields."""

    name: str
    exercise: str
    why: str
    verdict: Verdict = Verdict.ACCEPTED
    line: int | None = None
    other_line: int | None = None
    also: tuple[int, ...] = ()
    remarks: tuple[int, ...] = ()
    mistake: str = ""
    case: str | None = None
    slow: bool = False


def read_corpus(kind: str) -> tuple[Expected, ...]:
    table = tomllib.loads((FOLDER / f"{kind}.toml").read_text(encoding="utf-8"))
    return tuple(
        Expected(
            **{
                **entry,
                "verdict": Verdict(entry.get("verdict", "accepted")),
                "also": tuple(entry.get("also", ())),
                "remarks": tuple(entry.get("remarks", ())),
            }
        )
        for entry in table["kernel"]
    )


WRONG, RIGHT = read_corpus("wrong"), read_corpus("right")


def tiles_of(expected: Expected) -> list[int]:
    """The tiles to try a right kernel with: those that its exercise allows, or its own otherwise."""
    exercise = exercise_of(expected.exercise)
    return [tile for tile in TILES if tile in exercise.tiles] or [exercise.tile]


def launches_of(number: int, expected: Expected) -> list[tuple[Expected, int, str | None]]:
    """A right kernel with each tile and all sizes; before that nine of ten with one tile and one size."""
    tiles = sorted(tiles_of(expected), key=lambda tile: tile != 16)
    size = ONE_SIZE.get(expected.exercise) if number % 10 or expected.slow else None
    soon = [(expected, tile, size) for tile in tiles[:1] if size]
    return [*soon, *((expected, tile, None) for tile in tiles)]


def large_header_of(expected: Expected) -> str:
    """The one that a right kernel includes, or none."""
    found = LARGE_HEADER.search((FOLDER / "right" / f"{expected.name}.cu").read_text("utf-8"))
    return found[0] if found else ""


RIGHT_WITH_TILES = first_of_each(
    sorted(
        (each for number, expected in enumerate(RIGHT) for each in launches_of(number, expected)),
        key=lambda each: each[0].slow,
    ),
    lambda each: large_header_of(each[0]) or RIGHT.index(each[0]) // 32,
    lambda each: "-".join(map(str, filter(None, (each[0].name, *each[1:])))),
    "the short suite has one of 32 right kernels, at one tile, and one of each large header",
)


def graded(
    kind: str, expected: Expected, cache: Path, kept: KeptProcesses, tile: int | None = None, case: str | None = None
) -> Report:
    source = (FOLDER / kind / f"{expected.name}.cu").read_bytes()
    job = Job(source, exercise_of(expected.exercise), arch="sm_90", seed=SEED, cache=cache, tile=tile, case=case)
    return grade(job, kept.stages())


@pytest.mark.parametrize(("kind", "corpus"), [("wrong", WRONG), ("right", RIGHT)])
def test_every_kernel_has_one_entry_and_the_other_way_round(kind, corpus):
    names = [expected.name for expected in corpus]

    assert len(names) == len(set(names))
    assert set(names) == {path.stem for path in (FOLDER / kind).glob("*.cu")}


def test_the_corpus_is_large_and_holds_every_verdict_a_kernel_can_earn():
    assert len(WRONG) >= 85
    assert len(RIGHT) >= 36
    earned = {expected.verdict for expected in WRONG}
    assert earned == set(Verdict) - {Verdict.ACCEPTED, Verdict.SYSTEM_ERROR}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_there_are_many_kernels_with_each_asynchronous_mistake(mistake):
    assert sum(expected.mistake == mistake for expected in WRONG) >= 20


@dataclass(frozen=True, slots=True)
class Graded:
    """A wrong kernel with the report on it, which several tests read."""

    expected: Expected
    source: str
    report: Report


@pytest.fixture(
    scope="module",
    params=first_of_each(
        sorted(WRONG, key=attrgetter("slow")),
        lambda expected: expected.slow or (expected.verdict, expected.mistake),
        attrgetter("name"),
        "the short suite has one of each verdict and of each asynchronous mistake, and one that is slow",
    ),
)
def wrong(request, cache, kept):
    expected = request.param
    source = (FOLDER / "wrong" / f"{expected.name}.cu").read_text("utf-8", "replace")
    return Graded(expected, source, graded("wrong", expected, cache, kept, case=expected.case))


@linux
def test_a_wrong_kernel_gets_its_verdict_and_its_line(wrong):
    expected, report = wrong.expected, wrong.report

    assert report.verdict is expected.verdict, in_words(report)
    shown = [finding for finding in report.findings if expected.shown_by(finding)]
    assert shown, in_words(report)
    if expected.mistake:
        assert any(finding.facts.mistake in MISTAKES[expected.mistake] for finding in shown), in_words(report)
    if expected.mistake == "bytes":
        phases = [finding.facts.incomplete for finding in shown if finding.facts.incomplete is not None]
        assert any(phase.bytes != phase.expected_bytes for phase in phases), in_words(report)


@linux
def test_a_wrong_kernel_has_its_cause(wrong):
    name = wrong.expected.name
    if name in CAUSES:
        assert (cause_of(wrong.report) == CAUSES[name]) != (name in CAUSES_MISSED), in_words(wrong.report)


def test_most_of_many_causes_are_recognised():
    assert len(CAUSES) >= 200
    assert len(CAUSES_MISSED) <= len(CAUSES) // 20
    assert CAUSES_MISSED <= CAUSES.keys() <= {expected.name for expected in WRONG}


@linux
def test_every_finding_stands_at_its_line_of_the_page(wrong):
    expected, report = wrong.expected, wrong.report
    html = str(render_sections(report, wrong.source, ReportContext("kernel.cu")))

    page = read(html)
    assert not page.wrong
    assert set(page.values("href")) >= {f"#L{finding.line}" for finding in report.findings if finding.line}
    at = marks_of(html)
    for line, message in lines_of(report):
        assert message in at[line], (line, message)
        assert follows_its_line(html, line)
    if expected.line is not None:
        assert {expected.line, *expected.also} & at.keys()


@pytest.fixture(scope="module")
def of_right(request, cache, kept) -> Callable[[Expected, int, str | None], Report]:
    """Grades a right kernel. In the whole suite all sizes run anyway, and one of them is read from that report."""
    grade_once = functools.cache(functools.partial(graded, "right", cache=cache, kept=kept))
    if request.config.option.markexpr == "not long":
        return lambda expected, tile, case: grade_once(expected, tile=tile, case=case)
    return lambda expected, tile, _: grade_once(expected, tile=tile)


@linux
@pytest.mark.parametrize("launch", RIGHT_WITH_TILES)
def test_a_right_kernel_is_accepted_with_its_remarks_only(launch, of_right):
    expected, tile, case = launch
    report = of_right(expected, tile, case)

    assert [check for check in report.checks if (case or "") in check.case]
    assert report.verdict is Verdict.ACCEPTED, in_words(report)
    assert tuple(finding.line for finding in report.findings) == expected.remarks, in_words(report)
