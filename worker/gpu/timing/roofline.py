"""Detects results that are faster than the device can be, and so don't measure the whole work."""

from __future__ import annotations

from kernels.analysis.devices import Device, devices
from kernels.exercise import Operation, Role
from kernels.exercise.values import ElementType
from kernels.judging.inputs import factors
from kernels.judging.outcomes import size_text
from kernels.judging.plan import CasePlan
from kernels.measurement import Environment

_LANES = 128
_HALVES_OF_A_DOUBLE = 16
"""Tensor cores multiply so many numbers of half precision in the time of one double."""
_MEGABYTE = 2**20
_DEVICES = devices()  # read at import, because a runner can't open files after its lockdown


def operations(case: CasePlan) -> int:
    """Floating-point operations of a product by its definition, or as the exercise declares; 0 if it doesn't."""
    if case.operation is Operation.SOLUTION:
        return case.flops
    if case.operation is not Operation.MATMUL:
        return 0
    left, right = factors(case)
    return 2 * left.rows * left.columns * right.columns


def operand_bytes(case: CasePlan) -> int:
    """Bytes of all operands, each counted once, or as the exercise declares."""
    if case.moved:
        return case.moved
    counted = (matrix for matrix in case.matrices if matrix.role is not Role.SCRATCH)
    return sum(matrix.bytes * (2 if matrix.role is Role.INOUT else 1) for matrix in counted)


def elements(case: CasePlan) -> int:
    """Elements of all outputs, or as the exercise declares."""
    return case.worked or sum(matrix.elements for matrix in case.outputs)


def least_ms(case: CasePlan, environment: Environment) -> float:
    """A lower bound for the time of a launch on this device; 0 if the device is unknown.

    Caches are empty before each launch, so every input comes from memory. At the end of the launch, a part of the
    output may still be in the L2 cache.
    """
    if case.operation is Operation.ANALYSIS:
        return 0.0
    known = _DEVICES.get(environment.device_class)
    if case.operation is Operation.SOLUTION:
        return _least_memory_ms(case, environment)
    clock_mhz = max(environment.max_sm_mhz, known.clock_mhz if known is not None else 0)
    rate = 2 * _lanes(case, known) * environment.multiprocessors * clock_mhz * 1000
    compute = operations(case) / rate if rate else 0.0
    if known is None:
        return compute
    left = max(0, _bytes(case, Role.OUTPUT) - round(known.l2_mb * _MEGABYTE))
    return max(compute, (_bytes(case, Role.INPUT) + left) / known.memory_gbs / 1e6)


def _lanes(case: CasePlan, device: Device | None) -> float:
    """The multiply-adds of the factors' type that a multiprocessor starts in one clock; 0 if they are unknown."""
    factor = case.inputs_of_kernel[0].type
    if factor is ElementType.FLOAT:
        return device.fp32_lanes if device is not None else _LANES
    if device is None:
        return 0
    return device.tensor_macs / (_HALVES_OF_A_DOUBLE if factor is ElementType.DOUBLE else factor.bytes / 2)


def _least_memory_ms(case: CasePlan, environment: Environment) -> float:
    """The time for the declared bytes. Another algorithm may need fewer operations than the exercise declares."""
    known = _DEVICES.get(environment.device_class)
    if known is None:
        return 0.0
    cached = min(round(known.l2_mb * _MEGABYTE), _bytes(case, Role.OUTPUT) + _bytes(case, Role.INOUT))
    return max(0, case.moved - cached) / known.memory_gbs / 1e6


def implausible(case: CasePlan, ms: float, environment: Environment) -> str:
    """Why a time is implausible; "" if it is plausible."""
    least = least_ms(case, environment)
    if ms >= least and ms > 0:
        return ""
    return (
        f"{size_text(case)}: {ms:.4g} ms is less than the {least:.4g} ms that {environment.device} needs for this"
        " size at full speed. So this does not measure the whole work."
    )


def _bytes(case: CasePlan, role: Role) -> int:
    return sum(matrix.bytes for matrix in case.matrices if matrix.role is role)
