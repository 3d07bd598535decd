"""The result of one analysis: what `tilelab analyze --json` prints and what the page is made from."""

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
    """What one kernel does at one size.

    message: why there is no evidence, in one sentence; "" where there is
    sizes, launch: of the counted run
    findings: what kept the kernel from being analysed, or what the counted run showed to be wrong
    occupancy: on the device class that was asked for
    warnings: the compiler's, bounded
    isolation: what the sandbox could not enforce on this machine
    seconds: per step
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
    """The analysis as one JSON object."""
    plain: dict[str, Any] = to_plain(analysis)
    return plain


def from_json(data: object) -> Analysis:
    """The analysis back from its JSON object; raises WireError where it is not one."""
    return from_plain(Analysis, data)
