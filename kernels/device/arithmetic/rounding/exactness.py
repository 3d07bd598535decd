"""Asks the processor whether floating-point operations since a given point were exact.

IEEE 754 hardware keeps sticky flags. If a float32 product and sum leave "inexact" clear, they are exact on every lane.
Then rounding twice equals rounding once, so the fused result is already there. Grading mainly uses integers, for which
this is several times cheaper than float64.

Other code may also set the flag, which only costs time. At import, a probe checks that an inexact lane never leaves it
clear. If it does, or the C library doesn't give access to the flags, the answer is always "perhaps not".
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

# FE_INEXACT and FE_UNDERFLOW of <fenv.h>. A machine that isn't listed uses the slower way.
_FLAGS = {"x86_64": (0x20, 0x10), "aarch64": (0x10, 0x08), "arm64": (0x10, 0x08)}

INEXACT, UNDERFLOW = _FLAGS.get(platform.machine(), (0, 0))

Flags = Callable[[int], int]


def _library() -> tuple[Flags, Flags] | None:
    """Return the C library's feclearexcept and fetestexcept, which the interpreter has already loaded."""
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
    """Yield work in which exactly one lane, or one column, raises a flag, with the flag."""
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
    """Whether the flags show a single lane at any position, and stay clear after exact work."""
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


# clear(flags) lowers them; raised(flags) is zero only if nothing has raised one of them since.
clear, raised = _choose()
