"""The result of one job, as an object and as text."""

from __future__ import annotations

from kernels.report.model import (
    Report,
    from_json,
    headline,
    launch_sentence,
    message_for,
    to_json,
)

__all__ = [
    "Report",
    "from_json",
    "headline",
    "launch_sentence",
    "message_for",
    "to_json",
]
