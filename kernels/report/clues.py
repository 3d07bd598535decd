"""Clues to the cause of an incorrect result: the failing sizes, the lines to look at, and a repair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from itertools import islice

from kernels.exercise.input_words import case_sizes
from kernels.exercise.model import InputKind, Operation
from kernels.facts import Diagnosed
from kernels.launch import is_launch_comment
from kernels.report.model import Report, Step, first_error
from kernels.report.source_facts import (
    code_between,
    code_of,
    code_of_all,
    counters_of,
    is_shared,
    loop_at,
    names_in,
    parts_of,
    reached_names,
    statements_at,
    stores_to,
)
from kernels.report.sum_repairs import sum_repair
from kernels.report.tile_indices import exchanged_axes, repair_text, repairs, turns_tiles_of_result
from kernels.source.loops import loop_line
from kernels.verdict import CaseStatus, Finding, Verdict
from kernels.wording import lines_named, listed, plural

_TURNED = ("left_transposed", "right_transposed", "both_transposed")
_LEFT_OUT = ("last_tile", "tile_missing")
_UNWRITTEN, _NEVER_WRITTEN = "partly_written", "never_written"
_PARTIAL_TILE = "The last tile is then partial. Load 0 where the row or the column is outside the matrix."
_TILES = re.compile(r"/\s*(?:TILE|BLOCK)\w*")
_ROUNDED_UP = re.compile(r"-\s*1\s*\)\s*/|\bceil")
_ZEROED = re.compile(r"(?:^|[;{]|\b(?:float|double|int|unsigned))\s*(\w+)\s*=\s*0(?:\.0*)?f?\s*;")
_STORED_TILES = re.compile(r"^[ \t]*+(\w++)[ \t]*+\[", re.MULTILINE)
_STORED = re.compile(r"\s*(\w+)\s*\[")
_COUNTED = re.compile(r"\b(?:for|while)\s*\(\s*(?:(?:int|unsigned|size_t)\s+)*(\w+)")
_EVERY_SECOND = ("even", "odd")
_ENDS_EARLY = re.compile(r"\bfor\s*+\([^;]{0,200};\s*+(\w++)\s*+>\s*+1u?\s*+;[^;]{0,200}(?:/=?\s*+2|>>=?\s*+1)")
_NARROW_TYPE = re.compile(
    r"^(?!\s*#\s*include).*(?:__half|\bhalf2?(?=\s+[A-Za-z_]|\s*\()|\(\s*half2?\s*\)|bfloat|2half|__h(?:add|mul|fma|sub)\b)"
)
_MASKED = re.compile(r"\b__(?:float_as_u?int|u?int_as_float)\b.{0,200}[&|]\s*+~?\s*+0x")
_NARROW_INPUT = re.compile(r"\b__global__\b[^{]{0,800}\b(?:half2?|__half2?|__nv_bfloat16|CUtensorMap)\b")
_NARROW_SUM = re.compile(
    r"\baccumulator\b[^;]{0,200}\b(?:half|__half)\b|\b__h(?:add|mul|fma|sub)2?\b|mma\.[^;]{0,200}k\d+\.f16\b"
)
"""Sums of numbers that already have a narrower format."""
_SMALL_ERROR = 2.0**-7
_SAME_TILE, _LOADS, _BOXES = "loads the same tile", "loads a tile", "copies a box"
_MAP = re.compile(r"\bCUtensorMap\s++(?:__grid_constant__\s++)?(\w++)\s*+[,)]")
_MOST = 3
_MOST_TILES = 16
"""More stored names, or more stores to tiles, take too long to follow."""


class Sizes(Enum):
    """A difference between the failing and the passing sizes."""

    LARGER_THAN_A_TILE = auto()
    PARTIAL_TILE = auto()
    NOTHING = auto()


def failing_sizes(report: Report) -> str:
    """What sets the failing sizes apart from the passing ones, in one sentence; "" if nothing does."""
    tile = report.tile
    return {
        Sizes.LARGER_THAN_A_TILE: f"The result is correct only up to size {tile}, in a single tile.",
        Sizes.PARTIAL_TILE: f"Only sizes that aren't a multiple of {tile} fail.",
        Sizes.NOTHING: "",
    }[sizes_that_fail(report)]


def sizes_that_fail(report: Report) -> Sizes:
    """What sets the failing sizes apart from the passing ones."""
    passed = list(_sizes(report, CaseStatus.PASSED))
    failed = list(_sizes(report, CaseStatus.FAILED))
    tile = report.tile
    if tile < 2 or not passed or not failed:
        return Sizes.NOTHING
    one_tile = all(max(sizes) <= tile for sizes in passed) and all(max(sizes) > tile for sizes in failed)
    if one_tile and _of_matrix(report):
        return Sizes.LARGER_THAN_A_TILE
    partial = [any(size % tile for size in sizes) for sizes in (*passed, *failed)]
    if partial == [False] * len(passed) + [True] * len(failed):
        return Sizes.PARTIAL_TILE
    return Sizes.NOTHING


def _of_matrix(report: Report) -> bool:
    """Whether the incorrect element has two indices in a matrix product. Other exercises load no tiles."""
    if report.inputs in {InputKind.INTEGERS, InputKind.MANTISSAS, *InputKind.of(Operation.SOLUTION)}:
        return False
    leading = first_error(report.findings, report.verdict)
    return leading is not None and len(leading.indices) > 1


def lines_to_look_at(report: Report, lines: Sequence[str]) -> Mapping[int, str]:
    """The lines behind an incorrect result, with what they do; empty if the source doesn't show them.

    lines: of the graded source
    """
    leading = first_error(report.findings, report.verdict)
    if leading is None or leading.line is not None or report.verdict is not Verdict.WRONG_ANSWER:
        return {}
    if (reset := _reset(lines)) is not None:
        return {reset[0]: f"resets {reset[1]}"}
    comment = _launch_comment(lines)
    if comment and leading.facts.diagnosis(_UNWRITTEN) and _too_few_threads(report):
        return {comment: "too few threads"}
    if _is_rounded(leading, lines):
        return dict.fromkeys(_rounding_lines(lines)[:_MOST], "rounds")
    if (of_sum := sum_repair(leading.facts, lines)) is not None:
        return {of_sum.line: of_sum.label}
    if wrong := repairs(leading.facts, lines):
        return {each.line: f"indices of {each.name}" for each in wrong[:_MOST]}
    if (axes := exchanged_axes(leading.facts, lines)) is not None:
        return dict.fromkeys(axes.lines, "x and y exchanged")
    code = {number: code_of(number, lines) for number in range(1, len(lines) + 1)}
    patterns = [*_tile_loads(report, lines), *_patterns(leading)]
    for pattern, text in patterns:
        found = [number for number, line in code.items() if pattern.search(line) and "__global__" not in line]
        if found:
            return dict.fromkeys(found[:_MOST], text)
    return {}


def advice_of_clues(report: Report, lines: Sequence[str]) -> Step | None:
    """What to change, by the diagnosis or by the failing sizes; None if neither is clear."""
    leading = first_error(report.findings, report.verdict)
    if leading is None or report.verdict is not Verdict.WRONG_ANSWER:
        return None
    labels = lines_to_look_at(report, lines)
    found = sorted(labels)
    at = f" at line {found[0]}" if len(found) == 1 else ""
    if (reset := _reset(lines)) is not None:
        number, name, loop = reset
        text = f"Line {number} sets `{name}` to 0 again for each tile. Set it once, before the loop at line {loop}."
        return Step("sum.reset", text)
    if _is_rounded(leading, lines):
        return _rounded(found, lines)
    if (of_sum := sum_repair(leading.facts, lines)) is not None:
        return Step(of_sum.key, of_sum.text)
    if (exchange := _exchange(leading, found, lines)) is not None:
        return exchange
    if leading.facts.diagnosis(*_LEFT_OUT) and not any(map(_ROUNDED_UP.search, lines)):
        text = f"Round the number of tiles up{at}, as in `(Width + TILE_WIDTH - 1) / TILE_WIDTH`."
        return Step("tiles_rounded_down", text if _loads_are_guarded(lines) else f"{text} {_PARTIAL_TILE}")
    if leading.facts.diagnosis(_NEVER_WRITTEN) and leading.array and not stores_to(leading.array, lines):
        return Step(
            "never_written", f"Store the result of each thread in `{leading.array}`. So far, nothing is stored there."
        )
    if leading.facts.diagnosis(_UNWRITTEN):
        if few := _too_few_threads(report):
            return Step("too_few_threads", _enough_threads(few, lines))
        text = f"Let a thread write each element{at}. Look for an `if` or a `return` that skips some."
        return Step("unwritten_output", text)
    if leading.facts.diagnosis(*_EVERY_SECOND) and found and (head := _ENDS_EARLY.search(lines[found[0] - 1])):
        return Step(
            "tree_ends_early", f"Let the loop{at} run for `{head[1]}` = 1, too. This step adds the last two sums."
        )
    return _one_tile(labels) if sizes_that_fail(report) is Sizes.LARGER_THAN_A_TILE else None


def _one_tile(labels: Mapping[int, str]) -> Step:
    loads = [line for line in sorted(labels) if labels[line] in {_SAME_TILE, _LOADS, _BOXES}]
    at = _at(loads) if len(loads) <= 2 else ""
    if {*labels.values()} == {_BOXES}:
        text = f"Look at the coordinates of the boxes{at}. The first coordinate goes along the rows in memory."
        return Step("one_tile", f"{text} Each phase must copy other tiles.")
    if {*labels.values()} == {_SAME_TILE}:
        read = "This load reads" if len(loads) == 1 else "These loads read"
        text = f"Use the number of the phase in the index{at}. {read} the same tile in each phase."
        return Step("same_tile", text)
    return Step("one_tile", f"Look at the indices of the loads{at}. Each phase must load another tile.")


def _too_few_threads(report: Report) -> tuple[int, int] | None:
    """The numbers of threads and of elements, if each thread wrote one element and others are left."""
    if report.launch is None:
        return None
    threads = report.launch.threads * report.launch.blocks
    for check in report.checks:
        if not check.incorrect or case_sizes(check.case) != (*report.launch_sizes.values(),):
            continue
        if threads == check.elements - check.incorrect:
            return threads, check.elements
    return None


def _enough_threads(few: tuple[int, int], lines: Sequence[str]) -> str:
    threads, elements = few
    counts = f"The launch has {plural(threads, 'thread')} for {plural(elements, 'element')}"
    if elements % threads == 0:
        return f"{counts}, so each thread must write {elements // threads}."
    comment = _launch_comment(lines)
    where = f" Correct `grid=` in the `//!tilelab` comment at line {comment}." if comment else ""
    return f"{counts}.{where}"


def _launch_comment(lines: Sequence[str]) -> int:
    """The line of the launch comment; 0 without one."""
    return next((number for number, line in enumerate(lines, 1) if is_launch_comment(line)), 0)


def _exchange(leading: Finding, found: Sequence[int], lines: Sequence[str]) -> Step | None:
    """Which indices to correct, if some are exchanged; None if none are known to be. found: the lines to look at."""
    if wrong := repairs(leading.facts, lines):
        return Step("tile_indices", repair_text(wrong).replace("{", "{{").replace("}", "}}"))
    if (axes := exchanged_axes(leading.facts, lines)) is not None:
        text = f"Use the `y` indices in `{axes.row}` and the `x` indices in `{axes.column}`{_at(axes.lines)}."
        return Step("exchanged_axes", f"{text} `threadIdx.x` counts columns.")
    facts, index = leading.facts, "Which of the two belongs to `threadIdx.x`?"
    # A tile that is transposed looks like a matrix in a single tile.
    if (turned := facts.diagnosis(*_TURNED, in_all=True)) is not None:
        at = _at(found) if len(found) == len(turned.names) else ""
        names = listed([f"`{name}`" for name in turned.names])
        text = f"Exchange row and column where your kernel reads {names}{at}. {index}"
        return Step("transposed_reads", text)
    if (swapped := facts.diagnosis("swapped", in_all=True)) is not None:
        at = _at(found) if len(found) == 2 else ""
        text = f"Exchange `{swapped.names[0]}` and `{swapped.names[1]}` where your kernel reads them{at}."
        return Step("swapped_operands", text)
    at = _at(found) if len(found) == 1 else ""
    if facts.diagnosis("transposed", in_all=True):
        text = f"Exchange row and column in the index of the output{at}. {index}"
        return Step("transposed_output", text)
    if turns_tiles_of_result(facts):
        text = f"Exchange `threadIdx.x` and `threadIdx.y` in the index of the output{at}."
        return Step("exchanged_threads", text)
    return None


def cause(report: Report, lines: Sequence[str]) -> str:
    """What the source shows to be the cause of an incorrect result, in a sentence; "" for none."""
    found = _reset(lines) if report.verdict is Verdict.WRONG_ANSWER else None
    return "" if found is None else "The sum starts again at 0 for each tile."


def _at(found: Sequence[int]) -> str:
    return f" at {lines_named(found)}" if found else ""


def _is_rounded(finding: Finding, lines: Sequence[str]) -> bool:
    """Whether the diagnosis is a narrower format, or the source has one or a mask and the example's error is small."""
    if finding.facts.diagnosis("narrow_format"):
        return True
    if not finding.facts.values or not _rounding_lines(lines):
        return False
    found, right = finding.facts.values
    return abs(found - right) <= _SMALL_ERROR * abs(right)


def _has_narrow_inputs(lines: Sequence[str]) -> bool:
    """Whether the kernel's parameters have a narrower type, or tensor maps hide their type."""
    return _NARROW_INPUT.search(code_of_all(lines)) is not None


def _narrow(lines: Sequence[str]) -> re.Pattern[str]:
    """A pattern of the lines that round: any with a narrower type, or only sums if the inputs have one."""
    return _NARROW_SUM if _has_narrow_inputs(lines) else _NARROW_TYPE


def _rounded(found: Sequence[int], lines: Sequence[str]) -> Step:
    if _has_narrow_inputs(lines):
        return Step("narrow_sums", f"Keep the sums in `float`{_at(found)}. Only the inputs are narrower.")
    text = f"Keep the numbers in `float`{_at(found)}. Other formats and masks cut off their last bits."
    return Step("narrow_format", text)


def _rounding_lines(lines: Sequence[str]) -> list[int]:
    """The lines with a narrower type; without any, the lines that mask bits of a float."""
    code = list(enumerate(code_of_all(lines).split("\n"), 1))
    found = ([number for number, line in code if pattern.search(line)] for pattern in (_narrow(lines), _MASKED))
    return next(filter(None, found), [])


def _loads_are_guarded(lines: Sequence[str]) -> bool:
    """Whether each load of a tile tests a value that the loop over tiles changes."""
    stored = {*_STORED_TILES.findall(code_of_all(lines))}
    tiles = [name for name in stored if is_shared(name, lines)] if len(stored) <= _MOST_TILES else []
    loads = [line for name in tiles for line in stores_to(name, lines)]
    if len(loads) > _MOST_TILES:
        return False
    for line in loads:
        loop = loop_at(line, lines)
        if loop is None:
            return False
        changing = reached_names(counters_of(loop, lines), code_between(loop.first, loop.last, lines))
        inner = (each for each in statements_at(line, lines) if each.word == "if" and each.start > loop.start)
        tests = [code_of(line, lines).partition("?")[0], *(parts_of(each, lines).condition for each in inner)]
        if not any("<" in test and names_in(test.partition("=")[2] or test) & changing for test in tests):
            return False
    return bool(loads)


def _reset(lines: Sequence[str]) -> tuple[int, str, int] | None:
    """The line that resets a sum for each tile, the sum's name, and the loop's line."""
    code = [code_of(number, lines) for number in range(1, len(lines) + 1)]
    text = "\n".join(code)
    barriers = {loop_line(text, number) for number, line in enumerate(code, 1) if "__syncthreads" in line}
    zeroed = ((number, name) for number, line in enumerate(code, 1) for name in _ZEROED.findall(line))
    for number, name in islice(zeroed, _MOST_TILES):
        loop = loop_line(text, number)
        # A partial sum that is used in any other way belongs inside the loop.
        uses = re.findall(rf"(?<!float )(?<!double )\b{name}\b(?!\s*=\s*0)", text)
        added = re.findall(rf"\b{name}\s*\+=", text)
        stored = re.findall(rf"\[([^;=]{{0,200}})\]\s*+=\s*+{name}\s*+;", text)
        if loop == number or loop not in barriers or not added or len(uses) != len(added) + len(stored):
            continue
        # A loop that moves on to another output element needs a new sum.
        counter = _COUNTED.search(code[loop - 1])
        if counter is not None and not any(re.search(rf"\b{counter[1]}\b", index) for index in stored):
            return number, name, loop
    return None


def _tile_loads(report: Report, lines: Sequence[str]) -> Iterator[tuple[re.Pattern[str], str]]:
    """A pattern of the lines that load tiles, if only a single tile comes out correct."""
    if sizes_that_fail(report) is not Sizes.LARGER_THAN_A_TILE:
        return
    if maps := _MAP.findall(code_of_all(lines)):
        named = "|".join(maps[:_MOST_TILES])
        yield re.compile(rf"^(?!.{{0,400}}\bCUtensorMap\b)[^(\n]{{0,200}}+\((?=.{{0,400}}\b(?:{named})\b)"), _BOXES
    stored = {match[1] for line in lines if (match := _STORED.match(line)) and is_shared(match[1], lines)}
    if not stored:
        return
    load = rf"^[ \t]*+(?:{'|'.join(stored)})[ \t]*+\[.{{0,200}}?\][ \t]*+=(?!=)(?=.{{0,400}}\[)"
    if changing := _changing(load, lines):
        yield re.compile(rf"{load}(?!.{{0,400}}\b(?:{'|'.join(changing)})\b)"), _SAME_TILE
    yield re.compile(load), _LOADS


def _changing(load: str, lines: Sequence[str]) -> set[str]:
    """The variables that the loop over tiles changes, also its counter; empty if no load is in a loop."""
    code = [code_of(number, lines) for number in range(1, len(lines) + 1)]
    text = "\n".join(code)
    loads = [number for number, line in enumerate(code, 1) if re.match(load, line)]
    heads = {loop_line(text, number) for number in loads} - set(loads)
    if len(heads) != 1:
        return set()
    (head,) = heads
    inside = "\n".join(line for number, line in enumerate(code, 1) if loop_line(text, number) >= head)
    # A variable that the loop only sets, as in `int column = tx;`, may have the same value each time.
    moved = re.findall(r"\b(\w++)\s*+(?:[-+*/]=|\+\+|--)|(?:\+\+|--)\s*+(\w+)|\b(\w++)\s*+=\s*+\3\b", inside)
    return reached_names({name for names in moved for name in names if name}, inside)


def _patterns(finding: Finding) -> Iterator[tuple[re.Pattern[str], str]]:
    """Patterns of lines with their labels, the most telling first."""
    facts = finding.facts
    if facts.diagnosis(*_EVERY_SECOND):
        yield _ENDS_EARLY, "stops early"
    if (turned := facts.diagnosis(*_TURNED, in_all=True)) is not None:
        yield _reads(turned), f"reads {listed(turned.names)}"
    if (swapped := facts.diagnosis("swapped", in_all=True)) is not None:
        yield _reads(swapped), "reads the other matrix"
    if facts.diagnosis(*_LEFT_OUT):
        yield _TILES, "number of tiles"
    name = finding.array
    if name:
        yield re.compile(rf"\b{re.escape(name)}\s*+\[.{{0,200}}\]\s*+[-+*/]?=(?!=)"), f"writes {name}"


def _reads(diagnosis: Diagnosed) -> re.Pattern[str]:
    return re.compile(rf"^[^=\n]*+=.*\b(?:{'|'.join(diagnosis.names)})\s*+\[")


def _sizes(report: Report, status: CaseStatus) -> Iterator[tuple[int, ...]]:
    for check in report.checks:
        found = case_sizes(check.case)
        if check.status is status and found:
            yield found
