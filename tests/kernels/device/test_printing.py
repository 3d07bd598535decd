"""printf, assert and trap."""

from __future__ import annotations

import pytest

from kernels.device.state.printer import MAX_PRINTED
from kernels.verdict import Verdict
from tests.kernels.device.kernels import HEAD, THREAD, Device, example, line, only


def printed(device: Device, call: str) -> str:
    execution = device.run(f"{HEAD} {{ {THREAD} {call} P[t] = 0; }}")
    assert execution.findings == ()
    return execution.printed


@pytest.mark.one_in(4, "a quarter of the formats")
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
        ('"%f %f|%06f", 1 / (M[3] - 3), __int_as_float(0xff800000), 1 / (M[3] - 3)', "inf -inf|   inf"),
        ('"%s, %-6s|%6s|%.2s", "one", "two", M[3] > 2 ? "three" : "", "four"', "one, two   | three|fo"),
        ('"%*d|%-*d|%*d|%.*f|%d", 5, 42, 5, 42, -5, 42, 2, 1.125, 7', "   42|42   |42   |1.12|7"),
        (
            '"%hhd %hu %ld %zu %.3d %#x %#o %i", 300, 65537, 1L << 33, sizeof(int), 7, 255, 8, -1',
            "44 1 8589934592 4 007 0xff 010 -1",
        ),
        ('"%p %p", (void*)0x1234, (void*)0', "0x1234 (nil)"),
        ('"%s|%c|%5c", (const char*)0, 65, 66', "(null)|A|    B"),
        ('"%a %A %.1a %a", 1.5, -2.0, 1.96875, 0.0', "0x1.8p+0 -0X1P+1 0x2.0p+0 0x0p+0"),
        ('"%d%% of %5%|%y", 50', "50% of %|%y"),
        ('"%d %n%d %s", 1, (int*)0, 2, "two"', "1 %n%d %s"),
        ('"%s %ls %d", "one", (void*)0, 2', "one %ls %d"),
        ('"%lf %lc%d", 1.5, 65, 2', "1.500000 %lc%d"),
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
    monkeypatch.setattr("kernels.device.memory.placement.CHUNK_LANES", 32)

    out = device.run(text, grid=3, n=96).values["P"].reshape(3, 32)

    assert out[0].tolist() == [1] * 32
    assert (out[1:] != out[1:]).all()


def test_strings_that_a_kernel_makes_itself(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ char word[8];
  char own[4] = {{'a', (char)('b' + t), 'c', 0}};
  if (t < 5) word[t] = "left"[t];
  __syncthreads();
  P[t] = 0;
  if (t == 2) printf("%s %s", word, own);
}}"""

    execution = device.run(text)

    assert (execution.findings, execution.printed) == ((), "left adc")


@pytest.mark.parametrize("width", ["%99999999d", "%.99999999f", "%*d"])
def test_widths_are_bounded(device, width):
    arguments = {"%*d": "2000000000, 1", "%.99999999f": "1.5"}.get(width, "1")

    assert len(printed(device, f'if (t == 0) printf("{width}", {arguments});')) <= 220


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ('printf("%s", (const char*)(size_t)(M[5] + 5))', Verdict.OUT_OF_BOUNDS),
        ('printf("%s", (const char*)(P + 40))', Verdict.OUT_OF_BOUNDS),
        ('printf("%s", open)', Verdict.OUT_OF_BOUNDS),
        ("printf((const char*)(size_t)(M[5] + 5))", Verdict.OUT_OF_BOUNDS),
        ('vprintf("%d", (char*)(size_t)(M[5] + 5))', Verdict.OUT_OF_BOUNDS),
        ("vprintf((const char*)((size_t)P << 20), nullptr)", Verdict.OUT_OF_BOUNDS),
        ('printf("%s", unset)', Verdict.UNINITIALIZED_READ),
    ],
)
def test_pointers_that_lead_to_no_text(device, call, kind):
    text = f"""extern "C" __device__ int vprintf(const char*, void*);
__device__ char open[4] = {{'o', 'p', 'e', 'n'}};
{HEAD} {{
  {THREAD}
  __shared__ char unset[4];
  P[t] = 0;
  if (t == 3) {call};  //@ print
  if (n == 0) unset[t] = 1;
}}"""

    finding = only(device.run(text))

    assert (finding.kind, finding.line) == (kind, line(text, "print"))


@pytest.mark.parametrize("call", ['printf("%d %*d", 1)', 'printf("%s")'])
def test_a_missing_argument_is_found_before_it_is_read(device, call):
    finding = only(device.run(f"{HEAD} {{ {THREAD} P[t] = 0; if (t == 0) {call}; }}"))
    assert finding.kind is Verdict.OUT_OF_BOUNDS
    assert "`printf` gets" in finding.message


def test_a_text_that_is_printed_while_it_is_written_is_not_a_race(device):
    text = f"""{HEAD} {{
  {THREAD}
  __shared__ char word[32];
  word[t] = 0;
  __syncthreads();
  if (t == 0) word[0] = 'a';
  if (t < 2) printf("%s", word);
  P[t] = 0;
}}"""

    assert device.run(text).findings == ()
