"""What goes over the broker: steps to workers, results back. Versioned data classes, checked at both ends.

A message is one string: compressed JSON in base64, bounded before and after it is unpacked, for whoever can write to
the broker could write anything.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from kernels.report import Report
from kernels.verdict import Verdict
from kernels.wire import WireError, from_plain, to_plain
from worker.contract.measure_work import MeasureRequest

T = TypeVar("T")

VERSION = 2
"""Of the messages. A worker refuses another; raise it when a field changes."""

MESSAGE_BYTES = 16 * 2**20
PLAIN_BYTES = 16 * 2**20
"""When unpacked."""

WORK_BYTES = 15 * 2**20
"""Of packed measure work: a message holds more than that."""

PLAIN_MARKS = 500_000
"""Commas and opening brackets, counted before anything is read: a value of JSON takes one of them, and up to 150 bytes
of memory where it takes three in the message. A right kernel's result has about 10,000."""

CPU_QUEUE = "cpu"
RESULTS_QUEUE = "results"


def gpu_queue(device_class: str) -> str:
    """The queue of the measure steps for a device class."""
    return f"gpu.{device_class}"


class StepKind(StrEnum):
    """The steps that are sent one by one. `check` compiles, judges and counts in one go, on one machine."""

    CHECK = "check"
    MEASURE = "measure"


class MessageError(ValueError):
    """The message is none that this version understands; the text says why."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One attempt at one step. token: random, known only to whom it was sent."""

    job: int
    kind: StepKind
    token: str


class UnreadableError(MessageError):
    """It came from another version, as it seems; ticket: whose attempt it was, where that can be read."""

    def __init__(self, text: str, ticket: Ticket | None) -> None:
        super().__init__(text)
        self.ticket = ticket


class OtherVersionError(UnreadableError):
    """It says itself that it is of another version: who sent it is right, and so is who cannot read it."""


@dataclass(frozen=True, slots=True)
class ExerciseText:
    """An exercise that a worker need not have; digest: as the server knows it, judge's version included."""

    name: str
    definition: str
    digest: str


@dataclass(frozen=True, slots=True)
class CheckWork:
    """A source to compile and to judge.

    source: the file's bytes in base64
    device_class: what it is measured on if it passes; "" for nothing
    evidence: whether an accepted kernel is looked at more closely
    """

    source: str
    exercise: ExerciseText
    arch: str
    device_class: str
    seed: str
    tile: int | None = None
    evidence: bool = True


@dataclass(frozen=True, slots=True)
class MeasureWork:
    """A kernel that passed its check, to be judged and measured on a GPU.

    report: of the check; digests: of the PTX that was checked, by module
    compared: whether the exercise says what is right
    """

    request: MeasureRequest
    report: Report
    digests: tuple[str, ...]
    compared: bool


@dataclass(frozen=True, slots=True)
class PackedWork:
    """What a check leaves to a GPU. Only the worker that measures unpacks it.

    verdict: of the check; digests: of the PTX that was checked, by module
    packed: encode(MeasureWork), which holds the report of the check
    """

    verdict: Verdict
    digests: tuple[str, ...]
    packed: str


@dataclass(frozen=True, slots=True)
class StepMessage:
    """One attempt at a step, with all that it takes. One of `check` and `measure` is there, by the ticket's kind.

    attempt: from 1
    measure: `packed` of PackedWork
    lease_seconds: a worker that has not beaten for so long has lost the step
    """

    ticket: Ticket
    attempt: int
    lease_seconds: float
    check: CheckWork | None = None
    measure: str | None = None
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class StepResult:
    """How an attempt ended: with a report, with work for a GPU, or with a fault that is not the submission's.

    measure: the kernel passed its check, and a GPU has to go on
    fault: why there is neither, in words for staff; "" where there is one
    given_back: nothing is wrong, the worker stops: the step is to be done elsewhere, and this attempt does not count
    seconds: that the step took; busy_ms: how long a GPU was at work for it
    """

    ticket: Ticket
    worker: str
    report: Report | None
    measure: PackedWork | None = None
    fault: str = ""
    given_back: bool = False
    seconds: float = 0.0
    busy_ms: float = 0.0
    version: int = VERSION


def pack_work(work: MeasureWork) -> PackedWork:
    """The work as it is sent and stored; raises MessageError where it is too large."""
    packed = encode(work)
    if len(packed) > WORK_BYTES:
        raise MessageError(f"the measure work has {len(packed):,} bytes, {WORK_BYTES:,} are allowed")
    return PackedWork(work.report.verdict, work.digests, packed)


def encode(message: object) -> str:
    """The message as it is sent; raises MessageError where it is too large."""
    plain = json.dumps(to_plain(message), separators=(",", ":")).encode()
    if len(plain) > PLAIN_BYTES:
        raise MessageError(f"{type(message).__name__} has {len(plain):,} bytes, {PLAIN_BYTES:,} are allowed")
    if _marks(plain) > PLAIN_MARKS:
        raise MessageError(f"{type(message).__name__} has too many values, {PLAIN_MARKS:,} are allowed")
    packed = base64.b64encode(zlib.compress(plain, 6))
    if len(packed) > MESSAGE_BYTES:
        raise MessageError(
            f"{type(message).__name__} has {len(packed):,} bytes, {MESSAGE_BYTES:,} are allowed"
        )
    return packed.decode()


def decode(cls: type[T], text: object) -> T:
    """The message back; raises MessageError where it is none, or of another version."""
    if not isinstance(text, str) or len(text) > MESSAGE_BYTES:
        raise MessageError(f"{cls.__name__}: no text, or too long")
    try:
        plain = json.loads(_unpacked(base64.b64decode(text, validate=True)))
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise MessageError(f"{cls.__name__}: {error}") from error
    try:
        if isinstance(plain, dict) and plain.get("version", VERSION) != VERSION:
            raise OtherVersionError(
                f"{cls.__name__}: version {str(plain['version'])[:20]} came, {VERSION} is known here",
                _ticket(plain),
            )
        return from_plain(cls, plain)
    except WireError as error:
        raise UnreadableError(str(error), _ticket(plain)) from error


def _ticket(plain: object) -> Ticket | None:
    try:
        return from_plain(Ticket, plain["ticket"]) if isinstance(plain, dict) else None
    except (WireError, KeyError):
        return None


def _unpacked(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    plain = unpacker.decompress(packed, PLAIN_BYTES)
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise MessageError("longer than allowed when unpacked, or cut off")
    if _marks(plain) > PLAIN_MARKS:
        raise MessageError(f"more values than the {PLAIN_MARKS:,} that are allowed")
    return plain


def _marks(plain: bytes) -> int:
    """How many values it has at the most; those within texts count, too."""
    return plain.count(b",") + plain.count(b"[") + plain.count(b"{")
