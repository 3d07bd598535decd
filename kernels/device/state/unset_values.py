"""Follow unset values from the read to the place where they do harm.

Reading an unset cell or register isn't a mistake in itself. A compiler may load early and discard the value. It is a
mistake once the value reaches memory, an address or a branch. Then the finding names the place of the read. A register
with such a value has, for each thread, the number of the instruction that read it. While no register has any, nothing
is followed, at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.device.state.element_names import element_name
from kernels.device.state.findings import Described, Findings
from kernels.device.state.geometry import Geometry
from kernels.device.state.mask import Mask
from kernels.device.state.space import Allocation
from kernels.facts import Facts, Mistake
from kernels.verdict import Example, Verdict
from kernels.wording import at_line

Origins = NDArray[np.int32]
_REGISTER = 1 << 30
_FLIGHT = 1 << 29
"""Marks a result that isn't there yet, with the number of its group of products and the instruction."""
_SPOILED = _REGISTER | _FLIGHT
"""Marks a value that was computed from such a result, with the number of the product's instruction."""
_NEVER_SET = np.array([[_REGISTER]], np.int32)
_GROUP_BITS, _PC_BITS = 9, 20
_PC = (1 << _PC_BITS) - 1
MEMORY, ADDRESS, BRANCH = "is stored", "is used as an address", "decides a branch"
SIZE = "decides how much is copied"


class UnsetObserver:
    """The unset values of one chunk.

    origins: register number -> for each thread, 1 + the number of the reading instruction, or 0
    """

    def __init__(self, geometry: Geometry, findings: Findings, lines: tuple[int | None, ...]) -> None:
        self._geometry = geometry
        self._findings = findings
        self._lines = lines
        self._elements: dict[int, tuple[Example, str, Facts]] = {}
        self.origins: dict[int, Origins] = {}

    def start(self, register: int) -> None:
        """Mark a register that the kernel may read before it writes it."""
        self.origins[register] = _NEVER_SET

    def from_memory(
        self,
        register: int,
        pc: int,
        missing: NDArray[np.bool_],
        mask: Mask | None,
        element: tuple[Allocation, int, int],
        carried: Origins | None = None,
    ) -> None:
        """Mark what the threads `missing` loaded from memory that no thread wrote.

        element: one of them, as variable, byte and thread
        carried: the origins of unset values that were stored there
        """
        self.note_element(pc, element)
        here = np.int32(pc + 1)
        found = here if carried is None else np.where(carried != 0, carried, here)
        self.mark(register, np.where(missing, found, np.int32(0)).astype(np.int32), mask)

    def note_element(self, pc: int, element: tuple[Allocation, int, int]) -> None:
        """Note one of the unset elements that an instruction reads, as variable, byte and thread."""
        if pc not in self._elements:
            allocation, offset, lane = element
            block, thread = self._geometry.who(lane)
            name = element_name(allocation, offset)
            message = f"{self._geometry.lane_name(lane)} reads `{name}`, which no thread has written."
            self._elements[pc] = Example.at(name, block, (thread,)), message, Facts()

    def note_absent(self, pc: int, partners: NDArray[np.int32], present: NDArray[np.bool_], mask: Mask | None) -> None:
        """Note a shuffle in which lanes read from `partners`, some of which take no part."""
        absent = ~present if mask is None else ~present & mask.array
        if pc in self._elements or not absent.any():
            return
        lane = int(np.flatnonzero(absent)[0])
        block, thread = self._geometry.who(lane)
        partner = int(partners.reshape(-1)[lane])
        message = f"{self._geometry.lane_name(lane)} reads lane {partner}, which doesn't take part in this shuffle."
        self._elements[pc] = Example(block, (thread,)), message, Facts(Mistake.SHUFFLE)

    def from_shuffle(
        self, register: int, pc: int, came: Origins | None, present: NDArray[np.bool_], mask: Mask | None
    ) -> None:
        """Mark the result of a shuffle. A value from a thread that takes no part is unset; unset values stay unset."""
        if came is None and present.all() and register not in self.origins:
            return
        nothing = np.zeros((1, 1), np.int32) if came is None else spoiled(came)
        self.mark(register, np.where(present, nothing, np.int32(pc + 1)).astype(np.int32), mask)

    def clear(self, register: int, mask: Mask | None) -> None:
        """Note that the register is set in the threads of the mask."""
        if register in self.origins:
            self.mark(register, None, mask)

    def propagate(
        self, sources: tuple[int, ...], results: tuple[int, ...], pc: int, mask: Mask | None, *, copies: bool
    ) -> None:
        """Mark the results of an instruction with unset sources. A plain copy keeps the place of the read."""
        merged: Origins | None = None
        for source in sources:
            origins = self.origins.get(source)
            if origins is not None:
                merged = origins if merged is None else np.maximum(merged, origins)
        if merged is not None and not copies:
            merged = spoiled(np.where(merged == _REGISTER, np.int32(pc + 1), merged).astype(np.int32))
        for result in results:
            if merged is not None:
                self.mark(result, merged, mask)
            elif result in self.origins:
                self.mark(result, None, mask)

    # -- results that aren't there yet --------------------------------------------------------------------------------

    def fly(self, registers: Sequence[int], pc: int, groups: NDArray[np.int64], mask: Mask | None) -> None:
        """Note that registers get their values only once the threads have waited for a group of products."""
        code = (_FLIGHT | (groups % (1 << _GROUP_BITS) << _PC_BITS) | pc + 1).astype(np.int32)

        def flying(known: Origins) -> Origins:
            return np.where((known == 0) | _flying(known), code, known)

        self._mark_alike(registers, flying, mask)

    def set_alike(self, registers: Sequence[int], mask: Mask | None) -> None:
        """Note that registers are set in the threads of the mask."""
        self._mark_alike(registers, np.zeros_like, mask)

    def any_unset(self, registers: Sequence[int], mask: Mask | None) -> bool:
        """Whether a register holds an unset value in threads of the mask, other than a result that isn't there yet."""
        if mask is not None and not mask.count:
            return False
        different = {id(known): known for register in registers if (known := self.origins.get(register)) is not None}
        unset = (landed(known) != 0 for known in different.values())
        return any((each if mask is None else each & mask.array).any() for each in unset)

    def land(self, groups: NDArray[np.int64], allowed: int, mask: Mask | None) -> None:
        """Note that threads have waited for all groups before their present one, except the last `allowed`."""

        def landed(known: Origins) -> Origins:
            age = (groups - (known >> _PC_BITS)) % (1 << _GROUP_BITS)
            return np.where(_flying(known) & (age > allowed), np.int32(0), known)

        self._mark_alike(list(self.origins), landed, mask)

    def _mark_alike(self, registers: Sequence[int], change: Callable[[Origins], Origins], mask: Mask | None) -> None:
        """Change the origins of registers. Many share an array, because products mark all of theirs together."""
        nothing = np.zeros(self._grid, np.int32)
        made: dict[int, tuple[Origins, Origins | None]] = {}
        for register in registers:
            known = self.origins.get(register, nothing)
            if id(known) not in made:
                changed = change(known)
                whole = changed if mask is None else np.where(mask.array, changed, known)
                made[id(known)] = known, np.broadcast_to(whole, self._grid) if whole.any() else None
            _, origins = made[id(known)]
            if origins is None:
                self.origins.pop(register, None)
            else:
                self.origins[register] = origins

    def choose(self, result: int, condition: NDArray[np.bool_], ways: tuple[int, int], mask: Mask | None) -> None:
        """Mark the result of a selection between two registers, thread by thread. Values not selected do no harm."""
        nothing = np.zeros((1, 1), np.int32)
        chosen, other = (spoiled(self.origins.get(way, nothing)) for way in ways)
        self.mark(result, np.where(condition, chosen, other).astype(np.int32), mask)

    def combine(
        self, result: int, sources: tuple[int, ...], decides: Sequence[NDArray[np.bool_]], mask: Mask | None
    ) -> None:
        """Mark the result of `and` or `or`. It is set where the value of a set source decides alone."""
        nothing = np.zeros((1, 1), np.int32)
        origins = [spoiled(self.origins.get(source, nothing)) for source in sources]
        known = [(each == 0) & alone for each, alone in zip(origins, decides, strict=True)]
        unset = np.where(known[0] | known[1], nothing, np.maximum(*origins))
        self.mark(result, unset.astype(np.int32), mask)

    def mark(self, register: int, origins: Origins | None, mask: Mask | None) -> None:
        """Note where the register's unset values in the threads of the mask come from; None if all are set."""
        if mask is not None:
            nothing = np.zeros((1, 1), np.int32)
            old = self.origins.get(register, nothing)
            origins = np.where(mask.array, nothing if origins is None else origins, old).astype(np.int32)
        if origins is None or not origins.any():
            self.origins.pop(register, None)
        else:
            self.origins[register] = origins

    def harmful(self, register: int, mask: Mask | None) -> NDArray[np.bool_] | None:
        """Return the threads of the mask in which a register is unset, or None."""
        origins = self.origins.get(register)
        if origins is None:
            return None
        bad = origins != 0
        bad = np.broadcast_to(bad if mask is None else bad & mask.array, self._grid)
        return bad if bad.any() else None

    @property
    def _grid(self) -> tuple[int, int]:
        return self._geometry.shape.threads, self._geometry.shape.blocks

    def use(self, register: int, pc: int, mask: Mask | None, harm: str) -> None:
        bad = self.harmful(register, mask)
        if bad is None:
            return
        origins = np.broadcast_to(self.origins[register], self._grid)
        for origin in np.unique(origins[bad]):
            self._report(int(origin), pc, bad & (origins == origin), harm)

    def _report(self, origin: int, pc: int, where: NDArray[np.bool_], harm: str) -> None:
        early = bool(origin & _FLIGHT)
        read_at = pc if origin == _REGISTER else (origin & _PC if early else origin) - 1
        line = self._lines[read_at]

        def describe() -> Described:
            lane = int(np.flatnonzero(where)[0])
            block, thread = self._geometry.who(lane)
            known = self._elements.get(read_at)
            use = self._lines[pc]
            what = f" The value {harm}{at_line(use if use != line else None)}."
            if known is not None:
                return known[0], known[1] + what, known[2]
            name = self._geometry.lane_name(lane)
            if early:
                message = f"{name} uses a result of `wgmma` before `wgmma.wait_group`."
                return Example(block, (thread,), None), message + what, Facts(Mistake.TRANSFER)
            return Example(block, (thread,), None), f"{name} uses a variable that was never given a value." + what

        self._findings.add(Verdict.UNINITIALIZED_READ, line, int(np.count_nonzero(where)), describe)

    def report_memory(self, pc: int, element: tuple[Allocation, int, int], count: int) -> None:
        """Report an instruction that read unset memory and wrote a result from it at once."""
        allocation, offset, lane = element

        def describe() -> Described:
            block, thread = self._geometry.who(lane)
            name = element_name(allocation, offset)
            message = f"{self._geometry.lane_name(lane)} updates `{name}`, which no thread has written."
            return Example.at(name, block, (thread,)), message

        self.report(pc, count, describe)

    def report(self, pc: int, count: int, describe: Callable[[], Described]) -> None:
        """Report threads that need a value which no thread has written."""
        self._findings.add(Verdict.UNINITIALIZED_READ, self._lines[pc], count, describe)


def _flying(origins: Origins) -> NDArray[np.bool_]:
    flying: NDArray[np.bool_] = origins & _SPOILED == _FLIGHT
    return flying


def spoiled(origins: Origins) -> Origins:
    """The origins of values computed from values with these: a result that isn't there yet spoils them for good."""
    flying = _flying(origins)
    return np.where(flying, origins & _PC | _SPOILED, origins) if flying.any() else origins


def landed(origins: Origins) -> Origins:
    """The origins without results that aren't there yet, for the next product that adds to them."""
    return np.where(_flying(origins), np.int32(0), origins)
