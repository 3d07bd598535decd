"""The PTX reader: what the compiler writes, and text that no compiler wrote."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest

from kernels.device import Budget, Buffer, Execution, Malformed, Options, Unsupported, check, load_program, run
from kernels.device.ptx.tokens import MAX_TEXT
from kernels.launch import Launch
from tests.kernels.device.kernels import HEAD, THREAD, compiled

TOP = """.version 8.0
.target sm_90
.address_size 64
.file 1 "kernel.cu"
"""


def kernel(body: str, before: str = "") -> str:
    return f"""{TOP}{before}
.visible .entry K(.param .u64 p)
{{
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;
  {body}
}}
"""


def launched(ptx: str, threads: int = 4) -> Execution:
    program = load_program(ptx, "K")
    check(program)
    return run(
        program,
        Launch((1, 1, 1), (threads, 1, 1), 0),
        ("P",),
        (Buffer("P", np.zeros(threads, np.float32), initialised=True),),
        Options(budget=Budget(5_000)),
    )


STORE = """.loc 1 7 3
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  cvt.rn.f32.u32 %f1, %r1;
  st.global.f32 [%rd3], %f1;
  ret;"""


def test_a_kernel_by_hand():
    execution = launched(kernel(STORE))

    assert execution.findings == ()
    assert execution.values["P"].tolist() == [0, 1, 2, 3]
    assert execution.stored == {"P": (7,)}


def test_names_inside_braces_are_their_own():
    inner = "{ .reg .b32 own; mov.u32 own, 5; { .reg .b32 own; mov.u32 own, 9; } cvt.rn.f32.u32 %f1, own; }"

    execution = launched(kernel(STORE.replace("cvt.rn.f32.u32 %f1, %r1;", inner)))

    assert execution.values["P"].tolist() == [5] * 4


def test_lines_of_other_files_are_not_the_students():
    text = kernel(STORE).replace(".loc 1 7 3", ".loc 1 7 3\n.loc 2 99 1\n.loc 1 0 0")

    assert launched(text).stored == {"P": (7,)}


def test_inlined_code_has_the_line_that_asked_for_it():
    where = ".loc 2 99 1, function_name $L__info0, inlined_at 1 12 5"

    assert launched(kernel(STORE).replace(".loc 1 7 3", where)).stored == {"P": (12,)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "\0" * 50,
        TOP,
        TOP + ".visible .entry K(",
        TOP + ".visible .entry K(.param .u64 p) {",
        TOP + ".visible .entry K(.param .u64 p);",
        TOP + ".func K(.param .u64 p) { ret; }",
        kernel("ret; }"),
        kernel("ret;") + kernel("ret;"),
        kernel("frobnicate"),
        kernel("@%p1 @%p2 ret;"),
        kernel("bra nowhere;"),
        kernel("mov.u32 %r1, [;"),
        kernel("mov.u32 %r1, %undeclared;"),
        kernel("mov.u32 5, %r1;"),
        kernel("mov.u32 %tid.x, 1;"),
        kernel("mov.u32;"),
        kernel("add.s32 %r1, {%r1, %r2}, 1;"),
        kernel("st.global.f32 %rd1, %f1;"),
        kernel("st.global.v4.f32 [%rd1], {%f1, %f2};"),
        kernel("ld.global.f32 [%rd1], %f1;"),
        kernel("here: here: ret;"),
        kernel(".reg .b32 %q<999999999999>;"),
        kernel(".reg .b99 %q;"),
        kernel("{" * 100 + "}" * 100),
        kernel(".local .align 4 .b8 big[99999999999999];"),
        kernel("ret;", ".global .align 4 .b8 x[4] = {1, 2;"),
        kernel("ret;", ".global .align 4 .b8 x[4]; .global .align 4 .b8 x[4];"),
        kernel("ret;", ".global .align -4 .b8 x[4];"),
        kernel("ret;", ".global x;"),
        kernel("ret;", "} .visible .entry evil() {"),
        kernel("brx.idx %r1, nowhere;"),
        kernel("table: .branchtargets here; brx.idx %r1, table;"),
        kernel("shfl.sync.idx.b32 %r1, %r2;"),
        kernel("atom.global.add.u32 %r1, [%rd1];"),
        kernel("mov.b64 {%r1, %r2, %r3}, %rd1; ret;"),
        kernel("selp.f32 %f1, %f2, %f3;"),
        kernel("setp.lt.s32 %p1|%r1|%r2, %r1, %r2;"),
        kernel("ld.param.u64 %rd1, [missing]; st.global.u64 [%rd1], %rd1; ret;"),
    ],
)
def test_text_that_no_compiler_wrote(text):
    with pytest.raises((Malformed, Unsupported)):
        launched(text)


def test_too_much_text():
    with pytest.raises(Malformed, match="too large"):
        load_program(TOP + "//" + "x" * MAX_TEXT, "K")


def test_a_kernel_of_another_name():
    with pytest.raises(Malformed, match="holds no kernel"):
        load_program(kernel("ret;"), "L")


@pytest.mark.parametrize(
    ("instruction", "name"),
    [
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f5};", "mma"),
        ("tcgen05.fence::before_thread_sync;", "tcgen05.fence"),
        ("mbarrier.pending_tx.shared.b64 [%rd1], 5;", "mbarrier.pending_tx"),
        ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];", "tex"),
        ("mov.u32 %r1, %nonsense;", ""),
        ("barrier.cluster.sync.aligned;", "barrier.cluster"),
        ("bar.arrive 1;", ""),
        ("bar.sync 1, 32, 32;", ""),
    ],
)
def test_what_is_not_known_is_named_with_its_line_or_refused(instruction, name):
    with pytest.raises((Unsupported, Malformed)) as caught:
        launched(kernel(f".loc 1 23 1\n{instruction}\nret;"))
    if isinstance(caught.value, Unsupported) and name:
        assert caught.value.line == 23
        assert caught.value.instruction.startswith(name)


@pytest.mark.parametrize("last", ["ret;", ""])
def test_functions_that_call_each_other_too_often_to_be_expanded(last):
    levels = "".join(
        f".func f{level}() {{ call f{level - 1}, (); call f{level - 1}, (); {last} }}\n" for level in range(1, 40)
    )
    text = kernel("call f39, (); ret;", f".func f0() {{ {last} }}\n" + levels)

    with pytest.raises(Unsupported, match="too long once its calls are expanded"):
        launched(text)


SAMPLE = f"""{HEAD} {{
  {THREAD}
  __shared__ float tile[32];
  tile[t] = M[t];
  __syncthreads();
  float v = 0;
  for (int i = 0; i < 4; ++i) v += tile[(t + i) % 32] * i;
  if (t < n) P[t] = v;
}}"""


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
@pytest.mark.parametrize("seed", range(40))
def test_damaged_text_ends_in_an_answer(arch, seed):
    made = compiled(SAMPLE, arch)
    chance = random.Random(seed)
    words = made.ptx.split(" ")
    for _ in range(chance.randint(1, 4)):
        at, other = chance.randrange(len(words)), chance.randrange(len(words))
        words[at] = chance.choice([words[other], "", "-1", "4294967296", words[at][:-1], words[at] + "0"])

    # Whatever else it raises would be a fault of the reader or the device.
    with contextlib.suppress(Malformed, Unsupported):
        program = load_program(" ".join(words), made.entry)
        check(program)
        execution = run(
            program,
            Launch((2, 1, 1), (32, 1, 1), 0),
            ("M", "P", 32),
            (
                Buffer("M", np.arange(32, dtype=np.float32), initialised=True),
                Buffer("P", np.zeros(32, np.float32), initialised=False),
            ),
            Options(budget=Budget(2_000)),
        )
        assert execution.values["P"].shape == (32,)
