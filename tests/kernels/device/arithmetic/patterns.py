"""Lane arrays to try arithmetic on: random bits, ordinary numbers, and the awkward values of each type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.device.arithmetic import NUMPY_TYPES, operation

Array = NDArray[Any]

_AWKWARD = {
    np.float16: [0.0, 1.0, 6e-8, 6.1e-5, 65504.0, np.inf, np.nan, 1.001, 0.5, 3.0],
    np.float32: [0.0, 1.0, 2.0**-149, 2.0**-126, 2.0**-126 - 2.0**-149, 3.4028234663852886e38, np.inf, np.nan,
                 1 + 2.0**-23, 1 - 2.0**-24, 0.5, 2.5, 16777216.0, 16777217.0, 2.0**31, 2.0**63, 3.0],
    np.float64: [0.0, 1.0, 5e-324, 2.0**-1022, 2.0**-1022 - 5e-324, 1.7976931348623157e308, np.inf, np.nan,
                 1 + 2.0**-52, 0.5, 2.5, 2.0**31, 2.0**32 - 0.5, 2.0**53, 2.0**63, 2.0**64, 3.0],
}  # fmt: skip


def arrays(type_name: str, lanes: int, count: int, seed: int = 1) -> tuple[Array, ...]:
    """count lane arrays of a PTX type, of shape (lanes / 64, 64)."""
    rng = np.random.default_rng(seed)
    return tuple(_array(NUMPY_TYPES[type_name], lanes, rng).reshape(-1, 64) for _ in range(count))


def _array(dtype: type[Any], lanes: int, rng: np.random.Generator) -> Array:
    if dtype is np.bool_:
        return rng.random(lanes) < 0.5
    bits = rng.integers(0, 256, lanes * np.dtype(dtype).itemsize, np.uint8).view(dtype)
    third = lanes // 3
    if np.dtype(dtype).kind == "f":
        awkward = np.array([sign * value for value in _AWKWARD[dtype] for sign in (1, -1)], dtype)
        bits[:third] = rng.choice(awkward, third)
        bits[third : 2 * third] = (rng.standard_normal(third) * 8).astype(dtype)
    else:
        info = np.iinfo(dtype)
        middle = info.max // 2 + 1
        near = np.array([info.min, info.min + 1, info.max, info.max - 1, middle, 0, 1, 2, 7, 31, 32, 33], dtype)
        bits[:third] = rng.choice(near, third)
    return rng.permutation(bits)


def run(opcode: str, *operands: Array) -> Any:
    """Look an opcode up, check it against the operands, and apply it."""
    found = operation(opcode)
    assert found is not None, opcode
    assert len(found.sources) == len(operands)
    with np.errstate(all="ignore"):
        result = found.function(*operands)
    assert result.dtype == NUMPY_TYPES[str(found.result)]
    return result


def differences(got: Array, wanted: Array) -> int:
    """Lanes whose bits differ; any NaN equals any NaN."""
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    bits = np.dtype(f"u{got.dtype.itemsize}")
    different = np.ascontiguousarray(got).view(bits) != np.ascontiguousarray(wanted).view(bits)
    if got.dtype.kind == "f":
        different &= ~(np.isnan(got) & np.isnan(wanted))
    return int(different.sum())


def lanewise(function: Callable[..., Any], result: str, *operands: Array) -> Array:
    """Apply a function of Python numbers to every lane."""
    shape = np.broadcast_shapes(*(operand.shape for operand in operands))
    columns = (np.broadcast_to(operand, shape).ravel().tolist() for operand in operands)
    values = list(map(function, *columns))
    if NUMPY_TYPES[result] in (np.float32, np.float64, np.bool_):
        plain: Array = np.array(values, NUMPY_TYPES[result])
        return plain.reshape(shape)
    mask = (1 << 8 * np.dtype(NUMPY_TYPES[result]).itemsize) - 1
    unsigned = np.array([value & mask for value in values], np.uint64)
    own: Array = unsigned.astype(f"u{np.dtype(NUMPY_TYPES[result]).itemsize}").view(NUMPY_TYPES[result])
    return own.reshape(shape)
