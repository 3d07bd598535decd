"""The stored result of a point: packed for the database, and read back."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

from kernels.experiment.result import PointResult, from_json, to_json
from kernels.wire import WireError
from server.experiments.models import RESULT_BYTES

_LONGEST_MESSAGE = 2000
_PLAIN_BYTES = 2**20


def pack_result(result: PointResult) -> bytes:
    """Compress a result. One that is too large loses its finding."""
    packed = _packed(replace(result, message=result.message[:_LONGEST_MESSAGE]))
    return packed if len(packed) <= RESULT_BYTES else _packed(replace(result, message="", finding=None))


def unpack_result(packed: bytes) -> PointResult:
    """Read a result back; raises ValueError."""
    try:
        return from_json(json.loads(zlib.decompressobj().decompress(packed, _PLAIN_BYTES)))
    except (zlib.error, WireError) as error:
        raise ValueError(str(error)) from error


def _packed(result: PointResult) -> bytes:
    return zlib.compress(json.dumps(to_json(result), separators=(",", ":")).encode())
