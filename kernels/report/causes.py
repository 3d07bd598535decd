"""What went wrong in a kernel, as one of a few causes that many students share.

A cause depends on no name and no line of the source, so that staff can count it over a class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Self

from kernels.facts import AccessKind
from kernels.report.explanation import explanation_of
from kernels.report.model import Explanation, Report
from kernels.verdict import Finding, Verdict, errors_of


class Cause(StrEnum):
    """What went wrong. words: for a table of a class."""

    _value_: str
    words: str

    def __new__(cls, name: str, words: str = "") -> Self:
        """A member that equals its name."""
        made = str.__new__(cls, name)
        made._value_, made.words = name, words
        return made

    BARRIER_BEFORE_USE = "barrier_before_use", "No barrier between writing shared values and using them"
    BARRIER_AFTER_USE = "barrier_after_use", "No barrier after shared values are used, before they are replaced"
    NO_BARRIERS = "no_barriers", "No barrier before or after shared values are used"
    REDUCTION_STEP = "reduction_step", "No barrier between the steps of a reduction or a scan"
    WARP_EXCHANGE = "warp_exchange", "Threads of a warp exchange values without `__syncwarp()`"
    SAME_ELEMENT = "same_element", "Several threads or blocks write the same element"
    PLAIN_UPDATE = "plain_update", "Several threads add to one element without an atomic"
    BETWEEN_BLOCKS = "between_blocks", "Blocks exchange values without atomics or fences"
    CLUSTER = "cluster", "Blocks of a cluster don't wait for each other"
    COPY_NOT_AWAITED = "copy_not_awaited", "An asynchronous operation isn't waited for, or starts too early"
    MISSING_FENCE = "missing_fence", "A fence before an asynchronous operation is missing"
    ORDER = "order", "The result depends on which thread comes first"
    UNGUARDED_LOAD = "unguarded_load", "A load without a guard"
    UNGUARDED_STORE = "unguarded_store", "A store without a guard"
    NO_GUARD = "no_guard", "Neither loads nor stores have a guard"
    GUARD_TOO_WIDE = "guard_too_wide", "A guard or a loop lets an index go too far"
    SHARED_INDEX = "shared_index", "An index outside an array in shared or local memory"
    NEGATIVE_INDEX = "negative_index", "An index below 0"
    BARRIER_IN_BRANCH = "barrier_in_branch", "A barrier in a branch or a loop that some threads skip"
    BARRIER_COUNT = "barrier_count", "A barrier waits for other threads, bytes or phases than come"
    NOT_PADDED = "not_padded", "Cells of the tile outside the matrix aren't set to 0"
    LEFT_EARLY = "left_early", "Threads outside the matrix leave before they write their cells"
    NO_FIRST_VALUE = "no_first_value", "A variable or a sum has no first value"
    OUTPUT_READ = "output_read", "The output is read before it is written"
    CELLS_UNWRITTEN = "cells_unwritten", "Shared values are read that no thread wrote"
    ENDLESS_LOOP = "endless_loop", "A loop never ends, or takes too long"
    INPUT_WRITTEN = "input_written", "An input is changed"
    MISALIGNED = "misaligned", "A wide access at an address that isn't aligned"
    STOPS = "stops", "The kernel stops itself, or can't continue"
    INDICES_EXCHANGED = "indices_exchanged", "Row and column are exchanged in an index"
    OPERANDS_SWAPPED = "operands_swapped", "The matrices are multiplied in the other order"
    LAST_TILE = "last_tile", "The last, partial tile is left out"
    SAME_TILE = "same_tile", "Only the first tile is correct: each phase must load another one"
    SUM = "sum", "The sum starts again, or isn't added up"
    PRECISION = "precision", "Numbers are kept in a narrower format"
    OUTPUT_UNWRITTEN = "output_unwritten", "Some elements of the output are never written"
    WRONG_ELEMENTS = "wrong_elements", "Another incorrect result"
    UNDEFINED_NAME = "undefined_name", "A name that isn't defined, often misspelt"
    SYNTAX = "syntax", "A `;` or a brace is missing"
    OTHER_ERROR = "other_error", "Another error of the compiler"
    PARAMETERS = "parameters", "The kernel has other parameters than the exercise"
    FILE = "file", "The file can't be graded, or needs what this device can't do"
    LAUNCH = "launch", "The block, its tile or its launch is too large"
    OTHER = "other", "Another mistake"


_OF_ADVICE: Mapping[Cause, str] = {
    Cause.REDUCTION_STEP: "race.tree race.steps",
    Cause.BARRIER_AFTER_USE: "race.in_place",
    Cause.SAME_ELEMENT: ("race.one_cell race.own_cell race.unused_index race.next_row race.offset race.stored_matrix"),
    Cause.PLAIN_UPDATE: "race.update",
    Cause.BETWEEN_BLOCKS: "race.set_elsewhere race.fences",
    Cause.CLUSTER: (
        "race.cluster race.cluster_transfer race.lifetime race.scope race.relaxed cluster_address cluster_size"
    ),
    Cause.COPY_NOT_AWAITED: (
        "race.copy race.copy_barrier race.copy_open race.refill race.transfer race.early_transfer race.unfinished "
        "race.warp_arrival race.one_copy unwritten.product"
    ),
    Cause.MISSING_FENCE: "race.proxy_fence race.register_fence",
    Cause.BARRIER_COUNT: (
        "race.init race.init_again barrier_arrivals barrier_bytes barrier_phase other_barrier no_barrier failed_wait "
        "unwritten.barrier"
    ),
    Cause.ORDER: "order.blocks order.first_come",
    Cause.GUARD_TOO_WIDE: "too_far either_is_enough",
    Cause.SHARED_INDEX: "guard.shared",
    Cause.NEGATIVE_INDEX: "guard.negative",
    Cause.BARRIER_IN_BRANCH: (
        "barrier barrier.after_else barrier.after_if barrier.before_if barrier.out_of_if matrix unwritten.shuffle"
    ),
    Cause.NOT_PADDED: "unwritten.outside",
    Cause.LEFT_EARLY: "unwritten.kept_out",
    Cause.NO_FIRST_VALUE: (
        "unwritten.declared unwritten.variable unwritten.never_set unwritten.local unwritten.fragment"
    ),
    Cause.OUTPUT_READ: "unwritten.element",
    Cause.CELLS_UNWRITTEN: "unwritten.cell unwritten.short_loop unwritten.some_threads",
    Cause.ENDLESS_LOOP: "endless.unchanged endless.unsigned few_threads",
    Cause.INPUT_WRITTEN: "input input.not_const input.same_store",
    Cause.MISALIGNED: "misaligned",
    Cause.STOPS: "assertion trap printf",
    Cause.INDICES_EXCHANGED: "transposed_reads transposed_output exchanged_threads exchanged_axes tile_indices",
    Cause.OPERANDS_SWAPPED: "swapped_operands",
    Cause.LAST_TILE: "tiles_rounded_down",
    Cause.SAME_TILE: "same_tile one_tile",
    Cause.SUM: "sum.reset sum.overwritten tree_ends_early",
    Cause.PRECISION: "narrow_format narrow_sums sum.integer",
    Cause.OUTPUT_UNWRITTEN: "unwritten_output never_written too_few_threads",
    Cause.UNDEFINED_NAME: "undefined",
    Cause.SYNTAX: "semicolon never_closed",
    Cause.PARAMETERS: "parameters",
    Cause.FILE: "main_in_line host_code",
    Cause.LAUNCH: "large_tile launch_bounds launch_comment grid impossible_map",
}
_CAUSES = {advice: cause for cause, keys in _OF_ADVICE.items() for advice in keys.split()}

_OF_VERDICT: Mapping[Verdict, Cause] = {
    Verdict.REJECTED: Cause.FILE,
    Verdict.UNSUPPORTED: Cause.FILE,
    Verdict.COMPILE_ERROR: Cause.OTHER_ERROR,
    Verdict.RESOURCE_LIMIT: Cause.LAUNCH,
    Verdict.BARRIER_DIVERGENCE: Cause.BARRIER_IN_BRANCH,
    Verdict.ORDER_DEPENDENT: Cause.ORDER,
    Verdict.UNINITIALIZED_READ: Cause.NO_FIRST_VALUE,
    Verdict.TIME_LIMIT: Cause.ENDLESS_LOOP,
    Verdict.INPUT_MODIFIED: Cause.INPUT_WRITTEN,
    Verdict.RUNTIME_ERROR: Cause.STOPS,
    Verdict.WRONG_ANSWER: Cause.WRONG_ELEMENTS,
}
"""The cause if the next step shows none."""


def cause_of(report: Report) -> Cause | None:
    """What went wrong, by the next step and the leading findings; None if nothing did."""
    if report.verdict in {Verdict.ACCEPTED, Verdict.SYSTEM_ERROR}:
        return None
    leading = errors_of([finding for finding in report.findings if finding.kind is report.verdict])
    explanation = explanation_of(report)
    known = _CAUSES.get(explanation.advice)
    if known is None and report.verdict is Verdict.DATA_RACE:
        known = _missing_barrier(leading, explanation)
    if known is None and any(finding.facts.diagnosis("never_written") for finding in leading):
        known = Cause.OUTPUT_UNWRITTEN
    if known is None and report.verdict is Verdict.OUT_OF_BOUNDS:
        known = _missing_guard(leading)
    return known or _OF_VERDICT.get(report.verdict, Cause.OTHER)


def _missing_barrier(races: Sequence[Finding], explanation: Explanation) -> Cause | None:
    """Where a barrier is missing, by the order of the accesses: a value is written, used, and written again."""
    if explanation.advice == "race.tile" and not explanation.barriers:
        return Cause.NO_BARRIERS
    # a row of a tile may be used by one warp alone
    if explanation.advice == "race.in_warps" and explanation.extents[:1] <= (1,):
        return Cause.WARP_EXCHANGE
    if explanation.lost_update or (races and _updates_alone(races[0])):
        return Cause.PLAIN_UPDATE
    orders = {tuple(access.kind is AccessKind.READ for access in race.facts.accesses) for race in races}
    before, after = (False, True) in orders, (True, False) in orders
    if before and after:
        return Cause.NO_BARRIERS
    if races and races[0].facts.between_blocks and (before or after):
        return Cause.BETWEEN_BLOCKS
    if before:
        return Cause.BARRIER_BEFORE_USE
    if after:
        return Cause.BARRIER_AFTER_USE
    return Cause.SAME_ELEMENT if (False, False) in orders else None


def _updates_alone(race: Finding) -> bool:
    """Whether one line reads and writes an element that another block changes, too."""
    differ = len({access.kind for access in race.facts.accesses}) > 1
    return race.facts.between_blocks and differ and race.line is not None and race.line == race.other_line


def _missing_guard(accesses: Iterable[Finding]) -> Cause:
    stores = {finding.facts.stores for finding in accesses}
    if len(stores) > 1:
        return Cause.NO_GUARD
    return Cause.UNGUARDED_STORE if True in stores else Cause.UNGUARDED_LOAD
