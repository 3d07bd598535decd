"""A report with its verdict and its numbers, and nothing that quotes a source."""

from __future__ import annotations

import json
import zlib
from typing import Any

from kernels.evidence import Evidence
from kernels.verdict import Verdict
from kernels.wire import to_plain
from server.grading.reports import ReportError, unpack

# What the judge says of the device, of times and of counts, in its own words.
_KEPT = frozenset(
    {
        "verdict", "exercise", "device", "arch", "tile", "measurement", "environment", "occupancy",
        "measured_occupancy", "resources", "launch", "seconds", "seed", "schema", "isolation",
    }
)  # fmt: skip
_UNKNOWN = Verdict.SYSTEM_ERROR


def only_numbers(packed: bytes) -> bytes:
    """The report without findings, evidence, messages and whatever else may hold a line of the source."""
    try:
        report = unpack(packed)
    except ReportError:
        report = {"verdict": _UNKNOWN.value}
    plain = {name: value if name in _KEPT else _emptied(name, value) for name, value in report.items()}
    plain["message"] = Verdict(report.get("verdict", _UNKNOWN)).headline
    return zlib.compress(json.dumps(plain, separators=(",", ":")).encode(), 6)


def _emptied(name: str, value: Any) -> Any:
    """Nothing, of the same type, so that the report reads back."""
    if name == "evidence":
        return to_plain(Evidence())
    if name == "checks":
        return [check | {"note": ""} for check in value]
    if isinstance(value, str):
        return ""
    if isinstance(value, list):
        return []
    return value if isinstance(value, int | float) else None
