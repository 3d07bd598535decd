"""Jobs as text, for staff."""

from __future__ import annotations

from typing import Any

from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from server.staff.jobs import JobLine


def lines_of(found: list[JobLine]) -> list[str]:
    """A table of them."""
    head = ["job", "queued (UTC)", "state", "verdict", "person", "exercise", "device", "kind"]
    rows = [
        [
            str(line.job), f"{line.queued_at:%Y-%m-%d %H:%M:%S}", line.state, line.verdict or "",
            safe(line.person), line.exercise, line.device_class, line.kind,
        ]
        for line in found
    ]  # fmt: skip
    return table([head, *rows], "><<<<<<<", indent=0)


def shown(found: dict[str, Any]) -> list[str]:
    """One job, with all that happened to it."""
    first = [
        "kind",
        "state",
        "verdict",
        "person",
        "assignment",
        "submission",
        "exercise",
        "device_class",
        "arch",
    ]
    lines = [f"job {found['job']}"]
    lines += [f"  {name.replace('_', ' ')}: {safe(str(found[name]))}" for name in first if found[name]]
    moments = [name for name in ("queued_at", "started_at", "ended_at") if found[name]]
    lines += [f"  {name.removesuffix('_at')}: {found[name]}" for name in moments]
    if found["position"] is not None:
        lines.append(f"  position: {found['position']}")
    if found["wait"]["reason"]:
        lines.append(f"  {found['wait']['reason']}")
    for step in found["steps"]:
        took = f" after {step['seconds']:.1f} s" if step["seconds"] is not None else ""
        lines.append(f"  step {step['step']}: {step['state']}{took}, queue {step['queue']}")
        lines += [f"    {_attempt_line(attempt)}" for attempt in step["attempts"]]
    return lines


def _attempt_line(attempt: dict[str, Any]) -> str:
    parts = [f"attempt {attempt['number']}: {attempt['outcome'] or 'under way'}, sent {attempt['sent_at']}"]
    if attempt["worker"]:
        parts.append(f"worker {safe(attempt['worker'])}")
    if attempt["fault"]:
        parts.append(safe(attempt["fault"]))
    return ", ".join(parts)
