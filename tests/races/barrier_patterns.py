"""Patterns whose accesses are ordered by barriers, or by waits for copies."""

from __future__ import annotations

from tests.races.draft import WIDTHS, Draft, mask
from tests.races.programs import (
    Access,
    Arrival,
    Copy,
    CopyCommit,
    CopyWait,
    If,
    Loop,
    NamedBarrier,
    PhaseStart,
    PhaseWait,
    Statement,
    WarpBarrier,
)


def exchange(draft: Draft) -> None:
    """Everyone stores, a group meets, everyone loads what another one stored."""
    draft.add(*_exchange(draft, draft.rng.choice(draft.groups())))


def _exchange(draft: Draft, group: int) -> list[Statement]:
    array, first = draft.space()
    width, of = draft.widths(group)
    body: list[Statement] = [draft.store(array, draft.own(first, width), width), draft.meet(group)]
    body += [draft.load(array, draft.near(first, width, of, group), of) for _ in range(draft.rng.randint(1, 2))]
    body.append(draft.meet(group))
    if draft.rng.random() < 0.4:
        return [Loop(draft.name("k"), draft.rng.randint(2, 3), body, draft.rng.random() < 0.5)]
    return body


def double_buffer(draft: Draft) -> None:
    """Two halves in turn: one meeting for each turn is enough."""
    group = draft.rng.choice(draft.groups())
    array, first = draft.space()
    width, of = draft.widths(group, 8)
    k = draft.name("k")
    half = f"{first} + ({k} % 2) * {draft.threads // 2}"
    body = [
        draft.store(array, draft.own(half, width), width),
        draft.meet(group),
        draft.load(array, draft.near(half, width, of, group), of),
    ]
    draft.add(Loop(k, draft.rng.randint(2, 4), body, draft.rng.random() < 0.5))


def reduction(draft: Draft) -> None:
    """A sum in a tree."""
    group = draft.rng.choice(draft.groups())
    array, first = draft.space()
    here = "t" if group == draft.threads else f"t % {group}"
    apart = group // 2
    draft.add(draft.store(array, draft.own(first, 4), 4), draft.meet(group))
    for _ in range(3):
        if apart:
            near, own = draft.own(first, 4, f"t + {apart}"), draft.own(first, 4)
            steps: list[Statement] = [draft.load(array, near, 4), draft.load(array, own, 4), draft.store(array, own, 4)]
            draft.add(If(f"{here} < {apart}", steps), draft.meet(group))
            apart //= 2


def relay(draft: Draft) -> None:
    """Lanes that hear of each other through a third: they meet in groups of other lanes each time."""
    array, first = draft.space()
    if draft.alive % 32 == 0 and draft.rng.random() < 0.5:
        there = f"(t ^ {draft.rng.choice((1, 2, 3))})"
        meetings: list[Statement] = [WarpBarrier(f"(1 << (t % 32)) | (1 << (t % 32 ^ {bit}))") for bit in (1, 2)]
        width = 4
    else:
        within = [size for size in (4, 8, 16, 32) if draft.alive % size == 0]
        if not within:
            return
        large = draft.rng.choice(within)
        width = draft.rng.choice((1, 2, 4, 8))
        there = f"t - t % {large} + (t + {draft.rng.randrange(large)}) % {large}"
        meetings = [draft.meet(large), WarpBarrier(mask(draft.rng.choice((1, 2, large // 2))))]
    draft.add(
        draft.store(array, draft.own(first, width), width),
        *meetings,
        draft.load(array, draft.own(first, width, there), width),
    )


def uniform_branch(draft: Draft) -> None:
    """Barriers that only some of the blocks reach."""
    then = _exchange(draft, draft.threads)
    other = _exchange(draft, draft.threads) if draft.rng.random() < 0.5 else []
    draft.add(If(f"b % 2 == {draft.rng.randrange(2)}", then, other))


def named_exchange(draft: Draft) -> None:
    """A part of the block's warps, or two parts, each with a barrier of its own."""
    warps = draft.alive // 32
    cut = draft.rng.randint(1, warps)
    array, first = draft.space()
    width = draft.rng.choice(WIDTHS)
    parts: list[list[Statement]] = []
    for start, count in ((0, cut), (cut, max(1, warps - cut))):
        group, number = 32 * count, draft.barrier_number()
        of = draft.rng.choice([each for each in WIDTHS if 32 * width % each == 0])
        body: list[Statement] = [
            draft.store(array, draft.own(first, width), width),
            NamedBarrier(number, group),
            draft.load(array, draft.near(first, width, of, group, f"{32 * start}"), of),
            NamedBarrier(number, group),
        ]
        if draft.rng.random() < 0.4:
            body = [Loop(draft.name("k"), 2, body)]
        parts.append(body)
    draft.add(If(f"t < {32 * cut}", parts[0], parts[1] if cut < warps and draft.rng.random() < 0.7 else []))


def producers(draft: Draft) -> None:
    """Some warps fill a buffer and only arrive, the others wait and read; in a loop a barrier says "empty"."""
    warps = draft.alive // 32
    makers = 32 * draft.rng.randint(1, warps - 1)
    array, first = draft.space()
    width, of = draft.widths(makers)
    full, empty = draft.barrier_number(), draft.barrier_number()
    store = draft.store(array, draft.own(first, width), width)
    load = draft.load(array, draft.near(first, width, of, makers, "0"), of)
    everyone, k = draft.alive, draft.name("k")
    if not draft.right and draft.rng.random() < 0.3:
        _late_producers(draft, makers, store, load, full)
        return
    turns = draft.rng.randint(1, 3)
    make: list[Statement] = [
        If(f"{k} > 0", [NamedBarrier(empty, everyone)]),
        store,
        NamedBarrier(full, everyone, waits=False),
    ]
    use: list[Statement] = [
        NamedBarrier(full, everyone),
        load,
        If(f"{k} < {turns - 1}", [NamedBarrier(empty, everyone, waits=False)]),
    ]
    draft.add(If(f"t < {makers}", [Loop(k, turns, make)], [Loop(k, turns, use)]))


def _late_producers(draft: Draft, makers: int, store: Access, load: Access, full: int) -> None:
    """As `producers`, with one access behind the arrival that races, or before the wait."""
    array, own = load.array, store.index
    arrive: Statement = NamedBarrier(full, draft.alive, waits=False)
    wait: Statement = NamedBarrier(full, draft.alive)
    again = draft.store(array, own, store.width)
    if draft.rng.random() < 0.5:
        draft.add(If(f"t < {makers}", [store, arrive, again], [wait, load]))
    else:
        early = draft.store(array, load.index, load.width)
        draft.add(If(f"t < {makers}", [arrive, again], [early, wait]))


def split_phase(draft: Draft) -> None:
    """`cuda::barrier`: all arrive and wait, or one half arrives and the other waits."""
    group = draft.alive
    array, first = draft.space()
    phase = draft.name("B")
    if group == draft.threads and draft.rng.random() < 0.5:
        half = draft.threads // 2
        width, of = draft.widths(half)
        make: list[Statement] = [draft.store(array, draft.own(first, width), width), Arrival(phase)]
        use: list[Statement] = [PhaseWait(phase), draft.load(array, draft.near(first, width, of, half, "0"), of)]
        draft.phases.append(PhaseStart(phase, half))
        draft.add(If(f"t < {half}", make, use))
        return
    width, of = draft.widths(draft.threads)
    draft.phases.append(PhaseStart(phase, group))
    body: list[Statement] = [
        draft.store(array, draft.own(first, width), width),
        Arrival(phase),
        PhaseWait(phase),
        draft.load(array, draft.near(first, width, of, draft.threads), of),
    ]
    draft.add(*body)


def copies(draft: Draft) -> None:
    """`cp.async` from an array that nobody writes, with one stage or two."""
    width = draft.rng.choice((4, 8, 16))
    of = draft.rng.choice((1, 4, 8, 16))
    source, k = draft.grid(16 * draft.threads * draft.blocks), draft.name("k")
    group = draft.threads
    kind = draft.rng.random()
    if kind < 0.25:
        draft.add(
            Copy(draft.tile, "t", source, "g", width),
            *([CopyCommit(), CopyWait(0)] if draft.rng.random() < 0.6 else [CopyWait(None)]),
            draft.load(draft.tile, "t", width),
        )
        return
    if kind < 0.6:
        draft.add(
            Copy(draft.tile, "t", source, "g", width),
            *([CopyCommit(), CopyWait(0)] if draft.rng.random() < 0.6 else [CopyWait(None)]),
            draft.block_barrier(),
            draft.load(draft.tile, draft.near("0", width, of, group), of),
        )
        return
    width = min(width, 8)
    turns = draft.rng.randint(2, 3)
    here, ahead = (f"({k} + {each}) % 2 * {draft.threads // 2}" for each in (0, 1))
    fetch = Copy(draft.tile, draft.own(ahead, width), source, "g", width)
    draft.add(
        Copy(draft.tile, draft.own("0", width), source, "g", width),
        CopyCommit(),
        Loop(
            k,
            turns,
            [
                If(f"{k} < {turns - 1}", [fetch]),
                CopyCommit(),
                CopyWait(1),
                draft.block_barrier(),
                draft.load(draft.tile, draft.near(here, width, of, group), of),
                draft.block_barrier(),
            ],
        ),
    )
