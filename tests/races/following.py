"""What every thread of a program does, as a trace for the oracle.

Control flow follows from the numbers of block and thread, and from what the kernel reported in P. The order in which
atomics took effect follows from the values they returned: each store to such a location leaves a value of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, pairwise, permutations
from types import CodeType

from tests.races import programs, trace
from tests.races.programs import WARP, Array, If, Loop, Program, Return, Statement, reports
from tests.races.trace import Bytes, Operation, Place, Thread, Trace

Reported = Callable[[int, int], int]  # a row of P and the number of a thread in the grid


class _Returned(Exception):
    """The thread has ended."""


@cache
def _code(expression: str) -> CodeType:
    return compile(expression, expression, "eval")


@dataclass(frozen=True, slots=True)
class _Effect:
    """A store to, or an atomic on, some location, with the values before and after it where they are known.

    position: where it stands in the program, with the turns of the loops round it
    barriers: of its block, which its thread has passed
    """

    place: Place
    bytes: Bytes
    atomic: bool
    updates: bool  # reads and writes
    looks: bool  # uses what it finds
    position: tuple[int, ...]
    barriers: int
    old: int | None
    new: int | None


@dataclass(slots=True)
class _Threads:
    operations: dict[Thread, list[Operation]] = field(default_factory=dict)
    effects: list[_Effect] = field(default_factory=list)


def follow(program: Program, reported: Reported) -> Iterator[Trace]:
    """The program's trace; where the order of atomics is not known, traces with several that are possible."""
    threads = _Threads()
    for block in range(program.blocks):
        for number in range(program.threads):
            _Thread(program, (block, number), reported, threads).run()
    orders, certain = _orders(threads.effects)
    for turn in range(max(map(len, orders.values()), default=1)):
        chosen = {where: each[min(turn, len(each) - 1)] for where, each in orders.items()}
        yield Trace(threads.operations, chosen, certain)


class _Thread:
    """One thread on its way through the statements."""

    def __init__(self, program: Program, thread: Thread, reported: Reported, threads: _Threads) -> None:
        self._program = program
        self._thread = thread
        self._number = thread[0] * program.threads + thread[1]
        self._reported = reported
        self._threads = threads
        self._operations = threads.operations.setdefault(thread, [])
        self._values: dict[str, int] = {"t": thread[1], "b": thread[0], "g": self._number}
        self._uses: dict[object, int] = defaultdict(int)
        self._row = 0
        self._position: tuple[int, ...] = ()
        self._copies = 0
        self._pending: list[int] = []
        self._groups: list[list[int]] = []

    def run(self) -> None:
        with suppress(_Returned):
            self._body(self._program.body)

    def _value(self, expression: str) -> int:
        return int(eval(_code(expression), {}, self._values))

    def _body(self, body: list[Statement], *within: int) -> None:
        for number, statement in enumerate(body):
            self._position = (*within, number)
            match statement:
                case If(condition, then, other):
                    taken = bool(self._value(condition))
                    self._body(then if taken else other, *within, number, not taken)
                case Loop(variable, times, inner):
                    for turn in range(times):
                        self._values[variable] = turn
                        self._body(inner, *within, number, turn)
                case Return():
                    raise _Returned
                case programs.Access():
                    self._access(statement)
                case programs.Atomic():
                    self._atomic(statement)
                case programs.Copy() | programs.CopyCommit() | programs.CopyWait():
                    self._copy(statement)
                case _:
                    self._operations.extend(self._order(statement))

    def _use(self, key: object) -> int:
        self._uses[key] += 1
        return self._uses[key] - 1

    def _bytes(self, array: Array, index: str, width: int) -> Bytes:
        first = self._value(index) * width
        assert 0 <= first <= array.size - width, (array, index, first)
        if array.offset is None:
            return f"{array.name} of block {self._thread[0]}", first, width
        return "M", array.offset + first, width

    # -- accesses ------------------------------------------------------------------------------------------------------

    def _token(self) -> int:
        return (self._number + self._program.total * self._row + 1) << 12

    def _report(self, statement: programs.Access | programs.Atomic) -> int | None:
        """The thread's next value in P, which is also the value of the variable that it observes."""
        if not reports(statement):
            return None
        self._row += 1
        if not statement.observed:
            return None
        value = self._reported(self._row, self._number)
        self._values[statement.observed] = value
        return value

    def _access(self, access: programs.Access) -> None:
        where = self._bytes(access.array, access.index, access.width)
        volatile = access.style == "volatile"
        place = self._thread, len(self._operations)
        self._operations.append(trace.Access(access.line, where, access.writes, volatile))
        if access.writes:
            new = self._token() if access.value == "token" else int(access.value) if access.value.isdigit() else None
            self._threads.effects.append(
                _Effect(place, where, False, False, False, self._position, self._uses["block"], None, new)
            )
        self._report(access)

    def _atomic(self, atomic: programs.Atomic) -> None:
        where = self._bytes(atomic.array, atomic.index, atomic.width)
        place = self._thread, len(self._operations)
        token = self._value(atomic.value) if atomic.value else self._token()
        self._operations.append(
            trace.Atomic(
                atomic.line,
                where,
                atomic.scope,
                reads=atomic.does != "store",
                writes=atomic.does != "load",
                acquires=atomic.order in {"acquire", "acq_rel"},
                releases=atomic.order in {"release", "acq_rel"},
                sets=token if atomic.sets else None,
                looks=atomic.looks,
            )
        )
        found = self._report(atomic)
        old = None if atomic.does == "store" else found
        new = {"add": None if old is None else old + 1, "swap": token, "store": token, "load": old}[atomic.does]
        updates = atomic.does in {"add", "swap"}
        self._threads.effects.append(
            _Effect(place, where, True, updates, atomic.looks, self._position, self._uses["block"], old, new)
        )

    def _copy(self, statement: programs.Copy | programs.CopyCommit | programs.CopyWait) -> None:
        match statement:
            case programs.Copy(array, index, source, source_index, width, line):
                self._operations.append(
                    trace.Copy(
                        line, self._bytes(array, index, width), self._bytes(source, source_index, width), self._copies
                    )
                )
                self._pending.append(self._copies)
                self._copies += 1
            case programs.CopyCommit():
                self._groups.append(self._pending)
                self._pending = []
            case programs.CopyWait(None):
                self._groups.append(self._pending)
                self._pending = []
                self._wait(0)
            case programs.CopyWait(int(left)):
                self._wait(left)

    def _wait(self, left: int) -> None:
        done = self._groups[: max(0, len(self._groups) - left)]
        self._groups = self._groups[len(done) :]
        self._operations.append(trace.CopyWait(frozenset(name for group in done for name in group)))

    # -- what orders accesses ------------------------------------------------------------------------------------------

    def _order(self, statement: Statement) -> Iterator[Operation]:
        match statement:
            case programs.Fence(scope):
                yield trace.Fence(scope)
            case programs.BlockBarrier():
                yield trace.BlockBarrier(self._use("block"))
            case programs.WarpBarrier(mask):
                lanes = self._value(mask) & 0xFFFFFFFF
                assert lanes >> self._thread[1] % WARP & 1, (mask, self._thread)
                yield trace.WarpBarrier(lanes, self._use(lanes))
            case programs.NamedBarrier(number, _, waits):
                yield trace.NamedBarrier(number, self._use(f"named {number}"), waits)
            case programs.Arrival(name):
                yield trace.Arrival(self._phase(name), self._use(f"arrival {name}"))
            case programs.PhaseWait(name):
                yield trace.PhaseSeen(self._phase(name), self._use(f"wait {name}"))

    def _phase(self, name: str) -> str:
        return f"{name} of block {self._thread[0]}"


# -- the order of atomics ----------------------------------------------------------------------------------------------

_Orders = list[list[Place]]  # only one where the order is known
# More are too slow to judge.
_MOST_CHANGES, _MOST_ORDERS = 5, 16


def _orders(effects: list[_Effect]) -> tuple[dict[Bytes, _Orders], bool]:
    """For each location of an atomic, orders in which what touches it can have taken effect.

    Also whether these show all that may follow: not if an atomic uses what it finds, and the order isn't known.
    """
    certain = True
    by_memory: Mapping[str, list[_Effect]] = defaultdict(list)
    for each in effects:
        by_memory[each.bytes[0]].append(each)
    orders = {}
    for where in {each.bytes for each in effects if each.atomic}:
        touching = [each for each in by_memory[where[0]] if _overlap(each.bytes, where)]
        order = _chained(touching, where)
        if order is not None:
            orders[where] = [order]
        elif possible := _possible(touching, where):
            orders[where] = possible
        else:
            certain &= not any(each.looks for each in touching)
            orders[where] = [
                [each.place for each in sorted(touching, key=lambda each: (each.position, each.place))],
                [each.place for each in sorted(touching, key=lambda each: (each.position, _last(each)))],
            ]
    return orders, certain


def _last(effect: _Effect) -> tuple[int, int, int]:
    (block, number), index = effect.place
    return -number, -block, index


def _overlap(a: Bytes, b: Bytes) -> bool:
    return a[1] < b[1] + b[2] and b[1] < a[1] + a[2]


def _chained(effects: list[_Effect], where: Bytes) -> list[Place] | None:
    """The order that the values prove: each atomic found what the one before it left; None where they do not.

    A value is that of the first 4 bytes.
    """
    if not _told(effects, where):
        return None
    loads = [each for each in effects if each.atomic and each.old == each.new]
    stores = sorted((each for each in effects if each.old is None), key=lambda each: (each.barriers, each.place))
    if any(_anyhow(a, b) for a, b in pairwise(stores)):
        return None
    found_by = {each.old: each for each in effects if each.updates}
    left = {each.new for each in (*found_by.values(), *stores)}
    first = [each for old, each in found_by.items() if old not in left]
    changes = len(effects) - len(loads)
    if len(found_by) + len(stores) < changes or len(left) < changes or len(first) > 1:
        return None
    order: list[_Effect] = []
    for start in (*first, *stores):
        found_by.pop(start.old, None)
        order.append(start)
        while (following := found_by.pop(order[-1].new, None)) is not None:
            order.append(following)
    if len(order) < changes:
        return None
    return [each.place for each in _with_loads(order, loads)]


def _told(effects: list[_Effect], where: Bytes) -> bool:
    """Whether all values before and after are known."""
    return not any(
        each.bytes[1] != where[1] or each.bytes[2] < 4 or each.new is None or (each.updates and each.old is None)
        for each in effects
    )


def _possible(effects: list[_Effect], where: Bytes) -> _Orders:
    """All orders in which each atomic finds what the one before it left; none where they are too many to try."""
    loads = [each for each in effects if each.atomic and each.old == each.new]
    changes = [each for each in effects if each not in loads]
    if not _told(effects, where) or len(changes) > _MOST_CHANGES:
        return []
    found: _Orders = []
    for order in permutations(changes):
        if any(then.updates and then.old != first.new for first, then in pairwise(order)):
            continue
        whole = list(_with_loads(list(order), loads))
        if not any(_surely(then, first) for first, then in combinations(whole, 2)):
            found.append([each.place for each in whole])
    return found if len(found) <= _MOST_ORDERS else []


def _surely(a: _Effect, b: _Effect) -> bool:
    """Whether program order or a barrier of the block puts the first of two effects first."""
    (block, thread), index = a.place
    (other_block, other), other_index = b.place
    if (block, thread) == (other_block, other):
        return index < other_index
    return block == other_block and a.barriers < b.barriers


def _anyhow(a: _Effect, b: _Effect) -> bool:
    """Whether neither program order nor a barrier of the block says which of two stores came first."""
    (block, thread), (other_block, other) = a.place[0], b.place[0]
    return block != other_block or (thread != other and a.barriers == b.barriers)


def _with_loads(order: list[_Effect], loads: list[_Effect]) -> Iterator[_Effect]:
    """Each load behind what left the value that it found; loads of one value may stand in any order."""
    left = {each.new for each in order}
    yield from (load for load in loads if load.old not in left)
    for each in order:
        yield each
        yield from (load for load in loads if load.old == each.new)
