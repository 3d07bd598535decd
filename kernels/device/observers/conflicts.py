"""Find pairs of accesses that conflict and that nothing orders."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernels.device.observers.entries import LANE_BITS, Entries
from kernels.device.observers.knowledge import Ids, Knowledge, Moment, barriers_of
from kernels.device.state.accesses import BEGIN, NEVER_COMMUTES, STORE, Kind, Strength, Where
from kernels.device.state.geometry import WARP, clusters_of
from kernels.launch import Launch

Index = NDArray[np.intp]
Flags = NDArray[np.bool_]
_AT_ONCE = 1 << 16
_MOST_TIMES = 1 << 22
_MOST_IN_TURN = 256


class Order:
    """Decides whether one access of a pair always comes before the other.

    moments: the clocks at `Entries.when`
    sites: the instructions by `Entries.site`
    one_block: each cell is used by one block only, so atomics of block scope are enough
    by_order: whether atomics that don't commute conflict. Otherwise only those conflict that set different values
    """

    def __init__(
        self,
        knowledge: Knowledge,
        moments: Mapping[int, Moment],
        sites: Sequence[Where],
        *,
        one_block: bool,
        launch: Launch,
        by_order: bool = False,
    ) -> None:
        self._knowledge = knowledge
        self._launch = launch
        self._by_order = by_order
        self._moments = moments
        if one_block:
            sites = [replace(site, strength=Strength.DEVICE) if site.strength.atomic else site for site in sites]
        self._sites = sites
        self._strength = np.array([site.strength for site in sites], np.int64)
        self._size = np.array([site.size for site in sites], np.int64)
        self._atomic = self._strength >= Strength.BLOCK
        self._updates = np.array([site.kind is Kind.UPDATE for site in sites], np.bool_)
        self._stores = self._atomic & np.array([site.stores for site in sites], np.bool_)
        self._changes = [site.change if by_order or site.stores else "" for site in sites]
        self._alone = np.array([change in NEVER_COMMUTES for change in self._changes], np.bool_)
        self._looks = self._atomic & np.array([site.looks for site in sites], np.bool_)
        number = {change: at for at, change in enumerate(dict.fromkeys(self._changes))}
        self._change = np.array([number[change] for change in self._changes], np.int64)
        self._writes = np.array([site.kind.writes for site in sites], np.bool_)
        self._begins = np.array([site.change == BEGIN for site in sites], np.bool_)
        self._of_warps = self._writes & np.array([site.by_warp for site in sites], np.bool_)

    def ordered(self, earlier: Entries, later: Entries, *, volatile: bool = True, proxies: bool = True) -> Flags:
        """Whether, for each pair, the earlier access of this run comes first in every run.

        volatile: whether volatile accesses need no fence
        proxies: whether a write must also be visible to a later transfer
        """
        same = earlier["block"] == later["block"]
        own = (same & (earlier["thread"] == later["thread"])) | (earlier["event"] == later["event"])
        # A thread's own accesses are in order, but its asynchronous copy ends only at a wait.
        found: Flags = own & (earlier["landed"] <= later["event"])
        if self._of_warps.any():
            # Each thread stores its own elements, in order.
            both = self._of_warps[earlier["site"]] & self._of_warps[later["site"]]
            both &= earlier["event"] >> LANE_BITS != later["event"] >> LANE_BITS
            found |= both & same & (earlier["thread"] // WARP == later["thread"] // WARP)
        begun = self._begun(later)
        transfer = earlier["home"] < 0
        found |= same & ~transfer & (earlier["interval"] < begun)
        left = np.flatnonzero(~found & (~same | transfer | (earlier["interval"] == begun)))
        for when in np.unique(later["when"][left]).tolist():
            chosen = left[later["when"][left] == when]
            moment = self._moments[when]
            pairs = earlier.take(chosen), later.take(chosen)
            found[chosen] = self._known(moment, *pairs)
            if volatile and moment.pending:
                found[chosen] |= self._visible(moment, *pairs)
        if proxies and (later["shown"] >= 0).any():
            across = np.flatnonzero((later["shown"] >= 0) & earlier["generic"] & self._writes[earlier["site"]])
            found[across] &= self._told(later["shown"][across], earlier.take(across))
        return found

    def _begun(self, later: Entries) -> NDArray[np.int64]:
        """Return the intervals of the accesses; for a copy, the interval in which it was issued."""
        begun = later["interval"].copy()
        copies = np.flatnonzero(later["landed"] >= 0)
        for when in np.unique(later["when"][copies]).tolist():
            chosen = copies[later["when"][copies] == when]
            begun[chosen] = self._moments[when].interval[later["column"][chosen]]
        return begun

    def _known(self, moment: Moment, earlier: Entries, later: Entries) -> Flags:
        """Decide by the clocks of the later threads at one moment."""
        thread, column = later["thread"], later["column"]
        found = np.zeros(len(later), np.bool_)
        if moment.rows is not None:
            near = (earlier["home"] == later["block"]) & (earlier["thread"] // WARP == thread // WARP)
            known = moment.rows[thread, earlier["thread"] % WARP, column % moment.rows.shape[2]]
            found |= near & (known >= earlier["time"])
        if moment.others is not None:
            numbers = moment.others[thread, column]
            found |= self._told(numbers, earlier)
            if (begins := self._begins[earlier["site"]]).any():
                made = earlier.compress(begins)
                made["home"] = barriers_of(made["block"])
                found[begins] |= self._told(numbers[begins], made)
        return found

    def _visible(self, moment: Moment, earlier: Entries, later: Entries) -> Flags:
        """Decide by what the later threads saw released, if they make volatile accesses."""
        volatile: Flags = self._strength[later["site"]] == Strength.VOLATILE
        found = np.zeros(len(later), np.bool_)
        for numbers in moment.pending.values():
            found |= volatile & self._told(numbers[later["thread"], later["column"]], earlier)
        return found

    def _told(self, numbers: Ids, earlier: Entries) -> Flags:
        """Whether the knowledge with these numbers covers the earlier accesses."""
        found = np.zeros(len(numbers), np.bool_)
        some = np.flatnonzero(numbers > 0)
        if not len(some):
            return found
        homes, home = _different(earlier["home"][some])
        keys, which = _different(numbers[some] * np.int64(len(homes)) + home)
        known = [self._knowledge.of(key // len(homes)).get(int(homes[key % len(homes)])) for key in keys.tolist()]
        until = np.array([-1 if each is None else each[0] for each in known], np.int64)[which]
        interval, time, thread = (earlier[name][some] for name in ("interval", "time", "thread"))
        covered = interval < until
        step = max(1, _MOST_TIMES // self._launch.threads)
        nothing = np.zeros(self._launch.threads, np.int32)
        for first in range(0, len(keys), step):
            rows = [nothing if each is None else each[1] for each in known[first : first + step]]
            # Knowledge of barriers has rows of another length.
            times, begins = np.concatenate(rows), np.cumsum([0, *map(len, rows)])
            part = slice(None) if len(keys) <= step else np.flatnonzero(which // step == first // step)
            covered[part] |= (interval[part] == until[part]) & (
                times[begins[which[part] - first] + thread[part]] >= time[part]
            )
        found[some] = covered
        return found

    def covered(self, numbers: Ids, earlier: Entries) -> Flags:
        """Whether the knowledge with these numbers shows that the accesses came before."""
        return self._told(numbers, earlier)

    # -- pairs --------------------------------------------------------------------------------------------------------

    def suspects(self, entries: Entries) -> Flags:
        """Return the entries of cells whose accesses may be unordered. The other cells have no race.

        Accesses that don't conflict, such as reads, form a run. Order is transitive. So all accesses are ordered if
        every access of a run comes before every access of the next run. To be visible to the async proxy isn't: a read
        between a write and a transfer shows nothing. So each transfer is also compared with the last run of writes.

        entries: sorted by key and event
        """
        if not len(entries):
            return np.zeros(0, np.bool_)
        run = self._runs(entries)
        starts = np.flatnonzero(np.r_[True, run[1:] != run[:-1]])
        sizes = np.diff(np.r_[starts, len(run)])
        follows = entries["key"][starts[1:]] == entries["key"][starts[:-1]]
        cell = np.cumsum(np.r_[True, entries["key"][1:] != entries["key"][:-1]]) - 1
        bad = np.zeros(cell[-1] + 1, np.bool_)
        ones = np.flatnonzero(np.r_[follows, False][run])
        first, counts = np.r_[starts, 0][run[ones] + 1], np.r_[sizes, 0][run[ones] + 1]
        everyone = np.arange(len(entries))
        # First compare each with one of the next run, which finds most. Only then compare with all of the run.
        for most, some in ((np.minimum(counts, 1), counts > 0), (counts, counts > 1)):
            left = some & ~bad[cell[ones]]
            for one, other in _slices(ones[left], everyone, first[left], most[left]):
                loose = ~self.ordered(entries.take(one), entries.take(other), volatile=False)
                bad[cell[one[loose]]] = True
        transfers = np.flatnonzero(entries["shown"] >= 0)
        if len(transfers):
            writes = entries["generic"] & self._writes[entries["site"]]
            last = np.maximum.accumulate(np.where(writes, everyone, -1))[transfers]
            transfers, last = transfers[last >= 0], last[last >= 0]
            same = cell[transfers] == cell[last]
            transfers, last = transfers[same], run[last[same]]
            for one, other in _slices(transfers, everyone, starts[last], sizes[last]):
                loose = ~self.ordered(entries.take(other), entries.take(one), volatile=False)
                bad[cell[one[loose]]] = True
        suspects: Flags = bad[cell]
        return suspects

    def ends(self, entries: Entries, *, by_site: bool = False) -> Flags:
        """Return the entries with which later accesses must be compared. Entries as for `suspects`, of ordered cells.

        For each sort of access to a cell, the last run is enough. All earlier runs of that sort come before it, and
        they conflict with the same accesses.

        by_site: whether each instruction is a sort of its own, which also shows most races of cells that aren't ordered
        """
        if not len(entries):
            return np.zeros(0, np.bool_)
        run = self._runs(entries)
        sorts: list[Hashable] = [
            at if by_site else (site.kind.writes, site.strength, *((site.size, change) if site.strength.atomic else ()))
            for at, (site, change) in enumerate(zip(self._sites, self._changes, strict=True))
        ]
        number = {sort: at for at, sort in enumerate(dict.fromkeys(sorts))}
        sort = np.array([number[sort] for sort in sorts])[entries["site"]]
        cell = np.cumsum(np.r_[True, entries["key"][1:] != entries["key"][:-1]]) - 1
        last = np.full((int(cell[-1]) + 1, len(number)), -1)
        np.maximum.at(last, (cell, sort), run)
        found: Flags = run == last[cell, sort]
        return found

    def _runs(self, entries: Entries) -> Index:
        """Return the number of each entry's run. Entries as for `suspects`."""
        site = entries["site"]
        alone = ((self._writes | self._atomic) & (self._strength < Strength.DEVICE) | self._alone)[site]
        kind = np.where(self._atomic, self._size + (self._change << 8), 0)[site]
        new = np.ones(len(entries), np.bool_)
        other = entries["value"][1:] != entries["value"][:-1]
        new[1:] = (self._stores[site[1:]] & other) | (
            (entries["key"][1:] != entries["key"][:-1]) | (kind[1:] != kind[:-1]) | alone[1:] | alone[:-1]
        )
        new[1:] &= (entries["event"][1:] != entries["event"][:-1]) | (entries["key"][1:] != entries["key"][:-1])
        number: Index = np.cumsum(new) - 1
        return number

    def races(self, entries: Entries, since: int, settled: Callable[[int, int], bool]) -> Iterator[tuple[Index, Index]]:
        """Yield pairs that conflict and that nothing orders, the earlier access of this run first.

        entries: sorted by key and event
        since: pairs whose later access came before this event are already known
        settled: whether enough is known about two instructions
        """
        sites, keys = entries["site"], entries["key"]
        rows = {site: np.flatnonzero(sites == site) for site in np.unique(sites).tolist()}
        for one, mine in rows.items():
            for other, theirs in rows.items():
                if one <= other and self._conflict(one, other):
                    first = np.searchsorted(keys[theirs], keys[mine], "left")
                    counts = np.searchsorted(keys[theirs], keys[mine], "right") - first
                    for pair in _slices(mine, theirs, first, counts):
                        if settled(one, other):
                            break
                        found = self._unordered(entries, *pair, since, mirrored=one == other)
                        if len(found[0]):
                            yield found

    def _unordered(
        self, entries: Entries, one: Index, other: Index, since: int, *, mirrored: bool
    ) -> tuple[Index, Index]:
        """Return the pairs that race, each once."""
        turned = entries["event"][one] > entries["event"][other]
        kept = (entries["block"][one] != entries["block"][other]) | (entries["thread"][one] != entries["thread"][other])
        kept |= (entries["landed"][one] >= 0) | (entries["landed"][other] >= 0)
        kept &= entries["event"][one] != entries["event"][other]
        if mirrored:
            kept &= one < other
        earlier, later = np.where(turned, other, one)[kept], np.where(turned, one, other)[kept]
        kept = entries["event"][later] >= since
        kept &= ~self._compatible(entries, earlier, later)
        earlier, later = earlier[kept], later[kept]
        loose = ~self.ordered(entries.take(earlier), entries.take(later))
        earlier, later = earlier[loose], later[loose]
        if not len(earlier):
            return earlier, later
        loose = np.ones(len(earlier), np.bool_)
        stores = self._stores[entries["site"]]
        both = stores[earlier] & stores[later] & self.atomic(entries, earlier, later)
        for asked, in_order in ((both, self._stored_in_turn), (~both, self._seen)):
            chosen = np.flatnonzero(asked)
            loose[chosen] = ~in_order(entries, earlier[chosen], later[chosen])
        return earlier[loose], later[loose]

    def _conflict(self, one: int, other: int) -> bool:
        """Whether accesses by two instructions can conflict at all."""
        first, second = self._sites[one], self._sites[other]
        # PTX orders two atomics only if they use exactly the same bytes.
        atomic = first.strength is second.strength is Strength.DEVICE and first.size == second.size
        changes = self._changes[one], self._changes[other]
        commute = changes[0] == changes[1] and changes[0] not in NEVER_COMMUTES | {STORE}
        if atomic and (commute or (not self._by_order and changes != (STORE, STORE))):
            return False
        return first.kind.writes or second.kind.writes

    def _compatible(self, entries: Entries, earlier: Index, later: Index) -> Flags:
        """Whether both are atomics that commute, whichever comes first."""
        one, other = entries["site"][earlier], entries["site"][later]
        both = self._stores[one] & self._stores[other]
        alike = ~both | (entries["value"][earlier] == entries["value"][later])
        if self._by_order:
            alike &= (self._change[one] == self._change[other]) & ~self._alone[one]
        found: Flags = alike & self.atomic(entries, earlier, later)
        return found

    def atomic(self, entries: Entries, earlier: Index, later: Index) -> Flags:
        """Whether both are atomics of one width, with scopes that include both threads."""
        one, other = entries["site"][earlier], entries["site"][later]
        wide = np.minimum(self._strength[one], self._strength[other]) == Strength.DEVICE
        blocks = entries["block"][earlier], entries["block"][later]
        near = blocks[0] == blocks[1]
        if self._launch.cluster_blocks > 1:
            wider = np.minimum(self._strength[one], self._strength[other]) >= Strength.CLUSTER
            near |= wider & (clusters_of(self._launch, blocks[0]) == clusters_of(self._launch, blocks[1]))
        both = self._atomic[one] & self._atomic[other] & (self._size[one] == self._size[other])
        found: Flags = both & (wide | near)
        return found

    # -- order through an atomic's own location -----------------------------------------------------------------------

    def _seen(self, entries: Entries, earlier: Index, later: Index) -> Flags:
        """Whether the earlier access is an atomic that an atomic before the later access has seen."""
        found = np.zeros(len(earlier), np.bool_)
        asked = np.flatnonzero((self._atomic & self._writes)[entries["site"][earlier]])
        keys = np.ascontiguousarray(entries["key"])
        asked = asked[np.argsort(keys[earlier[asked]], kind="stable")]
        of_pair = keys[earlier[asked]]
        for pairs in np.split(asked, np.flatnonzero(of_pair[1:] != of_pair[:-1]) + 1) if len(asked) else ():
            key = keys[earlier[pairs[0]]]
            there = np.arange(np.searchsorted(keys, key, "left"), np.searchsorted(keys, key, "right"))
            found[pairs] = self._seen_there(entries, there, earlier[pairs], later[pairs])
        return found

    def _seen_there(self, entries: Entries, there: Index, earlier: Index, later: Index) -> Flags:
        """Decide `_seen` for pairs at one location. A store hides all earlier changes from later looks."""
        events = entries["event"]
        there = there[np.argsort(events[there], kind="stable")]
        sites = entries["site"][there]
        seers = there[self._looks[sites]]
        found = np.zeros(len(earlier), np.bool_)
        if not len(seers):
            return found
        stores = events[there[(self._writes & ~self._updates)[sites]]]
        reign = np.searchsorted(stores, events[seers], "right")  # each store's, until the next one
        starts = np.flatnonzero(np.r_[True, reign[1:] != reign[:-1]])
        of_earlier = np.searchsorted(stores, events[earlier], "right")
        column = np.minimum(np.searchsorted(reign[starts], of_earlier), len(starts) - 1)
        looked = reign[starts][column] == of_earlier
        ends, row = np.unique(later, return_inverse=True)
        step = max(1, _AT_ONCE // len(seers))
        for begin in range(0, len(ends), step):
            part = ends[begin : begin + step]
            one, other = np.tile(seers, len(part)), np.repeat(part, len(seers))
            before = events[one] < events[other]
            before[before] = self.ordered(entries.take(one[before]), entries.take(other[before]))
            last = np.maximum.reduceat(np.where(before, events[one], -1).reshape(len(part), -1), starts, axis=1)
            here = np.flatnonzero((row >= begin) & (row < begin + step))
            found[here] = looked[here] & (last[row[here] - begin, column[here]] >= events[earlier[here]])
        return found

    def _stored_in_turn(self, entries: Entries, earlier: Index, later: Index) -> Flags:
        """Whether atomics of the location put the earlier of two atomic stores first.

        A store comes after all that its thread has seen at the location, or a thread before it. So do later stores. To
        see is to load a value, or to use the old value of an update.
        """
        found = np.zeros(len(earlier), np.bool_)
        keys = np.ascontiguousarray(entries["key"])
        for key in np.unique(keys[earlier]).tolist():
            pairs = np.flatnonzero(keys[earlier] == key)
            there = np.arange(np.searchsorted(keys, key, "left"), np.searchsorted(keys, key, "right"))
            there = there[self._atomic[entries["site"][there]]]
            if len(there) > _MOST_IN_TURN:  # the closest pair and those around it speak for all
                place = np.searchsorted(there, earlier[pairs])
                near = int(np.argmin(np.searchsorted(there, later[pairs]) - place))
                there = there[place[near] :][:_MOST_IN_TURN]
            inside = np.isin(earlier[pairs], there) & np.isin(later[pairs], there)
            chosen = (np.searchsorted(there, earlier[pairs[inside]]), np.searchsorted(there, later[pairs[inside]]))
            first = self._first(entries, there)[chosen]
            found[pairs] = first.all()
            found[pairs[inside]] = first
        return found

    def _first(self, entries: Entries, there: Index) -> Flags:
        """Whether, for each two atomics of a location, the one comes before the other's change in every run."""
        count, event = len(there), entries["event"][there]
        one, other = np.repeat(there, count), np.tile(there, count)
        before = entries["event"][one] < entries["event"][other]
        before[before] = self.ordered(entries.take(one[before]), entries.take(other[before]))
        before = before.reshape(count, count)
        site = entries["site"][there]
        ends = np.sort(event[(self._writes & ~self._updates)[site]])
        begun = np.r_[np.int64(-1), ends][np.searchsorted(ends, event, "left")]
        seen = self._writes[site][:, np.newaxis] & (event[:, np.newaxis] < event) & (event[:, np.newaxis] >= begun)
        seen &= self._looks[site]
        # floats, because numpy multiplies them much faster
        first = (before | (seen.astype(np.float32) @ before.astype(np.float32) > 0)).astype(np.float32)
        for _ in range(count.bit_length()):
            first = np.minimum(first + first @ first, 1, dtype=np.float32)
        found: Flags = first > 0
        return found


def _slices(ones: Index, others: Index, first: Index, counts: Index) -> Iterator[tuple[Index, Index]]:
    """Yield the pairs of two lists in slices. Each of `ones` is paired with its `counts` entries from `first` on."""
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(ones):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + _AT_ONCE, "right")))
        part = counts[begin:end]
        one = np.repeat(ones[begin:end], part)
        place = np.arange(len(one)) - np.repeat(np.cumsum(part) - part, part)
        if len(one):
            yield one, others[np.repeat(first[begin:end], part) + place]
        begin = end


def _different(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], Index]:
    """The different keys in order, and the place of each among them. Keys that are close together need no sorting."""
    low = int(keys.min())
    span = int(keys.max()) - low + 1
    if span > 4 * len(keys) + _AT_ONCE:
        found, which = np.unique(keys, return_inverse=True)
        return found, which.reshape(-1)
    there = np.zeros(span, np.bool_)
    there[keys - low] = True
    return np.flatnonzero(there) + low, (np.cumsum(there) - 1)[keys - low]
