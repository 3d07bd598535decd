"""Runs one PTX instruction on a GPU over lane arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.device.arithmetic import NUMPY_TYPES, operation

Array = NDArray[Any]

_HEADER = """.version 8.3
.target sm_90
.address_size 64
.visible .entry lanes(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4)
{
    .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %d<16>; .reg .f64 %g<8>;
    .reg .b64 %a;
    mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mov.u32 %r12, %tid.x; mad.lo.u32 %r10, %r10, %r11, %r12;
    cvt.u64.u32 %d10, %r10;
"""


def _register(type_name: str, number: int) -> str:
    if type_name == "pred":
        return f"%p{number}"
    if type_name in ("f32", "f64"):
        return f"%{'f' if type_name == 'f32' else 'g'}{number}"
    size = np.dtype(NUMPY_TYPES[type_name]).itemsize
    return f"%{ {1: 'h', 2: 'h', 4: 'r', 8: 'd'}[size] }{number}".replace(" ", "")


def _address(parameter: int, size: int) -> str:
    return (
        f"    ld.param.u64 %a, [p{parameter}]; mul.lo.u64 %d11, %d10, {size}; add.u64 %a, %a, %d11;"
        " cvta.to.global.u64 %a, %a;\n"
    )


def _suffix(type_name: str) -> str:
    size = np.dtype(NUMPY_TYPES[type_name]).itemsize
    return type_name if type_name in ("f32", "f64") else f"{'s' if type_name == 's8' else 'u'}{8 * size}"


def _load(type_name: str, number: int) -> str:
    text = _address(number, np.dtype(NUMPY_TYPES[type_name]).itemsize)
    if type_name == "pred":
        return text + f"    ld.global.u8 %h7, [%a]; setp.ne.u16 %p{number}, %h7, 0;\n"
    return text + f"    ld.global.{_suffix(type_name)} {_register(type_name, number)}, [%a];\n"


def _store(type_name: str) -> str:
    text = _address(4, np.dtype(NUMPY_TYPES[type_name]).itemsize)
    if type_name == "pred":
        return text + "    selp.u16 %h7, 1, 0, %p4; st.global.u8 [%a], %h7;\n"
    return text + f"    st.global.{_suffix(type_name)} [%a], {_register(type_name, 4)};\n"


def program(opcode: str, immediate: int | None = None) -> str:
    """PTX that applies the opcode to one lane a thread; an immediate replaces the last operand."""
    found = operation(opcode)
    assert found is not None
    result = str(found.result)
    sources = found.sources if immediate is None else found.sources[:-1]
    operands = [_register(result, 4), *(_register(name, number) for number, name in enumerate(sources))]
    if immediate is not None:
        operands.append(str(immediate))
    loads = "".join(_load(name, number) for number, name in enumerate(sources))
    return f"{_HEADER}{loads}    {opcode} {', '.join(operands)};\n{_store(result)}    ret;\n}}\n"


def run(opcode: str, *operands: Array, immediate: int | None = None) -> Array:
    """The GPU's result; raises what the driver says where it does not know the instruction."""
    cupy = pytest.importorskip("cupy", reason="runs the instruction on a GPU")
    found = operation(opcode)
    assert found is not None
    module = cupy.cuda.function.Module()
    module.load(program(opcode, immediate).encode())
    lanes = operands[0].size
    device = [cupy.asarray(operand.view(np.uint8)) for operand in operands]
    dtype = np.dtype(NUMPY_TYPES[str(found.result)])
    out = cupy.zeros(lanes * dtype.itemsize, np.uint8)
    pointers = [array.data.ptr for array in device] + [0] * (4 - len(device)) + [out.data.ptr]
    function = module.get_function("lanes")
    function((lanes // 64, 1, 1), (64, 1, 1), tuple(np.uint64(pointer) for pointer in pointers))
    result: Array = cupy.asnumpy(out).view(dtype).reshape(operands[0].shape)
    return result
