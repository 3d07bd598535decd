"""A kept report as the data class of this version, also where an older or a newer one wrote it.

What is missing gets its default, what is unknown is passed over, and what cannot be read is left out with the smallest
thing around it that may be: a page shows what there is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from kernels.report import Report, from_json
from kernels.verdict import Verdict
from kernels.wire import WireError, from_plain

logger = logging.getLogger(__name__)


def read_report(plain: Mapping[str, Any], verdict: Verdict) -> Report:
    """The report. verdict: as the database has it, which counts whatever the report says."""
    try:
        report = from_json(plain)
    except WireError as error:
        logger.info("a report of another version is read as far as that goes: %s", error)
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
    return from_plain(Report, needed, salvage=True)
