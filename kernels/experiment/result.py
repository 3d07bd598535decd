"""What became of one point: its verdict, and what was measured, counted and modelled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernels.counters import Totals
from kernels.evidence import Light
from kernels.measurement import Measurement
from kernels.occupancy import Occupancy
from kernels.report import Report
from kernels.report.model import first_error
from kernels.verdict import Finding, Verdict
from kernels.wire import WireError, from_plain, to_plain

_BEYOND = 2**63
_FIGURES = ("measurement", "counted", "modelled", "occupancy", "seconds", "tile")
_TEXTS = ("kernel", "message", "device", "digest", "ended")


@dataclass(frozen=True, slots=True)
class Counted:
    """What the CPU device counted at the point's sizes.

    blocks_run: of the launch's `blocks`; the others are like these
    exact: whether the totals belong to the whole launch; else `note` says why they are an estimate
    """

    blocks: int
    blocks_run: int
    exact: bool
    note: str
    totals: Totals


@dataclass(frozen=True, slots=True)
class PointResult:
    """One point, as a line of points.jsonl.

    number: its place in the experiment, from 0
    message: the verdict in one sentence
    measurement: only from a GPU, and only of a correct kernel
    modelled: the speed of light
    digest: SHA-256 of the kernel's text with the point's values
    seconds: by step
    ended: moment in UTC, as ISO 8601 writes it
    finding: the first error
    """

    number: int
    params: Mapping[str, int]
    kernel: str
    verdict: Verdict
    message: str
    digest: str
    tile: int
    sizes: Mapping[str, int]
    device: str
    measurement: Measurement | None = None
    counted: Counted | None = None
    modelled: Light | None = None
    occupancy: Occupancy | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    ended: str = ""
    finding: Finding | None = None

    @property
    def key(self) -> tuple[str, tuple[tuple[str, int], ...]]:
        """The kernel and its values, by which points of two runs belong together."""
        return self.kernel, tuple(sorted(self.params.items()))


def counted_of(report: Report) -> Counted | None:
    """The counts of a report; None if nothing was counted."""
    extent = report.evidence.extent
    if extent is None:
        return None
    return Counted(extent.launch.blocks, extent.blocks_run, extent.exact, extent.note, report.evidence.totals)


def finding_of(report: Report) -> Finding | None:
    return first_error(report.findings, report.verdict)


def to_json(result: PointResult) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(result)
    return plain


def from_json(data: object) -> PointResult:
    """The result back from its JSON object; raises WireError, also for numbers and texts that no table can hold."""
    result = from_plain(PointResult, data, lenient=True)
    for name, value in (*result.params.items(), *result.sizes.items()):
        if not (name.isidentifier() and name.isascii()):
            raise WireError(f"{json.dumps(name)} isn't a C identifier")
        _check_numbers(value, name)
    if isinstance(data, dict) and not _fit([data.get(part) for part in _FIGURES]):
        for part in _FIGURES:
            _check_numbers(data.get(part), part)
    finding = _checked_text(result.finding) if result.finding is not None else ""
    try:
        "".join((finding, *(getattr(result, name) for name in _TEXTS))).encode()
    except UnicodeEncodeError:
        raise WireError("a text has characters that UTF-8 doesn't have") from None
    return result


def _checked_text(finding: Finding) -> str:
    """All texts of a finding. Raises WireError for its numbers; values among its facts may be infinite."""
    for name in ("line", "other_line", "column", "count"):
        _check_numbers(getattr(finding, name), f"finding.{name}")
    return json.dumps(to_plain(finding), ensure_ascii=False)


def _fit(left: list[Any]) -> bool:
    """Whether all numbers in these are ones that a table can hold: `_check_numbers` without the path, and faster."""
    for data in left:
        kind = type(data)
        if kind is dict:
            left.extend(data.values())
        elif kind is list:
            left.extend(data)
        elif (kind is int or kind is float) and not -_BEYOND < data < _BEYOND:
            return False
    return True


def _check_numbers(data: object, where: str) -> None:
    """Raise WireError for NaN, an infinity, or a number beyond 64 bits."""
    if isinstance(data, dict):
        for name, value in data.items():
            if not isinstance(value, str):
                _check_numbers(value, f"{where}.{name}")
    elif isinstance(data, list):
        for value in data:
            _check_numbers(value, where)
    elif isinstance(data, int | float) and not -_BEYOND < data < _BEYOND:
        raise WireError(f"{where}: a number between -2^63 and 2^63 is needed")
