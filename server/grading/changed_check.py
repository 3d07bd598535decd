"""What a point of an experiment or a trial changes in its check: stored with its step, and sent to a worker."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass

from kernels.exercise.trial import Trial
from kernels.wire import WireError, from_plain, to_plain
from worker.contract.measure_work import Repeats

_MOST_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class ChangedCheck:
    """An exercise's definition with other sizes and macros. digest: of this definition, with the judge's version.

    evidence: whether an accepted kernel is counted too
    repeats: of its measurement; None for the usual number
    trial: one run in place of all cases
    """

    definition: str
    digest: str
    evidence: bool
    repeats: Repeats | None = None
    trial: Trial | None = None


def pack_changed(changed: ChangedCheck) -> bytes:
    return zlib.compress(json.dumps(to_plain(changed)).encode())


def unpack_changed(packed: bytes) -> ChangedCheck:
    """Read it back; raises ValueError for anything else."""
    try:
        plain = zlib.decompressobj().decompress(packed, _MOST_BYTES)
        return from_plain(ChangedCheck, json.loads(plain), lenient=True)
    except (zlib.error, WireError) as error:
        raise ValueError(str(error)) from error
