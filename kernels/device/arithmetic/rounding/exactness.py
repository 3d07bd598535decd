"""Asks the processor whether floating-point work since a given point was exact.

IEEE 754 hardware keeps sticky flags. A product and a sum in float32 that leave "inexact" clear are exact on every
lane, so rounding twice equals rounding once and the fused result is already there: for the integers that grading
mostly uses, this is several times cheaper than going through float64. The flag may be set for no reason of ours,
which only costs time. That no inexact lane leaves it clear is probed at import; where one does, or where the C
library does not show the flags, every question is answered "perhaps not" and the slower way is taken.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

# FE_INEXACT and FE_UNDERFLOW of <fenv.h>; a machine that is not listed takes the slower way.
_FLAGS = {"x86_64": (0x20, 0x10), "aarch64": (0x10, 0x08), "arm64": (0x10, 0x08)}

INEXACT, UNDERFLOW = _FLAGS.get(platform.machine(), (0, 0))

Flags = Callable[[int], int]


def _library() -> tuple[Flags, Flags] | None:
    """The C library's feclearexcept and fetestexcept, from what the interpreter has loaded already."""
    try:
        library = ctypes.PyDLL(None)
        clear, test = library.feclearexcept, library.fetestexcept
    except (AttributeError, OSError, TypeError):
        return None
    for function in (clear, test):
        function.argtypes = [ctypes.c_int]
        function.restype = ctypes.c_int
    return clear, test


def _inexact_works(columns: int, place: int) -> Iterator[tuple[int, Callable[[], Any]]]:
    """Work in which exactly one lane, or one column, raises a flag, and the flag."""
    for dtype in (np.float32, np.float64):
        one = np.ones((2, columns), dtype)
        one[1, place] += np.finfo(dtype).eps
        small = np.zeros((2, columns), dtype)
        small[1, place] = np.finfo(dtype).eps / 8
        yield INEXACT, partial(np.multiply, one, one)
        yield INEXACT, partial(np.add, one, small)
        yield INEXACT, partial(np.multiply, one[:, place : place + 1], one[1:])
    tiny = np.zeros((2, columns))
    tiny[1, place] = 2.0**-130 * (1 + 2.0**-40)
    yield UNDERFLOW, partial(tiny.astype, np.float32)


def _shows(clear: Flags, test: Flags) -> bool:
    """Whether the flags show a single lane wherever it stands, and stay clear after exact work."""
    ones = np.ones((2, 33), np.float32)
    clear(INEXACT | UNDERFLOW)
    (ones.astype(np.float64) * ones[:, :1] + ones[:1]).astype(np.float32)
    if test(INEXACT | UNDERFLOW):
        return False
    for columns in (1, 7, 19):
        for place in range(columns):
            for flag, work in _inexact_works(columns, place):
                clear(flag)
                work()
                if not test(flag):
                    return False
    return True


def _choose() -> tuple[Flags, Flags]:
    found = _library()
    if INEXACT and found:
        with np.errstate(all="ignore"):
            if _shows(*found):
                return found
    return (lambda flags: 0), (lambda flags: flags)


# clear(flags) lowers them; raised(flags) is zero only if nothing since then raised one of them.
clear, raised = _choose()
