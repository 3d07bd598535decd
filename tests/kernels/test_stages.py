"""The stages of a pipeline, from runs of kernels with tensor cores."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from kernels.compile.bundle import header_texts
from kernels.compile.compilation import Compilation, compile_source
from kernels.device import load_program
from kernels.evidence import StageTable
from kernels.exercise import find_exercise
from kernels.judging.plan import plan_at
from kernels.phases.stages import multiplies_matrices, stage_table
from kernels.phases.views import held_in
from kernels.rendering.page.charts.stages import stage_picture
from kernels.rendering.phases import render_stages
from kernels.source.source_file import Source, read_source
from kernels.wire import from_plain, to_plain
from tests.kernels.device.kernels import CACHE
from tests.marks import linux

pytestmark = linux


@cache
def table_of(exercise: str, old: str = "", new: str = "") -> StageTable | None:
    """The stages of an exercise's solution with a change, at the exercise's own small size."""
    rules = find_exercise(exercise)
    text = rules.solution.read_text()
    assert old in text
    text = text.replace(old, new)
    source = read_source(text.encode(), rules)
    assert isinstance(source, Source), source
    assert rules.phases is not None
    plan = plan_at(rules, source, None, rules.phases.sizes)
    (case,) = plan.cases
    defines = source.defines(rules, plan.tile, case.sizes)
    made = compile_source(text, rules.kernel, "sm_90", defines, True, headers=header_texts(text, CACHE))
    assert isinstance(made, Compilation), made
    program = load_program(made.ptx, made.entry)
    assert multiplies_matrices(program)
    return stage_table(program, plan, case)


def held(table: StageTable, operand: str) -> list[list[tuple[str, str]]]:
    """For each phase, the tile and the state of each stage of an operand."""
    return [
        [
            (each.tile.removeprefix(operand), each.state)
            for each in held_in(table, phase)
            if each.stage.operand == operand
        ]
        for phase in table.phases
    ]


def test_boxes_go_round_through_two_stages():
    table = table_of("hopper-wgmma")
    assert table is not None
    first, second, third, last = (f"[0..63][{at}..{at + 63}]" for at in (0, 64, 128, 192))
    assert held(table, "M") == [
        [(first, "current"), (second, "ahead")],
        [(third, "ahead"), (second, "current")],
        [(third, "current"), (last, "ahead")],
        [(third, "over"), (last, "current")],
    ]
    assert [tile for phase in held(table, "N") for tile, state in phase if state == "current"] == [
        f"[{at}..{at + 63}][0..63]" for at in (0, 64, 128, 192)
    ]
    assert from_plain(StageTable, to_plain(table)) == table
    assert "M[0..63][64..127]" in stage_picture(table, table.phases[0])
    assert "M[0..63][64..127]" in render_stages(table)


@pytest.mark.parametrize(("stages", "ahead"), [(2, 1), (3, 2)])
def test_more_stages_copy_further_ahead(stages, ahead):
    table = table_of("tensor-pipeline", "#define STAGES 3", f"#define STAGES {stages}")
    assert table is not None
    assert len(table.phases) == 4
    assert sum(state == "ahead" for _, state in held(table, "M")[0]) == ahead
    assert all([state for _, state in phase].count("current") == 1 for phase in held(table, "N"))


@pytest.mark.one_in(3, "one of three")
@pytest.mark.parametrize(
    ("old", "new", "early"),
    [
        ("", "", False),
        ("__pipeline_wait_prior(STAGES - 2)", "__pipeline_wait_prior(0)", True),
        ("#define STAGES 3", "#define STAGES 2", False),
    ],
    ids=["solution", "no_copy_left", "two_stages"],
)
def test_a_wait_for_later_tiles_is_found(old, new, early):
    table = table_of("tensor-pipeline", old, new)
    assert table is not None
    assert (table.early_wait is not None) is early


def test_a_phase_has_its_number_while_the_first_stage_is_empty():
    table = table_of("hopper-wgmma")
    assert table is not None
    without = [stage.number == 0 for stage in table.stages]
    phases = (
        replace(phase, held=tuple(None if empty else at for at, empty in zip(phase.held, without, strict=True)))
        for phase in table.phases
    )
    shown = render_stages(replace(table, phases=tuple(phases))).splitlines()[2:]
    assert [line.split()[:2] for line in shown] == [["0", "1"], ["1", "1"], ["2", "1"], ["3", "1"]]


def test_a_box_outside_of_its_tensor_has_no_tile_while_another_block_reads():
    outside = "int top = rows - (int)blockIdx.y * TILE_M"
    table = table_of("hopper-wgmma", "int top = blockIdx.y * TILE_M", f"\n//!tilelab cluster=(1, 2)\n{outside}")
    assert table is not None
    assert {stage.operand for stage in table.stages} == {"N"}
