from __future__ import annotations

from time import process_time

import pytest

from kernels.analysis.sass import TEXT_LIMIT, BadSass, MachineAccess, MachineBranch, Sass, read_sass, sass_listing
from kernels.compile.compilation import Compilation, compile_source
from kernels.device.counting.counts import Verb
from kernels.device.ptx.expansion import load_program
from kernels.evidence import MOST_LINES, Evidence
from kernels.rendering.page.listing.ptx_view import sass_view
from kernels.report import Report
from kernels.verdict import Verdict
from tests.marks import linux
from worker.sandbox.disassembler import disassemble

HEAD = '\t.section\t.text.K,"ax",@progbits\n        .other          K,@"STO_CUDA_ENTRY STV_DEFAULT"\n'
LINE = '\t//## File "/kernel.cu", line {}\n'


def read(body: str) -> Sass:
    return read_sass(HEAD + body, "K")


def one(instruction: str):
    """The line that holds one instruction."""
    return read(LINE.format(7) + f"        /*0000*/  {instruction} ;\n")[7]


@pytest.mark.parametrize(
    ("instruction", "space", "verb", "width"),
    [
        ("LDS R24, [R20]", "shared", Verb.LOAD, 4),
        ("LDS.128 R12, [R6+0x10]", "shared", Verb.LOAD, 16),
        ("LDS.U.64 R12, [R6]", "shared", Verb.LOAD, 8),
        ("LDS.U8 R1, [R6]", "shared", Verb.LOAD, 1),
        ("LDSM.16.M88.4 R12, [R0]", "shared", Verb.LOAD, 16),
        ("LDSM.16.MT88.2 R20, [R5+UR4]", "shared", Verb.LOAD, 16),
        ("STSM.16.M88.4 [R0], R4", "shared", Verb.STORE, 16),
        ("STS.U16 [R6], R1", "shared", Verb.STORE, 2),
        ("LDG.E R29, desc[UR8][R8.64]", "global", Verb.LOAD, 4),
        ("LDG.E.64.CONSTANT R4, desc[UR8][R8.64]", "global", Verb.LOAD, 8),
        ("LDG.E.128.SYS R4, [R4]", "global", Verb.LOAD, 16),
        ("LDG.E.ENL2.256 R4, R8, desc[UR4][R2.64]", "global", Verb.LOAD, 32),
        ("STG.E.STRONG.SYS desc[UR8][R2.64], R25", "global", Verb.STORE, 4),
        ("LDL.64 R2, [R1]", "local", Verb.LOAD, 8),
        ("STL [R1], R2", "local", Verb.STORE, 4),
        ("LD.E R2, desc[UR4][R2.64]", "generic", Verb.LOAD, 4),
        ("ATOMS.POPC.INC.32 RZ, [R2]", "shared", Verb.ATOMIC, 4),
        ("ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64], R5", "global", Verb.ATOMIC, 4),
        ("REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R5", "global", Verb.ATOMIC, 4),
    ],
)
def test_a_memory_instruction_has_its_space_verb_and_width(instruction, space, verb, width):
    assert one(instruction).accesses == (MachineAccess(space, verb, width, predicated=False),)
    assert one(f"@!P0 {instruction}").accesses == (MachineAccess(space, verb, width, predicated=True),)


def test_a_copy_reads_global_and_writes_shared_memory():
    line = one("LDGSTS.E.BYPASS.128 [R5], desc[UR6][R2.64]")

    assert line.widths("global", Verb.LOAD) == {16: 1}
    assert line.widths("shared", Verb.STORE) == {16: 1}


@pytest.mark.parametrize(
    ("instruction", "branch", "counts"),
    [
        ("@!P0 BRA `(.L_x_0)", MachineBranch("BRA", conditional=True), True),
        ("BRA `(.L_x_0)", MachineBranch("BRA", conditional=False), False),
        ("@PT BRA `(.L_x_0)", MachineBranch("BRA", conditional=False), False),
        ("BRA.U !UP0, `(.L_x_0)", MachineBranch("BRA", conditional=True), True),
        ("BRX R2 -0x120", MachineBranch("BRX", conditional=True), True),
        ("@P0 EXIT", MachineBranch("EXIT", conditional=True), False),
        ("EXIT", MachineBranch("EXIT", conditional=False), False),
    ],
)
def test_only_a_jump_under_a_condition_branches(instruction, branch, counts):
    line = one(instruction)

    assert line.branches == (branch,)
    assert line.branches_conditionally is counts


def test_instructions_belong_to_the_line_before_them():
    sass = read(
        "        /*0000*/  LDC R1, c[0x0][0x28] ;\n"
        + LINE.format(3)
        + "        /*0010*/  BAR.SYNC.DEFER_BLOCKING 0x0 ;\n.L_x_1:\n        /*0020*/  NOP;\n"
        + LINE.format(4)
        + "        /*0030*/  EXIT ;\n"
    )

    assert {line: found.instructions for line, found in sass.items()} == {None: 1, 3: 2, 4: 1}
    assert sass[3].barriers == 1


def test_inlined_code_belongs_to_the_innermost_line_of_the_file():
    sass = read(
        '\t//## File "/h/helpers.h", line 97 inlined at "/h/more.h", line 8\n'
        '\t//## File "/h/more.h", line 8 inlined at "/kernel.cu", line 5\n'
        '\t//## File "/kernel.cu", line 5 inlined at "/kernel.cu", line 20\n'
        '\t//## File "/kernel.cu", line 20\n'
        "        /*0000*/  NOP;\n"
        '\t//## File "/h/helpers.h", line 97\n'
        "        /*0010*/  NOP;\n"
        '\t//## File "/kernel.cu", line 0\n'
        "        /*0020*/  NOP;\n"
    )

    assert {line: found.instructions for line, found in sass.items()} == {5: 1, None: 2}


def test_another_kernel_does_not_count_but_a_called_function_does():
    other = HEAD.replace("K", "Other") + LINE.format(1) + "        /*0000*/  LDS R0, [R1] ;\n"
    called = '\t.section\t.text.help,"ax",@progbits\n' + LINE.format(2) + "        /*0000*/  RET.REL.NODEC R2 `(K);\n"
    text = HEAD + LINE.format(3) + "        /*0000*/  EXIT ;\n" + other + called

    assert set(read_sass(text, "K")) == {2, 3}
    assert set(read_sass(text, "Other")) == {1, 2}


@pytest.mark.parametrize("text", ["", "garbage\0" * 1000, HEAD, "/*0000*/ LDS", "\n" * 10_000])
def test_what_holds_no_kernel_is_refused(text):
    with pytest.raises(BadSass):
        read_sass(text, "K")


def test_a_text_that_is_too_long_is_refused():
    with pytest.raises(BadSass, match="too long"):
        read_sass(" " * (TEXT_LIMIT + 1), "K")


@pytest.mark.parametrize(
    "piece",
    ["        /*0000*/ " + "A.", '\t//## File "' + "\\" * 50, "        /*0000*/  @P0 { ", " ", "\t.section\t.text."],
)
def test_reading_takes_time_in_proportion(piece):
    start = process_time()
    with pytest.raises(BadSass):
        read_sass((piece * 200 + "\n") * 500 + piece * 20_000, "K")
    assert process_time() - start < 2


SOURCE = """__device__ float get(const float* p, int i) {
    return p[i] * 2.0f;
}
__device__ void put(float* p, int i, float v) {
    p[i] = v
        + get(p, i + 1);
}
__global__ void K(float* M, float* N) {
    __shared__ float row[64];
    row[threadIdx.x] = get(M, threadIdx.x);
    __syncthreads();
    if (row[63 - threadIdx.x] > N[threadIdx.x]) {
        put(N, threadIdx.x, row[63 - threadIdx.x]);
    }
}"""


@pytest.mark.one_in(3, "two of five kernels")
@linux
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_ptx_and_machine_code_agree_on_the_lines_of_accesses(arch):
    made = compile_source(SOURCE, "K", arch, {}, fmad=True)
    assert isinstance(made, Compilation)
    text = disassemble(made.cubin).text
    assert text is not None
    sass = read_sass(text, made.entry)
    memory = {"ld.global", "st.global", "ld.shared", "st.shared"}
    written = {
        item.line
        for item in load_program(made.ptx, made.entry).instructions
        if ".".join(item.opcode.split(".")[:2]) in memory
    }
    assert {line for line, found in sass.items() if found.accesses} == written == {2, 5, 10, 12}
    assert sass[11].barriers == 1
    listed = sass_listing(text, made.entry)
    assert {each.line for each in listed if "BAR." in each.text} == {11}
    assert {2, 5, 10, 12} <= {each.line for each in listed}
    assert len(sass_listing(text * 100, made.entry)) == MOST_LINES
    report = Report(Verdict.ACCEPTED, "", "x", "cpu", arch, 16, evidence=Evidence(sass=listed))
    view = sass_view(report, SOURCE)
    assert view is not None
    assert view.count == len(listed)
