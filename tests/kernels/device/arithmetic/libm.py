"""The C library as an oracle: its fused multiply-add, and the processor's rounding modes."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Array = NDArray[Any]

_NAME = ctypes.util.find_library("m")
if _NAME is None or platform.machine() != "x86_64":
    pytest.skip("needs the C library's fma and its rounding modes", allow_module_level=True)
_LIBRARY = ctypes.PyDLL(_NAME)
_MODES = {"rn": 0, "rm": 0x400, "rp": 0x800, "rz": 0xC00}

_FMA: dict[type[Any], Any] = {np.float32: _LIBRARY.fmaf, np.float64: _LIBRARY.fma}
for _dtype, _ctype in ((np.float32, ctypes.c_float), (np.float64, ctypes.c_double)):
    _FMA[_dtype].argtypes = [_ctype] * 3
    _FMA[_dtype].restype = _ctype


@contextmanager
def rounding(mode: str) -> Iterator[None]:
    """Work in one of the processor's rounding modes; numpy's basic arithmetic follows it."""
    assert _LIBRARY.fesetround(_MODES[mode]) == 0
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _LIBRARY.fesetround(0)


def fma(mode: str, a: Array, b: Array, c: Array) -> Array:
    """a * b + c by the C library, lane by lane."""
    columns = [operand.ravel().tolist() for operand in np.broadcast_arrays(a, b, c)]
    with rounding(mode):
        values = list(map(_FMA[a.dtype.type], *columns))
    return np.array(values, a.dtype).reshape(np.broadcast_shapes(a.shape, b.shape, c.shape))
