"""Stored reports: compressed JSON with a size limit."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kernels.evidence import Evidence
from kernels.report import Report
from kernels.report.model import to_json

REPORT_BYTES = 4 * 2**20
PLAIN_BYTES = 64 * 2**20
"""The largest unpacked report, the same as for messages over the broker."""

_FINDINGS = 100


class ReportError(ValueError):
    """The stored bytes aren't a report; the text says why."""


def pack(report: Report, limit: int = REPORT_BYTES) -> bytes:
    """Compress a report, and shorten it until it fits.

    The verdict stays. Details go first: PTX and machine code, the evidence, then compiler warnings and printed text,
    then the least important findings.
    """
    for smaller in _smaller(report):
        plain = json.dumps(to_json(smaller), separators=(",", ":")).encode()
        if len(plain) <= PLAIN_BYTES:
            packed = zlib.compress(plain, 6)
            if len(packed) <= limit:
                return packed
    raise ReportError("even the shortest form of the report is too large")


def unpack(packed: bytes) -> dict[str, Any]:
    """Unpack the object that `tilelab grade --json` prints, in the format of the version that recorded it."""
    unpacker = zlib.decompressobj()
    try:
        # A few bytes may unpack to gigabytes, so the limit applies while unpacking.
        plain = unpacker.decompress(packed, PLAIN_BYTES)
        if not unpacker.eof:
            raise ReportError("longer than allowed, or cut off")
        found = json.loads(plain)
    except (zlib.error, ValueError) as error:
        raise ReportError(str(error)) from error
    if not isinstance(found, dict):
        raise ReportError("not a JSON object")
    return found


def _smaller(report: Report) -> Iterator[Report]:
    yield report
    report = replace(report, ptx=(), evidence=replace(report.evidence, sass=()))
    yield report
    without = replace(report, evidence=Evidence())
    yield without
    without = replace(without, warnings=(), printed="", printed_case=None)
    yield without
    without = replace(without, findings=without.findings[:_FINDINGS])
    yield without
    yield replace(
        without,
        message=without.message[:2000],
        findings=(),
        checks=(),
        isolation=(),
        unmade_checks=(),
        measurement=replace(report.measurement, curve=(), left_out=(), remarks=())
        if report.measurement is not None
        else None,
    )
