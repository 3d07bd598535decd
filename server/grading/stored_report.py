"""Read a stored report into this version's data class, whichever version wrote it.

A missing field gets its default, and an unknown field is ignored. An unreadable value is left out with the smallest
optional part around it. So a page shows everything that is readable.

Findings of older versions have no facts. Their messages give these.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from kernels.report import Report, from_json
from kernels.report.old_messages import with_facts
from kernels.verdict import Verdict
from kernels.wire import WireError, from_plain

logger = logging.getLogger(__name__)


def read_report(plain: Mapping[str, Any], verdict: Verdict) -> Report:
    """Read a stored report. verdict: from the database; it overrides the verdict in the report."""
    try:
        report = from_json(plain)
    except WireError as error:
        logger.info("a report of another version is only partly readable: %s", error)
    else:
        if report.verdict is verdict:
            return report
    needed = {
        "message": "", "exercise": "", "device": "cpu", "arch": "", "tile": 0,
    } | dict(plain) | {"verdict": verdict.value}  # fmt: skip
    for name in ("message", "exercise", "device", "arch"):
        if not isinstance(needed[name], str):
            needed[name] = ""
    if not isinstance(needed["tile"], int):
        needed["tile"] = 0
    report = from_plain(Report, needed, salvage=True)
    return report if _has_facts(plain) else with_facts(report)


def _has_facts(plain: Mapping[str, Any]) -> bool:
    """Whether the version that wrote a report knew facts. Since then, every finding and every case has some."""
    parts = (plain.get(name) for name in ("findings", "checks"))
    items = (each for part in parts if isinstance(part, list) for each in part if isinstance(each, dict))
    return any("facts" in item or "incorrect" in item for item in items)
