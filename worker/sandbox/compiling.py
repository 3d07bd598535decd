"""The parent's side of the compile step: one call, and every way it can end turned into findings."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kernels.compile import nvrtc
from kernels.compile.compilation import MEMORY_MESSAGE, Compilation
from kernels.compile.diagnostics import Diagnostic, Resources
from kernels.source.names import Evaluated
from kernels.verdict import Finding, Severity, Verdict
from worker.sandbox.limits import Failure, Limits, SandboxFailure
from worker.sandbox.process import Child

_HARDLY = 0.5


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """What kernels.compile.compilation.compile_source is called with."""

    text: str
    kernel: str
    arch: str
    defines: Mapping[str, str] = field(default_factory=dict)
    fmad: bool = True
    symbols: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()
    parameters: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class EvaluateRequest:
    """What kernels.compile.compilation.evaluate is called with."""

    text: str
    names: tuple[str, ...]
    arch: str
    defines: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def compile_in(child: Child, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
    """Compile in a child for the step "compile". A compiler that dies of a file is that file's error.

    raise (NVRTCUnavailable): where there is no compiler
    raise (SandboxFailure): where the fault is ours, or the machine's
    """
    response = _answer(child, asdict(request), last=True)
    return response if isinstance(response, tuple) else _decode(response)


def evaluate_in(child: Child, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:
    """What names stand for; the child can then still compile. Otherwise as `compile_in`."""
    response = _answer(child, asdict(request), last=False)
    if isinstance(response, tuple):
        return response
    try:
        return {name: tuple(int(value) for value in response["values"][name]) for name in request.names}
    except (KeyError, TypeError, ValueError) as error:
        raise SandboxFailure(Failure.ERROR, f"the compile step answered nonsense: {error}") from error


def _answer(child: Child, payload: dict[str, Any], *, last: bool) -> dict[str, Any] | tuple[Finding, ...]:
    try:
        return child.request(payload, last=last)
    except SandboxFailure as failure:
        if failure.kind in _MESSAGES and not _starved(child, failure):
            return (Finding(Verdict.COMPILE_ERROR, _message(failure.kind, child.limits)),)
        nvrtc.library_folder()
        raise


_MESSAGES = {
    Failure.TIME: "The compiler needed more than {seconds} s for this file and was stopped. "
    "Look for templates or macros that grow without end.",
    Failure.MEMORY: MEMORY_MESSAGE,
    Failure.CRASH: "The compiler crashed on this file. "
    "Look for very deep nesting or recursion, and make it simpler.",
}


def _starved(child: Child, failure: SandboxFailure) -> bool:
    """Whether the clock stopped a compiler that had hardly computed: the machine is too busy, or stood still."""
    if failure.kind is not Failure.TIME:
        return False
    child.close()  # what it used is known once it has ended
    return child.cpu_seconds < _HARDLY * child.limits.cpu_seconds


def _message(kind: Failure, limits: Limits) -> str:
    return _MESSAGES[kind].format(seconds=limits.cpu_seconds)


def _decode(response: dict[str, Any]) -> Compilation | tuple[Finding, ...]:
    try:
        if "findings" in response:
            return tuple(
                Finding(Verdict(item["kind"]), str(item["message"]), item["line"])
                for item in response["findings"]
            )
        made = response["compilation"]
        said = tuple(
            Diagnostic(**item | {"severity": Severity(item["severity"])}) for item in made["diagnostics"]
        )
        return Compilation(
            **made | {
                "cubin": base64.b64decode(made["cubin"]), "resources": Resources(**made["resources"]),
                "diagnostics": said,
            }
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise SandboxFailure(Failure.ERROR, f"the compile step answered nonsense: {error}") from error
