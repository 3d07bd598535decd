"""Shows which mistakes on tensor cores, asynchronous copies and clusters a GPU and compute-sanitizer don't show.

Each wrong kernel of the corpus that uses them runs some times, and its results are compared, as a grader would do.
Then each tool of compute-sanitizer watches it once.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kernels.device import Buffer, Execution
from kernels.exercise import find_exercise
from kernels.exercise.model import Operation
from kernels.judging.inputs import make_inputs
from kernels.judging.judge import Solve, arguments, buffers, constants, judge_run
from kernels.judging.plan import CasePlan, Plan, with_solution
from kernels.source.source_file import Source, read_source
from kernels.verdict import Verdict
from tests.gpu.driver import GPU, GPUError, Kernel
from tests.gpu.prepare import Chosen, Folder, Prepared, compile_corpus, compile_one, read, write
from tests.gpu.races import cases_of, executed, expected_mistakes, expected_verdicts, one_case, with_case
from tests.gpu.result import Machine, NotRun, Result
from tests.gpu.sanitizer import PROGRAM, TOOLS, output_of, watch

_RUNS, _SECONDS, _AT_ONCE = 10, 20, 12
_SOLUTIONS = "solutions"


@dataclass(frozen=True, slots=True)
class Row:
    """One wrong kernel.

    mistake: its kind, as in wrong.toml
    runs: whether each run had correct results, up to the first that ended with an error; none if a run didn't end
    tools: how many mistakes each tool shows; None if it came to no end
    """

    name: str
    expected: str
    mistake: str
    runs: tuple[bool, ...]
    tools: dict[str, int | None]

    @property
    def accepted(self) -> bool:
        """Whether run-and-compare accepts it every time."""
        return bool(self.runs) and all(self.runs)

    @property
    def shown(self) -> bool:
        return any(self.tools.values())


def prepare(folder: Path, architecture: str) -> None:
    """Compile the wrong kernels of the corpus that name their mistake, with a case that shows it each.

    Solutions that judge them are compiled, too.
    """
    made = compile_corpus(folder, architecture, ("wrong",), wanted=lambda entry: "mistake" in entry)
    expected = expected_verdicts()
    chosen = (_with_mistake(folder, each, expected[each.name]) for each in made.kernels)
    kernels = tuple(_with_solution(each) for each in chosen if each is not None)
    write(folder, Folder(made.compiler, made.architecture, kernels))
    judged = sorted({each.plan.exercise for each in kernels if each.plan.operation is Operation.SOLUTION})
    (folder / _SOLUTIONS).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as headers:
        solutions = tuple(_solution(folder / _SOLUTIONS, Path(headers), architecture, name) for name in judged)
    write(folder / _SOLUTIONS, Folder(made.compiler, made.architecture, solutions))


def _with_solution(kernel: Prepared) -> Prepared:
    """With the launches of the exercise's solution, if it judges the kernel."""
    if kernel.plan.operation is not Operation.SOLUTION:
        return kernel
    exercise = find_exercise(kernel.plan.exercise)
    source = read_source(exercise.solution.read_bytes(), exercise)
    assert isinstance(source, Source), source
    cases = tuple(with_solution(exercise, source, case) for case in kernel.plan.cases)
    return replace(kernel, plan=replace(kernel.plan, cases=cases))


def _solution(folder: Path, headers: Path, architecture: str, name: str) -> Prepared:
    exercise = find_exercise(name)
    return compile_one(folder, headers, architecture, Chosen(name, exercise.solution, exercise, exercise.tile))


def _with_mistake(folder: Path, kernel: Prepared, verdict: str) -> Prepared | None:
    """The kernel with one case in which the CPU device finds the mistake; with any if only a result shows it."""
    for each in (with_case(kernel, case) for case in cases_of(kernel)):
        (case,) = each.plan.cases
        _, execution = executed(folder, each, make_inputs(case, seed=1))
        if any(finding.kind == verdict for finding in execution.findings):
            return each
    return one_case(kernel)


def _correct_runs(folder: Path, kernel: Prepared) -> Iterator[bool]:
    """Whether the kernel's results are correct, for each of some runs with inputs of its own.

    raise (GPUError): a run ended with an error
    """
    (case,) = kernel.plan.cases
    assert case.launch is not None
    with contextlib.ExitStack() as stack:
        gpu = stack.enter_context(GPU())
        loaded = stack.enter_context(gpu.load((folder / f"{kernel.stem}.cubin").read_bytes(), kernel.entry))
        solve = _solve(stack, gpu, folder / _SOLUTIONS, kernel.plan)
        for seed in range(_RUNS):
            inputs = make_inputs(case, seed)
            after = _launched(loaded, kernel, case, buffers(case, inputs))
            yield not judge_run(kernel.plan, case, inputs, Execution((), after, "", 0), solve)


def _launched(loaded: Kernel, kernel: Prepared, case: CasePlan, given: Sequence[Buffer]) -> dict[str, NDArray[Any]]:
    assert case.launch is not None
    arrays = {each.name: each.values for each in given}
    symbols, values = kernel.named(case.symbols), kernel.named(constants(case))
    return loaded.run(case.launch, arguments(case), arrays, symbols, values)


def _solve(stack: contextlib.ExitStack, gpu: GPU, folder: Path, plan: Plan) -> Solve | None:
    """Return the run of the exercise's solution on the GPU, if it judges the kernel."""
    if plan.operation is not Operation.SOLUTION:
        return None
    (solution,) = (each for each in read(folder).kernels if each.name == plan.exercise)
    loaded = stack.enter_context(gpu.load((folder / f"{solution.stem}.cubin").read_bytes(), solution.entry))
    return lambda case, given: _launched(loaded, solution, case.by_solution(), given)


def _row(folder: Path, kernel: Prepared, expected: str, mistake: str) -> Row:
    output = output_of([sys.executable, "-m", "tests.gpu.unseen", str(folder), kernel.stem], _SECONDS)
    if output is None:
        return Row(kernel.name, expected, mistake, (), dict.fromkeys(TOOLS))
    runs = tuple(line == "right" for line in output.splitlines() if line in {"right", "wrong"})
    if not runs:
        raise RuntimeError(f"{kernel.name}: {output}")
    return Row(kernel.name, expected, mistake, runs, {tool: watch(tool, folder, kernel, _SECONDS) for tool in TOOLS})


def rows(folder: Path) -> list[Row]:
    """Run and watch all kernels, some at once."""
    expected, mistakes = expected_verdicts(), expected_mistakes()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(
            pool.map(lambda each: _row(folder, each, expected[each.name], mistakes[each.name]), read(folder).kernels)
        )


def page(found: Sequence[Row]) -> Iterator[str]:
    order = [verdict.value for verdict in Verdict]
    verdicts = sorted({row.expected for row in found}, key=order.index)
    yield from _sums("verdict", found, verdicts, lambda row: row.expected)
    yield ""
    yield from _sums("mistake", found, sorted({row.mistake for row in found}), lambda row: row.mistake)
    yield ""
    yield f"| kernel | verdict | correct runs | {' | '.join(TOOLS)} |"
    yield "|---" * (3 + len(TOOLS)) + "|"
    for row in found:
        runs = f"{sum(row.runs)} of {len(row.runs)}" if row.runs else "didn't end"
        tools = ("–" if count is None else str(count) for count in row.tools.values())
        yield f"| `{row.name}` | {row.expected} | {runs} | {' | '.join(tools)} |"


def _sums(title: str, found: Sequence[Row], kinds: Sequence[str], kind: Callable[[Row], str]) -> Iterator[str]:
    """A table with a line for each kind, and one for all of them."""
    yield f"| {title} | kernels | a GPU accepts | {' | '.join(TOOLS)} | any tool | nothing shows it |"
    yield "|---" * (5 + len(TOOLS)) + "|"
    for each in kinds:
        yield _sum(each, [row for row in found if kind(row) == each])
    yield _sum("**all**", [row for row in found if kind(row) in kinds])


def _sum(title: str, found: Sequence[Row]) -> str:
    numbers = (
        len(found),
        sum(row.accepted for row in found),
        *(sum(bool(row.tools[tool]) for row in found) for tool in TOOLS),
        sum(row.shown for row in found),
        sum(row.accepted and not row.shown for row in found),
    )
    return f"| {title} | {' | '.join(map(str, numbers))} |"


def compare(folder: Path, machine: Machine, day: dt.date) -> Result:
    """Run every kernel, and let each tool watch it; raises NotRun without the tools."""
    if shutil.which(PROGRAM) is None:
        raise NotRun(f"no {PROGRAM} here")
    found = rows(folder)
    hidden = sum(row.accepted and not row.shown for row in found)
    accepted = sum(row.accepted for row in found)
    total = f"{len(found)} wrong kernels: a GPU accepts {accepted}, and nothing shows {hidden}"
    text = "\n".join([_INTRODUCTION.format(runs=_RUNS, made_on=machine.made_on(day)), *page(found), ""])
    return Result(text, (total,), failed=False)


_INTRODUCTION = """\
# Mistakes that a GPU doesn't show

This page shows why kernels with tensor cores, asynchronous copies and clusters are judged on the CPU device, too.

The kernels are incorrect ones of `tests/corpus` whose mistake concerns these instructions. A fence is missing, or a
stage is used too early. Bytes never come, or registers are used too soon. Or a block returns too soon. Tilelab finds
each mistake, with its line. Here each kernel runs {runs} times on a GPU, with inputs of its own. At its size,
Tilelab finds the mistake. Results are compared with the correct ones, without a tolerance. "A GPU accepts" counts the
kernels whose results were correct every time. Then each tool of compute-sanitizer watches the kernel once. The last
table says how many mistakes it shows; "–" means that it didn't end. The README of `tests/corpus` explains the mistakes
of the second table.

`make test-gpu` makes this table and writes this page.

{made_on}
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.unseen", description="Run one prepared kernel.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("stem")
    asked = parser.parse_args()
    (only,) = (each for each in read(asked.folder).kernels if each.stem == asked.stem)
    try:
        for correct in _correct_runs(asked.folder, only):
            print("right" if correct else "wrong", flush=True)
    except GPUError as error:
        sys.exit(f"wrong\n{error}")
