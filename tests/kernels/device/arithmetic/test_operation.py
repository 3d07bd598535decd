"""The table: what it knows, what it refuses, and the small operations that need no sweep."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.device.arithmetic import NUMPY_TYPES, operation
from tests.kernels.device.arithmetic import opcodes
from tests.kernels.device.arithmetic.patterns import arrays, run

COMPILED = """
add.s32 add.s64 sub.s32 neg.s32 mul.lo.s32 mul.wide.s32 mul.wide.u32 mad.lo.s32 and.b32 or.pred not.pred
shl.b32 shl.b64 shr.s32 shr.u32 cvt.u64.u32 cvt.s64.s32 fma.rn.f32 div.s32 rem.s32 add.f32 mul.f32
neg.f32 abs.f32 min.f32 max.f32 div.rn.f32 sqrt.rn.f32 rsqrt.approx.f32 rsqrt.approx.ftz.f32
ex2.approx.f32 ex2.approx.ftz.f32 fma.rm.f32 cvt.rn.f32.s32 cvt.rn.f32.u64 cvt.sat.f32.f32
cvt.rzi.s32.f32 selp.b32 selp.f32 add.s64 sub.s64 mul.lo.s64 shr.u64 mul.hi.u32 mul.hi.s32 xor.b32 or.b32
not.b32 popc.b32 clz.b32 brev.b32 bfind.u32 bfind.shiftamt.u32 prmt.b32 shf.l.wrap.b32 shf.r.wrap.b32
dp4a.u32.u32 dp4a.s32.s32 fma.rn.f64 add.f64 div.rn.f64 sqrt.rn.f64 fma.rn.f16 fma.rn.f16x2
cvt.rn.f16.f32 cvt.f32.f16 cvt.rn.bf16.f32 lop3.b32 add.rn.f32 mul.rn.f32 sub.f32 cvt.f64.f32
cvt.rn.f32.f64 min.s32 max.s32 bfe.u32 bfi.b32 copysign.f32
"""


ORDERS = [f"setp.{order}.{name}" for order in ("eq", "ne", "lt", "ge") for name in ("s32", "u32", "f32")]


@pytest.mark.parametrize("opcode", [*COMPILED.split(), *ORDERS])
def test_knows_what_the_compiler_writes(opcode):
    assert operation(opcode) is not None


UNKNOWN = """
add add. .add add.b32 add.s8 add.s32.s32 add.cc.u32 addc.u32 add.sat.u32 fma.f32 fma.rn fma.rn.s32
fma.rn.sat.ftz.f32 fma.rn.ftz.f64 fma.rna.f32 mul.s32 mul.wide.s64 mad.lo.sat.s32 div.f32 sqrt.f32
rcp.f32 setp.lt.b32 setp.lo.s32 setp.ltu.s32 setp.lt.nand.s32 setp.lt.ftz.s32 setp.s32 cvt.f32.s32
cvt.s32.f32 cvt.rn.f64.f32 cvt.rn.s32.f32 cvt.sat.u8.f32 cvt.f32.f64 cvt.rni.f32.f64 cvt.sat.s32.s16
cvt.rn.e4m3x2.f32 cvt.ftz.s32.s64 shf.l.b32 prmt.b32.xyz lop3.and.b32 lop3.b64 testp.nan.f32 fns.b32
szext.wrap.s32 vadd.s32 abs.u32 neg.u32 shl.s32 and.s32 selp.pred min.xorsign.f32 dp4a.s32 mov.b32
ld.global.f32 FMA.RN.F32
"""


@pytest.mark.parametrize("opcode", ["", *UNKNOWN.split()])
def test_refuses_what_it_does_not_know_in_every_part(opcode):
    assert operation(opcode) is None


@pytest.mark.parametrize("opcode", opcodes.known()[::7])
def test_results_have_the_types_announced_and_operands_stay_as_they_were(opcode):
    found = operation(opcode)
    assert found is not None
    operands = [arrays(name, 192, 1, seed)[0] for seed, name in enumerate(found.sources)]
    before = [operand.tobytes() for operand in operands]
    result = run(opcode, *operands)
    assert result.shape == operands[0].shape
    assert [operand.tobytes() for operand in operands] == before
    assert not any(np.shares_memory(result, operand) for operand in operands)
    narrow = [operand[:1, :1] if seed else operand[:, :1] for seed, operand in enumerate(operands)]
    assert run(opcode, *narrow).tobytes() == run(opcode, *map(np.copy, np.broadcast_arrays(*narrow))).tobytes()


def test_two_destinations():
    a, b = np.array([[1, 2, 3]], np.int32), np.array([[2, 2, 2]], np.int32)
    both = operation("setp.lt.s32", complement=True)
    assert both is not None
    assert both.result == ("pred", "pred")
    assert [part.tolist() for part in both.function(a, b)] == [[[True, False, False]], [[False, True, True]]]
    combined = operation("setp.lt.and.s32", complement=True)
    assert combined is not None
    c = np.array([[True, True, False]])
    assert [x.tolist() for x in combined.function(a, b, c)] == [[[True, False, False]], [[False, True, False]]]
    assert operation("add.s32", complement=True) is None


def test_comparison_with_nan():
    nan, one = np.full((1, 1), np.nan, np.float32), np.ones((1, 1), np.float32)
    known = [name for name in opcodes.COMPARISONS if operation(f"setp.{name}.f32")]
    true = {name for name in known if run(f"setp.{name}.f32", nan, one)}
    assert true == {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"}


def test_selection_and_set():
    a, b = np.array([[1, 2]], np.uint32), np.array([[3, 4]], np.uint32)
    assert run("selp.u32", a, b, np.array([[True, False]])).tolist() == [[1, 4]]
    assert run("slct.u32.s32", a, b, np.array([[0, -1]], np.int32)).tolist() == [[1, 4]]
    assert run("slct.u32.f32", a, b, np.array([[-0.0, np.nan]], np.float32)).tolist() == [[1, 4]]
    assert run("set.lt.u32.u32", a, b[:, ::-1]).tolist() == [[0xFFFFFFFF, 0xFFFFFFFF]]
    assert run("set.lt.f32.u32", b, a).tolist() == [[0.0, 0.0]]
    assert run("copysign.f32", np.array([[-0.0]], np.float32), np.array([[3.0]], np.float32)).tolist() == [[-3.0]]


def test_flushing_looks_at_the_result_before_the_subnormal_spacing():
    below = np.array([[1 - 2.0**-24]], np.float32)
    smallest = np.array([[2.0**-126]], np.float32)
    assert run("mul.f32", below, smallest).tolist() == [[2.0**-126]]
    assert run("mul.ftz.f32", below, smallest).tolist() == [[0.0]]
    a, b = (np.array([[2.0**-63 * (1 + sign * 2.0**-23)]], np.float32) for sign in (1, -1))
    assert run("mul.ftz.f32", a, b).tolist() == [[2.0**-126]]
    assert run("mul.rz.ftz.f32", a, b).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("opcode", "function"),
    [("rcp", lambda a: 1 / a), ("sqrt", np.sqrt), ("rsqrt", lambda a: 1 / np.sqrt(a)), ("ex2", np.exp2),
     ("lg2", np.log2), ("sin", np.sin), ("cos", np.cos), ("tanh", np.tanh)],
)  # fmt: skip
def test_approximations_are_the_nearest_float(opcode, function):
    found = operation(f"{opcode}.approx.f32")
    assert found is not None
    assert found.approximate
    a = np.linspace(0.1, 20, 6400).astype(np.float32).reshape(-1, 64)
    exact = function(a.astype(np.float64))
    assert (np.abs(run(f"{opcode}.approx.f32", a) - exact) <= np.spacing(np.abs(exact).astype(np.float32))).all()


def test_fast_division_loses_divisors_above_2_to_the_126():
    a = np.array([[1.0, np.inf, 1.0]], np.float32)
    b = np.array([[2.0**127, 2.0**127, 4.0]], np.float32)
    result = run("div.approx.f32", a, b)[0]
    assert (result[0], np.isnan(result[1]), result[2]) == (0.0, True, 0.25)
    assert run("div.full.f32", a, b)[0, 0] == 2.0**-127


def test_every_type_has_its_numpy_type():
    for opcode in opcodes.known():
        found = operation(opcode)
        assert found is not None
        assert {*found.sources, found.result} <= set(NUMPY_TYPES)
