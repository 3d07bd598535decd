"""Calls that a kernel makes to the host: `printf` and `assert`.

The driver would print for a kernel in the process that launched it. It would format text with the kernel's pointers and
widths. A kernel could end that process or block it for minutes. For that reason, the compiled code defines both
functions. On a GPU, `printf` prints nothing and `assert` stops the kernel. The kernel's output comes from the CPU
device, which knows both calls by name.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

DEFINITIONS = """
extern "C" __device__ __noinline__ __attribute__((used)) int vprintf(const char *__format, void *__values) {
    int __made;
    asm volatile("mov.u32 %0, 1;" : "=r"(__made) : "l"(__format), "l"(__values) : "memory");
    return __made;
}
extern "C" __device__ __noinline__ __attribute__((used)) void __assertfail(
    const char *__what, const char *__file, unsigned int __line, const char *__function, size_t __size) {
    asm volatile("trap;" : : "l"(__what), "l"(__file), "r"(__line), "l"(__function), "l"(__size) : "memory");
}
"""
"""CUDA C++ that defines both. `used` prevents the compiler from changing their parameters to fit the calls."""

_MENTIONED = re.compile(r"printf|assert", re.IGNORECASE)
_DEFINED = frozenset({"vprintf", "__assertfail"})
_HARMLESS = re.compile(r"malloc|free|__cuda_syscall_(aligned_malloc|cp_(reduce_)?async_bulk_\w+)")

# Offsets of the section list in 64-bit ELF, and the formats of sections and symbols.
_SECTIONS_AT, _SECTION_COUNT_AT = 0x28, 0x3C
_SECTION, _SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")
_SYMBOL_TABLE, _FUNCTION, _UNDEFINED = 2, 2, 0


def mentioned(text: str) -> bool:
    """Whether a source may call one of them. It is then compiled with DEFINITIONS from the start."""
    return _MENTIONED.search(text) is not None


def missing(cubin: bytes) -> bool:
    """Whether machine code uses the driver for one of them, because a macro composed its name."""
    return not _DEFINED.isdisjoint(_undefined(cubin))


def refused(cubin: bytes) -> str | None:
    """A function that machine code takes from the driver, or None. Functions for memory and for bulk copies are
    allowed.
    """
    return next((name for name in _undefined(cubin) if not _HARMLESS.fullmatch(name)), None)


def as_declarations(ptx: str) -> str:
    """The PTX with declarations instead of DEFINITIONS, as if the driver had the functions.

    Only the compiler's output for DEFINITIONS is replaced. Any other body belongs to the kernel.
    """
    for pattern, declaration in _BODIES:
        ptx = pattern.sub(declaration, ptx)
    return ptx


def _undefined(cubin: bytes) -> Iterator[str]:
    (start,) = struct.unpack_from("<Q", cubin, _SECTIONS_AT)
    (count,) = struct.unpack_from("<H", cubin, _SECTION_COUNT_AT)
    sections = [_SECTION.unpack_from(cubin, start + _SECTION.size * number) for number in range(count)]
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind == _SYMBOL_TABLE:
            names = sections[link][4]
            for name, info, _, section, _, _ in _SYMBOL.iter_unpack(cubin[offset : offset + size]):
                if info & 15 == _FUNCTION and section == _UNDEFINED:
                    yield cubin[names + name : cubin.index(b"\0", names + name)].decode(errors="replace")


def _parameters(name: str, sizes: tuple[int, ...]) -> str:
    return ",\n".join(f"\t.param .b{size} {name}_param_{place}" for place, size in enumerate(sizes))


def _loads(name: str, sizes: tuple[int, ...]) -> str:
    """The loads of the parameters, each into the next register of its size."""
    taken = {32: 0, 64: 0}
    lines = []
    for place, size in enumerate(sizes):
        taken[size] += 1
        register = f"{'%rd' if size == 64 else '%r'}{taken[size]}"
        lines.append(f"ld.param.TYPE{size} {register}, [{name}_param_{place}];")
    return " ".join(lines)


def _bodies() -> Iterator[tuple[re.Pattern[str], str]]:
    for returned in ("[func_retval0+0]", "[func_retval0]"):  # of two generations of compilers
        work = f"mov.u32 %r1, 1; st.param.b32 {returned}, %r1; ret;"
        yield _replacement("vprintf", (64, 64), "(.param .b32 func_retval0) ", work)
    yield _replacement("__assertfail", (64, 64, 32, 64, 64), "", "trap; ret;")


def _replacement(name: str, sizes: tuple[int, ...], returned: str, work: str) -> tuple[re.Pattern[str], str]:
    head = f".func {' ' * bool(returned)}{returned}{name}(\n{_parameters(name, sizes)}\n)\n"
    registers = f".reg .b32 %r<2>; .reg .b64 %rd<{sizes.count(64) + 1}>;"
    # A definition in the compiler's form, with any spaces and source lines between its words
    lines = f"{registers} {_loads(name, sizes)} {work}"
    between = r"(?:\s|\.loc\s\d+ \d+ \d+\n|// (?:begin|end) inline asm\n)*"
    words = [re.escape(word).replace("TYPE", "[ub]") for word in lines.split()]
    return re.compile(re.escape(head) + between + between.join(["{", *words, "}"])), f".extern {head};\n"


_BODIES = tuple(_bodies())
