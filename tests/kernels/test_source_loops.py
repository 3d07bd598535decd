"""Lines of a loop's body lead to its head."""

from __future__ import annotations

from time import process_time

import pytest

from kernels.facts import Facts, Mistake
from kernels.source.loops import loop_line, name_loops, point_at_names
from kernels.source.paste.decoding import LARGEST_SOURCE
from kernels.verdict import Finding, Severity, Verdict

NESTED = """__global__ void K(float* P, int n)
{
    int ph = 0; // for (;;)
    while (ph <
           n) {
        P[ph] = 0;
        for (int k = 0; k < n; ++k)
            P[k] += 1;
        if (n > 3)
            P[1] = 2;
        else
            P[2] = 3;
    }
    P[0] = 1;
    do {
        ph++;
    }
    while (ph);
    P[3] = 1;
again:
    ph--;
    if (ph > 0)
        goto again;
    if (ph) goto done;
    P[4] = ph ? n : 2;
done:
    P[5] = 0;
}
"""


@pytest.mark.parametrize(
    ("line", "head"),
    [
        (1, 1), (3, 3), (4, 4), (5, 4), (6, 4), (7, 7), (8, 7), (9, 4), (12, 4), (13, 4), (14, 14), (15, 15),
        (16, 15), (18, 15), (19, 19), (20, 20), (21, 20), (23, 20), (24, 24), (25, 25), (27, 27), (99, 99),
    ],
)  # fmt: skip
def test_a_line_leads_to_the_innermost_loop_around_it(line, head):
    assert loop_line(NESTED, line) == head


@pytest.mark.parametrize(
    ("text", "line", "head"),
    [
        ("for (;;)\nif (a)\nb();\nelse\nc();\nd();", 5, 1),
        ("for (;;)\nif (a)\nb();\nelse\nc();\nd();", 6, 6),
        ("if (a)\nfor (;;)\nb();\nelse\nc();", 5, 5),
        ("for (;;)\ndo\nb();\nwhile (c);\nd();", 4, 2),
        ("for (;;)\ndo\nb();\nwhile (c);\nd();", 5, 5),
        ("for (;;)\n#pragma unroll\nfor (;;)\nb({;},\n[&]{ return 1; }());\nc();", 5, 3),
        ("#ifndef TILELAB\nfor (;;) {\n#endif\nb();", 4, 4),
        ("while (a)\n;\nb();", 2, 1),
        ("while (a) { b();\n}", 2, 1),
        ("goto out;\nb();\nout:\nc();", 2, 2),
        ("switch (a) {\ncase 1:\nb();\ndefault:\ngoto a;\n}", 5, 5),
    ],
)
def test_statements_without_braces(text, line, head):
    assert loop_line(text, line) == head


@pytest.mark.one_in(4, "a quarter of the texts")
@pytest.mark.parametrize("unit", ["do ", "for(", "{", "for(;;){", "if(a)", "while", "a:goto a;", "else "])
def test_any_text_has_an_answer(unit):
    text = unit * (LARGEST_SOURCE // len(unit))
    start = process_time()
    assert loop_line(text, 1) == 1
    assert process_time() - start < 5


def test_findings_that_do_not_end_are_moved_to_their_loop_and_counted_together():
    endless = Finding(Verdict.TIME_LIMIT, "It is still running.", 6, count=2)
    also = Finding(Verdict.TIME_LIMIT, "It is still running.", 9, count=3, severity=Severity.ERROR)
    other = Finding(Verdict.OUT_OF_BOUNDS, "It reads too far", 6)
    lost = Finding(Verdict.TIME_LIMIT, "It is still running.", None)
    straight = Finding(Verdict.TIME_LIMIT, "It is still running.", 14)

    first, *rest = name_loops((endless, other, also, lost, straight), NESTED)

    assert (first.line, first.count) == (4, 5)
    assert first.message == "It is still running. The loop begins at line 4."
    assert rest == [other, lost, straight]


def test_bounds_of_a_launch_get_their_line():
    text = "// __launch_bounds__\n__global__ void\n__launch_bounds__(256) K(float* P) { P[0] = 0; }\n"
    about = Finding(Verdict.RESOURCE_LIMIT, "too much", None, facts=Facts(Mistake.LAUNCH_BOUNDS))
    other = Finding(Verdict.RESOURCE_LIMIT, "too much", None)
    assert [each.line for each in point_at_names((about, other), text)] == [3, None]


@pytest.mark.parametrize(("more", "found"), [("", 3), ("cg::tiled_partition<128>(b);", 1)])
def test_a_group_of_several_warps_gets_its_line(more, found):
    text = f"// tiled_partition<64>\nauto w = cg::tiled_partition<32>(b);\nauto g = cg::tiled_partition<64>(b);\n{more}"
    about = Finding(Verdict.UNSUPPORTED, "large groups", 1, facts=Facts(Mistake.LARGE_GROUP))
    other = Finding(Verdict.UNSUPPORTED, "tensor cores", 1)
    assert [each.line for each in point_at_names((about, other), text)] == [found, 1]


def test_a_wait_keeps_its_line():
    finding = Finding(Verdict.TIME_LIMIT, "it waits", 8, facts=Facts(Mistake.MBARRIER))
    assert name_loops((finding,), NESTED) == (finding,)
