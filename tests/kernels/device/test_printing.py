"""printf, assert and trap."""

from __future__ import annotations

import pytest

from kernels.device.printing import MAX_PRINTED
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Device, example, line, only


def printed(device: Device, call: str) -> str:
    execution = device.run(f"{HEAD} {{ {THREAD} {call} P[t] = 0; }}")
    assert execution.findings == ()
    return execution.printed


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ('"plain\\n"', "plain\n"),
        ('"%d %i|", -5, 12', "-5 12|"),
        ('"%u %x %X %o", 4000000000u, 255, 255, 8', "4000000000 ff FF 10"),
        ('"%5d|%-5d|%05d|%+d", 42, 42, 42, 42', "   42|42   |00042|+42"),
        (
            '"%f %.2f %8.3f %e %g", 1.5f, 2.0 / 3, -1.25, 12345.678, 0.0001',
            "1.500000 0.67   -1.250 1.234568e+04 0.0001",
        ),
        ('"%lld %llu", -(1LL << 40), 1ULL << 63', "-1099511627776 9223372036854775808"),
        ("\"%c%c %%\", 65, 'b'", "Ab %"),
        ('"%d %f %d", 1, 2.5, 3', "1 2.500000 3"),
        ('"%f %f", 1 / (M[3] - 3), __int_as_float(0xff800000)', "inf -inf"),
    ],
)
def test_formats(device, arguments, wanted):
    assert printed(device, f"if (t == 3) printf({arguments});") == wanted


def test_threads_print_in_order_block_by_block(device):
    text = f"""{HEAD} {{
  {THREAD}
  if (t % 16 == 0) printf("(%d,%d)", blockIdx.x, t);
  P[blockIdx.x * 32 + t] = 0;
}}"""

    assert device.run(text, grid=2, n=64).printed == "(0,0)(0,16)(1,0)(1,16)"


def test_values_of_each_thread(device):
    assert printed(device, 'if (t < 3) printf("%d:%.1f ", t, M[t] / 2);') == "0:0.0 1:0.5 2:1.0 "


def test_a_flood_is_cut_and_counted(device):
    text = f"""{HEAD} {{
  {THREAD}
  for (int i = 0; i < 1000; ++i) printf("thread %d says %d\\n", t, i);
  P[t] = 0;
}}"""

    shown = device.run(text).printed

    assert MAX_PRINTED <= len(shown) <= MAX_PRINTED + 100
    assert shown.endswith("more calls of printf")


def test_a_failed_assertion_ends_the_kernel(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] = 1;
  assert(t < 20);  //@ assert
  P[t] = 2;
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (Verdict.RUNTIME_ERROR, line(text, "assert"), 12)
    assert example(finding).threads == ((20, 0, 0),)
    assert "the assertion `t < 20` does not hold" in finding.message


def test_an_assertion_that_holds(device):
    assert printed(device, "assert(t < 32 && n == 32);") == ""


def test_a_trap(device):
    text = f"""{HEAD} {{
  {THREAD}
  P[t] = 1;
  if (M[t] == 17) __trap();  //@ trap
  P[t] = 2;
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line, finding.count) == (Verdict.RUNTIME_ERROR, line(text, "trap"), 1)
    assert example(finding).threads == ((17, 0, 0),)
    assert "trap" in finding.message


def test_nothing_runs_after_a_trap(device, monkeypatch):
    text = f"{HEAD} {{ {THREAD} if (blockIdx.x == 1) __trap(); P[blockIdx.x * 32 + t] = 1; }}"
    monkeypatch.setattr("kernels.device.placement.CHUNK_LANES", 32)

    out = device.run(text, grid=3, n=96).values["P"].reshape(3, 32)

    assert out[0].tolist() == [1] * 32
    assert (out[1:] != out[1:]).all()
