"""What a comparison showed, as lines for a person and as a page for docs/."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.gpu.agreement import Row, agree
from tests.gpu.driver import GPU
from tests.gpu.inputs import Kind
from tests.gpu.prepare import read
from tests.gpu.result import Machine, Result


def compare(folder: Path, machine: Machine, day: dt.date) -> Result:
    """Run everything on both devices."""
    with GPU() as gpu:
        rows = agree(folder, read(folder), gpu)
    failed = not all(row.agrees for row in rows)
    return Result(page(rows, machine, day), (*problems(rows), summary(rows)), failed)


def summary(rows: Sequence[Row]) -> str:
    """One line: how many agree."""
    good = sum(row.agrees for row in rows)
    elements, differing = sum(row.elements for row in rows), sum(row.differing for row in rows)
    kernels = len({row.name for row in rows})
    return (
        f"{good} of {len(rows)} compilations of {kernels} kernels agree; "
        f"{elements:,} elements compared, {differing:,} differ although they must agree"
    )


def problems(rows: Sequence[Row]) -> list[str]:
    """A line for each compilation that does not agree: the first difference, or what the CPU device objected to."""
    lines = []
    for row in rows:
        what = f"{row.name}, tile {row.tile}"
        lines += [f"{what}: the CPU device says: {objection}" for objection in row.objections]
        if row.first is not None:
            at = row.first
            lines.append(
                f"{what}: {row.differing:,} of {row.elements:,} elements differ, first {at.element} at {at.sizes} with"
                f" {at.kind} values: CPU device {_number(at.cpu)}, GPU {_number(at.gpu)}"
            )
    return lines


def page(rows: Sequence[Row], machine: Machine, day: dt.date) -> str:
    """The whole page."""
    found = problems(rows)
    differences = ["## Differences", "", *(f"- {line}" for line in found), ""] if found else []
    kinds = "\n".join(f"- {kind}: {text}" for kind, text in _KINDS.items())
    text = _INTRODUCTION.format(made_on=machine.made_on(day), kinds=kinds, summary=summary(rows))
    return "\n".join([text, *table(rows), "", *differences])


def table(rows: Sequence[Row]) -> list[str]:
    """A line for each kernel, its tiles together."""
    lines = [
        "| kernel | exercise | tiles | runs | elements | bit-identical | remarks |",
        "| --- | --- | --- | ---: | ---: | --- | --- |",
    ]
    for name in dict.fromkeys(row.name for row in rows):
        same = [row for row in rows if row.name == name]
        tiles = ", ".join(dict.fromkeys(str(row.tile) for row in same))
        runs, elements = sum(row.runs for row in same), sum(row.elements for row in same)
        lines.append(
            f"| {name} | {same[0].exercise} | {tiles} | {runs} | {elements:,} | {_answer(same)} | {_remarks(same)} |"
        )
    return lines


def _answer(rows: Sequence[Row]) -> str:
    if not all(row.agrees for row in rows):
        return f"**no**: {sum(row.differing for row in rows):,} differ"
    excused = sum(row.excused for row in rows)
    if any(row.order or row.approximate for row in rows):
        return f"all that must be; {excused:,} others differ"
    return "yes"


def _remarks(rows: Sequence[Row]) -> str:
    approximate = sorted({opcode for row in rows for opcode in row.approximate})
    parts = [f"approximate: `{'`, `'.join(approximate)}`"] if approximate else []
    return "; ".join(parts + [row.order for row in rows[:1] if row.order])


def _number(bits: int) -> str:
    value = np.array([bits], np.uint32).view(np.float32)[0]
    return f"{float(value)!r} (0x{bits:08x})"


_KINDS = {
    Kind.ORDINARY: "normally distributed",
    Kind.WIDE: "the same, times powers of two from -60 to 60, so that terms cancel, overflow or vanish",
    Kind.TINY: "products below the smallest normal number: subnormal inputs, products and sums, and some zeros",
    Kind.EDGES: "ordinary, and also zeros of both signs, infinities, NaN, the largest and the smallest numbers",
    Kind.WHOLE: "small integers, whose sums are exact in any order",
}


_INTRODUCTION = """\
# The CPU device compared with a GPU: results

This page shows how far the CPU device computes the same bits as a GPU.

A GPU runs the machine code of a compilation, and the CPU device runs its PTX. The kernels are all correct kernels of
`tests/corpus`, every exercise's solution and some probes of single operations. Each is compiled once per tile. Both
devices get the same real-valued inputs, at every size of the exercise, and outputs filled with NaN. Elements are
compared by their bits: +0 is not -0, and a subnormal number is not zero. All NaN count as equal.

Two groups of kernels are exceptions:

- For approximate instructions, PTX guarantees a bound but no bits. A kernel with such instructions is listed with them,
  and may differ.
- Some sums depend on the order in which threads arrive (`tests/gpu/order.toml`). These kernels must agree for whole
  numbers only.

`make test-gpu` makes this comparison and writes this page.

{made_on}

Values of the inputs:

{kinds}

{summary}.
"""
