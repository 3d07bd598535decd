"""Find data races exactly: a second run follows the suspects of the first run with vector clocks.

Every access to a suspect cell is kept with the clocks of that moment. If two accesses conflict, the clock of the later
one must show that it comes after the earlier one. Otherwise nothing orders them, whichever came first in this run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernels.device.observers.clocks import Clocks, Groups
from kernels.device.observers.conflicts import Index, Order
from kernels.device.observers.entries import (  # fmt: skip
    ENTRY,
    LANE_BITS,
    Entries,
    Noted,
    cell_of,
    in_order,
    owner_of,
    with_column,
)
from kernels.device.observers.knowledge import Moment, distinct
from kernels.device.observers.lifetimes import Lifetimes
from kernels.device.observers.race_report import Party, Race, RaceReport, stored_text
from kernels.device.observers.suspects import Flags, Suspects
from kernels.device.ptx.module import Unsupported
from kernels.device.ptx.program import Program, copy_waits, operation_of, relaxed_arrivals
from kernels.device.state.accesses import Access, Kind, Strength, Transfer, Where
from kernels.device.state.element_names import element_name, plain_name
from kernels.device.state.findings import Findings
from kernels.device.state.geometry import WARP
from kernels.device.state.machine import EXIT, Machine, Unwatched
from kernels.device.state.mask import Mask
from kernels.device.state.space import Allocation
from kernels.verdict import Severity

_MOST_ENTRIES = 12_000_000
_MOST_NOTED = 128
_MOST_NOTED_CELLS = 2_000_000
_ENOUGH = 4_096
_PLENTY = 100_000
_FEW = 8


class RaceObserver(Unwatched):
    """Follows one launch, chunk by chunk.

    severity: of a race between two threads of one warp
    by_order: whether to report atomics that don't commute, too. Such a kernel may be correct
    """

    def __init__(self, program: Program, severity: Severity, suspects: Suspects, *, by_order: bool = False) -> None:
        self._program = program
        self._lines = tuple(item.line for item in program.instructions)
        self._severity = severity
        self._suspects = suspects
        tables = suspects.block, suspects.grid
        self._of_block, self._of_grid = ({name: suspects.cells(table, name) for name in table} for table in tables)
        self._by_order = by_order
        self._clocks = Clocks()
        self._moments: dict[int, Moment] = {}
        self._moment = 0
        self._sites: list[Where] = []
        self._allocations: list[Allocation] = []
        self._variables: dict[str, int] = {}
        self._site_numbers: dict[tuple[int, str, Strength], int] = {}
        self._block: list[Noted] = []
        self._noted_cells = 0
        self._rows = np.zeros(0, ENTRY)
        self._grid_moments: set[int] = set()
        self._grid: list[Noted] = []
        self._kept: list[Entries] = []
        self._count = 0
        self._event = 0
        self._since = 0
        self._found = Counter[frozenset[int]]()
        self._report = RaceReport(relaxed_arrivals(program), copy_waits(program))

    def start(self, machine: Machine) -> None:
        self._machine = machine
        self._clocks.start(machine)
        self._fresh: set[object] = set()
        self._last: Moment | None = None
        self._of_one = False
        self._lifetimes = Lifetimes(machine)

    # -- events -------------------------------------------------------------------------------------------------------

    def record(self, access: Access) -> None:
        """Note an access. A volatile access to a flag counts as atomic."""
        if self._suspects.is_flag(access, self._machine):
            where = replace(access.where, strength=Strength.DEVICE)
            self.update(replace(access, where=where, _key=None), acquires=False, releases=False)
        else:
            self._note(access)

    def _note(self, access: Access) -> None:
        """Note an access to suspect cells, unless the same threads already made it at the same time."""
        name = access.allocation.name
        block, grid = self._suspects.block.get(name), self._suspects.grid.get(name)
        if (block is None and grid is None) or self._found.total() >= _PLENTY:
            return
        moment = self._clocks.now()
        if moment is not self._last:
            self._last = moment
            self._moment += 1
            self._moments[self._moment] = moment
            self._fresh.clear()
        if access.key() in self._fresh and access.flight is None and access.transfer is None:
            return
        self._fresh.add(access.key())
        unit = self._suspects.unit(name)
        if access.where.kind is Kind.WRITE:
            self._clocks.locations.overwrite(self._machine, access, unit)
        self._event += 1
        variable = self._variables.setdefault(name, len(self._variables))
        noted = Noted(self._machine, access, moment, self._moment, self._event, variable, self._site(access))
        if access.transfer is not None and access.lanes is not None:
            self._clocks.compare_blocks(access.transfer.times, access.lanes)
            noted.end_by(slice(None), access.transfer, self._clocks.lines(access.transfer, access.lanes))
            if access.transfer.proxy:
                noted.shown = self._clocks.shown(access.lanes, access.allocation.space)
        if access.owners is not None and (early := self._lifetimes.record(noted, self._clocks.knowledge)) is not None:
            self._report.outlive(self._lines[access.where.pc], early)
        if block is not None:
            self._block.append(noted)
        if grid is not None:
            self._grid.append(noted)
            self._grid_moments.add(self._moment)
        listed = self._machine.shape.lanes if access.lanes is None else len(access.lanes)
        self._noted_cells += listed * max(1, access.where.size // unit)
        if len(self._block) >= _MOST_NOTED or self._noted_cells >= _MOST_NOTED_CELLS:
            self._look()

    def _site(self, access: Access) -> int:
        key = access.where.pc, access.allocation.name, access.strength
        if key not in self._site_numbers:
            self._site_numbers[key] = len(self._sites)
            self._sites.append(replace(access.where, strength=access.strength))
            self._allocations.append(access.allocation)
        return self._site_numbers[key]

    def update(self, access: Access, *, acquires: bool, releases: bool) -> None:
        """Apply atomics, thread by thread in the order of their numbers."""
        self._note(access)
        if access.transfer is not None:  # no fence of its thread makes anything visible with it
            return
        if access.allocation.clustered and access.where.looks:
            self._lifetimes.looked(access, self._event)
        unit = self._suspects.unit(access.allocation.name)
        try:
            self._clocks.update(access, unit, acquires=acquires, releases=releases)
        except Unsupported as reason:
            reason.line = reason.line or self._lines[access.where.pc]
            raise

    def landed(self, access: Access, chosen: NDArray[np.bool_]) -> None:
        assert access.flight is not None
        assert access.lanes is not None
        self._event += 1
        moment, flight = self._clocks.now(), access.flight
        self._clocks.alike &= access.alike(self._machine.shape) and bool(chosen.all())
        thread, column = np.divmod(access.lanes[chosen], self._machine.shape.blocks)
        flight.interval[chosen] = moment.interval[column]
        flight.time[chosen] = moment.time[thread, column % moment.time.shape[1]]
        flight.event[chosen] = self._event

    def transferred(self, access: Access, chosen: NDArray[np.bool_], transfer: Transfer) -> None:
        assert access.lanes is not None
        self._clocks.compare_blocks(transfer.times, access.lanes[chosen])
        for noted in (*self._block, *self._grid):
            if noted.access is access:
                noted.end_by(chosen, transfer, self._clocks.lines(transfer, access.lanes[chosen]))

    def ends_with(self, transfer: Transfer, lanes: NDArray[np.intp], key: Hashable, shift: int = 0) -> None:
        self._clocks.ends_with(transfer, lanes, key, shift)

    def ended(self, transfer: Transfer, lanes: NDArray[np.intp], together: int) -> None:
        self._clocks.ended(transfer, lanes, together)

    def fence_proxy(self, mask: Mask | None, proxies: Sequence[str]) -> None:
        self._clocks.fence_proxy(mask, proxies)

    def acquire_proxy(self, mask: Mask | None, proxy: str) -> None:
        self._clocks.acquire_proxy(mask, proxy)

    def fence_begin(self, mask: Mask | None) -> None:
        self._clocks.fence_begin(mask)

    def barrier(self, blocks: NDArray[np.bool_] | None) -> None:
        self._clocks.barrier(blocks)
        if blocks is None:
            self._look()

    def met(self, groups: Groups) -> None:
        self._clocks.met(groups)

    def arrive(self, key: Hashable, mask: Mask | None, shift: int = 0, *, releases: bool = True) -> None:
        self._clocks.arrive(key, mask, shift, releases=releases)
        if key == EXIT:
            self._lifetimes.exited(mask)

    def wait(self, key: Hashable, mask: Mask | None, shift: int = 0, *, acquires: bool = True) -> None:
        self._clocks.wait(key, mask, shift, acquires=acquires)

    def fence(self, mask: Mask | None, scope: Strength, *, acquires: bool, releases: bool) -> None:
        if acquires:
            self._clocks.acquire(mask, scope)
        if releases:
            self._clocks.release(mask, scope)

    def finish(self) -> None:
        for pc, late in self._lifetimes.finish(self._clocks, self._order(one_block=True)):
            self._report.outlive(self._lines[pc], late)
        self.barrier(None)
        self._block.clear()
        self._rows, self._of_one = self._rows[:0], False
        for noted in self._grid:
            entries = self._entries(noted, self._of_grid)
            self._kept.append(entries)
            self._count += len(entries)
        self._grid.clear()
        if self._count > _MOST_ENTRIES:
            advice = "Let each block use its own elements."
            reason = self._too_many(self._kept, "its blocks share memory", "", advice)
            self._compare_kept()
            # A race that was found is proof, even if others remain unknown.
            if not self._report:
                raise reason

    def end(self, findings: Findings) -> None:
        self._compare_kept()
        self._report.write(self._machine, findings)

    @property
    def races(self) -> bool:
        return bool(self._report)

    @property
    def relies_on_atomics(self) -> bool:
        """Whether fences and atomics ordered threads, so the result depends on the order of atomics."""
        return self._clocks.seen

    def _compare_kept(self) -> None:
        if self._kept:
            self._since = 0
            entries = in_order(self._kept)
            self._compare(self._order(one_block=False), entries, self._machine.shape.blocks)
        self._kept.clear()
        self._count = 0

    # -- conclusions --------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Compare what the threads of each block did since their last barrier. Keep what may still race."""
        if not self._block and not len(self._rows):
            return
        passed = self._clocks.now().interval
        alike = self._blocks_alike(passed)
        if self._of_one and not alike:
            self._rows = self._of_all_blocks(self._rows)
        self._of_one = alike
        made = [self._entries(noted, self._of_block, alike=alike) for noted in self._block]
        entries = in_order([self._rows, *made])
        if len(entries) > _MOST_ENTRIES:
            who, when = "the threads of a block share memory", " between two barriers"
            raise self._too_many([entries], who, when, "Use barriers more often.")
        suspects = self._compare(self._order(one_block=True), entries, 1 if alike else self._machine.shape.blocks)
        self._since = (self._event + 1) << LANE_BITS
        self._keep(entries, suspects, passed)

    def _blocks_alike(self, passed: NDArray[np.int64]) -> bool:
        """Whether all blocks did the same, so that the accesses of one block show every race."""
        if (len(self._rows) and not self._of_one) or not all(noted.alike for noted in self._block):
            return False
        if self._clocks.alike:
            return True
        # Other blocks may have done something else before, but it doesn't matter any more.
        done = not any(noted.lasts(passed) or noted.homes is not None for noted in self._block)
        alone = all(noted.access.allocation.name not in self._suspects.remote for noted in self._block)
        return done and alone and not len(self._rows) and all(noted.moment.alike for noted in self._block)

    def _of_all_blocks(self, rows: Entries) -> Entries:
        """Return rows of the first block for all blocks, which did the same until then."""
        columns = self._machine.shape.blocks
        shared = np.array([each.space == "shared" for each in self._allocations], np.bool_)[rows["site"]]
        lines = {number: self._clocks.line(number) for number in np.unique(rows["home"]).tolist() if number < 0}
        made = []
        for column, block in enumerate(self._machine.geometry.numbers.tolist()):
            copy = rows.copy()
            copy["key"] = np.where(shared, with_column(rows["key"], columns, column), rows["key"])
            copy["column"], copy["block"] = column, block
            homes = {number: self._clocks.number(block, line) for number, line in lines.items()}
            copy["home"] = [homes.get(home, block) for home in rows["home"].tolist()]
            made.append(copy)
        return in_order(made)

    def _too_many(self, entries: Sequence[Entries], who: str, when: str, advice: str) -> Unsupported:
        """Return why these aren't compared, at the instruction that made most of them."""
        made = np.sum([np.bincount(entry["site"], minlength=len(self._sites)) for entry in entries], axis=0)
        site = int(made.argmax())
        name = plain_name(self._allocations[site].name)
        message = (
            f"The CPU device can't check this kernel for races: {who} in more than {_MOST_ENTRIES:,} accesses{when}, "
            f"most of them to `{name}`. {advice}"
        )
        return Unsupported("ld", self._lines[self._sites[site].pc], message)

    def _entries(self, noted: Noted, suspects: Mapping[str, Flags], *, alike: bool = False) -> Entries:
        name = noted.access.allocation.name
        return noted.entries(self._suspects.unit(name), suspects[name], alike=alike)

    def _keep(self, entries: Entries, suspects: Flags, passed: NDArray[np.int64]) -> None:
        """Keep what may race with later accesses: copies under way, and the last accesses to ordered cells."""
        self._noted_cells = 0
        self._block = [noted for noted in self._block if noted.under_way]
        under_way = [noted.event for noted in self._block]
        # A transfer lasts past barriers, and a write must be shown to transfers that follow later.
        lasting = (entries["interval"] >= passed[entries["column"]]) | self._under_way(entries)
        if self._suspects.transferred:
            writes = np.array([site.kind.writes for site in self._sites], np.bool_)
            names = np.array([each.name in self._suspects.transferred for each in self._allocations], np.bool_)
            lasting |= (writes & names)[entries["site"]]
        if self._suspects.remote:
            # Other blocks go on to use this memory, whatever its own block's barriers order.
            remote = np.array([each.name in self._suspects.remote for each in self._allocations], np.bool_)
            lasting |= remote[entries["site"]] & ~self._known_in_cluster(entries, passed)
        lasting &= ~np.isin(entries["event"] >> LANE_BITS, under_way)
        # After so many races, more accesses of an instruction to racing cells would only raise the count.
        enough = self._found.total() > _ENOUGH
        lasting &= self._order(one_block=True).ends(entries, by_site=enough) | (suspects & (not enough))
        self._rows = entries.compress(lasting)
        used = {*np.unique(self._rows["when"]).tolist(), *self._grid_moments, self._moment}
        used |= {noted.when for noted in self._block}
        self._moments = {number: self._moments[number] for number in used & self._moments.keys()}

    def _under_way(self, entries: Entries) -> Flags:
        """Whether each is an operation of which some thread of its block doesn't know that it is over."""
        found: Flags = entries["home"] < 0
        others = self._clocks.now().others
        if others is None:
            return found
        for column in np.unique(entries["column"][found]).tolist():
            known = distinct(others[:, column])
            here = np.flatnonzero(found & (entries["column"] == column))
            if known[0] > 0 and len(known) <= _FEW:
                order, some = self._order(one_block=True), entries.take(here)
                over = [order.covered(np.full(len(here), number, np.int32), some) for number in known]
                found[here] = ~np.logical_and.reduce(over)
        return found

    def _known_in_cluster(self, entries: Entries, passed: NDArray[np.int64]) -> Flags:
        """Whether all threads of the cluster already come after an access."""
        machine, others = self._machine, self._clocks.now().others
        if others is None:
            return np.zeros(len(entries), np.bool_)
        # Threads of a block that know different things are taken to know nothing.
        known = np.where((others == others[:1]).all(axis=0), others[0], 0)
        size, order = machine.launch.cluster_blocks, self._order(one_block=True)
        first = entries["column"] - entries["column"] % size
        found = np.ones(len(entries), np.bool_)
        for rank in range(size):
            own = (entries["column"] == first + rank) & (entries["home"] >= 0)
            after = order.covered(known[first + rank], entries)
            found &= np.where(own, entries["interval"] < passed[entries["column"]], after)
        return found

    def _order(self, *, one_block: bool) -> Order:
        return Order(
            self._clocks.knowledge,
            self._moments,
            self._sites,
            one_block=one_block and not self._suspects.remote,
            by_order=self._by_order,
            launch=self._machine.launch,
        )

    def _compare(self, order: Order, entries: Entries, columns: int) -> Flags:
        """Report the races among the entries of `columns` blocks. Return which entries remain suspects."""
        suspects = order.suspects(entries)
        entries = entries.compress(suspects)
        for earlier, later in order.races(entries, self._since, self._settled):
            near = (entries["block"][earlier] == entries["block"][later]) & (
                entries["thread"][earlier] // WARP == entries["thread"][later] // WARP
            )
            light = near & (self._severity is not Severity.ERROR)
            turned = entries["site"][earlier] > entries["site"][later]
            atomic = order.atomic(entries, earlier, later)
            parts = [
                (int(entries["event"][later[chosen]].min()), chosen, severity, together is atomic)
                for part, severity in ((light, self._severity), (~light, Severity.ERROR))
                for together in (atomic, ~atomic)
                for chosen in (part & together & turned, part & together & ~turned)
                if chosen.any()
            ]
            for _, chosen, severity, both_atomic in sorted(parts, key=lambda part: part[0]):
                # a pair from two warps shows more than a pair from one
                clearest = np.lexsort((entries["event"][later[chosen]], near[chosen]))[0]
                one, other = earlier[chosen][clearest], later[chosen][clearest]
                pair = entries[one : one + 1], entries[other : other + 1]
                count = self._early(entries, later[chosen], columns)
                unshown = bool(order.ordered(*pair, proxies=False)[0])
                self._add(pair, count, severity, columns, atomic=both_atomic, unshown=unshown)
        return suspects

    def _early(self, entries: Entries, later: Index, columns: int) -> int:
        """Return how many accesses come too early. The accesses of a block count for all blocks like it."""
        marked = np.zeros(len(entries), np.bool_)
        marked[later] = True
        return int(np.count_nonzero(marked)) * (self._machine.shape.blocks // columns)

    def _add(
        self,
        pair: tuple[Entries, Entries],
        count: int,
        severity: Severity,
        columns: int,
        *,
        atomic: bool,
        unshown: bool,
    ) -> None:
        """Add races between two instructions. `pair` is an example; `atomic` and `unshown` as for a race."""
        earlier, later = pair[0][0], pair[1][0]
        if severity is Severity.ERROR:
            self._found[frozenset((int(earlier["site"]), int(later["site"])))] += count
        allocation = self._allocations[int(later["site"])]
        shared = allocation.space == "shared"
        cell = cell_of(int(later["key"]), columns, shared=shared)
        owner = None
        if shared and self._machine.launch.cluster_blocks > 1:
            owner = int(self._machine.geometry.numbers[owner_of(int(later["key"]), columns)])
        element = element_name(allocation, cell * self._suspects.unit(allocation.name))
        together = int(earlier["event"]) >> LANE_BITS == int(later["event"]) >> LANE_BITS
        # A copy that nothing has waited for ends after every event.
        waited = 0 <= int(earlier["landed"]) < int(later["event"])
        parties = replace(self._party(earlier), waited=waited), self._party(later)
        race = Race(*parties, element, count, severity, together=together, atomic=atomic, unshown=unshown, owner=owner)
        self._report.add(race)

    def _party(self, entry: np.void) -> Party:
        site = self._sites[int(entry["site"])]
        value = stored_text(int(entry["value"]), site.size) if site.stores else ""
        transfer = bool(entry["home"] < 0)
        who, line = (int(entry["block"]), int(entry["thread"])), self._lines[site.pc]
        item = self._program.instructions[site.pc]
        operation = operation_of(item) if transfer else None
        initialises = item.opcode.startswith("mbarrier.init")
        return Party(*who, site.kind, line, value, operation, site.by_warp, item.call, initialises=initialises)

    def _settled(self, one: int, other: int) -> bool:
        """Whether so many races of two instructions are known that more would show nothing new."""
        return self._found[frozenset((one, other))] >= _ENOUGH
