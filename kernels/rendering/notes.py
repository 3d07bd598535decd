"""Notes that reports and analyses share: the compiler's warnings, what a kernel uses, and how its run went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels.compile.diagnostics import Diagnostic, Resources
from kernels.rendering.text_safety import safe
from kernels.rendering.text_style import BOLD, Style
from kernels.wording import byte_size, plural

MOST_WARNINGS = 5


def warnings_text(warnings: Sequence[Diagnostic], style: Style, most: int = MOST_WARNINGS) -> list[str]:
    if not warnings:
        return []
    shown = [
        line
        for warning in warnings[:most]
        for line in style.wrap((f"line {warning.line}: " if warning.line else "") + safe(warning.message), "  ")
    ]
    left = len(warnings) - most
    return [style.paint("The compiler warns", BOLD), *shown, *([f"  ... and {left} more"] if left > 0 else [])]


def uses_text(use: Resources, dynamic: int) -> str:
    """The resources of a thread and a block. dynamic: bytes of shared memory from the launch."""
    shared = use.shared_bytes + dynamic
    text = f"Uses {plural(use.registers, 'register')} per thread, "
    text += f"{f'{byte_size(shared)} of' if shared else 'no'} shared memory per block"
    text += f", {byte_size(use.local_bytes)} of local memory per thread" if use.local_bytes else ""
    return text + (", registers spilled." if use.spill_store_bytes + use.spill_load_bytes else ".")


def run_text(seconds: Mapping[str, float], isolation: Sequence[str], style: Style) -> list[str]:
    """The time of each step, and what the machine can't enforce."""
    steps = ", ".join(f"{step} {each:.2f}" for step, each in seconds.items())
    lines = style.wrap(f"Seconds: {steps}.") if steps else []
    return lines + (style.wrap(f"Not enforced on this machine: {'; '.join(isolation)}.") if isolation else [])
