"""What a kernel prints, and its assertions. Bounded: a kernel that prints without end fills a page, not the disk."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import numpy as np

from kernels.device.access import Step
from kernels.device.locate import Site, split
from kernels.device.machine import Machine
from kernels.device.mask import Mask
from kernels.device.memory import Allocation
from kernels.device.parts import read_part
from kernels.device.values import Value, uniform
from kernels.verdict import Example, Verdict

MAX_PRINTED = 16 * 1024
_MAX_STRING = 1024
_MAX_CONVERSIONS = 32
_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<precision>\d*))?(?P<length>hh|h|ll|l|z|j|t)?(?P<kind>.)"
)


class Printer:
    """Collects the output of all threads, up to a limit."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._left = MAX_PRINTED
        self.dropped = 0

    @property
    def full(self) -> bool:
        """Whether nothing more is kept."""
        return self._left <= 0

    def write(self, text: str) -> None:
        """Adds text, cut at the limit."""
        self._pieces.append(text[: self._left])
        self._left -= len(text)

    def text(self) -> str:
        """All that was printed."""
        ending = f"\n... and {self.dropped:,} more calls of printf" if self.dropped else ""
        return "".join(self._pieces) + ending


class TrapError(Exception):
    """The kernel stopped itself: nothing after that counts."""


def print_step(pc: int, line: int | None, passed: tuple[str, ...], returned: tuple[str, ...]) -> Step:
    """printf: `passed` are the variables that hold the format and the address of the arguments."""

    def run(machine: Machine, mask: Mask | None) -> None:
        lanes = machine.active(mask)
        blocks = machine.shape.blocks
        ordered = lanes[np.lexsort((lanes // blocks, lanes % blocks))]
        for number, lane in enumerate(ordered):
            if machine.output.full:
                machine.output.dropped += len(ordered) - number
                break
            where = [_pointer(machine, name, int(lane)) for name in passed]
            template = _string(machine, where[0])
            machine.output.write(_format(template, _arguments(machine, pc, line, where[1], int(lane))))
        for name in returned:
            allocation = machine.memory.by_name[name]
            allocation.words[...] = 1
            if allocation.valid is not None:
                allocation.valid[...] = True

    return run


def assert_step(line: int | None, passed: tuple[str, ...]) -> Step:
    """A failed assertion ends the kernel."""

    def run(machine: Machine, mask: Mask | None) -> None:
        lane = int(machine.active(mask)[0])
        text = _string(machine, _pointer(machine, passed[0], lane)) if passed else ""
        count = machine.shape.lanes if mask is None else mask.count
        stop(machine, line, lane, count, f"the assertion `{text}` does not hold")

    return run


def stop(machine: Machine, line: int | None, lane: int, count: int, why: str) -> None:
    """Ends the whole kernel with a runtime error."""

    def describe() -> tuple[Example, str]:
        block, thread = machine.who(lane)
        return Example(block, (thread,), None), f"{machine.lane_name(lane)} stops the kernel: {why}"

    machine.findings.add(Verdict.RUNTIME_ERROR, line, count, describe)
    raise TrapError


def _pointer(machine: Machine, variable: str, lane: int) -> int:
    """The address that a parameter variable of a call holds for one thread."""
    data = _bytes(machine, variable, lane)
    return int.from_bytes(data, "little")


def _bytes(machine: Machine, variable: str, lane: int) -> bytes:
    allocation = machine.memory.by_name[variable]
    thread, block = divmod(lane, machine.shape.blocks)
    words = allocation.words.reshape(len(allocation.words), -1)
    column = thread * machine.shape.blocks + block if words.shape[1] > 1 else 0
    return np.ascontiguousarray(words[:, column]).tobytes()[:8]


def _string(machine: Machine, address: int) -> str:
    """The text at a global address, up to its end or a limit."""
    allocation: Allocation | None = machine.memory.find("global", address)
    if allocation is None or allocation.copies or address < allocation.start:
        return ""
    start = address - allocation.start
    data = allocation.words.tobytes()[start : min(allocation.size, start + _MAX_STRING)]
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def _arguments(
    machine: Machine, pc: int, line: int | None, address: int, lane: int
) -> Callable[[int, int], bytes]:
    """Reads the argument of a given size at a given offset."""

    def read(offset: int, size: int) -> bytes:
        site = Site(pc, line, "generic", size, store=False)
        one = np.zeros((machine.shape.threads, machine.shape.blocks), np.bool_)
        one.reshape(-1)[lane] = True
        value: Value = uniform(address, 64)
        for part in split(machine, site, value, offset, Mask(one, 1)):
            return read_part(machine, part, size)[0].tobytes()
        return bytes(size)

    return read


def _format(template: str, read: Callable[[int, int], bytes]) -> str:
    """C's printf for the conversions that device code knows."""
    offset = 0
    seen = 0

    def convert(match: re.Match[str]) -> str:
        nonlocal offset, seen
        kind = match["kind"]
        if kind == "%":
            return "%"
        seen += 1
        if seen > _MAX_CONVERSIONS:
            return ""
        wide = kind in "feEgGaApsF" or (match["length"] or "") in {"l", "ll", "z", "j", "t"}
        size = 8 if wide else 4
        offset += -offset % size
        data = read(offset, size)
        offset += size
        return _converted(match, data)

    return _CONVERSION.sub(convert, template)


def _converted(match: re.Match[str], data: bytes) -> str:
    kind = match["kind"]
    width = str(min(int(match["width"] or 0), 200)) if match["width"] else ""
    precision = f".{min(int(match['precision'] or 0), 100)}" if match["precision"] is not None else ""
    head = "%" + match["flags"] + width
    if kind in "feEgGF":
        number: float = struct.unpack("<d", data)[0]
        return (head + precision + kind) % number
    if kind in "di":
        return (head + precision + "d") % int.from_bytes(data, "little", signed=True)
    if kind in "uoxX":
        return (head + precision + ("d" if kind == "u" else kind)) % int.from_bytes(data, "little")
    if kind == "c":
        return chr(data[0])
    if kind == "p":
        return f"0x{int.from_bytes(data, 'little'):x}"
    return match.group()
