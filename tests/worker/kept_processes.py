"""The sandboxed stages of many jobs in the same processes, because their start takes longer than most jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernels.compile.compilation import Compilation
from kernels.source.names import Evaluated
from kernels.verdict import Finding
from worker.sandbox.compile_child import CompileRequest, EvaluateRequest, compile_in, evaluate_in
from worker.sandbox.limits import COMPILE_LIMITS, Limits
from worker.sandbox.process import Child
from worker.steps.stages import SandboxedStages

JOBS = 60


class KeptChild(Child):
    """Shut in as any other; waits for a further request after each."""

    def request(self, payload: dict[str, Any], *, last: bool = True, **more: Any) -> dict[str, Any]:
        return super().request(payload, last=False, **more)


class KeptStages(SandboxedStages):
    """For a few jobs, one after the other. A compiler that has died is replaced."""

    def _start(self, step: str, limits: Limits) -> Child:
        # a limit of CPU time is for all that a process does
        child = KeptChild(step, replace(limits, cpu_seconds=JOBS * limits.cpu_seconds))
        self._children.append(child)
        return child

    def compile(self, request: CompileRequest) -> Compilation | tuple[Finding, ...]:
        child = self._compilers[0]
        made = compile_in(child, request)
        if not child.alive():
            child.close()
            self._compilers[0] = self._start("compile", COMPILE_LIMITS)
        return made

    def evaluate(self, request: EvaluateRequest) -> Evaluated | tuple[Finding, ...]:
        child = self._compilers[0]
        values = evaluate_in(child, request)
        if not child.alive():
            child.close()
            self._compilers[0] = self._start("compile", COMPILE_LIMITS)
        return values

    def start_compiling(self, request: CompileRequest) -> None:
        """One does for all."""

    def whole(self) -> bool:
        """Whether all of them can take another job."""
        return all(child.alive() for child in (*self._compilers, *filter(None, [self._runner])))


class KeptProcesses:
    """Hands out stages, new ones after some jobs. Use from one thread, and call `close`."""

    def __init__(self) -> None:
        self._stages: KeptStages | None = None
        self._jobs = 0

    def stages(self) -> KeptStages:
        if self._stages is None or self._jobs == JOBS or not self._stages.whole():
            self.close()
            self._stages = KeptStages()
            self._jobs = 0
        self._jobs += 1
        return self._stages

    def close(self) -> None:
        if self._stages is not None:
            self._stages.close()
            self._stages = None
