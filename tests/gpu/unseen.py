"""Shows which mistakes on tensor cores, asynchronous copies and clusters a GPU and compute-sanitizer don't show.

Each wrong kernel of the corpus that uses them runs some times, and its results are compared, as a grader would do.
Then each tool of compute-sanitizer watches it once.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernels.device import Execution
from kernels.judging.inputs import make_inputs
from kernels.judging.judge import arguments, buffers, constants, judge_run
from kernels.verdict import Verdict
from tests.gpu.driver import GPU, GPUError
from tests.gpu.prepare import Folder, Prepared, compile_corpus, read, write
from tests.gpu.races import expected_verdicts, one_case
from tests.gpu.result import Machine, NotRun, Result
from tests.gpu.sanitizer import PROGRAM, TOOLS, output_of, watch

_MODERN = re.compile(
    r"^\s*(@\S+\s+)?(wmma|mma|ldmatrix|stmatrix|wgmma|cp\.(reduce\.)?async|mbarrier|barrier\.cluster|mapa)\b",
    re.MULTILINE,
)
_RUNS, _SECONDS, _AT_ONCE = 10, 20, 16


@dataclass(frozen=True, slots=True)
class Row:
    """One wrong kernel.

    runs: whether each run had correct results, up to the first that ended with an error; none if a run didn't end
    tools: how many mistakes each tool shows; None if it came to no end
    """

    name: str
    expected: str
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
    """Compile the wrong kernels of the corpus that use modern instructions, with one case each."""
    made = compile_corpus(folder, architecture, ("wrong",))
    chosen = (one_case(kernel) for kernel in made.kernels if _is_modern(folder, kernel))
    write(folder, Folder(made.compiler, made.architecture, tuple(each for each in chosen if each is not None)))


def _is_modern(folder: Path, kernel: Prepared) -> bool:
    return bool(_MODERN.search((folder / f"{kernel.stem}.ptx").read_text(encoding="utf-8")))


def _correct_runs(folder: Path, kernel: Prepared) -> Iterator[bool]:
    """Whether the kernel's results are correct, for each of some runs with inputs of its own.

    raise (GPUError): a run ended with an error
    """
    (case,) = kernel.plan.cases
    assert case.launch is not None
    with GPU() as gpu, gpu.load((folder / f"{kernel.stem}.cubin").read_bytes(), kernel.entry) as loaded:
        for seed in range(_RUNS):
            inputs = make_inputs(case, seed)
            arrays = {each.name: each.values for each in buffers(case, inputs)}
            symbols, values = kernel.named(case.symbols), kernel.named(constants(case))
            after = loaded.run(case.launch, arguments(case), arrays, symbols, values)
            yield not judge_run(kernel.plan, case, inputs, Execution((), after, "", 0))


def _row(folder: Path, kernel: Prepared, expected: str) -> Row:
    output = output_of([sys.executable, "-m", "tests.gpu.unseen", str(folder), kernel.stem], _SECONDS)
    if output is None:
        return Row(kernel.name, expected, (), dict.fromkeys(TOOLS))
    runs = tuple(line == "right" for line in output.splitlines() if line in {"right", "wrong"})
    return Row(kernel.name, expected, runs, {tool: watch(tool, folder, kernel, _SECONDS) for tool in TOOLS})


def rows(folder: Path) -> list[Row]:
    """Run and watch all kernels, some at once."""
    expected, kernels = expected_verdicts(), read(folder).kernels
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda each: _row(folder, each, expected[each.name]), kernels))


def page(found: Sequence[Row]) -> Iterator[str]:
    yield f"| verdict | kernels | a GPU accepts | {' | '.join(TOOLS)} | any tool | nothing shows it |"
    yield "|---" * (6 + len(TOOLS)) + "|"
    order = [verdict.value for verdict in Verdict]
    for verdict in sorted({row.expected for row in found}, key=order.index):
        yield _sum(verdict, [row for row in found if row.expected == verdict])
    yield _sum("**all**", found)
    yield ""
    yield f"| kernel | verdict | correct runs | {' | '.join(TOOLS)} |"
    yield "|---" * (3 + len(TOOLS)) + "|"
    for row in found:
        runs = f"{sum(row.runs)} of {len(row.runs)}" if row.runs else "didn't end"
        tools = ("–" if count is None else str(count) for count in row.tools.values())
        yield f"| `{row.name}` | {row.expected} | {runs} | {' | '.join(tools)} |"


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

The kernels are all wrong kernels of `tests/corpus` that use these instructions. Tilelab finds each, with its line. Here
each runs {runs} times on a GPU with inputs of its own, and its results are compared with the correct ones, without a
tolerance. "A GPU accepts" counts the kernels whose results were correct every time. Then each tool of compute-sanitizer
watches the kernel once. The table says how many mistakes it shows; "–" means that it came to no end.

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
