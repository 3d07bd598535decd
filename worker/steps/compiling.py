"""What a source is compiled with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from kernels.compile.bundle import header_texts
from kernels.exercise import Exercise
from kernels.judging.plan import Plan
from kernels.source import Source
from worker.sandbox.compiling import CompileRequest, EvaluateRequest

_WORD = re.compile(r"[A-Za-z_]\w*")
# By these a name can come about that stands nowhere: pasted, spelled by number, or parted by the end of a line.
_HIDES_NAMES = ("##", "%:", "\\u", "\\U", "\\\n")


class HeadersUnavailable(RuntimeError):
    """The compiler's own headers, which the source includes, cannot be unpacked; the text says where."""


class Task(Protocol):
    """A file to grade or to analyse.

    cache: folder for the compiler's own headers, unpacked when a source first includes one
    tile: of `--tile`; None for the exercise's own
    """

    @property
    def source(self) -> bytes: ...
    @property
    def exercise(self) -> Exercise: ...
    @property
    def arch(self) -> str: ...
    @property
    def cache(self) -> Path: ...
    @property
    def tile(self) -> int | None: ...


def compile_request(task: Task, source: Source, plan: Plan) -> CompileRequest:
    """The compilation for the sizes of the plan's first case."""
    exercise = task.exercise
    return CompileRequest(
        text=source.text,
        kernel=exercise.kernel,
        arch=task.arch,
        defines=source.defines(exercise, plan.tile, plan.cases[0].sizes),
        fmad=exercise.fmad,
        symbols=plan.module_symbols,
        headers=_headers(source, task.cache),
        # a kernel that is declared through a macro is not among those that the text shows
        kernels=tuple(dict.fromkeys((exercise.kernel, *source.kernels))),
        parameters=tuple(parameter.ctype for parameter in exercise.parameters),
    )


def evaluate_request(
    task: Task, source: Source, names: Sequence[str], defines: Mapping[str, str]
) -> EvaluateRequest:
    """What to ask the compiler before anything can be planned."""
    return EvaluateRequest(source.text, tuple(names), task.arch, defines, _headers(source, task.cache))


def same_code(one: CompileRequest, other: CompileRequest) -> bool:
    """Whether two compilations give the same code: they differ at most in macros that the source does not mention."""
    return _with_mentioned(one) == _with_mentioned(other)


def _with_mentioned(request: CompileRequest) -> CompileRequest:
    return replace(request, defines=mentioned(request.text, request.defines))


def mentioned(text: str, defines: Mapping[str, str]) -> Mapping[str, str]:
    """The macros that may change what the compiler makes of a text."""
    if any(sign in text for sign in _HIDES_NAMES):
        return defines
    words = set(_WORD.findall(text))
    return {name: value for name, value in defines.items() if name in words}


def _headers(source: Source, cache: Path) -> Mapping[str, str]:
    try:
        return header_texts(source.text, cache)
    except OSError as error:
        raise HeadersUnavailable(f"the CUDA headers cannot be kept in {cache} ({error.strerror})") from error
