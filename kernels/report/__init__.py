"""The result of one job, and what to try next."""

from __future__ import annotations

from kernels.report.model import (
    Report,
    from_json,
    launch_sentence,
    message_for,
    to_json,
)

__all__ = [
    "Report",
    "from_json",
    "launch_sentence",
    "message_for",
    "to_json",
]
