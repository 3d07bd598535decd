"""The results as a tidy table, and in the autotuning community's format T4.

Texts come in parts, a point at a time, and results may come one by one. All rows of a large experiment together need
several times its own memory. The first results decide which columns a table has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any

from kernels.counters import COUNTERS, Kind
from kernels.csv_tables import lines
from kernels.evidence import Basis
from kernels.experiment.quantities import QUANTITIES, Quantity
from kernels.experiment.result import PointResult
from kernels.verdict import Verdict

Row = Mapping[str, str | int | float | bool | None]

_T4_VERSION = "1.0.0"
_INVALIDITY: Mapping[Verdict, str] = {
    Verdict.ACCEPTED: "correct",
    Verdict.COMPILE_ERROR: "compile",
    Verdict.REJECTED: "constraints",
    Verdict.RESOURCE_LIMIT: "constraints",
    Verdict.TIME_LIMIT: "timeout",
    Verdict.RUNTIME_ERROR: "runtime",
    Verdict.SYSTEM_ERROR: "runtime",
    Verdict.UNSUPPORTED: "runtime",
}
"""T4's word for a verdict; the verdicts that are left mean an incorrect kernel."""

_WHOLE = (
    "point", "tile", "finding_line",
    "measured_repeats", "measured_sm_mhz", "measured_temperature_c",
)  # fmt: skip
_TEXTS = (
    "kernel", "verdict", "finding", "device", "digest", "ptx_digest",
    "modelled_limit", "modelled_occupancy_limit",
)  # fmt: skip
_TRUTHS = ("measured_settled", "counted_exact")
_FIRST = 1000
"""The results whose axes and sizes are columns; in one experiment, all points have the same."""
_EMPTY = PointResult(0, {}, "", Verdict.SYSTEM_ERROR, "", "", 0, {}, "")


def rows(results: Iterable[PointResult]) -> tuple[Mapping[str, type], Iterator[Row]]:
    """The type of each column, also without any value, and one row a point. A column's name begins with its basis.

    `param_` and `size_` columns hold the point's values. An empty cell means that the point has no such number.
    """
    rest = iter(results)
    first = list(islice(rest, _FIRST))
    params, sizes = _names(first)
    found = (_row(result, params, sizes) for result in chain(first, rest))
    return _types(params, sizes), found


def _types(params: Sequence[str], sizes: Sequence[str]) -> Mapping[str, type]:
    whole = {*_WHOLE, *(f"param_{name}" for name in params), *(f"size_{name}" for name in sizes)}
    whole |= {f"counted_{name}" for name, counter in COUNTERS.items() if counter.kind is Kind.COUNT}
    known = {**dict.fromkeys(whole, int), **dict.fromkeys(_TEXTS, str), **dict.fromkeys(_TRUTHS, bool)}
    known["ended"] = datetime
    return {name: known.get(name, float) for name in _row(_EMPTY, params, sizes)}


def _names(results: Sequence[PointResult]) -> tuple[list[str], list[str]]:
    params = list(dict.fromkeys(name for result in results for name in result.params))
    return params, list(dict.fromkeys(name for result in results for name in result.sizes))


def to_csv(results: Sequence[PointResult]) -> str:
    return "".join(csv_parts(results))


def csv_parts(results: Iterable[PointResult]) -> Iterator[str]:
    """The parts of `to_csv`."""
    columns, found = rows(results)
    return lines(columns, (map(_cell, row.values()) for row in found), "\n")


def json_parts(results: Iterable[PointResult]) -> Iterator[str]:
    yield from _list(rows(results)[1])
    yield "\n"


def t4_parts(results: Iterable[PointResult], versions: Mapping[str, str]) -> Iterator[str]:
    """A document of T4's results schema."""
    head = {"schema_version": _T4_VERSION, "metadata": {"timeunit": "milliseconds", **versions}}
    yield json.dumps(head).removesuffix("}")
    yield ', "results": '
    yield from _list(map(_t4_result, results))
    yield "}\n"


def _list(items: Iterable[object]) -> Iterator[str]:
    """A JSON list with a line for each item. Indents would take several times as long."""
    before = "["
    for item in items:
        yield f"{before}\n{json.dumps(item)}"
        before = ","
    yield "[]" if before == "[" else "\n]"


def _row(result: PointResult, params: Sequence[str], sizes: Sequence[str]) -> Row:
    found, counted, finding = result.measurement, result.counted, result.finding
    row: dict[str, str | int | float | bool | None] = {
        "point": result.number,
        "kernel": result.kernel,
        **{f"param_{name}": result.params.get(name) for name in params},
        **{f"size_{name}": result.sizes.get(name) for name in sizes},
        "tile": result.tile,
        "verdict": result.verdict.value,
        "finding": finding.message if finding is not None else "",
        "finding_line": finding.line if finding is not None else None,
        "device": result.device,
    }
    for name, quantity in QUANTITIES.items():
        if quantity.basis is Basis.COUNTED:
            continue  # among the counters below
        row[f"{quantity.basis}_{name}"] = quantity.of(result)
        if quantity.basis is Basis.MEASURED:
            low, high = quantity.interval(result) or (None, None)
            row |= {f"measured_{name}_low": low, f"measured_{name}_high": high}
    row |= {
        "measured_repeats": found.repeats if found is not None else None,
        "measured_settled": found.settled if found is not None else None,
        "measured_cublas_share": found.cublas_share if found is not None else None,
        "measured_sm_mhz": found.clocks.sm_mhz if found is not None else None,
        "measured_temperature_c": found.clocks.temperature_c if found is not None else None,
        "measured_power_w": found.clocks.power_w if found is not None else None,
        "modelled_limit": result.modelled.limit if result.modelled is not None else "",
        "modelled_occupancy_limit": result.occupancy.limit if result.occupancy is not None else "",
        "counted_exact": counted.exact if counted is not None else None,
        **{
            f"counted_{name}": counter.of(counted.totals) if counted is not None else None
            for name, counter in COUNTERS.items()
        },
        "seconds": round(sum(result.seconds.values()), 4),
        "ended": result.ended,
        "digest": result.digest,
        "ptx_digest": found.ptx_digest if found is not None else "",
    }
    return row


def _cell(value: object) -> object:
    """CSV has no type for true and false. R reads only capitals as such; pandas, Polars and DuckDB read both."""
    return value if value is not True and value is not False else str(value).upper()


def _t4_result(result: PointResult) -> dict[str, Any]:
    seconds, found = result.seconds, result.measurement
    spent = {step: 1e3 * seconds.get(step, 0.0) for step in ("compile", "check", "count", "measure")}
    names = [quantity for quantity in QUANTITIES.values() if quantity.of(result) is not None]
    # The key of the kernel's name; an axis keeps its own
    key = "kernel"
    while key in result.params:
        key += "_name"
    return {
        "timestamp": result.ended,
        "configuration": {key: result.kernel, **result.params},
        "times": {
            "compilation_time": spent["compile"],
            "compilation": spent["compile"],
            "benchmark": spent["measure"],
            "validation": spent["check"],
            "framework": spent["count"],
            "search_algorithm": 0.0,
            "runtimes": [found.ms_median] if found is not None else [],
        },
        "invalidity": _INVALIDITY.get(result.verdict, "correctness"),
        "correctness": 1 if result.verdict is Verdict.ACCEPTED else 0,
        "measurements": [_t4_measurement(result, name) for name in names],
        "objectives": ["gflops" if found is not None and found.gflops is not None else "ms"] if found else [],
    }


def _t4_measurement(result: PointResult, quantity: Quantity) -> dict[str, Any]:
    name = quantity.name if quantity.basis is Basis.MEASURED else f"{quantity.basis}_{quantity.name}"
    return {"name": name, "value": quantity.of(result), "unit": quantity.unit}
