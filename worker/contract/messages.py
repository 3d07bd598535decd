"""Messages over the broker: steps to workers, and results back. Versioned data classes, checked at both ends.

A message is one string of compressed JSON in base64. Its size is limited before and after unpacking, because the
broker's content is untrusted.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from kernels.exercise.trial import Trial
from kernels.report import Report
from kernels.verdict import Verdict
from kernels.wire import WireError, from_plain, to_plain
from worker.contract.measure_work import MeasureRequest, Repeats

T = TypeVar("T")

VERSION = 10
"""The messages' version. A worker refuses other versions. Raise it when a field changes."""

MESSAGE_BYTES = 16 * 2**20
PLAIN_BYTES = 16 * 2**20
"""Limit for an unpacked message."""

WORK_BYTES = 15 * 2**20
"""Limit for packed measure work, which is only a part of its message."""

PLAIN_MARKS = 500_000
"""Limit for commas and opening brackets, counted before parsing.

Each JSON value needs one. Three bytes of a message may take 150 bytes of memory. The result of an accepted
kernel has about 10,000."""

CPU_QUEUE = "cpu"
RESULTS_QUEUE = "results"


def gpu_queue(device_class: str) -> str:
    return f"gpu.{device_class}"


def is_gpu_queue(queue: str) -> bool:
    return queue.startswith(gpu_queue(""))


class StepKind(StrEnum):
    """Steps that are sent separately. `check` compiles, judges and counts on one machine."""

    CHECK = "check"
    MEASURE = "measure"


class MessageError(ValueError):
    """This version can't read the message; the text says why."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One attempt at one step. token: random, known only to the worker that received it."""

    job: int
    kind: StepKind
    token: str


class UnreadableError(MessageError):
    """The message probably comes from another version. ticket: its attempt, if that is readable."""

    def __init__(self, text: str, ticket: Ticket | None) -> None:
        super().__init__(text)
        self.ticket = ticket


class OtherVersionError(UnreadableError):
    """The message names another version, so neither sender nor receiver failed."""


@dataclass(frozen=True, slots=True)
class ExerciseText:
    """An exercise in a message, so that workers needn't have it. digest: the server's, with the judge's version."""

    name: str
    definition: str
    digest: str


@dataclass(frozen=True, slots=True)
class CheckWork:
    """A source to compile and judge.

    source: the file's bytes in base64
    device_class: measured there if it passes; "" to measure nothing
    evidence: analyse an accepted kernel further
    repeats: of the measurement; None for the usual number
    trial: one run at these sizes and values, in place of all cases
    """

    source: str
    exercise: ExerciseText
    arch: str
    device_class: str
    seed: str
    tile: int | None = None
    evidence: bool = True
    repeats: Repeats | None = None
    trial: Trial | None = None


@dataclass(frozen=True, slots=True)
class MeasureWork:
    """A kernel that passed its check, to judge and measure on a GPU.

    report: of the check; digests: of the checked PTX, by module
    compared: the exercise defines the correct result
    source: as in CheckWork
    """

    request: MeasureRequest
    report: Report
    digests: tuple[str, ...]
    compared: bool
    source: str = ""


@dataclass(frozen=True, slots=True)
class PackedWork:
    """A check's work for a GPU. Only the worker that measures unpacks it.

    verdict: of the check; digests: of the checked PTX, by module
    packed: encode(MeasureWork), with the report of the check
    """

    verdict: Verdict
    digests: tuple[str, ...]
    packed: str


@dataclass(frozen=True, slots=True)
class StepMessage:
    """One attempt at a step with all its data: `check` or `measure`, by the ticket's kind.

    attempt: from 1
    measure: `packed` of PackedWork
    lease_seconds: a worker without a heartbeat for this long has lost the step
    """

    ticket: Ticket
    attempt: int
    lease_seconds: float
    check: CheckWork | None = None
    measure: str | None = None
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class StepResult:
    """How an attempt ended: with a report, with work for a GPU, or with a system error.

    measure: the kernel passed its check, and a GPU must continue
    fault: why there is neither, for course staff; otherwise ""
    given_back: the worker stops, so the step runs elsewhere and this attempt doesn't count
    graded: digest of the work that the worker did, from check_digest or measure_digest; "" without a report
    seconds: duration of the step; busy_ms: GPU time
    """

    ticket: Ticket
    worker: str
    report: Report | None
    measure: PackedWork | None = None
    graded: str = ""
    fault: str = ""
    given_back: bool = False
    seconds: float = 0.0
    busy_ms: float = 0.0
    version: int = VERSION


def check_digest(work: CheckWork, source_digest: str) -> str:
    """SHA-256 of all that decides a check: source, exercise and settings.

    source_digest: SHA-256 of the source's bytes, which `work` needn't hold then
    """
    plain = to_plain(replace(work, source=source_digest))
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def measure_digest(packed: bytes) -> str:
    """SHA-256 of packed measure work."""
    return hashlib.sha256(packed).hexdigest()


def graded_digest(message: StepMessage) -> str:
    if message.check is not None:
        source = base64.b64decode(message.check.source)
        return check_digest(message.check, hashlib.sha256(source).hexdigest())
    return measure_digest(message.measure.encode()) if message.measure is not None else ""


def pack_work(work: MeasureWork) -> PackedWork:
    """Pack work for sending and storing. Raises MessageError if it is too large."""
    packed = encode(work)
    if len(packed) > WORK_BYTES:
        raise MessageError(f"the measure work has {len(packed):,} bytes; the limit is {WORK_BYTES:,}")
    return PackedWork(work.report.verdict, work.digests, packed)


def encode(message: object) -> str:
    """Encode a message for sending. Raises MessageError if it is too large."""
    plain = json.dumps(to_plain(message), separators=(",", ":")).encode()
    if len(plain) > PLAIN_BYTES:
        raise MessageError(f"{type(message).__name__} has {len(plain):,} bytes; the limit is {PLAIN_BYTES:,}")
    if _marks(plain) > PLAIN_MARKS:
        raise MessageError(f"{type(message).__name__} has too many values; the limit is {PLAIN_MARKS:,}")
    packed = base64.b64encode(zlib.compress(plain, 6))
    if len(packed) > MESSAGE_BYTES:
        raise MessageError(f"{type(message).__name__} has {len(packed):,} bytes; the limit is {MESSAGE_BYTES:,}")
    return packed.decode()


def decode(cls: type[T], text: object) -> T:
    """Decode a message. Raises MessageError if it isn't valid or has another version."""
    if not isinstance(text, str) or len(text) > MESSAGE_BYTES:
        raise MessageError(f"{cls.__name__}: not text, or too long")
    try:
        plain = json.loads(_unpacked(base64.b64decode(text, validate=True)))
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise MessageError(f"{cls.__name__}: {error}") from error
    try:
        if isinstance(plain, dict) and plain.get("version", VERSION) != VERSION:
            raise OtherVersionError(
                f"{cls.__name__}: has version {str(plain['version'])[:20]}, but this is version {VERSION}",
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
        raise MessageError("too long when unpacked, or cut off")
    if _marks(plain) > PLAIN_MARKS:
        raise MessageError(f"too many values; the limit is {PLAIN_MARKS:,}")
    return plain


def _marks(plain: bytes) -> int:
    """An upper bound for the number of values. It also counts commas and brackets within strings."""
    return plain.count(b",") + plain.count(b"[") + plain.count(b"{")
