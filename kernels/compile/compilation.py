"""One NVRTC compilation: from the student's text to PTX and cubin for one architecture, or to findings.

Call it only inside the sandbox, because the compiler reads any file that the source includes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernels.compile import diagnostics, nvrtc, prelude, ptx_shape, system_calls
from kernels.compile.compile_errors import declare_or_use, explain, in_characters, missing_semicolon, nearest_name
from kernels.compile.diagnostics import Diagnostic, Entry, Resources
from kernels.compile.host_functions import blank, mark_constexpr
from kernels.compile.nvrtc import NVRTCUnavailable
from kernels.compile.parameters import mismatch
from kernels.facts import Facts, Mistake
from kernels.source.characters import odd_characters
from kernels.source.conditions import visible_tokens
from kernels.source.launch.probe import probe_text, read_values
from kernels.source.text import code_texts
from kernels.verdict import Finding, Severity, Verdict

__all__ = ["DEFAULT_ARCH", "Compilation", "Diagnostic", "NVRTCUnavailable", "Resources", "compile_source"]

DEFAULT_ARCH = "sm_90"
# The largest static shared memory of a block, on every architecture since sm_20.
STATIC_SHARED_LIMIT = 49_152
# Far more than a course kernel needs (tens of KB). It bounds the PTX reader and the messages.
OUTPUT_LIMIT = 4 * 2**20
_HOPPER, _ONLY_HOPPER = "sm_90", re.compile(r"\b(?:wgmma|setmaxnreg)\b")
"""Instructions that only the architecture itself has, not those after it."""
INCLUDE_MESSAGE = "This file includes a header that isn't on Tilelab's list. Remove the include."

MEMORY_MESSAGE = (
    "The compiler ran out of memory on this file. "
    "Look for very large arrays, and for templates or macros that grow without end."
)

# An absolute name, so neither PTX nor cubin depends on the compiler's directory.
FILE = "/kernel.cu"
_MOST_FINDINGS = 10
_LONGEST_LIST = 300
# The compiler stops after some errors, so one pass may not show all host functions.
_MOST_PASSES = 4
_ARCHITECTURE = re.compile(r"sm_\d{2,3}[af]?")
_INCLUDE = re.compile(r"(?:cannot|could not) open source file|includes itself")
_PTX_FILE = re.compile(r'^([ \t]*+\.file[ \t]++\d++[ \t]++")([^"\n]*/)?([^"/\n]*")', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compiled kernel: the PTX for the CPU device and the cubin for a GPU, from one program.

    arch: the architecture of both, such as "sm_90"
    entry: the kernel's mangled name
    globals: mangled names of the requested module globals, by their names in the source
    others: the kernels that are launched after `entry`, by their names in the source
    """

    arch: str
    entry: str
    ptx: str
    cubin: bytes
    resources: Resources
    diagnostics: tuple[Diagnostic, ...]
    globals: Mapping[str, str]
    others: Mapping[str, Entry] = field(default_factory=dict)


def compile_source(
    text: str,
    kernel: str,
    arch: str,
    defines: Mapping[str, str],
    fmad: bool,
    symbols: tuple[str, ...] = (),
    *,
    headers: Mapping[str, str] | None = None,
    kernels: tuple[str, ...] = (),
    parameters: tuple[str, ...] | None = None,
    max_registers: int | None = None,
    others: Mapping[str, tuple[str, ...]] | None = None,
) -> Compilation | tuple[Finding, ...]:
    """Compile `text` for `arch` and return its kernel.

    kernel: the kernel's name, or an instance of a template such as "K<16>"
    defines: macros in addition to TILELAB
    fmad: whether a multiplication and an addition may be fused
    symbols: module globals whose mangled names are needed
    headers: texts by include name; all other includes are refused
    kernels: every `__global__` function in the source; another one in the PTX is refused
    parameters: the kernel's required types, such as "float*" and "int"; None allows any.
    max_registers: the most registers a thread may have; None leaves them to the compiler
    others: the kernels that are launched later, with their required types

    raise (NVRTCUnavailable): no compiler is installed.

    raise (ValueError): the compiler doesn't know the architecture
    """
    if not _ARCHITECTURE.fullmatch(arch) or arch.rstrip("af") not in nvrtc.supported_architectures():
        raise ValueError(f"unknown architecture {arch!r}")
    if arch == _HOPPER and _ONLY_HOPPER.search(text) and any(map(_ONLY_HOPPER.search, code_texts(text))):
        arch = f"{arch}a"
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        return (Finding(Verdict.REJECTED, "This file has bytes that aren't text. Save it as UTF-8."),)
    others = others or {}
    expressions = [kernel, *others, *(f"&{symbol}" for symbol in symbols)]
    options = options_for(arch, defines, fmad, max_registers)

    def compiled(definitions: str) -> tuple[nvrtc.Output, tuple[Diagnostic, ...]]:
        given = {**(headers or {}), prelude.NAME: prelude.TEXT + definitions}
        return _without_host_code(
            text, lambda text: nvrtc.run(FILE, text, options, given, expressions), {kernel, *others, *symbols}
        )

    definitions = system_calls.DEFINITIONS if system_calls.mentioned(text) else ""
    output, found = compiled(definitions)
    if output.ok and not definitions and system_calls.missing(output.cubin):
        output, found = compiled(system_calls.DEFINITIONS)
    if not output.ok:
        return _failure(output, found, text, (kernel, *others), symbols)
    if (function := system_calls.refused(output.cubin)) is not None:
        return (_unknown_function(text, function),)
    for name, expected in {kernel: parameters, **others}.items():
        if expected is None:
            continue
        if (other := mismatch(output.ptx, output.lowered[name], expected)) is not None:
            return (_other_parameters(text, name, expected, other),)
    return _success(output, found, (kernel, *others), arch, symbols, kernels=kernels)


def _without_host_code(
    text: str, run: Callable[[str], nvrtc.Output], wanted: Collection[str]
) -> tuple[nvrtc.Output, tuple[Diagnostic, ...]]:
    """Compile without host declarations that device code doesn't need. Needed ones are errors at their lines.

    wanted: names that are never left out
    """
    last_line = text.count("\n") + 1
    refused: dict[str, Diagnostic] = {}
    for _ in range(_MOST_PASSES):
        output = run(text)
        found = diagnostics.parse(output.log, FILE, last_line)
        host = diagnostics.host_declarations(found)
        marked = mark_constexpr(text, host.keys())
        if marked != text:
            text = marked
            continue
        rest = blank(text, host.keys()) if host else None
        if rest is None or wanted & rest.names.keys():
            break
        refused |= {name: host[line] for name, line in rest.names.items()}
        text = rest.text
    needed = (refused.get(diagnostics.undefined_name(item.message) or "", item) for item in found)
    return output, tuple(dict.fromkeys(needed))


def options_for(arch: str, defines: Mapping[str, str], fmad: bool, max_registers: int | None = None) -> list[str]:
    return [
        f"-arch={arch}",
        "-std=c++17",
        "-lineinfo",
        "--ptxas-options=-v",
        # Otherwise the assembler may fuse a product and a sum. The GPU would run other code than the checked PTX.
        "--ptxas-options=-fmad=false",
        "--no-source-include",
        # Beside a driver, NVRTC keeps what it compiled, and the second time its log says nothing of registers.
        "--no-cache",
        f"--pre-include={prelude.NAME}",
        # CUDA's C++ headers unroll their type lists to 16 without nvcc. That alone takes a second to read.
        "-D_CCCL_META_UNROLL_LIMIT=10",
        f"-fmad={'true' if fmad else 'false'}",
        *([f"-maxrregcount={max_registers}"] if max_registers is not None else []),
        "-DTILELAB",
        *(f"-D{name}={value}" for name, value in defines.items()),
    ]


def _success(
    output: nvrtc.Output,
    found: tuple[Diagnostic, ...],
    launched: tuple[str, ...],
    arch: str,
    symbols: tuple[str, ...],
    *,
    kernels: tuple[str, ...],
) -> Compilation | tuple[Finding, ...]:
    if len(output.ptx) > OUTPUT_LIMIT or len(output.cubin) > OUTPUT_LIMIT:
        message = f"The compiled kernel is larger than {OUTPUT_LIMIT >> 20} MB. Unroll less, or shrink its arrays."
        return (Finding(Verdict.RESOURCE_LIMIT, message),)
    entries: dict[str, Entry] = {}
    for kernel in launched:
        entry = output.lowered[kernel]
        if objection := ptx_shape.objection(output.ptx, entry, kernels):
            message = f"The compiled code {objection}. Inline assembly must stay inside its statement."
            return (Finding(Verdict.REJECTED, message),)
        figures = diagnostics.resources(output.log, entry)
        if figures is None:
            return (Finding(Verdict.REJECTED, f"The compiled file has no kernel `{kernel}`."),)
        entries[kernel] = Entry(entry, replace(figures, cluster=ptx_shape.cluster(output.ptx, entry)))
    first = entries.pop(launched[0])
    return Compilation(
        arch,
        first.name,
        _PTX_FILE.sub(r"\1\3", system_calls.as_declarations(output.ptx)),
        output.cubin,
        first.resources,
        # A file may define the macros of the prelude itself.
        tuple(item for item in found if prelude.NAME not in item.message),
        {symbol: output.lowered[f"&{symbol}"] for symbol in symbols},
        entries,
    )


def _other_parameters(text: str, kernel: str, expected: tuple[str, ...], found: tuple[str, ...]) -> Finding:
    message = (
        f"The compiled `{kernel}` has different parameters from the exercise. "
        f"Expected: ({', '.join(expected)}). Found: ({', '.join(found)[:_LONGEST_LIST]})."
    )
    return Finding(Verdict.REJECTED, message, _first_line(text, kernel), facts=Facts(Mistake.PARAMETERS))


def _unknown_function(text: str, function: str) -> Finding:
    message = f"The compiled kernel calls `{function}`. A kernel must not call this function of the driver."
    return Finding(Verdict.REJECTED, message, _first_line(text, function))


def _failure(
    output: nvrtc.Output, found: tuple[Diagnostic, ...], text: str, launched: tuple[str, ...], symbols: tuple[str, ...]
) -> tuple[Finding, ...]:
    errors = [item for item in found if item.severity is Severity.ERROR]
    if refused := next((item for item in errors if _INCLUDE.search(item.message)), None):
        return (Finding(Verdict.REJECTED, INCLUDE_MESSAGE, refused.line),)
    if "__nv_name_map(" in output.log and all(item.line is None for item in errors):
        return (Finding(Verdict.COMPILE_ERROR, _name_message(errors, launched, symbols)),)
    if output.result == nvrtc.OUT_OF_MEMORY or any(item.message == "out of memory" for item in errors):
        return (Finding(Verdict.COMPILE_ERROR, MEMORY_MESSAGE),)
    if errors:
        sentences: dict[object, Finding] = {}
        for each in (_error(item, text) for item in errors):
            sentences.setdefault((each.line, each.message), each)
        return tuple(sentences.values())[:_MOST_FINDINGS]
    return (_assembler_limit(output, launched[0]),)


def _error(item: Diagnostic, text: str) -> Finding:
    """A compiler error with a clear sentence, at the line of the mistake."""
    name = diagnostics.undefined_symbol(item.message)
    if name is not None:
        name = ptx_shape.last_part(name) or name
        line = _first_line(text, name)
        where = f" at line {line}" if line is not None else ""
        message = f"`{name}` is declared{where} but never defined. Write its definition, or remove its uses."
        return Finding(Verdict.COMPILE_ERROR, message, line)
    if (reserved := diagnostics.declared_in(item.message, prelude.NAME)) is not None:
        return Finding(Verdict.COMPILE_ERROR, f"Tilelab reserves the name `{reserved}`. Rename yours.", item.line)
    if diagnostics.lacks_mask(item.message):
        for old in diagnostics.WITHOUT_MASK:
            if (line := _first_line(text, old)) is not None:
                return Finding(Verdict.COMPILE_ERROR, diagnostics.mask_sentence(old), line)
    if item.line is not None and (odd := odd_characters(text).get(item.line)) is not None:
        return Finding(Verdict.COMPILE_ERROR, odd.sentence, item.line, column=odd.column)
    column = in_characters(text, item.line, item.column)
    if plain := explain(item.message, item.line, text):
        return Finding(Verdict.COMPILE_ERROR, plain, item.line, column=column)
    if gap := missing_semicolon(item.message, item.line, item.column, text):
        return Finding(Verdict.COMPILE_ERROR, gap.sentence, gap.line, column=gap.column, facts=Facts(gap.mistake))
    unknown = diagnostics.undefined_name(item.message)
    meant = nearest_name(unknown, text) if unknown else ""
    advice = declare_or_use(unknown, item.line, text) if unknown else ""
    message, facts = diagnostics.sentence(item.message, meant, advice)
    return Finding(Verdict.COMPILE_ERROR, message, item.line, column=column, facts=facts)


def _first_line(text: str, name: str) -> int | None:
    named = visible_tokens(text)
    return next((token.line for token in named if token.text == name), None)


def _name_message(errors: list[Diagnostic], launched: tuple[str, ...], symbols: tuple[str, ...]) -> str:
    """Why a kernel or a module global can't be found by name."""
    text = " ".join(item.message for item in errors)
    named = (name for name in (*symbols, *launched[1:]) if f'"{name}"' in text)
    name = next(named, launched[0])
    what = "kernel" if name in launched else "global variable"
    if "overloaded" in text:
        return f"The file has several functions `{name}`, so Tilelab doesn't know which one to run. Keep one."
    if "which instance of function template" in text:
        return f"`{name}` is a template with unknown arguments. Make it an ordinary function."
    return f"The compiled file has no {what} `{name}`. Is it inside an `#if` or a namespace?"


def _assembler_limit(output: nvrtc.Output, kernel: str) -> Finding:
    """A finding for memory of fixed size that is too large. The assembler then fails without a message."""
    made = diagnostics.entries(output.log)
    for entry in made:
        figures = diagnostics.resources(output.log, entry)
        if figures and figures.shared_bytes > STATIC_SHARED_LIMIT:
            return Finding(
                Verdict.RESOURCE_LIMIT,
                f"`{kernel}` needs {figures.shared_bytes:,} bytes of shared memory per block. "
                f"The limit for arrays of fixed size is {STATIC_SHARED_LIMIT:,}. Make the tile smaller.",
            )
    if made:
        return Finding(
            Verdict.RESOURCE_LIMIT,
            f"`{kernel}` needs more memory of fixed size than a device has. Shrink its `__constant__` arrays "
            "(65,536 bytes in total), its `__device__` arrays or its parameters.",
        )
    message = f"The compiler failed on this file ({nvrtc.result_name(output.result)})."
    return Finding(Verdict.COMPILE_ERROR, message)


def evaluate(
    text: str, names: Sequence[str], arch: str, defines: Mapping[str, str], headers: Mapping[str, str]
) -> Mapping[str, tuple[int, ...]]:
    """The different values of each name in the file: usually one, none if it isn't a constant.

    This costs little, because the compiler stops after reading the file.

    raise (NVRTCUnavailable): no compiler is installed
    """
    given = {**headers, prelude.NAME: prelude.TEXT}
    options = [*options_for(arch, defines, fmad=True), "-w"]
    return read_values(nvrtc.run(FILE, probe_text(text, names), options, given, []).log, names)
