"""Grades the self-test's kernels on this machine, in the same processes as submissions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kernels.exercise import find_exercise
from kernels.measurement import Environment
from kernels.report import Report
from worker.sandbox.limits import CHECK_LIMITS, COMPILE_LIMITS, Isolation
from worker.sandbox.process import Child
from worker.selftest.selftest import EXERCISE, SelfTestKernel, Surroundings
from worker.steps.grading import Job, grade
from worker.steps.stages import SandboxedStages


@dataclass(frozen=True, slots=True)
class LocalGrader:
    """This machine with one of its devices. gpu: its number; None for the CPU device."""

    arch: str
    cache: Path
    gpu: int | None = None
    device_class: str = ""

    def grade(self, kernel: SelfTestKernel) -> Report:
        """Grade one kernel like a submission. Raises the same errors."""
        job = Job(
            kernel.source,
            find_exercise(EXERCISE),
            self.arch,
            os.urandom(16).hex(),
            self.cache,
            kernel.tile,
            gpu=self.device_class,
        )
        with SandboxedStages() as stages:
            if self.gpu is not None:
                stages.open_gpu(self.gpu, self.arch, self.cache)
            return grade(job, stages)

    def surroundings(self) -> Surroundings:
        """Start a process of each kind, which reports its isolation. Raises SandboxFailure."""
        isolation: dict[str, Isolation] = {}
        for step, limits in (("compile", COMPILE_LIMITS), ("run", CHECK_LIMITS)):
            with Child(step, limits) as child:
                isolation[step] = child.wait_ready()
        environment = self._runner(isolation) if self.gpu is not None else None
        return Surroundings(isolation, environment)

    def _runner(self, isolation: dict[str, Isolation]) -> Environment:
        from worker.gpu.judge.code import preparation
        from worker.gpu.spares import Runner

        runner = Runner(self.gpu, preparation(self.arch, self.cache))
        try:
            prepared = runner.ready()
            if runner.isolation is not None:
                isolation["measure"] = runner.isolation
            return prepared.environment
        finally:
            runner.close()
