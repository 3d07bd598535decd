"""Makes small PTX kernels whose loops load floats and add up products, with everything that may disturb that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

THREADS = 16
_KEPT = ("%f0", "%f1", "%f2", "%f3")
_LOCAL = ("%f4", "%f5", "%f6", "%f7", "%f8")
_CONSTANTS = ("0f00000000", "0f3F800000", "0fC0000000", "0f7F800000", "0f3DCCCCCD", "0f7FC00001")
_SUMS = ("add.rn.f32", "sub.rn.f32", "mul.rn.f32", "add.f32", "mul.f32")
_OTHERS = ("add.rm.f32", "mul.rz.f32", "add.ftz.f32", "add.sat.f32", "min.f32", "max.f32", "div.rn.f32")
_SHARED = ("[%r2+{}]", "[%r3+{}]", "[%r4+{}]")
_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry K(.param .u64 K_param_0, .param .u64 K_param_1)
{
 .reg .pred %p<3>;
 .reg .f32 %f<9>;
 .reg .b32 %r<9>;
 .reg .b64 %rd<5>;
 .shared .align 4 .b8 S[256];
 ld.param.u64 %rd1, [K_param_0];
 ld.param.u64 %rd2, [K_param_1];
 mov.u32 %r1, %tid.x;
 mov.u32 %r7, %ctaid.x;
 mad.lo.s32 %r7, %r7, 16, %r1;
 mul.wide.s32 %rd3, %r7, 4;
 add.s64 %rd1, %rd1, %rd3;
 add.s64 %rd2, %rd2, %rd3;
 mov.u32 %r4, S;
 shl.b32 %r5, %r1, 2;
 add.s32 %r2, %r4, %r5;
 shr.u32 %r3, %r1, 2;
 shl.b32 %r3, %r3, 2;
 add.s32 %r3, %r4, %r3;
 setp.lt.s32 %p1, %r1, BOUND;
 setp.lt.s32 %p2, %r7, 24;
 ld.global.f32 %f0, [%rd1];
 ld.global.f32 %f1, [%rd1+64];
 mov.f32 %f2, 0f00000000;
 st.shared.f32 [%r2], %f0;
"""
_TAIL = """ add.s32 %r6, %r6, 1;
 setp.lt.s32 %p0, %r6, TIMES;
 @%p0 bra LOOP;
END:
 st.global.f32 [%rd2], %f2;
 st.global.f32 [%rd2+128], %f3;
 ret;
}
"""


@dataclass(frozen=True, slots=True)
class Loop:
    """A kernel `K(M, P)`, and the elements of M. P has 64 elements, for 2 blocks of 16 threads."""

    ptx: str
    values: NDArray[np.float32]


def loop(seed: int) -> Loop:
    """The kernel with this number."""
    random = Random(seed)
    head = _HEAD.replace("BOUND", str(random.choice((0, 8, 13, 16))))
    if random.random() < 0.9:
        head += " st.shared.f32 [%r2+64], %f1;\n"
    if random.random() < 0.9:
        head += " mov.f32 %f3, %f1;\n"
    if random.random() < 0.9:
        head += " bar.sync 0;\n"
    if random.random() < 0.2:
        head += " @!%p1 bra END;\n"
    body = "".join(f" {line}\n" for line in _body(random))
    tail = _TAIL.replace("TIMES", str(random.randrange(3, 9)))
    return Loop(f"{head} mov.u32 %r6, 0;\nLOOP:\n{body}{tail}", _values(random))


def _body(random: Random) -> Iterator[str]:
    disturbed = random.choice((0.0, 0.0, 0.0, 0.05, 0.2))
    written = [*_KEPT] if random.random() < 0.95 else [*_KEPT, *_LOCAL]
    for _ in range(random.randrange(4, 16)):
        target = random.choice(_LOCAL if random.random() < 0.6 else _KEPT)
        sources = [random.choice(_CONSTANTS) if random.random() < 0.05 else random.choice(written) for _ in range(3)]
        if random.random() < disturbed:
            yield from _disturbance(random, target, random.choice(written), sources)
        else:
            yield _line(random, target, sources)
        written.append(target)


def _line(random: Random, target: str, sources: Sequence[str]) -> str:
    draw = random.random()
    if draw < 0.45:
        return f"ld.shared.f32 {target}, {_shared(random)};"
    if draw < 0.5:
        return f"ld.global.f32 {target}, [%rd1+{random.choice((0, 4, 64, 256))}];"
    if draw < 0.85:
        return f"fma.rn.f32 {target}, {', '.join(sources)};"
    return f"{random.choice(_SUMS)} {target}, {sources[0]}, {sources[1]};"


def _disturbance(random: Random, target: str, register: str, sources: Sequence[str]) -> tuple[str, ...]:
    place = _shared(random)
    return random.choice(
        (
            (f"{random.choice(('@%p1', '@!%p1', '@%p2'))} {_line(random, target, sources)}",),
            (f"{random.choice(_OTHERS)} {target}, {sources[0]}, {sources[1]};",),
            (f"st.shared.f32 {place}, {register};",),
            ("bar.sync 0;", f"st.shared.f32 [%r2+{random.choice((0, 64))}], {register};", "bar.sync 0;"),
            (f"ld.shared.f32 %r8, {place};", f"ld.shared.f32 {target}, [%r8];"),
            (f"selp.f32 {target}, {sources[0]}, {sources[1]}, %p1;",),
            (f"mov.f32 {target}, {register};",),
            ("add.s32 %r3, %r3, 4;",),
        )
    )


def _shared(random: Random) -> str:
    offsets = (0, 0, 4, 16, 32, 48, 60, 64, 100) if random.random() < 0.98 else (192, 240)
    # A load for all threads at once is never part of a stretch.
    return random.choices(_SHARED, (6, 6, 1))[0].format(random.choice(offsets))


def _values(random: Random) -> NDArray[np.float32]:
    """Mostly small integers, whose sums are exact; sometimes any numbers, or any bits."""
    generator = np.random.default_rng(random.randrange(1 << 32))
    values = generator.integers(-2, 3, 128).astype(np.float32)
    kind = random.random()
    if kind < 0.2:
        values = generator.standard_normal(128).astype(np.float32)
    elif kind < 0.35:
        chosen = generator.integers(0, 128, 4)
        values.view(np.uint32)[chosen] = generator.choice(
            np.array((0x7FC00001, 0xFF800000, 0x7F800000, 0x80000000, 1, 0x7F7FFFFF), np.uint32), 4
        )
    return values
