"""What a source is compiled with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernels.bundle import header_texts
from kernels.exercise import Exercise
from kernels.plan import Plan
from kernels.source import Source
from worker.sandbox.compiling import CompileRequest


class HeadersUnavailable(RuntimeError):
    """The compiler's own headers, which the source includes, cannot be unpacked; the text says where."""


def compile_request(exercise: Exercise, source: Source, plan: Plan, arch: str, cache: Path) -> CompileRequest:
    """The compilation for the sizes of the plan's first case.

    cache: folder for the compiler's own headers, unpacked when a source first includes one
    """
    return CompileRequest(
        text=source.text,
        kernel=exercise.kernel,
        arch=arch,
        defines=source.defines(exercise, plan.tile, plan.cases[0].sizes),
        fmad=exercise.fmad,
        symbols=plan.module_symbols,
        headers=_headers(source, cache),
        # a kernel that is declared through a macro is not among those that the text shows
        kernels=tuple(dict.fromkeys((exercise.kernel, *source.kernels))),
        parameters=tuple(parameter.ctype for parameter in exercise.parameters),
    )


def _headers(source: Source, cache: Path) -> Mapping[str, str]:
    try:
        return header_texts(source.text, cache)
    except OSError as error:
        raise HeadersUnavailable(f"the CUDA headers cannot be kept in {cache} ({error.strerror})") from error
