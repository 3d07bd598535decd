"""The result of one job, and the advice for the next step."""

from __future__ import annotations

from kernels.report.model import Report, from_json, launch_sentence, message_for, to_json, verdict_sentence

__all__ = ["Report", "from_json", "launch_sentence", "message_for", "to_json", "verdict_sentence"]
