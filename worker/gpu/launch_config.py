"""The driver's description of a launch with clusters, which the plain call for a launch can't express."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

from kernels.launch import Launch

_CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
_VALUE_BYTES = 64


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: its value is a union, of which a cluster's extents are the first three numbers."""

    _fields_: ClassVar[Any] = [
        ("id", ctypes.c_uint),
        ("padding", ctypes.c_uint),
        ("value", ctypes.c_uint * (_VALUE_BYTES // 4)),
    ]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig, for `cuLaunchKernelEx`."""

    _fields_: ClassVar[Any] = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    ]


def launch_config(launch: Launch) -> LaunchConfig:
    """The description of a launch on the default stream. It keeps its attributes alive."""
    attribute = _Attribute(_CLUSTER_DIMENSION)
    attribute.value[:3] = launch.cluster
    triple = ctypes.c_uint * 3
    return LaunchConfig(triple(*launch.grid), triple(*launch.block), launch.shared, None, ctypes.pointer(attribute), 1)
