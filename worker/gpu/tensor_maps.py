"""Tensor maps for a GPU, encoded by its driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from kernels.exercise.tensor_map import INTERLEAVES, SWIZZLES, TensorMap
from kernels.exercise.values import ElementType

_BYTES, _ALIGNMENT = 128, 64
_TYPES = {  # CUtensorMapDataType
    **dict.fromkeys((ElementType.CHAR, ElementType.BYTE, ElementType.E4M3, ElementType.E5M2), 0),
    **dict.fromkeys((ElementType.SHORT, ElementType.UNSIGNED_SHORT), 1),
    ElementType.UNSIGNED: 2, ElementType.INT: 3, ElementType.LONG: 5, ElementType.HALF: 6,
    ElementType.FLOAT: 7, ElementType.DOUBLE: 8, ElementType.BFLOAT: 9,
}  # fmt: skip
_NO_PROMOTION = 0


def encoded(call: Callable[..., None], tensor_map: TensorMap, place: int) -> ctypes.Array[ctypes.c_char]:
    """The bytes of a map, as a kernel's parameter.

    call: calls a function of the driver by its name
    place: the address of the tensor
    """
    room = ctypes.create_string_buffer(_BYTES + _ALIGNMENT)
    made = (ctypes.c_char * _BYTES).from_buffer(room, -ctypes.addressof(room) % _ALIGNMENT)
    rank = len(tensor_map.box)
    call(
        "cuTensorMapEncodeTiled", made, _TYPES[tensor_map.type], rank, ctypes.c_void_p(place),
        (ctypes.c_uint64 * rank)(*tensor_map.extents), (ctypes.c_uint64 * rank)(*tensor_map.strides),
        (ctypes.c_uint32 * rank)(*tensor_map.box), (ctypes.c_uint32 * rank)(*(1 for _ in tensor_map.box)),
        INTERLEAVES.index(tensor_map.interleave), SWIZZLES.index(tensor_map.swizzle), _NO_PROMOTION,
        int(tensor_map.nan),
    )  # fmt: skip
    return made
