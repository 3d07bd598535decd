"""Compares the CPU device's tensor cores with this machine's GPU, bit by bit.

`python -m tests.gpu.tensors --fragments 1000000`: each multiplication by shape and types, on random matrices of many
kinds; each load and store by shape, type and layout. Exit code 1 if any bit differs. It needs CuPy.

`--record FILE` keeps the GPU's results for a few matrices, for the tests without a GPU.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.tensor.forms import EIGHT, Multiplication, matrix_access, multiplication
from kernels.device.tensor.fragments import Fragment, unpacked
from kernels.device.tensor.multiplication import multiply_add
from tests.gpu import warpgroups
from tests.kernels.device.tensor.matrices import KINDS, matrices

Words = NDArray[Any]
ARCHITECTURE = "sm_90"
_BATCH = 20_000
_WARPS = 4
_DOUBLES_TAKE = 50
"""Emulating float64 takes so many times longer."""


def opcodes() -> Iterator[str]:
    """Every multiplication that the device knows."""
    yield from (f"mma.sync.aligned.{each}" for each in _plain())
    for shape in ("m16n16k16", "m8n32k16", "m32n8k16"):
        for d in ("f32", "f16"):
            for c in ("f32", "f16"):
                yield f"wmma.mma.sync.aligned.row.col.{shape}.{d}.{c}"
        yield f"wmma.mma.sync.aligned.row.col.{shape}.f32.bf16.bf16.f32"
        for kind in ("s8", "u8"):
            for end in ("", ".satfinite"):
                yield f"wmma.mma.sync.aligned.row.col.{shape}.s32.{kind}.{kind}.s32{end}"
    yield "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32"
    yield "wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64"
    for kind in ("s4", "u4"):
        for end in ("", ".satfinite"):
            yield f"wmma.mma.sync.aligned.row.col.m8n8k32.s32.{kind}.{kind}.s32{end}"
    for combine in ("and", "xor"):
        yield f"wmma.mma.{combine}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"


def _plain() -> Iterator[str]:
    for shape in ("m16n8k8", "m16n8k16"):
        yield from (f"{shape}.row.col.{sums}.f16.f16.{sums}" for sums in ("f32", "f16"))
        yield f"{shape}.row.col.f32.bf16.bf16.f32"
    for shape in ("m16n8k4", "m16n8k8"):
        yield f"{shape}.row.col.f32.tf32.tf32.f32"
    for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"):
        yield f"{shape}.row.col.f64.f64.f64.f64"
    for shape in ("m16n8k16", "m16n8k32"):
        for sums in ("f32", "f16"):
            yield from (f"{shape}.row.col.{sums}.{a}.{b}.{sums}" for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2"))
    for layouts in ("row.col", "row.row", "col.col", "col.row"):
        for d, c in (("f32", "f32"), ("f16", "f16"), ("f32", "f16")):
            yield f"m8n8k4.{layouts}.{d}.f16.f16.{c}"
    for bits, shapes in ((8, ("m8n8k16", "m16n8k16", "m16n8k32")), (4, ("m8n8k32", "m16n8k32", "m16n8k64"))):
        for shape in shapes:
            for end in ("", ".satfinite"):
                yield from (f"{shape}.row.col{end}.s32.{a}{bits}.{b}{bits}.s32" for a in "su" for b in "su")
    for shape in ("m8n8k128", "m16n8k128", "m16n8k256"):
        yield from (f"{shape}.row.col.s32.b1.b1.s32.{combine}.popc" for combine in ("and", "xor"))


@dataclass(frozen=True, slots=True)
class Given:
    """The registers of random matrices: warp by register by thread."""

    a: Words
    b: Words
    c: Words


def given(form: Multiplication, count: int, seed: int) -> Given:
    rng = np.random.default_rng(seed)
    kinds = form.kinds
    made = (
        fragment.words(matrices(kind, (count, fragment.rows, fragment.columns), rng, addend=fragment is form.c))
        for fragment, kind in ((form.a, kinds.a), (form.b, kinds.b), (form.c, kinds.c))
    )
    return Given(*made)


def computed(form: Multiplication, inputs: Given) -> Words:
    """The registers of the results, from the CPU device."""
    a, b, c = form.a.matrices(inputs.a), form.b.matrices(inputs.b), form.c.matrices(inputs.c)
    return form.d.words(multiply_add(form.kinds, b, a, c) if form.swapped else multiply_add(form.kinds, a, b, c))


# -- on the GPU -------------------------------------------------------------------------------------------------------


def _declared(fragment: Fragment, kind: str) -> tuple[str, str]:
    """The C type and the constraint of a register."""
    if fragment.register_bits == 64:
        return "double", "d"
    return ("float", "f") if kind == "f32" else ("unsigned", "r")


def _listed(fragment: Fragment, kind: str, name: str, sign: str) -> str:
    constraint = _declared(fragment, kind)[1]
    return ", ".join(f'"{sign}{constraint}"({name}[{each}])' for each in range(fragment.registers))


def multiplication_source(opcode: str) -> str:
    form = multiplication(opcode)
    assert form is not None, opcode
    kinds = form.kinds
    roles = ("d", form.d, kinds.d), ("a", form.a, kinds.a), ("b", form.b, kinds.b), ("c", form.c, kinds.c)
    numbers, places, lines, loads = 0, [], [], []
    for role, fragment, kind in roles:
        c_type, _ = _declared(fragment, kind)
        count = fragment.registers
        places.append("{" + ", ".join(f"%{numbers + each}" for each in range(count)) + "}")
        numbers += count
        lines.append(f"{c_type} {role}[{count}];")
        if role != "d":
            place = f"{role.upper()}[(warp * {count} + r) * 32 + lane]"
            loads.append(f"for (int r = 0; r < {count}; ++r) {role}[r] = {place};")
    listed = {role: _listed(fragment, kind, role, "=" if role == "d" else "") for role, fragment, kind in roles}
    parameters = ", ".join(f"{_declared(fragment, kind)[0]} *{role.upper()}" for role, fragment, kind in roles)
    return f"""extern "C" __global__ void multiply({parameters}) {{
    long warp = (long)blockIdx.x * {_WARPS} + threadIdx.x / 32; int lane = threadIdx.x % 32;
    {" ".join(lines)}
    {" ".join(loads)}
    asm volatile("{opcode} {places[0]}, {places[1]}, {places[2]}, {places[3]};"
        : {listed["d"]} : {listed["a"]}, {listed["b"]}, {listed["c"]});
    for (int r = 0; r < {form.d.registers}; ++r) D[(warp * {form.d.registers} + r) * 32 + lane] = d[r];
}}"""


@cache
def _multiplying(opcode: str) -> Any:
    return _module(multiplication_source(opcode), "multiply")


def _module(source: str, name: str) -> Any:
    import cupy

    return cupy.RawModule(code=source, options=(f"--gpu-architecture={ARCHITECTURE}",)).get_function(name)


def on_gpu(function: Any, form: Multiplication, inputs: Given) -> Words:
    import cupy

    words = len(inputs.a)
    result = cupy.zeros((words, form.d.registers, 32), f"u{form.d.register_bits // 8}")
    arrays = [cupy.asarray(np.ascontiguousarray(each)) for each in (inputs.a, inputs.b, inputs.c)]
    function((words // _WARPS,), (32 * _WARPS,), (result, *arrays))
    found: Words = cupy.asnumpy(result)
    return found


@dataclass(frozen=True, slots=True)
class Difference:
    """How many results differ, and one of them: warp, register, thread, and both contents."""

    count: int
    example: str = ""


def compared(opcode: str, seed: int, count: int) -> Difference:
    """Multiply some matrices here and on the GPU."""
    form = multiplication(opcode)
    assert form is not None
    inputs = given(form, count, seed)
    own, measured = computed(form, inputs), on_gpu(_multiplying(opcode), form, inputs)
    unequal = own != measured
    if form.kinds.d == "f64":
        # A NaN of float64 keeps bits of an operand, and which one is open.
        unequal &= ~(np.isnan(own.view(np.float64)) & np.isnan(measured.view(np.float64)))
    if not unequal.any():
        return Difference(0)
    warp, register, lane = (int(each) for each in np.argwhere(unequal)[0])
    place = warp, register, lane
    here = f"{place}, matrices of kind {warp % KINDS}, seed {seed}"
    return Difference(int(unequal.sum()), f"{here}: {int(own[place]):#x} not {int(measured[place]):#x}")


def check_multiplications(chosen: Sequence[str], total: int, processes: int | None) -> int:
    """Print a line for each multiplication, and return how many differ."""
    wrong = 0
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        waiting = {}
        for number, opcode in enumerate(chosen):
            form = multiplication(opcode)
            assert form is not None, opcode
            count = total // _DOUBLES_TAKE if form.kinds.d == "f64" else total
            sizes = [min(_BATCH, count - first) for first in range(0, count, _BATCH)]
            waiting[opcode] = (
                count,
                [pool.submit(compared, opcode, number * 1_000 + batch, size) for batch, size in enumerate(sizes)],
            )
        for opcode, (count, batches) in waiting.items():
            found = [each.result() for each in batches]
            differ = sum(each.count for each in found)
            example = next((each.example for each in found if each.count), "")
            wrong += differ > 0
            print(f"{opcode:75} {count:>9,} matrices, {differ:,} differ {example}", flush=True)
    return wrong


def check_warpgroups(chosen: Sequence[str], total: int, processes: int | None) -> int:
    """Do the same for products of four warps, each of which is as many as four others."""
    batch, wrong = _BATCH // 4, 0
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        waiting = {
            opcode: [
                pool.submit(warpgroups.types_differ, opcode, min(batch, total // 4 - first), first)
                for first in range(0, total // 4, batch)
            ]
            for opcode in chosen
        }
        for opcode, batches in waiting.items():
            differ = sum(each.result() for each in batches)
            wrong += differ > 0
            print(f"{opcode:75} {total // 4 * 4:>9,} matrices, {differ:,} differ", flush=True)
    where = [(each, n) for each in warpgroups.descriptions() for n in (8, 64, 96)]
    unlike = [each for each in where if warpgroups.description_differs(*each)]
    print(f"{len(where)} descriptions of factors, {len(unlike)} differ", *unlike, sep="\n", flush=True)
    return wrong + len(unlike)


# -- loads and stores -------------------------------------------------------------------------------------------------


def accesses() -> Iterator[str]:
    """Every wmma load and store that the device knows."""
    factors = {"m16n16k16": ("f16", "bf16", "s8", "u8"), "m16n16k8": ("tf32",), "m8n8k4": ("f64",)}
    factors |= dict.fromkeys(("m8n32k16", "m32n8k16"), factors["m16n16k16"])
    sums = {"m16n16k8": ("f32",), "m8n8k4": ("f64",), "m8n8k32": ("s32",), "m8n8k128": ("s32",)}
    for shape, kinds in factors.items():
        for layout in ("row", "col"):
            yield from (
                f"wmma.load.{role}.sync.aligned.{layout}.{shape}.global.{kind}" for role in "ab" for kind in kinds
            )
    for shape, kind in (("m8n8k32", "s4"), ("m8n8k32", "u4"), ("m8n8k128", "b1")):
        yield f"wmma.load.a.sync.aligned.row.{shape}.global.{kind}"
        yield f"wmma.load.b.sync.aligned.col.{shape}.global.{kind}"
    for shape in (*factors, "m8n8k32", "m8n8k128"):
        for layout in ("row", "col"):
            for kind in sums.get(shape, ("f32", "f16", "s32")):
                for verb, role in (("load", "c"), ("store", "d")):
                    yield f"wmma.{verb}.{role}.sync.aligned.{layout}.{shape}.global.{kind}"


def _access_source(opcode: str) -> str:
    form = matrix_access(opcode)
    assert form is not None, opcode
    count, kind = form.fragment.registers, opcode.rpartition(".")[2]
    c_type, constraint = _declared(form.fragment, kind)
    sign = "" if form.store else "="
    registers = "{" + ", ".join(f"%{each}" for each in range(count)) + "}"
    listed = ", ".join(f'"{sign}{constraint}"(r[{each}])' for each in range(count))
    place = '"l"(M), "r"(stride)'
    body = (
        f'asm volatile("{opcode} [%{count}], {registers}, %{count + 1};" :: {listed}, {place} : "memory");'
        if form.store
        else f'asm volatile("{opcode} {registers}, [%{count}], %{count + 1};" : {listed} : {place} : "memory");'
    )
    move = "r[i] = R[i * 32 + threadIdx.x];" if form.store else "R[i * 32 + threadIdx.x] = r[i];"
    moves = f"for (int i = 0; i < {count}; ++i) {move}"
    both = f"{moves} {body}" if form.store else f"{body} {moves}"
    return f'extern "C" __global__ void access(void *M, {c_type} *R, int stride) {{ {c_type} r[{count}]; {both} }}'


def check_access(opcode: str) -> bool:
    """Whether a load or store moves every element to the same place as the device."""
    import cupy

    form = matrix_access(opcode)
    assert form is not None
    fragment, bits = form.fragment, form.fragment.bits
    per_line = fragment.rows * fragment.columns // form.lines
    # Lines are further apart than they are long, by a multiple of 16 bytes.
    stride = per_line + 16 * 8 // min(bits, 8)
    words = np.random.default_rng(1).integers(0, 2**32, form.lines * stride * bits // 32, dtype=np.uint32)
    lines = unpacked(words.reshape(form.lines, -1), bits)[:, :per_line]
    held = fragment.words((lines.T if form.turned else lines)[np.newaxis])[0]
    function = _module(_access_source(opcode), "access")
    registers = cupy.asarray(held) if form.store else cupy.zeros(held.shape, held.dtype)
    memory = cupy.zeros(len(words), np.uint32) if form.store else cupy.asarray(words)
    function((1,), (32,), (memory, registers, np.int32(stride)))
    if not form.store:
        return bool((cupy.asnumpy(registers) == held).all())
    stored = unpacked(cupy.asnumpy(memory).reshape(form.lines, -1), bits)
    return bool((stored[:, :per_line] == lines).all()) and not stored[:, per_line:].any()


_ROWS = """extern "C" __global__ void rows(const unsigned *M, unsigned *R) {{
    __shared__ __align__(16) unsigned s[128];
    for (int i = threadIdx.x; i < 128; i += 32) s[i] = M[i];
    __syncthreads();
    unsigned r[{count}], p = (unsigned)__cvta_generic_to_shared(s + 4 * ((threadIdx.x * 5 + 3) % {rows}));
    {body}
    for (int i = 0; i < {left}; ++i) R[i * 32 + threadIdx.x] = {result};
}}"""


def check_rows(count: int, turned: bool, store: bool) -> bool:
    """Whether `ldmatrix` or `stmatrix` moves every element as the device does."""
    import cupy

    rows, names = 8 * count, "{" + ", ".join(f"%{each}" for each in range(count)) + "}"
    opcode = f"{'st' if store else 'ld'}matrix.sync.aligned.m8n8.x{count}{'.trans' * turned}.shared.b16"
    listed = ", ".join(f'"{"" if store else "="}r"(r[{each}])' for each in range(count))
    if store:
        fill = f"for (int i = 0; i < {count}; ++i) r[i] = M[i * 32 + threadIdx.x]; __syncthreads();"
        body = f'{fill} asm volatile("{opcode} [%{count}], {names};" :: {listed}, "r"(p) : "memory"); __syncthreads();'
        result = "s[i * 32 + threadIdx.x]"
    else:
        body, result = f'asm volatile("{opcode} {names}, [%{count}];" : {listed} : "r"(p) : "memory");', "r[i]"
    memory = np.random.default_rng(2).integers(0, 2**32, 128, dtype=np.uint32)
    function = _module(_ROWS.format(count=count, rows=rows, body=body, left=count, result=result), "rows")
    found = cupy.zeros((count, 32), np.uint32)
    function((1,), (32,), (cupy.asarray(memory), found))
    own_rows = (np.arange(rows) * 5 + 3) % rows
    if store:
        whole = EIGHT.matrices(memory.reshape(-1, 1, 32)[:count])
        lines = (whole.swapaxes(1, 2) if turned else whole).reshape(rows, 8)
        expected = np.zeros((rows, 8), np.uint16)
        expected[own_rows] = lines
        return bool(
            (cupy.asnumpy(found).reshape(-1) == np.ascontiguousarray(expected).view(np.uint32).reshape(-1)).all()
        )
    loaded = memory.view(np.uint16).reshape(-1, 8)[own_rows].reshape(count, 8, 8)
    expected = EIGHT.words(np.ascontiguousarray(loaded.swapaxes(1, 2) if turned else loaded))
    return bool((cupy.asnumpy(found) == expected[:, 0]).all())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fragments", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--only", default="", help="only multiplications whose opcode contains this")
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    if asked.record:
        recorded = {
            opcode: on_gpu(_multiplying(opcode), form, given(form, RECORDED, 0))
            for opcode in opcodes()
            if (form := multiplication(opcode)) is not None
        }
        np.savez_compressed(asked.record, allow_pickle=False, **recorded)
        return 0
    moves = list(accesses())
    differ = [opcode for opcode in moves if not check_access(opcode)]
    differ += [
        f"{'stmatrix' if store else 'ldmatrix'} x{count}{' trans' * turned}"
        for store in (False, True)
        for count in (1, 2, 4)
        for turned in (False, True)
        if not check_rows(count, turned, store)
    ]
    print(f"{len(moves) + 12} loads and stores, {len(differ)} differ", *differ, sep="\n", flush=True)
    chosen = [opcode for opcode in opcodes() if asked.only in opcode]
    four = [opcode for opcode in warpgroups.opcodes() if asked.only in opcode]
    wrong = check_warpgroups(four, asked.fragments, asked.processes)
    wrong += check_multiplications(chosen, asked.fragments, asked.processes)
    print(f"{len(chosen) + len(four)} multiplications, {wrong} differ")
    return 1 if wrong or differ else 0


RECORDED = 2 * KINDS
"""So many matrices of each multiplication are recorded: two of each kind."""

if __name__ == "__main__":
    sys.exit(main())
