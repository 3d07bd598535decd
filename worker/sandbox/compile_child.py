"""The parent's side of the compile step. It turns the compiler's failures into findings."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kernels.compile import nvrtc
from kernels.compile.compilation import MEMORY_MESSAGE, Compilation
from kernels.compile.diagnostics import Diagnostic, Entry, Resources
from kernels.facts import Facts
from kernels.source.names import Evaluated
from kernels.verdict import Finding, Severity, Verdict
from kernels.wire import from_plain
from worker.sandbox.limits import Failure, SandboxFailure
from worker.sandbox.process import Child

_HARDLY = 0.5


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """The arguments of kernels.compile.compilation.compile_source."""

    text: str
    kernel: str
    arch: str
    defines: Mapping[str, str] = field(default_factory=dict)
    fmad: bool = True
    symbols: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()
    parameters: tuple[str, ...] | None = None
    max_registers: int | None = None
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvaluateRequest:
    """The arguments of kernels.compile.compilation.evaluate."""

    text: str
    names: tuple[str, ...]
    arch: str
    defines: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def compile_in(child: Child, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
    """Compile in a child for the step "compile". If a file crashes the compiler, that is the file's error.

    raise (NVRTCUnavailable): the compiler is missing
    raise (SandboxFailure): Tilelab or this machine failed
    """
    response = _answer(child, asdict(request), last=True)
    return response if isinstance(response, tuple) else _decode(response)


def evaluate_in(child: Child, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:
    """The values of names. Otherwise like `compile_in`; the child can still compile afterwards."""
    response = _answer(child, asdict(request), last=False)
    if isinstance(response, tuple):
        return response
    try:
        return {name: tuple(int(value) for value in response["values"][name]) for name in request.names}
    except (KeyError, TypeError, ValueError) as error:
        raise SandboxFailure(Failure.ERROR, f"invalid answer from the compile step: {error}") from error


def _answer(child: Child, payload: dict[str, Any], *, last: bool) -> dict[str, Any] | tuple[Finding, ...]:
    try:
        return child.request(payload, last=last)
    except SandboxFailure as failure:
        if failure.kind in _MESSAGES and not _starved(child, failure):
            return (Finding(Verdict.COMPILE_ERROR, _MESSAGES[failure.kind].format(seconds=child.limits.cpu_seconds)),)
        # If the compiler is missing, this raises the real cause.
        nvrtc.library_folder()
        raise


_MESSAGES = {
    Failure.TIME: "The compiler took more than {seconds} s for this file and was stopped. "
    "Look for templates or macros that expand without end.",
    Failure.MEMORY: MEMORY_MESSAGE,
    Failure.CRASH: "The compiler crashed on this file. Look for very deep nesting or recursion, and simplify it.",
}


def _starved(child: Child, failure: SandboxFailure) -> bool:
    """Whether the time limit stopped a compiler that had hardly run, on a busy or paused machine."""
    if failure.kind is not Failure.TIME:
        return False
    child.close()  # its CPU time is known only after its end
    # Otherwise a busy machine would turn a good file into a compile error.
    return child.cpu_seconds < _HARDLY * child.limits.cpu_seconds


def _resources(item: dict[str, Any]) -> Resources:
    return Resources(**item | {"cluster": tuple(item["cluster"])})


def _decode(response: dict[str, Any]) -> Compilation | tuple[Finding, ...]:
    try:
        if "findings" in response:
            return tuple(
                Finding(
                    Verdict(item["kind"]), str(item["message"]), item["line"], facts=from_plain(Facts, item["facts"])
                )
                for item in response["findings"]
            )
        made = response["compilation"]
        said = tuple(Diagnostic(**item | {"severity": Severity(item["severity"])}) for item in made["diagnostics"])
        others = {name: Entry(each["name"], _resources(each["resources"])) for name, each in made["others"].items()}
        return Compilation(
            **made | {
                "cubin": base64.b64decode(made["cubin"]), "resources": _resources(made["resources"]),
                "diagnostics": said, "others": others,
            }
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise SandboxFailure(Failure.ERROR, f"invalid answer from the compile step: {error}") from error
