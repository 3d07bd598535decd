"""Small changes to a program, most of which take away order that it needs; none lets a barrier diverge or hang."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import copy

from tests.races.programs import (
    Access,
    Atomic,
    AtomicKind,
    BlockBarrier,
    Copy,
    CopyWait,
    Fence,
    If,
    NamedBarrier,
    PhaseWait,
    Program,
    Return,
    Shuffle,
    Statement,
    WarpBarrier,
    bodies,
    statements,
)
from tests.races.trace import BLOCK

_WIDTHS = (1, 2, 4, 8, 16)
_ATOMICS: tuple[AtomicKind, ...] = ("add", "swap", "store", "load")
_MOVABLE = Access | Copy | Fence


def mutate(program: Program, rng: random.Random) -> None:
    """Change the program in one place."""
    for _ in range(20):
        change = rng.choice(_CHANGES)
        if change(program, rng):
            return


def _places(program: Program, kinds: type | tuple[type, ...]) -> list[tuple[list[Statement], int]]:
    return [
        (body, index) for body in bodies(program.rest) for index, each in enumerate(body) if isinstance(each, kinds)
    ]


def _drop_order(program: Program, rng: random.Random) -> bool:
    """Leave out what orders accesses, or put a shuffle in its place."""
    arrived = {each.number for each in statements(program.rest) if isinstance(each, NamedBarrier) and not each.waits}
    places = [
        (body, index)
        for body, index in _places(program, (BlockBarrier, WarpBarrier, Fence, CopyWait, NamedBarrier, PhaseWait))
        if not (isinstance(each := body[index], NamedBarrier) and each.number in arrived)
    ]
    if not places:
        return False
    body, index = rng.choice(places)
    was = body[index]
    if isinstance(was, WarpBarrier) and rng.random() < 0.5:
        body[index] = Shuffle(was.mask, rng.randrange(3))
    else:
        del body[index]
    return True


def _swap(program: Program, rng: random.Random) -> bool:
    """Let an access and what stands beside it change places."""
    pairs = [
        (body, index)
        for body in bodies(program.rest)
        for index in range(len(body) - 1)
        if any(isinstance(each, _MOVABLE) for each in body[index : index + 2])
        and not any(_leaves(each) for each in body[index : index + 2])
    ]
    if not pairs:
        return False
    body, index = rng.choice(pairs)
    body[index], body[index + 1] = body[index + 1], body[index]
    return True


def _leaves(statement: Statement) -> bool:
    """Whether the statement's neighbours depend on it: it ends threads, or its value decides what they do."""
    if isinstance(statement, If):
        return any(isinstance(each, Return) for each in statements(statement.body))
    return isinstance(statement, Access) and bool(statement.observed or statement.value)


def _weaken(program: Program, rng: random.Random) -> bool:
    """Take a narrower scope, mask or order, or another width for an atomic."""
    chosen = [each for each in statements(program.rest) if isinstance(each, Fence | Atomic | WarpBarrier | CopyWait)]
    if not chosen:
        return False
    each = rng.choice(chosen)
    match each:
        case Fence():
            each.scope = BLOCK
        case Atomic(width=width) if rng.random() < 0.25:
            each.width = 12 - width
            each.index = f"({each.index}) >> 1" if width == 4 else f"({each.index}) << 1"
        case Atomic(order="acq_rel"):
            each.order = rng.choice(("relaxed", "acquire", "release"))
        case Atomic(order="relaxed"):
            each.scope = BLOCK
        case Atomic():
            each.order = "relaxed"
        case WarpBarrier():
            size = rng.choice((1, 2, 4, 8, 16))
            each.mask = f"({each.mask}) & ((0xffffffff >> {32 - size}) << (t % 32 - t % {size}))"
        case CopyWait():
            each.left = (each.left or 0) + 1
    return True


def _narrow_barrier(program: Program, rng: random.Random) -> bool:
    """Let only the warp meet where the block should, or pairs of lanes."""
    places = _places(program, BlockBarrier)
    if not places or any(isinstance(each, Return) for each in statements(program.rest)):
        return False
    body, index = rng.choice(places)
    body[index] = WarpBarrier(rng.choice(("0xffffffff", "3 << (t % 32 - t % 2)", "0xffff << (t % 32 - t % 16)")))
    return True


def _some_meet(program: Program, rng: random.Random) -> bool:
    """Let only some blocks meet, or only one warp."""
    places = _places(program, (BlockBarrier, WarpBarrier))
    if not places:
        return False
    body, index = rng.choice(places)
    whole = isinstance(body[index], BlockBarrier)
    guard = rng.choice(("b == 0", "b % 2 == 1")) if whole else rng.choice(("t < 32", "t >= 32"))
    body[index] = If(guard, [body[index]])
    return True


def _other_place(program: Program, rng: random.Random) -> bool:
    """Let an access go to the next element."""
    access = _any_access(program, rng)
    if access is None:
        return False
    count = access.array.size // access.width
    access.index = f"({access.index} + {rng.choice((1, 1, 2, count - 1))}) % {count}"
    return True


def _other_width(program: Program, rng: random.Random) -> bool:
    """Let an access take more bytes, or fewer."""
    access = _any_access(program, rng)
    if access is None:
        return False
    width = rng.choice(_WIDTHS)
    shift = width.bit_length() - access.width.bit_length()
    access.index = f"({access.index}) >> {shift}" if shift > 0 else f"({access.index}) << {-shift}"
    access.width = width
    return True


def _other_kind(program: Program, rng: random.Random) -> bool:
    """Make an access volatile or plain, or a load a store."""
    access = _any_access(program, rng)
    if access is None:
        return False
    if rng.random() < 0.3:
        access.writes = not access.writes
    else:
        access.style = "plain" if access.style == "volatile" else "volatile"
    return True


def _some_threads(program: Program, rng: random.Random) -> bool:
    """Let some threads leave an access out."""
    places = [(body, index) for body, index in _places(program, Access) if not _leaves(body[index])]
    if not places:
        return False
    body, index = rng.choice(places)
    guard = rng.choice(("t == 0", "t % 2 == 1", "t < 32", "b == 0", "t % 32 < 16"))
    body[index] = If(guard, [body[index]])
    return True


def _once_more(program: Program, rng: random.Random) -> bool:
    """Let an access of the outermost level happen again elsewhere in the program."""
    accesses = [each for each in program.rest if isinstance(each, Access) and not each.observed]
    if not accesses:
        return False
    again = copy(rng.choice(accesses))
    if rng.random() < 0.3 and not again.value:
        again.writes = not again.writes
    program.rest.insert(rng.randrange(len(program.rest) + 1), again)
    return True


def _make_atomic(program: Program, rng: random.Random) -> bool:
    """Make a store an atomic."""
    places = [
        (body, index)
        for body, index in _places(program, Access)
        if isinstance(each := body[index], Access) and each.writes and each.width in {4, 8} and not each.value
    ]
    if not places:
        return False
    body, index = rng.choice(places)
    was = body[index]
    assert isinstance(was, Access)
    body[index] = Atomic(
        was.array, was.index, was.width, rng.choice(("add", "swap", "store", "load")), rng.choice((BLOCK, "device"))
    )
    return True


def _any_access(program: Program, rng: random.Random) -> Access | None:
    """One whose value nobody waits for."""
    accesses = [
        each for each in statements(program.rest) if isinstance(each, Access) and not each.observed and not each.value
    ]
    return rng.choice(accesses) if accesses else None


_CHANGES: tuple[Callable[[Program, random.Random], bool], ...] = (
    _drop_order,
    _drop_order,
    _drop_order,
    _drop_order,
    _swap,
    _swap,
    _weaken,
    _weaken,
    _weaken,
    _narrow_barrier,
    _some_meet,
    _other_place,
    _other_width,
    _other_kind,
    _some_threads,
    _once_more,
    _make_atomic,
)
