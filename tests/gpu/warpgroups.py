"""Products of four warps (`wgmma`), here and on the GPU: types by the million, and every way to describe a factor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.compile.compilation import Compilation, compile_source
from kernels.device import Budget, Buffer, Options, load_program, run
from kernels.device.tensor.fragments import packed
from kernels.device.tensor.multiplication import multiply_add
from kernels.device.tensor.wgmma import WarpgroupForm, warpgroup_form
from kernels.launch import Launch
from tests.kernels.device.tensor.matrices import matrices

Words = NDArray[Any]

ARCHITECTURE = "sm_90a"
_THREADS = 128
_ROWS = 64
_SHARED_WORDS = 8192
_B_AT = 16384
_DEPTHS = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
_TYPES = {"f32": ("float", "f"), "f16": ("unsigned", "r"), "s32": ("int", "r")}


def opcodes(n: int = 8) -> Iterator[str]:
    """Every product by types, with n columns."""
    kinds = [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")]
    kinds += [(d, a, b) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
    kinds += [("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")]
    for d, a, b in kinds:
        yield f"wgmma.mma_async.sync.aligned.m64n{n}k{_DEPTHS[a]}.{d}.{a}.{b}"
    for kind in ("s8", "u8"):
        yield f"wgmma.mma_async.sync.aligned.m64n{n}k32.s32.{kind}.{kind}.satfinite"
    yield f"wgmma.mma_async.sync.aligned.m64n{n}k256.s32.b1.b1.and.popc"


@dataclass(frozen=True, slots=True)
class Description:
    """Where the factors are.

    lines: of 128 bytes, by which they begin after a multiple of 1,024 bytes
    base: the line at which the swizzle's pattern begins
    across: whether a factor's columns are side by side, for 16-bit types
    """

    leading: int = 128
    stride: int = 256
    swizzle: int = 0
    lines: int = 0
    base: int = 0
    a_across: bool = False
    b_across: bool = False
    a_in_registers: bool = False

    @property
    def bits(self) -> int:
        return self.leading >> 4 << 16 | self.stride >> 4 << 32 | self.base << 49 | self.swizzle << 62


def descriptions() -> Iterator[Description]:
    distances = {0: (128 * 9, 128 * 3), 1: (2048, 1024), 2: (1024, 512), 3: (512, 256)}
    for swizzle, (leading, stride) in distances.items():
        for a in (False, True):
            for b in (False, True):
                yield Description(leading, stride, swizzle, a_across=a, b_across=b)
                for lines, base in ((1, 0), (3, 0), (6, 2), (0, 5)):
                    yield Description(leading, stride, swizzle, lines, base, a, b)
    yield Description(a_in_registers=True)


def source(opcode: str, where: Description) -> str:
    """A kernel that multiplies what `words` has, which is copied to shared memory, and adds it to `sums`."""
    form = _form(opcode)
    count, (c_type, sign) = form.d.registers, _TYPES[form.kinds.d]
    d = "{" + ", ".join(f"%{each}" for each in range(count)) + "}"
    outs = ", ".join(f'"+{sign}"(d[{each}])' for each in range(count))
    sixteen = form.kinds.a in {"f16", "bf16"}
    ends = ", 1, 1" * (form.kinds.d != "s32")
    if where.a_in_registers:
        a = "{" + ", ".join(f"%{count + each}" for each in range(4)) + "}"
        ins, b = '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right)', count + 4
        ends += f", {where.b_across:d}" * sixteen
    else:
        a, ins, b = f"%{count}", '"l"(left), "l"(right)', count + 1
        ends += f", {where.a_across:d}, {where.b_across:d}" * sixteen
    return f"""extern "C" __global__ void K(const unsigned *words, {c_type} *sums) {{
    __shared__ __align__(1024) unsigned s[{_SHARED_WORDS}];
    int t = threadIdx.x;
    const unsigned *own = words + (long)blockIdx.x * {_SHARED_WORDS};
    for (int i = t; i < {_SHARED_WORDS}; i += {_THREADS}) s[i] = own[i];
    {c_type} d[{count}], *here = sums + (long)blockIdx.x * {count * _THREADS} + t;
    for (int i = 0; i < {count}; ++i) d[i] = here[i * {_THREADS}];
    unsigned a[4];
    for (int i = 0; i < 4; ++i) a[i] = own[i * {_THREADS} + t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned base = (unsigned)__cvta_generic_to_shared(s) + {128 * where.lines};
    unsigned long long left = {where.bits}ull | (base >> 4 & 0x3fff);
    unsigned long long right = {where.bits}ull | (base + {_B_AT} >> 4 & 0x3fff);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{{.reg .pred p; setp.eq.u32 p, 1, 1; {opcode} {d}, {a}, %{b}, p{ends};}}" : {outs} : {ins});
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < {count}; ++i) here[i * {_THREADS}] = d[i];
}}"""


def _form(opcode: str) -> WarpgroupForm:
    form = warpgroup_form(opcode)
    assert form is not None, opcode
    return form


def _on_gpu(opcode: str, where: Description, words: Words, sums: Words) -> Words:
    import cupy

    options = (f"--gpu-architecture={ARCHITECTURE}",)
    function = cupy.RawModule(code=source(opcode, where), options=options).get_function("K")
    result = cupy.asarray(np.ascontiguousarray(sums))
    function((len(sums),), (_THREADS,), (cupy.asarray(words), result))
    found: Words = cupy.asnumpy(result)
    return found


def types_differ(opcode: str, count: int, seed: int) -> int:
    """How many results of random matrices differ."""
    form, rng = _form(opcode), np.random.default_rng(seed)
    kinds = form.kinds
    a, b = (matrices(kind, (count, rows, form.k), rng) for kind, rows in ((kinds.a, _ROWS), (kinds.b, form.n)))
    c = matrices(kinds.c, (count, _ROWS, form.n), rng, addend=True)
    words = np.zeros((count, _SHARED_WORDS), np.uint32)
    for at, factor in ((0, a), (_B_AT // 4, b)):
        rows = packed(factor, form.a.bits).view(np.uint32).reshape(count, -1, 8, 2, 4)
        flat = rows.transpose(0, 1, 3, 2, 4).reshape(count, -1)
        words[:, at : at + flat.shape[1]] = flat
    measured = _on_gpu(opcode, Description(), words, _registers(form, c))
    return int((_registers(form, multiply_add(kinds, a, b, c)) != measured).sum())


def _registers(form: WarpgroupForm, sums: Words) -> Words:
    """The registers of the four warps: by register, then by thread."""
    each = form.d.words(sums.reshape(-1, 16, form.n)).reshape(len(sums), 4, form.d.registers, 32)
    found: Words = np.ascontiguousarray(each.transpose(0, 2, 1, 3)).reshape(len(sums), form.d.registers, _THREADS)
    return found


def description_differs(where: Description, n: int) -> bool:
    """Whether the CPU device reads other factors than the GPU: whole numbers in all of shared memory."""
    opcode = f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"
    rng = np.random.default_rng(n)
    words = rng.integers(-3, 4, (1, 2 * _SHARED_WORDS)).astype(np.float16).view(np.uint32)
    sums = np.zeros((1, _form(opcode).d.registers, _THREADS), np.float32)
    return not np.array_equal(_on_gpu(opcode, where, words, sums), _on_cpu(opcode, where, words, sums))


def _on_cpu(opcode: str, where: Description, words: Words, sums: Words) -> Words:
    made = compile_source(source(opcode, where), "K", "sm_90", {}, True)
    assert isinstance(made, Compilation), made
    buffers = (
        Buffer("words", words.ravel().view(np.int32), initialised=True),
        Buffer("sums", sums.ravel().copy(), initialised=True),
    )
    program = load_program(made.ptx, made.entry)
    ran = run(
        program, Launch((1, 1, 1), (_THREADS, 1, 1), 0), ("words", "sums"), buffers, Options(budget=Budget(100_000))
    )
    assert ran.findings == (), ran.findings
    found: Words = ran.values["sums"].reshape(sums.shape)
    return found
