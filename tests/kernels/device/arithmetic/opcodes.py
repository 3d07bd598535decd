"""Every opcode that the arithmetic of the CPU device knows, found by trying the combinations of known modifiers."""

from __future__ import annotations

from itertools import product

from kernels.device.arithmetic import operation

_INTEGERS = ["u16", "u32", "u64", "s16", "s32", "s64"]
_CONVERTED = ["u8", "s8", *_INTEGERS, "f16", "bf16", "f32", "f64"]
_BITS = ["b16", "b32", "b64"]
_FLOATS = ["f32", "f64", "f16", "f16x2", "bf16", "bf16x2"]
_ROUND = ["", "rn", "rz", "rm", "rp", "approx", "full"]
_FTZ = ["", "ftz"]
COMPARISONS = (
    "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan".split()  # noqa: SIM905
)
_PROPERTIES = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"]

_FAMILIES: list[tuple[list[str], ...]] = [
    (["add", "sub", "mul", "fma", "mad"], _ROUND, _FTZ, ["", "sat", "relu"], _FLOATS),
    (["div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"], _ROUND, _FTZ, _FLOATS),
    (["min", "max"], _FTZ, ["", "NaN"], ["", "xorsign.abs"], _FLOATS),
    (["abs", "neg"], _FTZ, [*_FLOATS, "s16", "s32", "s64"]),
    (["add", "sub", "min", "max"], ["", "sat", "relu"], _INTEGERS),
    (["div", "rem", "sad"], _INTEGERS),
    (["mul", "mad", "mul24", "mad24"], ["lo", "hi", "wide"], ["", "sat"], _INTEGERS),
    (["dp4a"], ["u32", "s32"], ["u32", "s32"]),
    (["dp2a"], ["lo", "hi"], ["u32", "s32"], ["u32", "s32"]),
    (["and", "or", "xor", "not", "cnot", "lop3", "popc", "clz", "brev", "bfi"], ["pred", *_BITS]),
    (["shl", "shr"], [*_BITS, *_INTEGERS]),
    (["shf"], ["l", "r"], ["clamp", "wrap"], ["b32"]),
    (["prmt"], ["b32"], ["", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]),
    (["bfe", "bfind", "bfind.shiftamt"], _INTEGERS),
    (["bmsk"], ["clamp", "wrap"], ["b32"]),
    (["copysign"], ["f32", "f64"]),
    (["testp"], _PROPERTIES, ["f32", "f64"]),
    (["setp"], COMPARISONS, ["", "and", "or", "xor"], _FTZ, [*_INTEGERS, *_BITS, "f16", "f32", "f64"]),
    (["set"], COMPARISONS, ["", "and"], _FTZ, ["u32", "s32", "f32"], ["s16", "u32", "s32", "s64", "f32", "f64"]),
    (["selp"], [*_INTEGERS, *_BITS, "f32", "f64"]),
    (["slct"], _FTZ, [*_INTEGERS, *_BITS, "f32", "f64"], ["s32", "f32"]),
    (
        ["cvt"],
        ["", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna"],
        _FTZ,
        ["", "sat", "relu"],
        [*_CONVERTED, "f16x2", "bf16x2", "tf32"],
        _CONVERTED,
    ),
    (["cvt.rn.satfinite"], ["", "relu"], ["e4m3x2", "e5m2x2"], ["f32", "f16x2"]),
    (["cvt.rn"], ["", "relu"], ["f16x2"], ["e4m3x2", "e5m2x2"]),
]


def known() -> list[str]:
    """The opcodes that have an operation, in a fixed order."""
    tried = (".".join(part for part in parts if part) for family in _FAMILIES for parts in product(*family))
    return [opcode for opcode in dict.fromkeys(tried) if operation(opcode)]
