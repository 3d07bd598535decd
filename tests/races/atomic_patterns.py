"""Patterns whose accesses are ordered by fences and atomics."""

from __future__ import annotations

from tests.races.draft import Draft
from tests.races.programs import Access, Atomic, AtomicKind, If, Loop, Order, Statement, Style
from tests.races.trace import BLOCK, DEVICE, Scope


def tickets(draft: Draft) -> None:
    """Everyone stores, fences and draws; who draws the last ticket reads it all."""
    wide = draft.rng.random() < 0.6
    scope: Scope = DEVICE if wide or draft.rng.random() < 0.3 else BLOCK
    shared = not wide and draft.rng.random() < 0.7
    if wide:
        array, first, number = draft.grid(16 * draft.threads * draft.blocks), "0", "g"
        count = draft.threads * draft.blocks
    else:
        (array, first), number, count = draft.space(), "t", draft.threads
    drawing = draft.alive * (draft.blocks if wide else 1)
    counter = draft.counter(shared=shared)
    index = "b * 4" if not wide and not shared else "0"
    width, of = draft.widths(count)
    ticket = draft.name("v")
    carried = draft.rng.random() < 0.25
    order: Order = "acq_rel" if carried else "relaxed"
    volatile = not carried and draft.rng.random() < 0.25
    last: list[Statement] = [] if carried or volatile else [draft.fence(scope)]
    style: Style | None = "volatile" if volatile else None
    k = draft.name("k")
    step = draft.rng.choice((1, 5, 7))
    there = f"({first}) * {16 // of} + ({k} * {step} + t) % {count * width // of}"
    last.append(Loop(k, draft.rng.randint(2, 5), [draft.load(array, there, of, style)]))
    if draft.rng.random() < 0.3:
        last.append(Access(counter, index, 4, True, draft.style(4), "token"))
    draft.add(
        draft.store(array, draft.own(first, width, number), width),
        *([] if carried else [draft.fence(scope)]),
        Atomic(counter, index, 4, "add", scope, order, ticket),
        If(f"{ticket} == {drawing - 1}", last),
    )


def last_block(draft: Draft) -> None:
    """One thread of each block draws; the last block reads what all have stored."""
    array, counter, flag = (
        draft.grid(16 * draft.threads * draft.blocks),
        draft.counter(shared=False),
        draft.shared(16),
    )
    width, of = draft.widths(draft.threads * draft.blocks)
    ticket, drawn = draft.name("v"), draft.name("v")
    everyone_fences, reader_fences = draft.rng.random() < 0.6, draft.rng.random() < 0.6
    carried = draft.rng.random() < 0.2
    k = draft.name("k")
    there = f"({k} * {draft.rng.choice((1, 33, 37))} + t) % {draft.threads * draft.blocks * width // of}"
    volatile = not carried and draft.rng.random() < 0.2
    load = draft.load(array, there, of, "volatile" if volatile else None)
    none = carried or volatile
    draw: list[Statement] = [
        *([] if everyone_fences or carried else [draft.fence()]),
        Atomic(counter, "0", 4, "add", DEVICE, "acq_rel" if carried else "relaxed", ticket),
        *([] if reader_fences or none else [draft.fence()]),
        Access(flag, "0", 4, True, draft.style(4), ticket),
    ]
    last: list[Statement] = [
        *([draft.fence()] if reader_fences and not none else []),
        Loop(k, draft.rng.randint(1, 3), [load]),
    ]
    if draft.rng.random() < 0.4:
        last.append(If("t == 0", [Access(counter, "0", 4, True, draft.style(4), "token")]))
    draft.add(
        draft.store(array, draft.own("0", width, "g"), width),
        *([draft.fence()] if everyone_fences and not carried else []),
        draft.block_barrier(),
        If("t == 0", draw),
        draft.block_barrier(),
        Access(flag, "0", 4, False, draft.style(4), observed=drawn),
        If(f"{drawn} == {draft.blocks - 1}", last),
    )


def chain(draft: Draft) -> None:
    """Who draws the last of the first tickets hands on to who draws the last of the second ones."""
    first, second = draft.grid(4 * draft.threads * draft.blocks), draft.grid(16)
    counters = draft.counter(shared=False), draft.counter(shared=False)
    tickets = draft.name("v"), draft.name("v")
    drawing = draft.alive * draft.blocks
    there = f"(t + {draft.rng.randrange(64)}) % {draft.threads * draft.blocks}"
    draft.add(
        draft.store(first, "g", 4),
        draft.fence(),
        Atomic(counters[0], "0", observed=tickets[0]),
        If(
            f"{tickets[0]} == {drawing - 1}",
            [draft.fence(), draft.load(first, there, 4), draft.store(second, "0", 8), draft.fence()],
        ),
        Atomic(counters[1], "0", observed=tickets[1]),
        If(f"{tickets[1]} == {drawing - 1}", [draft.fence(), draft.load(second, "1", 4), draft.load(first, there, 4)]),
    )


def message(draft: Draft) -> None:
    """The first block stores data and then a flag; who sees the flag reads the data."""
    array, flag = draft.grid(16 * draft.threads), draft.counter(shared=False)
    width, of = draft.widths(draft.threads)
    released, acquired = draft.rng.random() < 0.5, draft.rng.random() < 0.5
    early = draft.rng.random() < 0.5
    send: list[Statement] = [
        *([draft.fence()] if not early and not released else []),
        Atomic(flag, "0", 4, "store", DEVICE, "release" if released else "relaxed"),
    ]
    # Every block passes the same barriers, so that the flag is there when the others look.
    draft.add(
        If("b == 0", [draft.store(array, draft.own("0", width), width)]),
        *([draft.fence()] if early and not released else []),
        draft.block_barrier(),
        If("b == 0 and t == 0", send),
        draft.block_barrier(),
    )
    if not draft.right and draft.rng.random() < 0.4:
        over: Statement = Access(flag, "0", 4, True, draft.style(4), "token")
        if draft.rng.random() < 0.5:
            over = Atomic(flag, "0", 4, "store")
        draft.add(If("b == 0 and t == 1", [over]), draft.block_barrier())
    seen = draft.name("v")
    draft.add(
        Atomic(flag, "0", 4, "load", DEVICE, "acquire" if acquired else "relaxed", seen),
        If(
            f"{seen} > 0",
            [*([] if acquired else [draft.fence()]), draft.load(array, draft.near("0", width, of, draft.threads), of)],
        ),
    )


def overwrite(draft: Draft) -> None:
    """Atomics of all kinds on few words, some of which set the same value; now and then with a barrier between."""
    shared, width = draft.rng.random() < 0.6, draft.rng.choice((4, 4, 8))
    cells = draft.rng.choice((1, 2, 4, 64))
    array = draft.shared(width * cells) if shared else draft.grid(width * cells)
    # Who looks at a value must be able to tell who set it: then all values differ.
    looked_at = draft.rng.random() < 0.5
    kinds: tuple[AtomicKind, ...] = ("store", "swap", "swap", "load", "add")
    if not looked_at:
        kinds = ("store",) if draft.rng.random() < 0.7 else ("store", "swap")
    for _ in range(draft.rng.randint(2, 5)):
        does = draft.rng.choice(kinds)
        seen = looked_at and does != "store"
        value = "" if looked_at else draft.rng.choice(("", "7", "9", "t * b"))
        index = draft.rng.choice(("0", f"t % {cells}", f"g % {cells}", f"(t >> 5) % {cells}"))
        scope: Scope = BLOCK if draft.rng.random() < 0.2 else DEVICE
        order: Order = draft.rng.choice(("relaxed", "relaxed", "acq_rel" if does in {"swap", "add"} else "relaxed"))
        observed = draft.name("v") if seen else ""
        change: Statement = Atomic(array, index, width, does, scope, order, observed, value)
        guard = draft.rng.choice(("", f"t == {draft.rng.randrange(draft.alive)}", "t < 32", "b == 0"))
        draft.add(If(guard, [change]) if guard else change)
        if observed and not guard and draft.rng.random() < 0.5:
            then = Atomic(array, index, width, "store", scope)
            draft.add(If(f"{observed} > {draft.rng.choice((0, 8))}", [then]))
        if draft.rng.random() < 0.4:
            draft.add(draft.block_barrier() if draft.rng.random() < 0.7 else draft.fence(scope))


def settings(draft: Draft) -> None:
    """Everyone sets a word, again and again, with a barrier after each: only threads of one line can differ."""
    shared, width = draft.rng.random() < 0.7, draft.rng.choice((4, 4, 8))
    cells = draft.rng.choice((1, 2, draft.threads))
    array = draft.shared(width * cells) if shared else draft.grid(width * cells)
    for _ in range(draft.rng.randint(2, 4)):
        value = draft.rng.choice(("", "7", "b", "t * b", f"t % {cells}"))
        does: AtomicKind = draft.rng.choice(("store", "swap"))
        draft.add(Atomic(array, f"t % {cells}", width, does, value=value), draft.block_barrier())


def handed_on(draft: Draft) -> None:
    """One thread after the other sets a word, most of them after a look at it."""
    array = draft.counter(shared=draft.rng.random() < 0.6)
    count = draft.rng.randint(2, min(4, draft.alive))
    for thread in sorted(draft.rng.sample(range(draft.alive), count)):
        store: Statement = Atomic(array, "0", 4, "store")
        if draft.rng.random() < 0.3:
            steps = [store]
        else:
            seen = draft.name("v")
            looks: AtomicKind = draft.rng.choice(("load", "load", "swap", "add"))
            after: Statement = If(f"{seen} > 0", [store]) if draft.rng.random() < 0.5 else store
            steps = [Atomic(array, "0", 4, looks, observed=seen), after]
        draft.add(If(f"b == 0 and t == {thread}", steps))


def histogram(draft: Draft) -> None:
    """Atomics on some words, which are read after a barrier."""
    width = draft.rng.choice((4, 4, 8))
    shared = draft.rng.random() < 0.6
    bins = draft.rng.choice((1, 4, 16))
    scope: Scope = BLOCK if draft.rng.random() < 0.5 else DEVICE
    array = draft.shared(width * bins) if shared else draft.grid(width * bins * draft.blocks)
    start = "0" if shared else f"b * {bins}"
    known = draft.rng.random() < 0.7
    k = draft.rng.choice((1, 3, 5))
    if shared:
        zero = Access(array, "t", width, True, draft.style(width), "0")
        draft.add(If(f"t < {min(bins, draft.alive)}", [zero]), draft.block_barrier())
        bins = min(bins, draft.alive)
    there = f"{start} + (t * {k}) % {bins}"
    draft.add(
        *(
            Atomic(
                array,
                there,
                width,
                draft.rng.choice(("add", "add", "swap")),
                scope,
                "relaxed",
                draft.name("v") if known else "",
            )
            for _ in range(draft.rng.randint(1, 2))
        ),
        draft.block_barrier(),
        draft.load(array, f"{start} + t % {bins}", width),
    )
