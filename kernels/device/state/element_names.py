"""Names of memory as in the student's source: `Mds[0][3]`, `P[3][17]`."""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod

from kernels.device.state.space import Allocation
from kernels.facts import Element
from kernels.wording import plural

_BARRIER = 8
_LARGEST = 16
"""The bytes of the largest number or vector of numbers."""


@lru_cache(maxsize=2048)
def plain_name(symbol: str) -> str:
    """Return a variable's name in the source: `Mds` for `_ZZ15MatrixMulKernelPfS_S_iE3Mds`."""
    match = re.match(r"_ZZ.*?E(\d{1,4})(?=[A-Za-z_])", symbol)
    rest = symbol
    if match is None:
        match = re.match(r"_Z(?:N\d{0,4})?L?(\d{1,4})(?=[A-Za-z_])", symbol)
    if match is not None:
        rest = symbol[match.end() : match.end() + int(match.group(1))]
    return rest.split("#")[0].rpartition(":")[2] or symbol


def element_name(allocation: Allocation, offset: int) -> Element:
    """Name the element at a byte offset, with as many indices as the variable is known to have."""
    name = plain_name(allocation.name)
    if _is_local(name):
        return Element("", text=f"a local array (byte {offset})")
    element = allocation.element
    if not element:
        return Element(name, text=f"{name} (byte {offset:,})")
    if element > _LARGEST:
        index = offset // element
        return Element(name, (index,), f"{name}[{index}] (byte {offset % element:,})")
    if not allocation.shape and allocation.size == element and offset == 0:
        return Element(name)
    if not allocation.shape or prod(allocation.shape) * element != allocation.size:
        return Element(name, (offset // element,))
    return Element(name, tuple(_indices(offset // element, allocation.shape)))


def barrier_name(allocation: Allocation, offset: int) -> Element:
    """Name the barrier at a byte offset. In a structure, only the offset is known."""
    if allocation.shape or _BARRIER in {allocation.element, allocation.size}:
        return element_name(allocation, offset)
    name = plain_name(allocation.name)
    return Element(name, text=f"{name} (byte {offset:,})")


def elements_of(allocation: Allocation) -> int:
    """Return the number of elements of a variable; 0 for a thread's local arrays."""
    known = allocation.element and not _is_local(plain_name(allocation.name))
    return allocation.size // allocation.element if known else 0


def _is_local(name: str) -> bool:
    return name.startswith("__local_depot")


def whole_name(allocation: Allocation, sizes: str) -> str:
    """Name a variable with its size: `` `Mds` (256 elements) ``.

    sizes: of the case, which explain the number of elements; "" if unknown
    """
    name = plain_name(allocation.name)
    if _is_local(name):
        return f"the thread's local arrays ({plural(allocation.size, 'byte')})"
    elements = elements_of(allocation)
    extent = plural(elements, "element") if elements or not allocation.size else plural(allocation.size, "byte")
    size = ", ".join(filter(None, (extent, sizes)))
    return f"`{name}` ({size})"


def _indices(number: int, shape: tuple[int, ...]) -> list[int]:
    """Return row-major indices. Past the end, the first index keeps growing, like in the student's expression."""
    indices: list[int] = []
    for extent in reversed(shape[1:]):
        number, index = divmod(number, extent)
        indices.append(index)
    return [number, *reversed(indices)]
