"""A benchmark's result as text for the operator."""

from __future__ import annotations

from kernels.rendering.table import table
from kernels.rendering.text_safety import cut
from kernels.rendering.text_style import BOLD, DIM, Style
from kernels.wording import plural
from worker.bench.rounds import Rung, WorkerBench
from worker.bench.throughput import Throughput

_STEPS = {"compile": "compiling", "run": "checking", "other": "measuring and all else"}


def bench_text(found: WorkerBench, style: Style) -> str:
    through = found.throughput
    head = (
        f"{through.per_minute:.0f} verdicts per minute: {plural(through.submissions, 'submission')}"
        f" in {through.seconds:.1f} s, with {'the CPU device' if found.device == 'cpu' else found.device}"
    )
    parts = [
        [style.paint(cut(head, style.width), BOLD)],
        _table([("kernel", "GFLOPS", "of cuBLAS", "spread", "verdict"), *map(_row, found.rungs)], "<>>><", style),
        _order(found),
        _table([("", "kernels", "busy", "handling", "waiting", "idle"), *_lanes(through)], "<>>>>>", style),
        _table([("processor", "s", "share"), *_steps(through)], "<>>", style),
        [found.binds],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _table(rows: list[tuple[str, ...]], align: str, style: Style) -> list[str]:
    if len(rows) == 1:
        return []
    lines = [cut(line, style.width) for line in table(rows, align)]
    return [style.paint(lines[0], DIM), *lines[1:]]


def _row(rung: Rung) -> tuple[str, ...]:
    return (
        rung.name,
        f"{rung.gflops:,.0f}" if rung.gflops is not None else "",
        f"{rung.cublas_share:.1%}" if rung.cublas_share is not None else "",
        f"{rung.spread:.2%}" if rung.spread is not None else "",
        ", ".join(rung.verdicts).replace("_", " "),
    )


def _order(found: WorkerBench) -> list[str]:
    if not any(rung.ms for rung in found.rungs):
        return []
    if not found.swapped:
        return [f"The order was the same in {'both' if found.rounds == 2 else f'all {found.rounds}'} rounds."]
    return [f"The order of {one} and {other} differed between rounds." for one, other in found.swapped]


def _lanes(through: Throughput) -> list[tuple[str, ...]]:
    return [
        (
            f"GPU {number}",
            f"{lane.kernels}",
            *(f"{share:.0%}" for share in (lane.busy, lane.handling, lane.waiting, lane.idle)),
        )
        for number, lane in enumerate(through.lanes)
    ]


def _steps(through: Throughput) -> list[tuple[str, ...]]:
    used = sum(through.cpu_seconds.values()) or 1.0
    return [
        (_STEPS.get(step, step), f"{seconds:.1f}", f"{seconds / used:.0%}")
        for step, seconds in through.cpu_seconds.items()
    ]
