"""Known kernels compared with another program's measurements on the same kind of GPU."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from bench.gpu.machine import Machine, grade_first, measured_by
from bench.gpu.section import Data, Run, percent, table
from bench.gpu.subjects import Reference, cublas_reference, ladder, references
from worker.gpu.spares import Spares

WIDTHS = (2048, 4096)
WITHIN = 0.02
OF_CUBLAS = 0.9

_TEXT = """\
`bench/gpu/reference.toml` has the speeds that an independent program measured on an H200. Here each kernel is graded
like a submission, once for each ranking size. The last row's kernel is the ladder's own, with the same shape as the
reference's."""


def run(section: Run) -> None:
    """Grade each row once."""
    rows: list[Data] = []
    cublas: dict[int, list[float]] = {width: [] for width in WIDTHS}
    with section.machine.spares() as spares:
        for reference in references()[: section.options.get("rows")]:
            row = _row(section.machine, reference, spares, cublas)
            rows.append(row)
            section.say(f"{row['name']}: {row['verdict']} {_differences(row)}")
            section.keep(_text(rows, cublas), {"rows": rows, "cublas": _cublas(cublas)}, done=False)
    section.keep(_text(rows, cublas), {"rows": rows, "cublas": _cublas(cublas)})


def _row(machine: Machine, reference: Reference, spares: Spares, cublas: dict[int, list[float]]) -> Data:
    row: Data = {
        "name": reference.subject.name,
        "same kernel": reference.subject.source != ladder()[-1].source,
        "expected": dict(reference.gflops),
        "measured": {},
        "share": {},
        "remarks": [],
    }
    for width in WIDTHS:
        at = replace(machine, ranking=machine.ranking or width)
        report, _ = grade_first(at, reference.subject, measured_by(spares))
        row["verdict"] = report.verdict.value
        measured = report.measurement
        if measured is not None and measured.sizes == {"Width": width}:
            row["measured"][width] = measured.gflops
            row["remarks"] += measured.remarks
            row["share"][width] = measured.cublas_share
            if measured.cublas_ms:
                cublas[width].append(2 * width**3 / (measured.cublas_ms * 1e6))
    return row


def _cublas(found: dict[int, list[float]]) -> dict[int, float]:
    return {width: median(speeds) for width, speeds in found.items() if speeds}


def _difference(row: Data, width: int) -> float | None:
    found = row["measured"].get(width)
    return found / row["expected"][width] - 1 if found else None


def _differences(row: Data) -> str:
    found = [_difference(row, width) for width in WIDTHS]
    return ", ".join("-" if each is None else f"{each:+.2%}" for each in found)


def _text(rows: list[Data], cublas: dict[int, list[float]]) -> list[str]:
    own: Data = {
        "name": "cuBLAS (median of all runs)",
        "expected": cublas_reference(),
        "measured": _cublas(cublas),
        "share": {},
    }
    head = ["kernel"]
    for width in WIDTHS:
        head += [f"reference at {width}", "measured", "difference", "of cuBLAS"]
    cells = [[row["name"], *(cell for width in WIDTHS for cell in _cells(row, width))] for row in (own, *rows)]
    off = [_difference(row, width) for row in rows if row["same kernel"] for width in WIDTHS]
    known = [abs(each) for each in off if each is not None]
    good = sum(each <= WITHIN for each in known)
    lines = [_TEXT, "", *table(head, cells), ""]
    lines.append(
        f"{good} of {len(off)} figures of the same kernels are within {percent(WITHIN, 0)} of the reference; the"
        f" largest difference is {max(known, default=0.0):.2%}."
    )
    top = rows[-1]["share"].get(max(WIDTHS)) if rows else None
    if top:
        lines.append(
            f"The last row reaches {percent(top)} of cuBLAS at {max(WIDTHS)}; the goal is {percent(OF_CUBLAS, 0)}."
        )
    return lines


def _cells(row: Data, width: int) -> list[str]:
    found, difference, share = row["measured"].get(width), _difference(row, width), row["share"].get(width)
    return [
        f"{row['expected'][width]:,.0f}",
        f"{found:,.0f}" if found else "-",
        f"{difference:+.2%}" if difference is not None else "-",
        percent(share) if share else "-",
    ]
