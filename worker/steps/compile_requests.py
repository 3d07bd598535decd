"""Requests to the compiler for a source, its sizes and its headers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from kernels.compile.bundle import header_texts
from kernels.exercise import Exercise
from kernels.exercise.model import Launched
from kernels.judging.plan import Plan
from kernels.source.source_file import Source
from worker.sandbox.compile_child import CompileRequest, EvaluateRequest

_WORD = re.compile(r"[A-Za-z_]\w*")
# With these, a source can use names that aren't in its text: pasted, escaped, or split over lines.
_HIDES_NAMES = ("##", "%:", "\\u", "\\U", "\\\n")


class HeadersUnavailable(RuntimeError):
    """The compiler's headers, which the source includes, can't be unpacked. The text says where."""


class Task(Protocol):
    """A file to grade or analyse.

    cache: folder for the compiler's headers, unpacked when a source first includes one
    tile: value of `--tile`; None for the exercise's own
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
        kernel=source.kernel,
        arch=task.arch,
        defines=source.defines(exercise, plan.tile, plan.cases[0].sizes),
        fmad=exercise.fmad,
        max_registers=exercise.max_registers,
        symbols=plan.module_symbols,
        headers=_headers(source, task.cache),
        # the text doesn't show a kernel that a macro declares
        kernels=tuple(dict.fromkeys((source.kernel, *source.kernels))),
        parameters=_types(exercise),
        others={name: _types(each) for name, each in exercise.kernels.items() if name != exercise.kernel},
    )


def _types(launched: Launched) -> tuple[str, ...]:
    return tuple(parameter.ctype for parameter in launched.parameters)


def evaluate_request(task: Task, source: Source, names: Sequence[str], defines: Mapping[str, str]) -> EvaluateRequest:
    return EvaluateRequest(source.text, tuple(names), task.arch, defines, _headers(source, task.cache))


def same_code(one: CompileRequest, other: CompileRequest) -> bool:
    """Whether two requests give the same code: they differ only in macros that the source doesn't mention."""
    return _with_mentioned(one) == _with_mentioned(other)


def _with_mentioned(request: CompileRequest) -> CompileRequest:
    return replace(request, defines=mentioned(request.text, request.defines))


def mentioned(text: str, defines: Mapping[str, str]) -> Mapping[str, str]:
    """The macros that may affect a text's compilation."""
    if any(sign in text for sign in _HIDES_NAMES):
        return defines
    words = set(_WORD.findall(text))
    return {name: value for name, value in defines.items() if name in words}


def _headers(source: Source, cache: Path) -> Mapping[str, str]:
    try:
        return header_texts(source.text, cache)
    except OSError as error:
        raise HeadersUnavailable(f"cannot unpack the CUDA headers to {cache} ({error.strerror})") from error
