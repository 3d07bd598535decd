"""What students are told to try next, by what was found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.facts import Access, AccessKind, Facts, Incomplete, Mistake, Operation
from kernels.launch import Launch
from kernels.report import Report
from kernels.verdict import Finding, Verdict
from tests.kernels.explanations import advice_for, card_of
from tests.kernels.facts_of import at, of_race

LINES = ["__shared__ float Mds[16][16];", "Pvalue += Mds[ty][k];", "P[i] += Pvalue;"]


def after_unset(element):
    finding = Finding(Verdict.UNINITIALIZED_READ, "it is read", 2, example=at(element))
    report = Report(finding.kind, "", "tiled", "cpu", "sm_90", 16, findings=(finding,))
    return advice_for(report, LINES)


@pytest.mark.parametrize(
    ("element", "words"),
    [
        ("Mds[0][15]", "every cell of `Mds` that is read at line 2, such as `Mds[0][15]`"),
        ("P[0][0]", "write it with `=`"),
    ],
)
def test_an_unwritten_element_gets_the_advice_of_its_array(element, words):
    assert words in after_unset(element)


def test_an_unwritten_cell_leads_to_a_return_before_the_first_barrier():
    head = "__global__ void K() { int t = threadIdx.x;"
    lines = [head, LINES[0], "if (t > n) return;", "__syncthreads();", "x += Mds[0][15];"]
    finding = Finding(Verdict.UNINITIALIZED_READ, "", 5, example=at("Mds[0][15]"))
    report = Report(finding.kind, "", "tiled", "cpu", "sm_90", 16, findings=(finding,))
    assert advice_for(report, lines).startswith("Line 3 keeps threads")
    assert "keeps" not in advice_for(report, [*lines[:2], lines[3], lines[2], lines[4]])
    assert "keeps" not in advice_for(report, [lines[0], lines[1], "if (n > 9) return;", *lines[3:]])


def test_an_unwritten_variable_gets_the_advice_on_first_values():
    assert after_unset(None).startswith("Give each variable")


def test_a_variable_without_a_first_value_is_named_with_its_declaration():
    lines = ["float Other;", "float Pvalue; // the sum", "int k = 0;", "Pvalue += M[k];"]
    report = of(Finding(Verdict.UNINITIALIZED_READ, "", 4))
    assert advice_for(report, lines) == "Give `Pvalue` a first value at line 2, before its use at line 4."


KERNEL = [
    "__global__ void K(float* M, const float* N, float* P, int Width) {",
    "  __shared__ float Mds[16][16];",
    "  Mds[ty][tx] = M[Row * Width + ph * 16 + tx];",
    "  sum += M[Row * Width + k]; // M[Row][k]",
    "  P[ph * 16 + tx + Row * Width] = sum;",
    "  P[t] = M[t - 1] + M[t];",
    "  Mds[ty][tx + 1] = {0};",
    "  P[idx[t]] = 0;",
    "  P[t + (",
]


def of(*findings):
    return Report(findings[0].kind, "", "tiled", "cpu", "sm_90", 16, findings=findings)


def outside(line, element):
    return Finding(Verdict.OUT_OF_BOUNDS, "", line, example=at(element))


@pytest.mark.parametrize(
    ("line", "element", "advice"),
    [
        (4, "M[0][17]", "Guard `M[Row * Width + k]` at line 4. `k` must be less than `Width`, and `Row` less than"),
        (3, "M[17][0]", "less than the number of rows. A thread without an element writes 0 to `Mds`."),
        (5, "P[17][0]", "Guard `P[ph * 16 + tx + Row * Width]` at line 5. Its row and its column"),
        (6, "P[17]", "Guard `P[t]` at line 6. `t` must be less than the number of elements."),
        (6, "M[17]", "Guard each access to `M` at line 6. Its index must be less"),
        (6, "M[-1]", "Its index must not be below 0."),
        (7, "Mds[16][0]", "the index of `Mds[ty][tx + 1]` at line 7 with the size of `Mds`, which line 2"),
        (8, "P[17]", "Guard `P[idx[t]]` at line 8."),
        (9, "P[17]", "Guard each access to `P` at line 9."),
        (99, "P[17]", "Guard each access to `P` at line 99."),
    ],
)
def test_an_access_outside_an_array_is_quoted_from_the_source(line, element, advice):
    assert advice in advice_for(of(outside(line, element)), KERNEL)


@pytest.mark.parametrize(("elements", "square"), [(17 * 17, True), (34, False)])
def test_a_square_matrix_is_limited_by_the_kernels_only_size(elements, square):
    found = replace(
        outside(4, "M[17][0]"), facts=Facts(elements=elements), example=at("M[17][0]", case="Width=17 real")
    )
    advice = advice_for(of(found), KERNEL)
    assert ("`Row` and `k` must both" in advice) is square


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("x = (row < n || col < n) ? M[row * n + col] : 0;", True),
        ("if (row < n || col < n) x = M[row * n + col];", True),
        ("if (row < n && col < n) x = M[row * n + col];", False),
        ("if (row < n || all) x = M[row * n + col];", False),
        ("if (row < n || other < n) x = M[row * n + col];", False),
        ("if (row < n || col < n) x = 0; else x = M[row * n + col];", False),
        ("x = M[row * n + col]; y = row < n || col < n;", False),
    ],
)
def test_an_or_between_the_limits_of_two_indices_is_named(code, named):
    lines = ["__global__ void K(float* M, int n) {", code, "}"]
    assert ("The `||` at line 2" in advice_for(of(outside(2, "M[17][0]")), lines)) is named


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("if (row <= n && col < n)", 2),
        ("for (int row = 0; row <= TILE; ++row)", 2),
        ("for (int row = 1; row <= n; ++row)", None),
        ("if (row <= last)", None),
    ],
)
def test_a_comparison_that_lets_the_index_reach_its_limit_is_named(head, line):
    found = of(outside(3, "P[17][0]"), outside(4, "M[17][0]"))
    lines = ["__global__ void K(float* M, float* P, int n) {", head, "P[row * n + col] = 0;", "x = M[row];"]
    card = card_of(found, lines)
    assert (f"Line {line} lets `row` reach" in card.step) is (line is not None)
    assert [each.number for each in card.excerpt if each.hit] == ([2, 3] if line else [3])


def test_accesses_outside_several_arrays_are_named_together():
    advice = advice_for(of(outside(3, "M[17][0]"), outside(4, "N[17][0]"), outside(5, "P[17][0]")), KERNEL)
    assert "`M`, `N` and `P` at lines 3, 4 and 5" in advice
    assert " row " in advice
    assert advice.endswith("writes 0 to `Mds`.")


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        (("M[17]", "P[17]"), "elements"),
        (("M[-1][0]", "P[17][0]"), "each index"),
        (("P[17][0]", "Mds[17][0]"), "each index"),
    ],
)
def test_the_limit_of_several_accesses_fits_all_their_arrays(elements, words):
    found = (outside(line, element) for line, element in zip((4, 7), elements, strict=True))
    assert words in advice_for(of(*found), KERNEL)


@pytest.mark.parametrize(("element", "declares"), [("M[0][0]", True), ("N[0][0]", False)])
def test_a_changed_input_is_named_with_its_line(element, declares):
    found = Finding(Verdict.INPUT_MODIFIED, "", 6, example=at(element))
    advice = advice_for(of(found), KERNEL)
    assert advice.startswith(f"Store the result at line 6 in the output, not in `{element[0]}`.")
    assert (f"Declare `const float* {element[0]}`" in advice) is declares


def test_a_changed_input_keeps_its_type():
    found = Finding(Verdict.INPUT_MODIFIED, "", 2, example=at("a[0]"))
    lines = ["__global__ void any(unsigned int* a) {", "    a[0] = 1;", "}"]
    assert "Declare `const unsigned int* a`" in advice_for(of(found), lines)


RACY = [
    "__shared__ float Mds[16][16];",
    "atomicAdd(&P[i], s);",
    "while (atomicCAS(&lock, 0, 1) != 0);",
    "Mds[ty][tx] = M[i];",
    "__shared__ float part[16];",
    "part[t] = s;",
]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        *(
            (Facts(Mistake.TRANSFER, accesses=(Access((0,), AccessKind.COPY, 1, operation=each),) * 2), words)
            for each, words in [
                (Operation.BULK_LOAD, "to which the copy reports"),
                (Operation.BULK_STORE, "cp.async.bulk.wait_group"),
                (Operation.REMOTE_STORE, "to which the store reports"),
                (Operation.COPY, "cp.async.wait_all"),
                (Operation.PRODUCT, "wgmma.wait_group"),
                (None, "for its group"),
            ]
        ),
        (Facts(Mistake.EARLY_TRANSFER, others_arrive=(5,)), "right before the arrival at line 5"),
        (Facts(Mistake.CLUSTER_RACE, relaxed_arrivals=(5,)), "`.relaxed` at line 5"),
        (Facts(Mistake.CLUSTER_RACE), "`cluster.sync()`"),
        (replace(of_race("update", blocks=True, together=True), mistake=Mistake.CLUSTER_RACE), "whose scope"),
    ],
)
def test_a_race_of_asynchronous_work_gets_its_own_advice(facts, words):
    finding = Finding(Verdict.DATA_RACE, "", 1, 1, example=at("Mds[0][0]"), facts=facts)
    assert words in advice_for(of(finding), RACY)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (Incomplete(1, 1, 1, 512, 256, (3,), (4,)), "Expect 256 bytes at line 3"),
        (Incomplete(1, 1, 1, 512, 0, (3,), ()), "Pass this barrier"),
        (Incomplete(2, 1, 1, 512, 2048, (3,), (4,)), "its copies at line 4 bring together"),
        (Incomplete(1, 64, 32, 0, 0, (3,), ()), "32 more threads"),
        (Incomplete(2, 64, 0, 0, 0, (3,), ()), "with parity 0"),
    ],
)
def test_a_barrier_that_never_completes_gets_the_advice_of_what_it_lacks(facts, words):
    finding = Finding(Verdict.TIME_LIMIT, "", 2, facts=Facts(Mistake.MBARRIER, incomplete=facts))
    assert words in advice_for(of(finding), RACY)


@pytest.mark.parametrize(
    ("element", "facts", "words"),
    [
        ("Mds[0][0]", of_race("write", together=True), "threadIdx.y"),
        ("Mds[0][0]", of_race(one_warp=True), "`__syncwarp()` between"),
        ("Mds[0][0]", of_race("copy", "read"), "__pipeline_wait_prior"),
        ("Mds[0][0]", replace(of_race("copy", "read"), copy_waits=(5,), waited=True), "after the wait at line 5"),
        ("Mds[0][0]", of_race("read", "copy"), "between the access at line 1 and the copy at line 1"),
        ("Mds[0][0]", of_race(), "A tile needs two"),
        ("part[0]", of_race(), "must reach it."),
        ("P[0][0]", of_race("update"), "another launch"),
        ("total", of_race(), "__threadfence"),
    ],
)
def test_a_race_gets_the_advice_of_its_kind(element, facts, words):
    finding = Finding(Verdict.DATA_RACE, "", 1, 1, example=at(element), facts=facts)
    launch = Launch((1, 1, 1), (16, 16, 1), 0)
    report = Report(finding.kind, "", "tiled", "cpu", "sm_90", 16, findings=(finding,), launch=launch)
    advice = advice_for(report, RACY)
    assert words in advice
    assert element != "part[0]" or "tile" not in advice


@pytest.mark.parametrize(
    ("blocks", "words"), [(False, "an element of the next row"), (True, "Let one thread own each element")]
)
def test_two_stores_of_one_block_to_a_matrix_lead_to_the_guard_of_its_columns(blocks, words):
    facts = of_race("write", blocks=blocks, together=True)
    finding = Finding(Verdict.DATA_RACE, "", 1, example=at("P[1][0]"), facts=facts)
    assert words in advice_for(of(finding), ["P[Row * Width + Col] = sum;"])


@pytest.mark.parametrize(
    ("verdict", "line", "mistake", "words"),
    [
        (Verdict.TIME_LIMIT, 1, Mistake.OTHER, "`grid=`"),
        (Verdict.BARRIER_DIVERGENCE, 2, Mistake.MBARRIER, "number of threads that arrive"),
        (Verdict.BARRIER_DIVERGENCE, 2, Mistake.EARLY_ARRIVAL, "before you arrive"),
        (Verdict.BARRIER_DIVERGENCE, 2, Mistake.NAMED_BARRIER, "number of threads"),
        (Verdict.BARRIER_DIVERGENCE, 2, Mistake.MATRIX, "matrix instruction"),
        (Verdict.RUNTIME_ERROR, 2, Mistake.MATRIX, "32 threads of a warp"),
        (Verdict.RUNTIME_ERROR, 2, Mistake.TENSOR_MAP, "__grid_constant__"),
        (Verdict.UNINITIALIZED_READ, 2, Mistake.TRANSFER, "wgmma.wait_group"),
    ],
)
def test_advice_fits_the_line_and_the_barrier(verdict, line, mistake, words):
    found = Finding(verdict, "", line, facts=Facts(mistake))
    report = Report(verdict, "", "tiled", "cpu", "sm_90", 16, findings=(found,))
    assert words in advice_for(report, ["//!tilelab grid=(99)", "x"])


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (Finding(Verdict.DATA_RACE, "", 20, 25), "`__syncthreads()` after line 25, before line 20 runs."),
        (Finding(Verdict.DATA_RACE, "", 20, 20), "`__syncthreads()` between the two accesses."),
        (Finding(Verdict.BARRIER_DIVERGENCE, "", 14, 11), "`__syncthreads()` at line 14 out of"),
        (Finding(Verdict.OUT_OF_BOUNDS, "", 7), "each store at line 7 with"),
        (Finding(Verdict.OUT_OF_BOUNDS, ""), "each store with"),
        (Finding(Verdict.TIME_LIMIT, "", 9), "a loop at line 9 that"),
        (Finding(Verdict.WRONG_ANSWER, "", example=at("P[0][3]")), "Follow `P[0][3]` by hand."),
        (Finding(Verdict.DATA_RACE, "x", 3, 3, example=at("{evil}[0]")), "element of `{evil}`"),
    ],
)
def test_advice_names_the_lines_and_elements_that_are_known(finding, words):
    report = Report(finding.kind, "", "tiled", "cpu", "sm_90", 16, findings=(finding,))
    assert words in advice_for(report, [])


def test_advice_names_three_lines_and_says_that_there_are_others():
    found = tuple(Finding(Verdict.OUT_OF_BOUNDS, "", line) for line in (9, 3, 7, 5))
    report = Report(Verdict.OUT_OF_BOUNDS, "", "tiled", "cpu", "sm_90", 16, findings=found)
    assert "at lines 3, 5, 7 and others with" in advice_for(report, [])
