"""Small kernels compiled for real and measured on the CPU device, in this process."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from kernels.compile.compilation import Compilation
from kernels.exercise import Exercise, Operation, find_exercise
from kernels.judging.compare import is_poison
from kernels.judging.inputs import factors, from_memory, output_of, to_memory
from kernels.judging.operand_plan import MatrixPlan
from kernels.judging.plan import CasePlan, Plan, make_plan, plan_at, with_solution
from kernels.measurement import Clocks
from kernels.source.source_file import Source, read_source
from tests.kernels.analysed import InProcess
from worker.contract.measure_work import MeasureRequest, MeasureResponse, Numbers, WireCode
from worker.gpu.backend import Code, Memory, Timed
from worker.gpu.cpu_backend import CpuBackend
from worker.gpu.judge.code import judge_code
from worker.gpu.judge.recipes import Recipe, values
from worker.gpu.judge.verification import GUARD, Damage, Judge, Verified, Wrong
from worker.gpu.measure_step import Ask, measure
from worker.steps.compile_requests import compile_request
from worker.steps.cpu_check import Job
from worker.steps.gpu_measurement import wire_code

ARCH = "sm_90"
RANKING = 48
KEPT = Path(gettempdir()) / "tilelab-tests"
"""Where the judge's compiled kernels stay, also for later test runs."""

HEAD = "__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {\n"
INDICES = (
    "  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i >= Width || j >= Width) return;\n"
)
SUM = "  float sum = 0;\n  for (int k = 0; k < Width; ++k) sum += M[i * Width + k] * N[k * Width + j];\n"
STORE = "  P[i * Width + j] = sum;\n"


def kernel(*, variables: str = "", first: str = "", before: str = "", after: str = "") -> str:
    """A plain product, with lines before the sum, between the sum and its store, or after that."""
    return f"{variables}\n{HEAD}{INDICES}{first}{SUM}{before}{STORE}{after}}}\n"


@cache
def judge_wire() -> WireCode:
    return judge_code(ARCH, KEPT)


def on_the_wire(source: Source, exercise: Exercise, plan: Plan) -> WireCode:
    job = Job(b"", exercise, ARCH, plan.seed, KEPT)
    made = InProcess().compile(compile_request(job, source, plan))
    assert isinstance(made, Compilation), made
    return wire_code(made)


def request_for(
    text: str,
    exercise: Exercise | None = None,
    ranking: Mapping[str, int] | None = None,
    curve: Sequence[Mapping[str, int]] = (),
    cases: Sequence[str] = ("Width=2 integers_right", "Width=17 integers_left"),
    launch_seconds: float = 5.0,
    budget_seconds: float = 1.0,
) -> MeasureRequest:
    """Two small cases, the ranking size, which counts as too large for them, and other sizes."""
    exercise = exercise or find_exercise("tiled")
    source = read_source(text.encode(), exercise)
    assert isinstance(source, Source), source
    plan = make_plan(exercise, source, None, "5eed")

    def at(sizes: Mapping[str, int]) -> CasePlan:
        return replace(plan_at(exercise, source, None, sizes).cases[0], on_cpu=False)

    ranked = at(ranking or {"Width": RANKING})
    small = [case for case in plan.cases if case.on_cpu and (case.name in cases or not cases)]
    plan = replace(plan, cases=(*small, ranked))
    solved: tuple[WireCode, ...] = ()
    if exercise.operation is Operation.SOLUTION:
        own = read_source(exercise.solution_text.encode(), exercise)
        assert isinstance(own, Source), own
        solved = (on_the_wire(own, exercise, plan),)
        plan = replace(plan, cases=tuple(with_solution(exercise, own, case) for case in plan.cases))
        ranked = plan.cases[-1]
    return MeasureRequest(
        plan=plan,
        modules=(on_the_wire(source, exercise, plan),),
        ranking=ranked,
        curve=tuple(map(at, curve)),
        metric=exercise.metric.value,
        launch_seconds=launch_seconds,
        budget_seconds=budget_seconds,
        solution=solved,
    )


def asking(seed: int = 7) -> Ask:
    stream = random.Random(seed)

    def ask() -> Callable[[], Numbers]:
        numbers = Numbers(stream.getrandbits(63), stream.getrandbits(63))
        return lambda: numbers

    return ask


def measured(
    request: MeasureRequest, backend: CpuBackend | None = None, *, real_judge: bool = False
) -> MeasureResponse:
    """As a runner does it, where the judge is the real one."""
    backend = backend or Scripted()
    judge: Any = HostJudge(backend)
    if real_judge:
        judge = Judge(backend, Code(judge_wire().ptx, judge_wire().cubin_bytes))
    return measure(request, backend, judge, asking())


class HostJudge:
    """Judges as the real one does, by numpy and so in no time. Only for products."""

    def __init__(self, backend: CpuBackend) -> None:
        self.backend = backend
        self.given: list[Mapping[str, Recipe]] = []

    def release(self) -> None:
        self.backend.release()

    def make(self, recipe: Recipe, memory: Memory) -> None:
        self.backend.write(memory, to_memory(values(recipe), recipe.layout, recipe.type))

    def fill_guards(self, memory: Memory) -> None:
        for zone in self.backend.guards(memory):
            self.backend.fill(zone, GUARD)

    def guards_hurt(self, guarded: Sequence[tuple[MatrixPlan, Memory]]) -> list[tuple[MatrixPlan, Damage]]:
        found = [(matrix, self._hurt(memory)) for matrix, memory in guarded]
        return [(matrix, damage) for matrix, damage in found if damage is not None]

    def _hurt(self, memory: Memory) -> Damage | None:
        for side, zone in zip((-1, 1), self.backend.guards(memory), strict=True):
            (differs,) = np.nonzero(self.backend.read(zone) != GUARD)
            if differs.size:
                return Damage(differs.size, side, int(differs[0]) if side > 0 else zone.words - 1 - int(differs[0]))
        return None

    def verify(self, case, recipes, memories, vector, *, guarded) -> Callable[[], Verified]:
        self.given.append(recipes)
        held = {
            matrix.name: from_memory(self.backend.read(memories[matrix.name]).view(np.float32), matrix)
            for matrix in case.matrices
        }
        made = {name: values(recipe) for name, recipe in recipes.items()}
        changed = {
            name: Damage(int((held[name] != made[name]).sum()), *np.argwhere(held[name] != made[name])[0].tolist())
            for name in made
            if (held[name] != made[name]).any()
        }
        hurt = {name: self._hurt(memories[name]) for name in guarded}
        left, right = (made[matrix.name].astype(np.float64) for matrix in factors(case))
        verified = Verified(
            self._wrong(held[output_of(case).name], left @ right),
            changed,
            {name: damage for name, damage in hurt.items() if damage is not None},
        )
        return lambda: verified

    @staticmethod
    def _wrong(actual, expected) -> Wrong | None:
        wrong = ~(actual == expected)
        if not wrong.any():
            return None
        row, column = np.argwhere(wrong)[0].tolist()
        found = actual[row, column]
        return Wrong(
            int(wrong.any(axis=1).sum()), (row, column), float(found), float(expected[row, column]),
            unwritten=bool(is_poison(np.array([found]))[0]), lines=True,
        )  # fmt: skip


class Scripted(CpuBackend):
    """A device whose times, and whose damage to memory, are made up.

    ms: of each launch of the judged kernel, in order, the last one for ever
    """

    def __init__(self, ms: Sequence[float] = (1.0,), host: float = 0.01, cublas: float = 0.25) -> None:
        super().__init__("13.0")
        self.ms = list(ms)
        self.host = host
        self.cublas = cublas
        self.launches = 0
        self.multiplied: list[Memory] = []
        self.after: Callable[[Sequence[object]], None] = lambda arguments: None
        self.clock_mhz = [0]

    def timed(self, kernel, launch, arguments, seconds, then=()):
        super().timed(kernel, launch, arguments, seconds, then)
        self.launches += 1
        self.after(arguments)
        ms = self.ms.pop(0) if len(self.ms) > 1 else self.ms[0]
        return Timed(ms, ms + self.host)

    def multiply(self, product):
        super().multiply(product)
        self.multiplied.append(product.out)
        return Timed(self.cublas, self.cublas)

    def clocks(self):
        return Clocks(self.clock_mhz.pop(0) if len(self.clock_mhz) > 1 else self.clock_mhz[0])
