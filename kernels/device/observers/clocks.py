"""Vector clocks: what each thread of a chunk comes after, through barriers, fences and atomics.

A thread's clock has three parts. First, it knows everything that its block did before the block's last barrier. Second,
it knows a time for each lane of its warp since then, from the warp's barriers. Third, a `Knowledge` number holds
everything from other warps and blocks. Clocks are never changed in place, so a `Moment` kept by an access stays true.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kernels.device.observers.knowledge import NOTHING, Ids, Knowledge, Moment, Times, barriers_of, distinct, too_often
from kernels.device.observers.locations import Location, Locations, offsets_of
from kernels.device.state.accesses import BEGIN, HALF_FENCE, Access, Kind, Strength, Transfer
from kernels.device.state.geometry import WARP, clusters_of
from kernels.device.state.machine import Machine
from kernels.device.state.mask import Mask

Proxy = str
"""The async proxy by the memory that it accesses: "shared" or "global"."""

Scope = Strength | Proxy | tuple[Proxy]
"""Of a fence. The tuple stands for what was shown to a proxy before the last fence for threads."""

Pending = Strength | tuple[Strength, Proxy]
Grid = NDArray[np.bool_]
Groups = NDArray[np.int64]
_Number = TypeVar("_Number", np.int32, np.int64)
_SCOPES = (Strength.BLOCK, Strength.CLUSTER, Strength.DEVICE)
_UNKNOWN = -1
_MOST_UPDATES = 500_000  # about ten seconds


@dataclass(slots=True)
class _Object:
    """What threads that arrived at an object left there for threads that wait."""

    known: int = NOTHING
    pending: dict[Pending, int] = field(default_factory=dict)
    released: dict[Scope, int] = field(default_factory=dict)


class Clocks:
    """The clocks of one launch, chunk by chunk. `seen`: whether any atomic saw what another had released.

    A thread's `released` holds what its fences made visible. A negative number is a number of knowledge. Any other
    number is the moment of its last fence. An atomic makes the knowledge from this moment when it needs it, and
    `fenced` keeps it. `copied` names the arrays that no moment has kept, None for `others`: they may change in place.
    `alike`: whether all blocks of the chunk have done the same so far.
    """

    def __init__(self) -> None:
        self.knowledge = Knowledge()
        self._moments: list[Moment] = []
        self.locations = Locations()
        self._updates = 0
        self._lines: dict[tuple[int, Hashable], int] = {}
        self.seen = False
        self._proxies: dict[Proxy, None] = {}

    def start(self, machine: Machine) -> None:
        self._machine = machine
        self._blocks = machine.geometry.numbers
        self._threads, self._columns = machine.shape.threads, machine.shape.blocks
        self._warps = -(-self._threads // WARP)
        # Without clusters, their scope is the block's.
        alone = machine.launch.cluster_blocks == 1
        self._scopes = tuple(scope for scope in _SCOPES if not (alone and scope is Strength.CLUSTER))
        self._narrow = Strength.BLOCK if alone else Strength.CLUSTER
        self._clusters = -1 - clusters_of(machine.launch, self._blocks)
        self._interval = np.zeros(self._columns, np.int64)
        self._time: Times = np.zeros((self._threads, 1), np.int32)
        self._rows: Times | None = None
        self._others: Ids | None = None
        self._pending: dict[Pending, Ids] = {}
        self._released: dict[Scope, Ids] = {}
        self._objects: dict[tuple[int, Hashable], _Object] = {}
        self._fenced: dict[tuple[int, int, int], int] = {}
        self._copied: set[Pending | None] = set()
        self.locations.start()
        self._when: Moment | None = None
        self.alike = alone

    def now(self) -> Moment:
        if self._when is None:
            self._copied.clear()
            pending = {kind: ids for kind, ids in self._pending.items() if isinstance(kind, Strength)}
            self._when = Moment(self._blocks, self._interval, self._time, self._rows, self._others, pending)
        return self._when

    # -- barriers of whole blocks -------------------------------------------------------------------------------------

    def barrier(self, blocks: Grid | None) -> None:
        self._when = None
        self.alike &= blocks is None
        chosen = np.ones(self._columns, np.bool_) if blocks is None else blocks
        columns = np.flatnonzero(chosen).tolist()
        # Without fences and atomics, a barrier only begins a new interval.
        everyone = np.arange(self._threads)
        if self._others is not None or self._pending or self._released:
            for column in columns:
                self._share(column, everyone, self._left_by(column, everyone, block_barrier=True))
        self._interval = self._interval + chosen
        if blocks is None:
            self._time = np.zeros((self._threads, 1), np.int32)
            self._rows = None
        else:
            self._time = np.where(chosen, np.int32(0), self._time)
            if self._rows is not None:
                self._rows = np.where(chosen, np.int32(_UNKNOWN), self._rows)

    # -- barriers of groups of threads --------------------------------------------------------------------------------

    def met(self, groups: Groups) -> None:
        # Blocks usually do the same. One column then serves all of them.
        if (groups == groups[:, :1]).all():
            groups = groups[:, :1]
        else:
            self.alike = False
        if self._within_warps(groups):
            self._meet_in_warps(groups)
            if self._others is not None or self._pending or self._released:
                self._meet_across(groups, own_block=False)
        else:
            self._meet_across(groups, own_block=True)
        self._time = self._time + (groups >= 0).astype(np.int32)
        self._when = None

    def _within_warps(self, groups: Groups) -> bool:
        _, number = np.unique(groups, return_inverse=True)
        number = number.reshape(groups.shape)
        warp = np.broadcast_to(np.arange(self._threads)[:, np.newaxis] // WARP, groups.shape)
        lowest = np.full((int(number.max()) + 1, groups.shape[1]), self._warps)
        highest = np.full(lowest.shape, -1)
        column = np.broadcast_to(np.arange(groups.shape[1]), groups.shape)
        np.minimum.at(lowest, (number, column), warp)
        np.maximum.at(highest, (number, column), warp)
        taking = np.zeros(lowest.shape, np.bool_)
        taking[number, column] = groups >= 0
        return not (taking & (lowest != highest)).any()

    def _meet_in_warps(self, groups: Groups) -> None:
        """Join the times that the lanes of each group know, and add their own times."""
        groups = _padded(groups, self._warps * WARP, _UNKNOWN)
        rows = self._rows
        if rows is None:
            rows = np.full((self._warps * WARP, WARP, 1), _UNKNOWN, np.int32)
        columns = max(groups.shape[1], rows.shape[2], self._time.shape[1])
        rows = np.broadcast_to(rows, (*rows.shape[:2], columns)).reshape(self._warps, WARP, WARP, columns)
        time = _padded(self._time, self._warps * WARP, 0).reshape(self._warps, WARP, -1)
        left = groups.reshape(self._warps, WARP, -1)
        joined = np.array(rows)
        while (left >= 0).any():
            # the first remaining lane of each warp, and the lanes that met it
            first = np.argmax(left >= 0, axis=1, keepdims=True)
            leader = np.take_along_axis(left, first, axis=1)
            members = (left == leader) & (leader >= 0)
            known = np.where(members[:, :, np.newaxis], rows, np.int32(_UNKNOWN)).max(axis=1)
            known = np.maximum(known, np.where(members, time, np.int32(_UNKNOWN)))
            joined = np.where(members[:, :, np.newaxis], known[:, np.newaxis], joined)
            left = np.where(members, np.int64(_UNKNOWN), left)
        self._rows = joined.reshape(self._warps * WARP, WARP, columns)

    def _meet_across(self, groups: Groups, *, own_block: bool) -> None:
        """Join what the threads of each group know about other threads."""
        for column in range(self._columns):
            own = groups[:, column % groups.shape[1]]
            for group in np.unique(own[own >= 0]).tolist():
                threads = np.flatnonzero(own == group)
                self._share(column, threads, self._left_by(column, threads, own_block=own_block))

    def arrive(self, key: Hashable, mask: Mask | None, shift: int = 0, *, releases: bool = True) -> None:
        for column, threads in self._by_column(mask):
            left = self._left_by(column, threads) if releases else self._fenced_by(column, threads)
            there = self._objects.setdefault((column + shift, key), _Object())
            self._add(there, left)
        self._time = self._time + self._whole(mask).astype(np.int32)
        self._when = None

    def _fenced_by(self, column: int, threads: NDArray[np.intp]) -> _Object:
        """Return what threads bring that arrive without a release: what their fences made visible to the cluster."""
        numbers = self._released.get(self._narrow)
        known = NOTHING if numbers is None else self._released_by(numbers, threads, column)
        shown: dict[Scope, int] = {
            proxy: self._released_by(self._released[proxy,], threads, column)
            for proxy in self._proxies
            if known and (proxy,) in self._released
        }
        block = int(self._blocks[column])
        if (numbers := self._released.get(BEGIN)) is not None:
            made = self.knowledge.of(self._released_by(numbers, threads, column)).get(block)
            known = known if made is None else self.knowledge.extend(known, barriers_of(block), made)
        # Threads that wait know at least that this block has started.
        begun = np.full(self._warps * WARP, _UNKNOWN, np.int32)
        return _Object(self.knowledge.extend(known, block, (0, begun)), released=shown)

    def left_at(self, key: Hashable, column: int) -> int:
        """Return what all threads know that arrived at an object of a block."""
        there = self._objects.get((column, key))
        return NOTHING if there is None else there.known

    def wait(self, key: Hashable, mask: Mask | None, shift: int = 0, *, acquires: bool = True) -> None:
        for column, threads in self._by_column(mask):
            there = self._objects.get((column + shift, key))
            if there is None:
                continue
            if not acquires:
                self._leave_to_fences(column, threads, there)
                continue
            if there.known:
                self._others = self._with(self._others, threads, column, there.known)
            for kind, number in there.pending.items():
                if number:
                    self._pending[kind] = self._with(self._pending.get(kind), threads, column, number)
            for scope, number in there.released.items():
                if number:
                    self._release_more(scope, threads, column, number)
        self._when = None

    def _leave_to_fences(self, column: int, threads: NDArray[np.intp], there: _Object) -> None:
        """Let later fences of these threads acquire what threads left at an object."""
        made: dict[Pending, int] = {self._narrow: there.known}
        made |= {(self._narrow, kind): each for kind, each in there.released.items() if isinstance(kind, Proxy)}
        for kind, number in made.items():
            if number:
                self._pending[kind] = self._with(self._pending.get(kind), threads, column, number)

    def _with(self, numbers: Ids | None, threads: NDArray[np.intp], column: int, more: int) -> Ids:
        """Return the numbers, joined for some threads with one more."""
        numbers = self._ids(numbers)
        own = numbers[threads, column]
        for number in distinct(own):
            numbers[threads[own == number], column] = self.knowledge.join(number, more)
        return numbers

    def _release_more(self, scope: Scope, threads: NDArray[np.intp], column: int, more: int) -> None:
        """Note that fences of these threads, and of threads that they met, made more visible."""
        numbers = self._ids(self._released.get(scope))
        own = numbers[threads, column]
        for thread in threads[own > 0].tolist():
            made = self._released_by_one(numbers, thread, column)
            numbers[thread, column] = -self.knowledge.join(made, more)
        for number in distinct(own[own <= 0]):
            numbers[threads[own == number], column] = -self.knowledge.join(-number, more)
        self._released[scope] = numbers

    def _add(self, total: _Object, more: _Object) -> None:
        join = self.knowledge.join
        total.known = join(total.known, more.known)
        for kind, number in more.pending.items():
            total.pending[kind] = join(total.pending.get(kind, NOTHING), number)
        for scope, number in more.released.items():
            total.released[scope] = join(total.released.get(scope, NOTHING), number)

    def _left_by(
        self, column: int, threads: NDArray[np.intp], *, own_block: bool = True, block_barrier: bool = False
    ) -> _Object:
        """Return what threads that meet in a block bring along.

        own_block: include what they know and did in their own block since its last barrier
        block_barrier: all threads of the block meet, so the block already knows this
        """
        join = self.knowledge.join
        block = int(self._blocks[column])
        left = _Object()
        if self._others is not None:
            left.known = join(*distinct(self._others[threads, column]))
        if block_barrier:
            left.known = self.knowledge.without(left.known, block)
        elif own_block:
            left.known = self._knowledge_at(self.now(), threads, column)
        for kind, numbers in self._pending.items():
            left.pending[kind] = join(*distinct(numbers[threads, column]))
        for scope, numbers in self._released.items():
            left.released[scope] = self._released_by(numbers, threads, column)
        return left

    def _share(self, column: int, threads: NDArray[np.intp], what: _Object) -> None:
        """Give threads what the threads that they met brought."""
        if what.known or self._others is not None:
            others = self._ids(self._others)
            others[threads, column] = what.known
            self._others = others
        for kind, number in what.pending.items():
            if number or kind in self._pending:
                numbers = self._pending[kind] = self._ids(self._pending.get(kind))
                numbers[threads, column] = number
        for scope, number in what.released.items():
            if number or scope in self._released:
                numbers = self._released[scope] = self._ids(self._released.get(scope))
                numbers[threads, column] = -number

    # -- fences and atomics -------------------------------------------------------------------------------------------

    def acquire(self, mask: Mask | None, scope: Strength) -> None:
        whole = self._whole(mask)
        for kind, numbers in self._pending.items():
            if not isinstance(kind, Strength):
                if kind[0] <= scope:
                    self._show(kind[1], mask, numbers)
            elif kind <= scope:
                known = self._ids(self._others)
                self._others = np.where(whole, self.knowledge.join_all(known, numbers), known)
        self._when = None

    def release(self, mask: Mask | None, scope: Strength) -> None:
        self._fence(mask, [kind for kind in self._scopes if kind <= scope])
        for proxy in self._proxies:
            if (shown := self._released.get(proxy)) is not None:
                self._released[proxy,] = np.where(self._whole(mask), shown, self._ids(self._released.get((proxy,))))

    def fence_proxy(self, mask: Mask | None, proxies: Sequence[Proxy]) -> None:
        self._proxies.update(dict.fromkeys(proxies))
        self._fence(mask, proxies)

    def acquire_proxy(self, mask: Mask | None, proxy: Proxy) -> None:
        if (numbers := self._released.get(HALF_FENCE)) is not None:
            grid = [(column, threads) for column, threads in self._by_column(mask)]
            made = self._ids(None)
            for column, threads in grid:
                made[threads, column] = [self._released_by_one(numbers, each, column) for each in threads.tolist()]
            self._show(proxy, mask, made)

    def _show(self, proxy: Proxy, mask: Mask | None, numbers: Ids) -> None:
        """Note that what these numbers stand for is visible to a proxy, for threads of the mask."""
        for column, threads in self._by_column(mask):
            own = numbers[threads, column]
            for number in distinct(own[own > 0]):
                self._release_more(proxy, threads[own == number], column, number)

    def fence_begin(self, mask: Mask | None) -> None:
        self._fence(mask, [BEGIN])

    def _fence(self, mask: Mask | None, scopes: Sequence[Scope]) -> None:
        whole = self._whole(mask)
        self._moments.append(self.now())
        for kind in scopes:
            before = self._released.get(kind)
            earlier = np.int32(NOTHING) if before is None else before
            self._released[kind] = np.where(whole, np.int32(len(self._moments)), earlier)
        self._time = self._time + whole.astype(np.int32)
        self._when = None

    def update(self, access: Access, unit: int, *, acquires: bool, releases: bool) -> None:
        """Apply atomics to their locations, thread by thread in order. A plain store ends what was released there."""
        where = access.where
        own = access.allocation.space == "shared" and access.failed is None
        self.alike = self.alike and own and access.alike(self._machine.shape)
        sees, sets = where.looks, where.kind.writes
        there = self.locations.of(access)
        offsets, lanes, copies = offsets_of(self._machine, access, unit)
        failed = np.zeros(len(lanes), np.bool_) if access.failed is None else access.failed
        taking = self._concerned(lanes, everyone=releases or bool(there))
        self._updates += int(np.count_nonzero(taking))
        if self._updates > _MOST_UPDATES:
            raise too_often("atom")
        lists = (each[taking].tolist() for each in (offsets, lanes, copies, failed))
        for offset, lane, copy, fails in zip(*lists, strict=True):
            thread, column = divmod(lane, self._columns)
            location = there.setdefault((offset, copy), {})
            scopes: list[tuple[Pending, Hashable]] = [(Strength.BLOCK, int(self._blocks[column]))]
            if where.strength >= Strength.CLUSTER and Strength.CLUSTER in self._scopes:
                scopes.append((Strength.CLUSTER, int(self._clusters[column])))
            if where.strength is Strength.DEVICE:
                scopes.append((Strength.DEVICE, None))
            for proxy in self._proxies:
                scopes += [((kind, proxy), (key, proxy)) for kind, key in scopes if isinstance(kind, Strength)]
            seen = {scope: location.get(key, NOTHING) for scope, key in scopes} if sees else {}
            # A plain store replaces what atomics released at the location.
            if where.kind is Kind.WRITE:
                location.clear()
            if sets and not fails:
                self._release(location, scopes, thread, column, now=releases)
            self._see(seen, thread, column, acquires=acquires)
        if releases and sets:
            grid = np.zeros(self._threads * self._columns, np.bool_)
            grid[lanes] = True
            self._time = self._time + grid.reshape(self._threads, -1)
            self._when = None

    def _concerned(self, lanes: NDArray[np.int64], *, everyone: bool) -> NDArray[np.bool_]:
        """Return which threads may see or leave something at a location."""
        if everyone:
            return np.ones(len(lanes), np.bool_)
        found = np.zeros(len(lanes), np.bool_)
        for numbers in self._released.values():
            found |= numbers.reshape(-1)[lanes] != NOTHING
        return found

    def _see(self, seen: dict[Pending, int], thread: int, column: int, *, acquires: bool) -> None:
        join = self.knowledge.join
        for scope, number in seen.items():
            if not number:
                continue
            self.seen = True
            self._when = None
            if scope not in self._copied:
                self._copied.add(scope)
                self._pending[scope] = self._ids(self._pending.get(scope))
            self._pending[scope][thread, column] = join(int(self._pending[scope][thread, column]), number)
            if acquires and not isinstance(scope, Strength):
                self._release_more(scope[1], np.array([thread]), column, number)
            elif acquires:
                if self._others is None or None not in self._copied:
                    self._copied.add(None)
                    self._others = self._ids(self._others)
                self._others[thread, column] = join(int(self._others[thread, column]), number)

    def _release(
        self, location: Location, scopes: list[tuple[Pending, Hashable]], thread: int, column: int, *, now: bool
    ) -> None:
        current = self._knowledge_at(self.now(), np.array([thread]), column) if now else NOTHING
        for kind, key in scopes:
            scope, proxy = (kind, None) if isinstance(kind, Strength) else kind
            number = self.knowledge.join(self._made(scope, thread, column), current)
            if number and proxy is not None:
                number = self._made(proxy if now else (proxy,), thread, column)
            if number:
                location[key] = self.knowledge.join(location.get(key, NOTHING), number)

    def _made(self, scope: Scope, thread: int, column: int) -> int:
        """Return what the fences of a thread, and of threads that it met, made visible in a scope."""
        numbers = self._released.get(scope)
        return NOTHING if numbers is None else self._released_by_one(numbers, thread, column)

    # -- the async proxy ----------------------------------------------------------------------------------------------

    def lines(self, transfer: Transfer, lanes: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the number of the line of each thread's operation. Knowledge counts a line like a block."""
        columns = lanes % self._columns
        found = np.zeros(len(lanes), np.int64)
        for column in np.unique(columns).tolist():
            found[columns == column] = self.number(int(self._blocks[column]), transfer.line)
        return found

    def number(self, block: int, line: Hashable) -> int:
        """Return the number of a block's line."""
        return self._lines.setdefault((block, line), -len(self._lines) - 1)

    def line(self, number: int) -> Hashable:
        """Return the line with a number, which another block has, too."""
        return list(self._lines)[-number - 1][1]

    def ends_with(self, transfer: Transfer, lanes: NDArray[np.intp], key: Hashable, shift: int = 0) -> None:
        for column, number in self._ends(transfer, lanes):
            there = self._objects.setdefault((column + shift, key), _Object())
            there.known = self.knowledge.join(there.known, number)

    def ended(self, transfer: Transfer, lanes: NDArray[np.intp], together: int) -> None:
        groups = lanes // self._columns // together
        for group in np.unique(groups).tolist():
            own, times = lanes[groups == group], transfer.times[groups == group]
            ends, whose = Transfer(transfer.line, times), own
            if together > 1:
                ends, whose = self._of_group(transfer.line, times, own % self._columns, group * together, together)
            for column, number in self._ends(ends, whose):
                threads = own[own % self._columns == column] // self._columns
                self._others = self._with(self._others, threads, column, number)
        self._when = None

    def _of_group(
        self, line: Hashable, times: NDArray[np.int64], columns: NDArray[np.intp], first: int, together: int
    ) -> tuple[Transfer, NDArray[np.intp]]:
        """Return what ends the operations of a whole group of threads, if some of them have waited."""
        latest = np.zeros(self._columns, np.int64)
        np.maximum.at(latest, columns, times)
        threads = np.arange(first, min(first + together, self._threads))
        there = np.unique(columns)
        return Transfer(line, np.tile(latest[there], len(threads))), np.add.outer(
            threads * self._columns, there
        ).ravel()

    def _ends(self, transfer: Transfer, lanes: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
        """Yield the blocks with the knowledge that these operations are over."""
        self.compare_blocks(transfer.times, lanes)
        columns, lines = lanes % self._columns, self.lines(transfer, lanes)
        for column in np.unique(columns).tolist():
            here = columns == column
            times = np.full(self._warps * WARP, _UNKNOWN, np.int32)
            np.maximum.at(times, lanes[here] // self._columns, transfer.times[here].astype(np.int32))
            yield column, self.knowledge.extend(NOTHING, int(lines[here][0]), (0, times))

    def shown(self, lanes: NDArray[np.intp], proxy: Proxy) -> Ids:
        """Return what is visible to the async proxy when these threads start an operation of it."""
        numbers = self._released.get(proxy)
        if numbers is None:
            return np.zeros(len(lanes), np.int32)
        threads, columns = np.divmod(lanes, self._columns)
        own = numbers[threads, columns]
        made: Ids = np.maximum(-own, NOTHING)
        for at in np.flatnonzero(own > 0).tolist():
            made[at] = self._released_by_one(numbers, int(threads[at]), int(columns[at]))
        return made

    # -- knowledge from clocks ----------------------------------------------------------------------------------------

    def _released_by(self, numbers: Ids, threads: NDArray[np.intp], column: int) -> int:
        """Return what the fences of the threads together made visible."""
        total = NOTHING
        own = numbers[threads, column]
        for number in distinct(own):
            if number < 0:
                total = self.knowledge.join(total, -number)
            elif number > 0:
                made = self._knowledge_at(self._moments[number - 1], threads[own == number], column)
                total = self.knowledge.join(total, made)
        return total

    def _released_by_one(self, numbers: Ids, thread: int, column: int) -> int:
        """Return what the fences of one thread made visible."""
        number = int(numbers[thread, column])
        if number <= 0:
            return -number
        key = number, thread, column
        if key not in self._fenced:
            self._fenced[key] = self._knowledge_at(self._moments[number - 1], np.array([thread]), column)
        return self._fenced[key]

    def _knowledge_at(self, when: Moment, threads: NDArray[np.intp], column: int) -> int:
        """Return what the threads of a block came after at a moment, including their own actions."""
        times = np.full(self._warps * WARP, _UNKNOWN, np.int32)
        times[threads] = when.time[threads, column % when.time.shape[1]]
        if when.rows is not None:
            rows = when.rows[threads, :, column % when.rows.shape[2]]
            for warp in np.unique(threads // WARP).tolist():
                part = slice(warp * WARP, warp * WARP + WARP)
                times[part] = np.maximum(times[part], rows[threads // WARP == warp].max(axis=0))
        number = NOTHING
        if when.others is not None:
            number = self.knowledge.join(*distinct(when.others[threads, column]))
        return self.knowledge.extend(number, int(when.blocks[column]), (int(when.interval[column]), times))

    # -- arrays -------------------------------------------------------------------------------------------------------

    def compare_blocks(self, times: NDArray[np.int64], lanes: NDArray[np.intp]) -> None:
        """Note whether these times differ between blocks."""
        if self.alike:
            grid = np.full((self._threads, self._columns), _UNKNOWN, np.int64)
            grid.reshape(-1)[lanes] = times
            self.alike = bool((grid == grid[:, :1]).all())

    def _whole(self, mask: Mask | None) -> Grid:
        self.alike &= mask is None or mask.alike
        return np.ones((self._threads, self._columns), np.bool_) if mask is None else mask.array

    def _ids(self, numbers: Ids | None) -> Ids:
        """Return a copy of the numbers of all threads."""
        if numbers is None:
            return np.zeros((self._threads, self._columns), np.int32)
        return numbers.copy()

    def _by_column(self, mask: Mask | None) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield the threads of the mask, block by block."""
        whole = self._whole(mask)
        for column in np.flatnonzero(whole.any(axis=0)).tolist():
            yield column, np.flatnonzero(whole[:, column])


def _padded(array: NDArray[_Number], rows: int, filler: int) -> NDArray[_Number]:
    """Return the array with as many rows as fill the last warp."""
    missing = np.full((rows - len(array), array.shape[1]), filler, array.dtype)
    return np.concatenate((array, missing)) if len(missing) else array
