"""Requests for whole matrices: the widths and numbers of the machine code, and the sectors that they touch."""

from __future__ import annotations

from collections import Counter

import pytest

from kernels.analysis.sass import read_sass
from kernels.compile.compilation import Compilation, compile_source
from kernels.device.counting.counts import Verb
from kernels.device.tensor.forms import matrix_access
from kernels.device.tensor.requests import requests
from tests.marks import linux
from worker.sandbox.disassembler import disassemble

_WIDE = ("m16n16k16", "m8n32k16", "m32n8k16")
_FORMS = [
    (role, shape, kind, layout)
    for shapes, roles, kinds in (
        (_WIDE, "ab", ("f16", "bf16", "s8", "u8")),
        (_WIDE, "cd", ("f16", "f32", "s32")),
        (("m16n16k8",), "ab", ("tf32",)),
        (("m8n8k4",), "abcd", ("f64",)),
        (("m8n8k128",), "cd", ("s32",)),
    )
    for shape in shapes
    for role in roles
    for kind in kinds
    for layout in ("row", "col")
]
_FORMS += [
    (role, *kind, layout)
    for kind in (("m8n8k32", "s4"), ("m8n8k128", "b1"))
    for role, layout in (("a", "row"), ("b", "col"))
]
_OPCODES = [
    f"wmma.{'store' if role == 'd' else 'load'}.{role}.sync.aligned.{layout}.{shape}.{space}.{kind}"
    for space in ("global", "shared")
    for role, shape, kind, layout in _FORMS
]


def _assembly(opcode: str) -> str:
    form = matrix_access(opcode)
    assert form is not None
    fragment = form.fragment
    letter, value = ("d", "1.0") if fragment.bits == 64 else ("r", "1")
    if opcode.endswith("f32") and "tf32" not in opcode:
        letter, value = "f", "1.0f"
    count = fragment.registers
    registers = ", ".join(f"%{at}" for at in range(count))
    operands = f"[%{count}], {{{registers}}}" if form.store else f"{{{registers}}}, [%{count}]"
    place = 4096 * _OPCODES.index(opcode)
    address = f'"l"(M + {place})' if ".global" in opcode else f'"r"(shared + {place})'
    if form.store:
        inputs = ", ".join([f'"{letter}"({value})'] * count)
        return f'asm volatile("{opcode} {operands}, %{count + 1};" :: {inputs}, {address}, "r"(n) : "memory");'
    outputs = ", ".join(f'"={letter}"({letter}[{at}])' for at in range(count))
    # The assembler removes loads that nothing uses.
    kept = f"*(volatile decltype(+{letter}[0])*)M = " + " + ".join(f"{letter}[{at}]" for at in range(count))
    return f'asm volatile("{opcode} {operands}, %{count + 1};" : {outputs} : {address}, "r"(n) : "memory"); {kept};'


@pytest.mark.one_in(2, "one of two")
@linux
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_a_matrix_takes_the_requests_of_the_machine_code(architecture):
    head = (
        "__global__ void k(float* M, int n) { extern __shared__ int room[]; unsigned r[16]; float f[16]; double d[16]; "
        "unsigned shared = (unsigned)__cvta_generic_to_shared(room);"
    )
    made = compile_source("\n".join((head, *map(_assembly, _OPCODES), "}")), "k", architecture, {}, True)
    assert isinstance(made, Compilation), made
    text = disassemble(made.cubin).text
    assert text is not None
    sass = read_sass(text, made.entry)
    found, wanted = {}, {}
    for line, opcode in enumerate(_OPCODES, 2):
        form = matrix_access(opcode)
        assert form is not None
        verb = Verb.STORE if form.store else Verb.LOAD
        found[opcode] = Counter(each.width for each in sass[line].accesses if each.verb is verb)
        each = requests(form)
        wanted[opcode] = Counter({each.width: len(each.parts)})
    assert found == wanted
