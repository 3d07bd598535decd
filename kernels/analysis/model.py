"""The result of one analysis, as `tilelab analyze --json` prints it and the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernels.compile.diagnostics import Diagnostic, Resources
from kernels.evidence import Evidence
from kernels.launch import Launch
from kernels.occupancy import Occupancy
from kernels.verdict import CPU_DEVICE, Finding
from kernels.wire import from_plain, to_plain

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Analysis:
    """The counts of one kernel at one size.

    message: why there is no evidence, in one sentence; "" otherwise
    sizes, launch: of the counted run
    findings: mistakes that prevented the analysis, or that the counted run showed
    occupancy: on the requested device class
    warnings: the compiler's warnings, cut at a limit
    isolation: the protections that this machine's sandbox lacks
    seconds: time per step
    """

    exercise: str
    arch: str
    tile: int
    message: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    launch: Launch | None = None
    resources: Resources | None = None
    occupancy: Occupancy | None = None
    evidence: Evidence = field(default_factory=Evidence)
    findings: tuple[Finding, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    isolation: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    device: str = CPU_DEVICE
    schema: int = SCHEMA


def to_json(analysis: Analysis) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(analysis)
    return plain


def from_json(data: object) -> Analysis:
    """Read an analysis from its JSON object; raise WireError if it isn't one."""
    return from_plain(Analysis, data)
