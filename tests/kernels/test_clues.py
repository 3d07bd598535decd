"""What an incorrect result's sizes and source say about its cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.facts import Diagnosed, Facts, Mistake
from kernels.rendering.findings import headline
from kernels.rendering.report import log_text
from kernels.report.clues import failing_sizes
from kernels.verdict import CaseCheck, CaseStatus, Finding, Verdict
from tests.kernels.explanations import advice_for, card_of, with_source
from tests.kernels.facts_of import at, of_diagnosis, of_race
from tests.kernels.test_report_text import PLAIN, report

VALUE = "`P[0][0]` is 1, not 2 (Width=17). 289 of 289 elements are incorrect."
SOURCE = """__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Ns[ty][tx] = N[Row * Width + ph * TILE_WIDTH + tx];  // P[0] = 0
    }
    P[Row * Width + Col] = sum;
}"""


def _wrong(*diagnosis: str, passed: tuple[int, ...] = (), failed: tuple[int, ...] = (17,), cases: int = 1):
    """A report on an incorrect result with a diagnosis, by its key and names. cases: of so many failing ones."""
    facts = of_diagnosis(*diagnosis, cases=cases) if diagnosis else Facts()
    finding = Finding(Verdict.WRONG_ANSWER, VALUE, example=at("P[0][0]"), facts=facts)
    checks = [
        CaseCheck(f"Width={size} integers_left", status)
        for sizes, status in ((passed, CaseStatus.PASSED), (failed, CaseStatus.FAILED))
        for size in sizes
    ]
    return report(finding, verdict=Verdict.WRONG_ANSWER, checks=tuple(checks), tile=16)


@pytest.mark.parametrize(
    ("passed", "failed", "found"),
    [((1, 16), (17, 32), "single tile"), ((16, 32), (1, 17), "multiple of 16"), ((1, 32), (17,), ""), ((), (17,), "")],
)
def test_the_failing_sizes_tell_one_tile_and_partial_tiles_apart(passed, failed, found):
    sentence = failing_sizes(_wrong(passed=passed, failed=failed))
    assert found in sentence
    assert bool(sentence) is bool(found)


@pytest.mark.parametrize(
    ("diagnosis", "lines", "label", "advice"),
    [
        (("right_transposed", "N"), [3], "reads N", "`N` at line 3"),
        (("last_tile",), [2], "number of tiles", "up at line 2"),
        (("transposed",), [5], "writes P", "output at line 5"),
        (("partly_written",), [5], "writes P", "element at line 5"),
        (("tile_cells", "M", "tx", "k", "N", "k", "ty"), [5], "writes P", "threadIdx.y` in the"),
        ((), [5], "writes P", "P[0][0]"),
    ],
)
def test_a_diagnosis_leads_to_lines_of_the_source(diagnosis, lines, label, advice):
    card = card_of(_wrong(*diagnosis), SOURCE.split("\n"))
    assert [line.number for line in card.excerpt if line.hit] == lines
    assert {line.label for line in card.excerpt if line.hit} == {label}
    assert (card.role, card.line) == ("look at", lines[0])
    assert advice in card.step


def test_a_matrix_that_only_some_cases_transpose_may_be_a_tile():
    card = card_of(_wrong("right_transposed", "N", cases=2), SOURCE.split("\n"))
    assert {line.label for line in card.excerpt if line.hit} == {"writes P"}


@pytest.mark.parametrize(
    ("missing", "written"),
    [
        (3072, "4"),
        # Some threads wrote more than one element, or none.
        (3071, ""),
        (3073, ""),
    ],
)
def test_a_launch_with_fewer_threads_than_elements_needs_several_writes(missing, written):
    plain = _wrong("partly_written")
    check = CaseCheck("Width=64 integers_left", CaseStatus.FAILED, "", missing, 4096)
    step = advice_for(replace(plain, checks=(check,), launch_sizes={"Width": 64}), SOURCE.split("\n"))
    assert ("1,024 threads for 4,096 elements" in step) is bool(written)
    assert step.endswith(f"must write {written}.") is bool(written)


def test_if_one_tile_alone_is_right_the_loads_of_tiles_are_shown():
    source = [
        "__shared__ float Ms[16][16], Ns[16][16];",
        "Ms[ty][tx] = M[Row * Width + tx];",
        "Ns[ty][tx] = N[ty * Width + Col];",
        "sum += Ms[ty][k] * Ns[k][tx];",
        "P[Row * Width + Col] = sum;",
    ]
    card = card_of(_wrong(passed=(1, 16), failed=(17, 32)), source)
    assert [line.number for line in card.excerpt if line.hit] == [2, 3]
    assert "lines 2 and 3" in card.step
    phases = [
        "for (int ph = 0; ph < n; ++ph) {",
        source[1].replace("Row * Width", "Row * Width + ph * 16"),
        source[2],
        "}",
    ]
    card = card_of(_wrong(passed=(1, 16), failed=(17, 32)), [source[0], *phases, *source[3:]])
    assert [line.number for line in card.excerpt if line.hit] == [4]
    assert "line 4" in card.step
    copied = [source[0], "load(Ms, &map, ph * 16, top);", *source[3:]]
    assert "line" not in card_of(_wrong(passed=(1, 16), failed=(17, 32)), copied).step, "the only known line stores"


def test_if_one_tile_alone_is_right_the_copied_boxes_are_shown():
    source = [
        "__global__ void Product(const __grid_constant__ CUtensorMap mapM, const __grid_constant__ CUtensorMap mapN,",
        "    float* P, int Width) {",
        "load(stages[stage].M, &mapM, top, phase * TILE_K, &full[stage]);",
        "load(stages[stage].N, &mapN, phase * TILE_K, left, &full[stage]);",
        "P[Row * Width + Col] = sum;",
    ]
    card = card_of(_wrong(passed=(1, 16), failed=(17, 32)), source)
    assert [line.number for line in card.excerpt if line.hit] == [3, 4]
    assert "lines 3 and 4" in card.step


def test_narrow_inputs_leave_only_their_sums_to_be_rounded():
    source = [
        "__global__ void Product(const half* M, const half* N, float* P, int Width) {",
        "__shared__ half Ms[16][16], Ns[16][16];",
        "wmma::fragment<wmma::accumulator, 16, 16, 16, half> sum;",
        "wmma::store_matrix_sync(&P[0], sum, Width, wmma::mem_row_major);",
    ]
    assert "line 3." in advice_for(_wrong("narrow_format"), source)
    in_float = [line.replace("half>", "float>") for line in source]
    close = _wrong()
    (finding,) = close.findings
    close = replace(close, findings=(replace(finding, facts=Facts(values=(2227.0, 2229.0))),))
    assert "float" in advice_for(close, source)
    assert "float" not in advice_for(close, in_float)


def test_a_tree_that_ends_before_its_last_step_is_shown():
    source = ["for (int s = blockDim.x; s > 1; s /= 2) {", "    if (t < s) sums[t] += sums[t + s];", "}"]
    wrong = _wrong("even")
    card = card_of(wrong, source)
    assert ([line.number for line in card.excerpt if line.hit], card.line) == ([1], 1)
    assert "`s` = 1" in card.step


RESET = """for (int ph = 0; ph < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
    float sum = 0;
    __syncthreads();
    for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k];
    P[Row * Width + Col] = sum;
}"""


@pytest.mark.parametrize(
    ("source", "line"),
    [(RESET, 2), (RESET.replace("P[Row", "P[ph"), None), (RESET.replace("= sum;", "= all += sum;"), None)],
    ids=["one sum", "a sum for each element", "a partial sum"],
)
def test_a_sum_that_each_tile_resets_is_named_and_rounded_tiles_are_not_blamed(source, line):
    card = card_of(_wrong("tile_missing"), source.split("\n"))
    assert ("before the loop at line 1" in card.step, card.line == line) == (line is not None, line is not None)
    assert "Round" not in card.step


def test_the_cause_in_the_source_leads_before_the_diagnosis():
    wrong = _wrong("tile_missing")
    assert "starts again" in card_of(wrong, RESET.split("\n")).sentence
    assert "tile_missing" in card_of(wrong, SOURCE.split("\n")).sentence
    assert "starts again" in " ".join(log_text(with_source(wrong, RESET.split("\n")), RESET, PLAIN).split())


def test_other_parameters_have_a_next_step():
    refused = Finding(Verdict.REJECTED, "", 2, facts=Facts(Mistake.PARAMETERS))
    assert "line 2" in advice_for(report(refused, verdict=Verdict.REJECTED), [])


@pytest.mark.parametrize(("line", "atomic"), [("own[v[i]]++;", True), ("s[t] += s[t + 1];", False)])
def test_a_lost_update_needs_an_atomic(line, atomic):
    race = Finding(Verdict.DATA_RACE, "", 2, 2, facts=of_race(), example=at(f"{line.partition('[')[0]}[1]"))
    source = [f"__shared__ int {line.partition('[')[0]}[32];", line]
    assert ("atomicAdd" in advice_for(report(race), source)) is atomic


def test_card_and_command_line_say_the_same_of_a_wrong_answer():
    place = Diagnosed("last row", "Incorrect elements: exactly the last row.", cases=5, failing=5)
    facts = Facts(example=VALUE, diagnoses=(Diagnosed("short", "Each sum is short.", cases=4, failing=5), place))
    found = report(Finding(Verdict.WRONG_ANSWER, "", facts=facts), verdict=Verdict.WRONG_ANSWER)
    sentence, example = headline(found)
    assert sentence == "Each sum is short (4 of 5 failing cases). Incorrect elements: exactly the last row."
    assert (example, card_of(found, []).sentence) == (VALUE, sentence)
    text = " ".join(log_text(found, SOURCE, PLAIN).split())
    assert (text.count(sentence), text.count(VALUE), text.count("In 4 of 5")) == (1, 1, 0)
