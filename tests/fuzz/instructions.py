"""Instructions of every family that the device may know, with operands that need not fit."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_TYPES = (
    "b16",
    "u16",
    "s16",
    "f16",
    "bf16",
    "f16x2",
    "b32",
    "u32",
    "s32",
    "f32",
    "b64",
    "u64",
    "s64",
    "f64",
    "pred",
    "u8",
    "b128",
)
# D, S, P and A stand for a destination, a source, a pair and an address; T for a type; L for a label; V for a vector.
_FORMS = (
    "add.T D, S, S", "sub.T D, S, S", "mul.lo.T D, S, S", "mul.wide.T D, S, S", "mul.hi.T D, S, S",
    "mad.lo.T D, S, S, S", "mad.wide.T D, S, S, S", "fma.rn.T D, S, S, S", "fma.rz.T D, S, S, S",
    "div.T D, S, S", "div.rn.T D, S, S", "rem.T D, S, S", "abs.T D, S", "neg.T D, S", "min.T D, S, S",
    "max.T D, S, S", "popc.T D, S", "clz.T D, S", "bfind.T D, S", "brev.T D, S", "bfe.T D, S, S, S",
    "bfi.T D, S, S, S, S", "and.T D, S, S", "or.T D, S, S", "xor.T D, S, S", "not.T D, S", "cnot.T D, S",
    "shl.T D, S, S", "shr.T D, S, S", "shf.l.wrap.b32 D, S, S, S", "prmt.b32 D, S, S, S",
    "lop3.b32 D, S, S, S, N", "setp.lt.T D, S, S", "setp.ne.and.T P, S, S, S", "set.gt.T.T D, S, S",
    "selp.T D, S, S, S", "slct.T.s32 D, S, S, S", "cvt.T.T D, S", "cvt.rn.T.T D, S", "cvt.rzi.T.T D, S",
    "cvt.sat.T.T D, S", "cvt.rn.f16x2.f32 D, S, S", "mov.T D, S", "mov.T D, V", "mov.T V, S",
    "ld.global.T D, A", "ld.shared.T D, A", "ld.local.T D, A", "ld.param.T D, A", "ld.const.T D, A",
    "ld.T D, A", "ld.global.v2.T V, A", "ld.global.v4.T V, A", "ld.shared.v4.T V, A",
    "ld.global.nc.T D, A", "ld.volatile.global.T D, A", "st.global.T A, S", "st.shared.T A, S",
    "st.local.T A, S", "st.param.T A, S", "st.T A, S", "st.global.v2.T A, V", "st.shared.v4.T A, V",
    "st.const.T A, S", "atom.global.add.T D, A, S", "atom.shared.cas.T D, A, S, S", "atom.add.T D, A, S",
    "atom.exch.T D, A, S", "red.global.add.T A, S", "red.shared.max.T A, S", "atom.global.inc.u32 D, A, S",
    "atom.global.min.T D, A, S", "cvta.to.global.u64 D, S", "cvta.shared.u64 D, S", "cvta.local.u64 D, S",
    "bra L", "bra.uni L", "brx.idx S, L", "ret", "exit", "trap", "bar.sync N", "bar.sync N, N",
    "bar.sync S", "bar.warp.sync S", "bar.warp.sync -1", "bar.warp.sync 0", "bar.red.popc.u32 D, N, S",
    "bar.red.and.pred D, N, S", "bar.red.popc.u32 D, N, N, S", "barrier.sync N", "bar.arrive N, N",
    "membar.gl", "fence.acq_rel.gpu", "barrier.cta.sync N", "shfl.sync.down.b32 P, S, S, S, S",
    "shfl.sync.idx.b32 P, S, N, N, -1", "shfl.sync.bfly.b32 D, S, 1, 31, -1",
    "shfl.sync.up.b32 P, S, S, 0, 0", "vote.sync.all.pred D, S, -1", "vote.sync.ballot.b32 D, S, S",
    "vote.sync.ballot.pred D, S, -1", "vote.sync.any.b32 D, S, -1", "vote.sync.uni.pred D, S, 5",
    "match.any.sync.b32 D, S, -1", "match.all.sync.b64 P, S, -1", "redux.sync.add.s32 D, S, -1",
    "redux.sync.and.b32 D, S, S", "activemask.b32 D", "elect.sync P, -1",
    "cp.async.ca.shared.global A, A, 4", "cp.async.cg.shared.global A, A, 16",
    "cp.async.ca.shared.global A, A, 8, S", "cp.async.commit_group", "cp.async.wait_group N",
    "cp.async.wait_all", "cp.async.ca.shared.global A, A, N, N", "prefetch.global.L2 A",
    "rcp.approx.ftz.f32 D, S", "sqrt.rn.T D, S", "rsqrt.approx.T D, S", "ex2.approx.f32 D, S",
    "lg2.approx.f32 D, S", "sin.approx.f32 D, S", "tanh.approx.f32 D, S", "testp.finite.T D, S",
    "copysign.T D, S, S", "add.rz.T D, S, S", "mul.rm.T D, S, S", "add.cc.T D, S, S", "addc.T D, S, S",
    "mad24.lo.T D, S, S, S", "sad.T D, S, S, S", "dp4a.u32.s32 D, S, S, S", "dp2a.lo.u32.u32 D, S, S, S",
    "vadd.s32.s32.s32 D, S, S", "isspacep.shared D, S", "nanosleep.u32 S", "pmevent 1",
    "call (D), vprintf, (S, S)", "call __assertfail, (S)", "call.uni vprintf, (S)", "call nothing, ()",
    "{ .param .b64 p0; st.param.b64 [p0], S; call vprintf, (p0, p0)",
    "{ .param .b64 p, a; .param .b32 q; st.param.b64 [p], S; st.param.b64 [a], S; call (q), vprintf, (p, a)",
    "mma.sync D, S, S", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 V, A", "tex.2d.v4.f32.f32 V, A",
    "mov.u64 D, Y", "mov.u32 D, Y", "cvta.global.u64 D, Y", "st.global.T [Y], S", "ld.T D, [Y+4]",
    "mov.u32 D, %tid.x", "mov.u64 D, %clock64", "mov.u16 D, %laneid", "mov.pred D, 1", "setp.eq.T D, S, N",
    "add.T D, S, N", "szext.wrap.u32 D, S, S", "bmsk.clamp.b32 D, S, S",
)  # fmt: skip


def random_instruction(random: Random, registers: Sequence[str], symbols: Sequence[str], labels: Sequence[str]) -> str:
    """One statement; mostly with registers that exist, without looking at their types."""
    opcode, _, operands = random.choice(_FORMS).partition(" ")
    if opcode == "{":
        body = operands.replace("S", random.choice(registers))
        return f"{{ {body}; }}"
    kind = random.choice(_TYPES)
    parts = [kind if part == "T" and random.random() < 0.85 else random.choice(_TYPES) if part == "T" else part
             for part in opcode.split(".")]  # fmt: skip
    filled = "".join(_operand(random, each, kind, registers, symbols, labels) for each in operands)
    guard = f"@{random.choice(registers)} " if random.random() < 0.05 else ""
    return f"\t{guard}{'.'.join(parts)}\t{filled};"


def _fitting(random: Random, kind: str, registers: Sequence[str]) -> str:
    """A register whose name says that its width is the type's; sometimes any."""
    names = {"pred": "%p", "u8": "%rs", "f16x2": "%r", "bf16": "%rs"}.get(kind)
    starts = (
        (names,) if names else {"16": ("%rs", "%h"), "32": ("%r", "%f"), "64": ("%rd", "%fd")}.get(kind[-2:], ("%r",))
    )
    found = [each for each in registers if each.rstrip("0123456789") in starts]
    return random.choice(found if found and random.random() < 0.8 else registers)


def _operand(
    random: Random, mark: str, kind: str, registers: Sequence[str], symbols: Sequence[str], labels: Sequence[str]
) -> str:
    if mark == "D":
        return _fitting(random, kind, registers)
    if mark == "S":
        constant = ("0", "1", "-1", "4", "31", "0xFFFFFFFF", "0f3F800000", "0d3FF0000000000000")
        return random.choice(constant) if random.random() < 0.2 else _fitting(random, kind, registers)
    if mark == "P":
        return f"{_fitting(random, kind, registers)}|{_fitting(random, 'pred', registers)}"
    if mark == "A":
        return f"[{_address(random, registers, symbols)}]"
    if mark == "V":
        items = ", ".join(_fitting(random, kind, registers) for _ in range(random.choice((2, 2, 4, 4, 1, 3, 8))))
        return f"{{{items}}}"
    if mark == "N":
        return random.choice(("0", "1", "2", "4", "7", "16", "32", "64", "-1", "255", "100000000000"))
    if mark == "L":
        return random.choice(labels)
    return random.choice(symbols) if mark == "Y" else mark


def _address(random: Random, registers: Sequence[str], symbols: Sequence[str]) -> str:
    base = random.choice(
        (
            _fitting(random, "u64", registers),
            _fitting(random, "u64", registers),
            _fitting(random, "u32", registers),
            random.choice(symbols),
            "0",
        )
    )
    return base + random.choice(("", "", "+4", "+1", "+16", "+-4", "+4096", "+99999999999999", "+-9223372036854775808"))
