"""What a block may use of a multiprocessor: whether a compiled kernel can be launched at all."""

from __future__ import annotations

from kernels.compile.diagnostics import Resources
from kernels.judging.plan import CasePlan
from kernels.launch import Launch
from kernels.verdict import Example, Finding, Verdict
from kernels.wording import byte_size

SHARED_BYTES = 48 * 1024
"""Of shared memory a block, without the opt-in that only host code can make."""

REGISTERS = 64 * 1024
"""Registers of one block, the same from compute capability 7.0 to 12.1."""

_WARP = 32
_REGISTER_UNIT = 8


def launch_finding(case: CasePlan, resources: Resources) -> Finding | None:
    """Why a block of the case's launch does not fit; None where it does, or where there is no launch.

    It points at the launch comment where that sets what is too much.
    """
    found = _too_much(case.launch, resources) if case.launch is not None else None
    if found is None:
        return None
    key, message = found
    return Finding(
        Verdict.RESOURCE_LIMIT, message, case.launch_lines.get(key), example=Example(case=case.name)
    )


def _too_much(launch: Launch, resources: Resources) -> tuple[str, str] | None:
    """The key of the launch that asks for too much, and a sentence."""
    shared = resources.shared_bytes + launch.shared
    if shared > SHARED_BYTES:
        asked = f"{byte_size(resources.shared_bytes)} declared and {byte_size(launch.shared)} given at launch"
        detail = f" ({asked})" if launch.shared else ""
        return (
            "shared",
            f"A block needs {byte_size(shared)} of shared memory{detail}; it can have {byte_size(SHARED_BYTES)}.",
        )
    per_thread = -(-resources.registers // _REGISTER_UNIT) * _REGISTER_UNIT
    threads = -(-launch.threads // _WARP) * _WARP
    if per_thread * threads > REGISTERS:
        message = (
            f"A block of {launch.threads} threads with {resources.registers} registers each needs"
            f" {per_thread * threads:,} registers; a multiprocessor has {REGISTERS:,}. Use a smaller block."
        )
        return "block", message
    return None
