"""Next steps that a student can follow literally, for kernels and their nearest siblings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels.exercise import find_exercise
from kernels.facts import Facts, Mistake
from kernels.report import Report
from kernels.report.advice import next_step
from kernels.verdict import Finding, Verdict
from tests.kernels.explanations import card_of
from tests.kernels.facts_of import at, of_diagnosis, of_race

CORPUS = Path(__file__).parents[1] / "corpus" / "wrong"


def lines_of(source: str) -> list[str]:
    """The lines of a kernel: of the corpus, of an exercise's wrong kernels, or as given."""
    if "\n" in source:
        return source.strip("\n").split("\n")
    exercise, _, name = source.rpartition("/")
    folder = find_exercise(exercise).root / "wrong" if exercise else CORPUS
    return (folder / f"{name}.cu").read_text("utf-8").rstrip("\n").split("\n")


def step(finding: Finding, source: str) -> tuple[str, list[int]]:
    """The text, and the marked lines."""
    report = Report(finding.kind, finding.message, "tiled", "cpu", "sm_90", 16, findings=(finding,))
    found = next_step(report, lines_of(source))
    return found.text, sorted(found.marks)


def unwritten(line: int, element: str) -> Finding:
    return Finding(Verdict.UNINITIALIZED_READ, "", line, example=at(element))


@pytest.mark.parametrize(
    ("source", "line", "element", "marked", "words"),
    [
        ("convolution/halo_not_loaded", 26, "tile[14][4]", [14], "line 14 doesn't reach"),
        ("last_rows_of_tile_not_loaded", 14, "b[31][0]", [8], "line 8 doesn't reach"),
        ("no_zero_padding", 17, "Mds[0][15]", [11], "at line 11 leaves cells"),
        ("last_column_not_loaded", 15, "subM[0][15]", [10], "at line 10 leaves cells"),
        ("branch_on_unwritten_cell", 11, "wide", [9], "at line 9 leaves `wide`"),
        ("continue_past_barriers", 15, "Ms[0][15]", [10], "Line 10 keeps threads"),
        ("whole_kernel_in_boundary_branch", 14, "A[0][15]", [6], "Line 6 keeps threads"),
        ("loop_ends_with_own_column", 14, "Mds[0][15]", [9], "Line 9 keeps threads"),
        ("reads_padding_column", 14, "Mds[0][16]", [13], "`k < TILE_WIDTH`"),
        ("histogram/not_reset", 9, "own[0]", [], "every element of `own` to 0 before line 9"),
        ("shared_sum_not_zeroed", 8, "total", [], "one thread set `total` to 0"),
        ("coarse_sum_half_initialised", 21, "", [], "Give `second`"),
        ("local_array_partly_set", 9, "a local array (byte 0)", [], "the local array"),
        # The tile is larger than the block: no loop chooses the cells.
        ("tile_larger_than_block", 16, "Mds[0][31]", [], "such as `Mds[0][31]`"),
        ("register_tile_half_loaded", 18, "sa[1][32]", [], "such as `sa[1][32]`"),
    ],
)
def test_a_cell_without_a_value_leads_to_the_line_that_skips_it(source, line, element, marked, words):
    text, marks = step(unwritten(line, element), source)
    assert marks == marked
    assert words in text


def test_an_array_with_many_stores_gets_general_advice_soon():
    stores = "    if (n) s[0] = 1;\n" * 4000
    source = f"__global__ void k(int n) {{\n    __shared__ float s[9];\n{stores}    x = s[1];\n}}"
    assert step(unwritten(4003, "s[1]"), source)[1] == []


def race(line: int, other: int, element: str, facts: Facts | None = None) -> Finding:
    example = at(element)
    return Finding(Verdict.DATA_RACE, "", line, other, example=example, facts=facts or of_race())


SCAN = """
__global__ void scan(float* in, float* out, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[t];
    for (int d = 1; d < 256; d *= 2)
        if (t >= d) s[t] += s[t - d];
    out[t] = s[t];
}
"""
HISTOGRAM = """
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        counts[bin] += own[bin];
}
"""


@pytest.mark.parametrize(
    ("source", "found", "marked", "words"),
    [
        ("reduce_without_barriers", race(15, 10, "partialSum[128]"), [13], "the first statement"),
        ("reduce_without_barriers", race(15, 15, "partialSum[128]"), [13], "the first statement"),
        # In a scan, a thread reads what another one writes in the same step.
        (SCAN, race(6, 4, "s[1]"), [5], "into a variable, and call `__syncthreads()` again"),
        # The loop has its barrier. Only the one before the loop is missing.
        ("reduction_missing_barrier", race(13, 10, "part[64]"), [], "after line 10."),
        ("no_first_barrier", race(17, 13, "Mds[0][0]"), [], "after line 14."),
        (HISTOGRAM, race(4, 4, "counts[0]"), [], "`atomicAdd` at line 4."),
        (
            """
__shared__ float Ms[16][16];
__global__ void mul(float* P, int Width) {
    P[Row * Width + threadIdx.x] += Ms[ty][k] * Ms[k][tx];
}
""",
            race(3, 3, "P[0]", of_race(blocks=True)),
            [],
            "own each element",
        ),
        (HISTOGRAM.replace("own[bin];", "values[bin];"), race(4, 4, "counts[0]"), [], "atomicAdd`."),
        ("scratch_tiles_no_first_barrier", race(10, 8, "scratch[0]"), [], "after line 8."),
    ],
)
def test_a_race_gets_the_barrier_or_the_atomic_that_repairs_it(source, found, marked, words):
    text, marks = step(found, source)
    assert marks == marked
    assert all(part in text for part in words.split("…"))


@pytest.mark.parametrize(("source", "offset"), [("{}", True), ("{} + blockIdx.x", False)])
def test_a_kernel_without_blocks_in_its_indices_is_told_to_add_them(source, offset):
    kernel = f"__global__ void add(float* C) {{\n    C[{source.format('threadIdx.x')}] = 0;\n}}"
    both = race(2, 2, "C[0]", of_race("write", blocks=True, together=True))
    assert ("`blockIdx`" in step(both, kernel)[0]) is offset


NESTED = """
__global__ void mul(float* P, int Width) {
    if (threadIdx.y < Width) {
        if (threadIdx.x < Width) {
            P[0] = 0;
            __syncthreads();
        }
    }
    __syncthreads();
}
"""


def diverges(line: int, other: int) -> Finding:
    return Finding(Verdict.BARRIER_DIVERGENCE, "", line, other)


@pytest.mark.parametrize(
    ("source", "line", "other", "marked", "words"),
    [
        ("barrier_in_load_branch", 17, 21, [15], "from line 17 to after the `if` of line 15"),
        ("barrier_in_reduction_branch", 17, 14, [12], "from line 14 to after the `if` of line 12"),
        ("reduce_barrier_for_adders", 15, 21, [14], "from line 15 to before the `if` of line 14"),
        ("barrier_in_both_branches", 12, 15, [10], "after the `if` of line 10 and its `else`"),
        (NESTED, 5, 8, [2], "from line 5 to after the `if` of line 2"),
        ("barrier_in_switch", 14, 19, [], "out of any `if` or loop"),
        ("barrier_in_helper_branch", 8, 8, [], "Don't `return`"),
    ],
)
def test_a_barrier_is_moved_out_of_the_if_that_splits_the_block(source, line, other, marked, words):
    text, marks = step(diverges(line, other), source)
    assert marks == marked
    assert words in text


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("endless_phase_loop", 10, "`ph` never changes in"),
        ("endless_inner_loop", 8, "`k` never changes in"),
        ("naive_countdown_unsigned", 7, "`k` is unsigned"),
        ("\nint n = 3;\nwhile (n != 0) {\n  step();\n}\n", 2, "Change it at the end"),
        ("endless_step_zero", 8, "Look for a loop"),
        ("endless_wait_for_flag", 13, "Look for a loop"),
        ("endless_for_one_thread", 9, "Look for a loop"),
        ("naive_not_equal_never_met", 8, "Look for a loop"),
        ("\nint n = 3;\nwhile (n > 0) {\n  step(&n);\n}\n", 2, "Look for a loop"),
        ("\nint n = 3;\nwhile (n > 0) {\n  if (x) break;\n}\n", 2, "Look for a loop"),
    ],
)
def test_a_counter_that_never_changes_is_named_only_if_nothing_changes_it(source, line, words):
    assert words in step(Finding(Verdict.TIME_LIMIT, "", line), source)[0]


def beyond(line: int, element: str, elements: int = 0, case: str = "") -> Finding:
    example = at(element, case=case)
    return Finding(Verdict.OUT_OF_BOUNDS, "", line, example=example, facts=Facts(elements=elements))


VECTOR = """
__global__ void add(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    C[i] = A[i] + B[i];
    C[blockIdx.x] = A[blockIdx.x];
    C[i] = A[i + 1];
    float sum = A[i] + B[i];
}
"""


@pytest.mark.parametrize(
    ("line", "elements", "words"),
    [
        (3, 1, "Run line 3 only if `i < n`."),
        # The array has another length than n.
        (3, 7, "Run line 3 only if `i` is less"),
        # An index of the block alone may end before n.
        (4, 1, "only if `blockIdx.x` is less"),
        (5, 1, "Guard `A[i + 1]` at line 5. `i + 1` must be"),
        # A declaration can't be in an `if` of its own.
        (6, 1, "Guard `A[i]` at line 6."),
    ],
)
def test_one_condition_guards_all_arrays_of_a_store(line, elements, words):
    assert words in step(beyond(line, "A[1]", elements, "n=1 random"), VECTOR)[0]


@pytest.mark.parametrize(
    ("source", "line", "stores", "element", "words"),
    [
        ("float4_misaligned", 9, False, "M[1][0]", "Or use `float4` only if `Width`"),
        ("float4_misaligned", 9, False, "M[0][1]", "floats at line 9."),
        ("float2_store_misaligned", 15, True, "P[1][0]", "Write single floats at line 15. Or use `float2`"),
        ("shared_float4_misaligned", 11, True, "Mds[0][4]", "floats at line 11."),
    ],
)
def test_a_misaligned_access_is_done_in_single_elements(source, line, stores, element, words):
    facts = Facts(Mistake.MISALIGNED, stores=stores)
    found = Finding(Verdict.RUNTIME_ERROR, "", line, example=at(element), facts=facts)
    text = step(found, source)[0]
    assert words in text
    assert ("Or use" in text) is ("Or use" in words)


@pytest.mark.parametrize(
    ("source", "line", "name", "words"),
    [
        ("stencil/in_place", 14, "heat", "Delete line 14. Line 12 stores"),
        ("input_scaled_in_place", 5, "N", "line 5 in the output"),
    ],
)
def test_a_second_store_of_the_same_value_is_deleted(source, line, name, words):
    found = Finding(Verdict.INPUT_MODIFIED, "", line, example=at(f"{name}[0][0]"))
    assert words in step(found, source)[0]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ([Facts(Mistake.SEMICOLON)], "Add `;`"),
        ([Facts(Mistake.NEVER_CLOSED)], "Add a `}` where the unclosed block ends"),
        ([Facts(Mistake.UNDEFINED, ("row", "Other"))], "Write `Other` instead of `row`"),
        ([Facts(Mistake.UNDEFINED, ("{row}", "{other}"))], "Write `{other}` instead of `{row}`"),
        ([Facts()], "this one error at line 1"),
        ([Facts(), Facts()], "Start with the first error at line 1"),
    ],
)
def test_a_single_error_of_the_compiler_gets_its_repair(facts, words):
    found = tuple(Finding(Verdict.COMPILE_ERROR, "", line, facts=each) for line, each in enumerate(facts, 1))
    report = Report(Verdict.COMPILE_ERROR, "", "tiled", "cpu", "sm_90", 16, findings=found)
    assert words in next_step(report, ["x", "y"]).text


@pytest.mark.parametrize(
    ("source", "words"),
    [("rejected_host_main", "a new line before `main` at line 13"), ("\n\nint main() {}\n", "Submit only the kernel")],
)
def test_host_code_on_a_line_of_the_kernel_gets_its_own_line(source, words):
    line = next(number for number, text in enumerate(lines_of(source), 1) if "main" in text)
    assert words in step(Finding(Verdict.REJECTED, "", line, facts=Facts(Mistake.MAIN)), source)[0]


def test_a_tile_that_is_too_large_is_set_at_its_line():
    facts = Facts(Mistake.LARGE_TILE, largest_tile=32)
    found = Finding(Verdict.RESOURCE_LIMIT, "", 1, count=17, facts=facts)
    assert "`TILE_WIDTH` at line 1 to 32 or less" in step(found, "limit_tile_of_64")[0]
    assert step(replace(found, line=None), "limit_tile_of_64")[0].startswith("Set the tile to 32 or less")
    report = Report(found.kind, "", "tiled", "cpu", "sm_90", 16, findings=(found,))
    assert card_of(report, lines_of("limit_tile_of_64")).count == ""


@pytest.mark.parametrize(
    ("source", "value", "diagnosis", "lines"),
    [
        ("half_accumulator", -2424, "narrow_format", [8, 10, 11]),
        ("bfloat_by_truncation", -2416, "narrow_format", [3]),
        ("half_tiles", -2424, "other", [5, 6, 11]),
        # A large error has another cause, also with halves.
        ("half_tiles", -24, "other", [18]),
        # A mask cuts off bits, too.
        ("tf32_by_mask", -2424, "other", [3]),
        ("tf32_by_mask", -24, "other", [20]),
    ],
)
def test_a_narrower_format_is_shown_where_the_source_has_it(source, value, diagnosis, lines):
    facts = replace(of_diagnosis(diagnosis), values=(float(value), -2425.0))
    found = Finding(Verdict.WRONG_ANSWER, "", example=at("P[0][0]"), facts=facts)
    report = Report(found.kind, found.message, "tiled", "cpu", "sm_90", 16, findings=(found,))
    card = card_of(report, lines_of(source))
    assert [line.number for line in card.excerpt if line.hit] == lines
    assert ("in `float`" in card.step) is (lines not in ([18], [20]))


GUARDED = "Row < Width && ph * TILE_WIDTH + tx < Width ?", "Col < Width && ph * TILE_WIDTH + ty < Width ?"


@pytest.mark.parametrize("guarded", [False, True])
def test_tiles_that_are_rounded_up_need_loads_that_test_their_place(guarded):
    source = "\n".join(lines_of("last_tile_dropped"))
    if guarded:
        source = source.replace("Row < Width ?", GUARDED[0]).replace("Col < Width ?", GUARDED[1])
    facts = of_diagnosis("last_tile")
    text, _ = step(Finding(Verdict.WRONG_ANSWER, "", example=at("P[0][0]"), facts=facts), source)
    assert "Round the number of tiles up at line 8" in text
    assert ("Load 0" in text) is not guarded


def test_a_limit_above_a_thousand_keeps_its_digits():
    found = Finding(Verdict.RESOURCE_LIMIT, "", 1, facts=Facts(Mistake.LARGE_TILE, largest_tile=1024))
    assert "`BLOCK_SIZE` at line 1 to 1,024 or less" in step(found, "#define BLOCK_SIZE 2048\n\n")[0]


@pytest.mark.parametrize(
    ("line", "narrow"),
    [("int half = blockDim.x / 2;", False), ("half sum = 0;", True), ("P[0] = __half2float(sum);", True)],
)
def test_only_a_type_is_a_narrow_format(line, narrow):
    facts = Facts(values=(10040.0, 10060.0))
    found = Finding(Verdict.WRONG_ANSWER, "", example=at("P[0]"), facts=facts)
    assert ("Keep the numbers in `float`" in step(found, f"__global__ void f(float* P) {{\n{line}\n}}")[0]) is narrow


@pytest.mark.parametrize(
    ("kind", "line"),
    [(Verdict.UNINITIALIZED_READ, "if(n)return;"), (Verdict.WRONG_ANSWER, "for(int i=0;i<n;++i){a=0;a+=1;}")],
)
@pytest.mark.timeout(20)
def test_a_file_of_one_statement_ends_soon(kind, line):
    source = "\n".join(["__global__ void f(float* P, int n) {", *[line] * 3000, "P[0] = a;", "}"])
    assert step(Finding(kind, "", 3002, facts=Facts(values=(1.0, 2.0))), source)[0]
