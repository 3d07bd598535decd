"""Memory as one thread sees it, byte by byte, for printf."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernels.device.memory.locate import Site, split
from kernels.device.memory.parts import read_part
from kernels.device.ptx.pointers import GENERIC_SHIFT
from kernels.device.state.accesses import Part
from kernels.device.state.element_names import element_name
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask
from kernels.device.state.space import Allocation
from kernels.device.state.values import uniform
from kernels.facts import Element
from kernels.verdict import Example, Verdict

MAX_STRING = 1024
_SPACES = {1: "shared", 2: "local"}
_PIECES = (64, MAX_STRING)


class ThreadView:
    """The memory that an instruction reads for one thread. Forbidden reads are reported and skipped."""

    def __init__(self, machine: Machine, site: Site, lane: int) -> None:
        self._machine = machine
        self._site = site
        self._lane = lane

    def holds(self, address: int, size: int) -> bool:
        return self._find(address, size) is not None

    def read(self, address: int, size: int) -> bytes:
        found = self._find(address, size)
        if found is None:
            self._report(address, size)
            return bytes(size)
        allocation, offset = found
        part = Part(allocation, np.array([offset]), np.array([self._lane], np.intp))
        return read_part(self._machine, part, size)[0].tobytes()

    def text(self, address: int) -> str:
        """Return the text at an address, up to its end or a limit. The kernel doesn't make this access, so it can't
        race.
        """
        found = self._find(address, 1)
        if found is None:
            self._report(address, 1)
            return ""
        allocation, offset = found
        # Most texts are short, so the first look reads few bytes.
        for most in _PIECES:
            length = min(allocation.size - offset, most)
            every = self._part(allocation, offset, length)
            data, valid = read_part(self._machine, every, 1)
            text, end, _ = data.tobytes().partition(b"\0")
            if end or length < most:
                break
        used = len(text) + len(end)
        if valid is not None and not valid[:used].all():
            used = int(np.flatnonzero(~valid[:used])[0])
            self._report_unset(element_name(allocation, offset + used))
        elif not end and length < MAX_STRING:
            self._report(address + length, 1)
        return text[:used].decode("utf-8", "replace")

    def _part(self, allocation: Allocation, offset: int, length: int) -> Part:
        return Part(allocation, offset + np.arange(length), np.full(length, self._lane, np.intp))

    def _find(self, address: int, size: int) -> tuple[Allocation, int] | None:
        """Return the variable at a generic address, and the offset in it."""
        window = address >> GENERIC_SHIFT
        space = _SPACES.get(window, "global")
        place = address if space == "global" else address - (window << GENERIC_SHIFT)
        allocation = self._machine.memory.find(space, place)
        if allocation is None:
            return None
        offset = place - allocation.start
        inside = 0 <= offset <= allocation.size - size and offset % size == 0
        return (allocation, offset) if inside else None

    def _report(self, address: int, size: int) -> None:
        one = np.zeros((self._machine.shape.threads, self._machine.shape.blocks), np.bool_)
        one.reshape(-1)[self._lane] = True
        list(split(self._machine, replace(self._site, size=size), uniform(address, 64), 0, Mask(one, 1)))

    def _report_unset(self, element: Element) -> None:
        def describe() -> tuple[Example, str]:
            block, thread = self._machine.geometry.who(self._lane)
            message = f"{self._machine.geometry.lane_name(self._lane)} prints `{element}`, which no thread has written."
            return Example.at(element, block, (thread,)), message

        self._machine.findings.add(Verdict.UNINITIALIZED_READ, self._site.line, 1, describe)
