"""Makes a program from a seed: patterns that are right, most of them then changed in one place or two."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from copy import deepcopy

from tests.races import atomic_patterns, barrier_patterns
from tests.races.draft import WIDTHS, Draft, mask
from tests.races.mutations import mutate
from tests.races.programs import Access, If, Program, Return, Shuffle

# Threads of the grid times patterns: keeps the oracle's relation to some thousand operations.
_MOST_WORK = 420

_Pattern = Callable[[Draft], None]


def generate(seed: int) -> Program:
    """The program of that seed."""
    rng = random.Random(f"races {seed}")
    program = _program(Draft(rng))
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
        mutate(program, rng)
    return program


def generate_open(seed: int) -> Program:
    """A program with atomics whose order may be open."""
    rng = random.Random(f"open {seed}")
    patterns = (
        atomic_patterns.overwrite,
        atomic_patterns.overwrite,
        atomic_patterns.settings,
        atomic_patterns.handed_on,
        atomic_patterns.message,
        atomic_patterns.tickets,
    )
    program = _program(Draft(rng, small=True), patterns)
    for _ in range(rng.choice((0, 0, 1))):
        mutate(program, rng)
    return program


def generate_right(seed: int) -> Program:
    """A program that has no race: patterns only, and nothing changed."""
    return _program(Draft(random.Random(f"right {seed}"), right=True))


def _program(draft: Draft, patterns: Sequence[_Pattern] = ()) -> Program:
    size = draft.threads * draft.blocks
    most = max(1, min(4, _MOST_WORK // size))
    for turn in range(draft.rng.randint(1, most)):
        if turn and draft.rng.random() < 0.25:
            _return_early(draft)
        pattern = draft.rng.choice(patterns or _patterns(draft))
        pattern(draft)
        draft.add(draft.block_barrier())
    # A pattern may have put one statement in two places; each place has its own line.
    setup, rest = deepcopy(draft.setup), deepcopy(draft.body)
    return Program(draft.blocks, draft.threads, draft.arrays, setup, rest, draft.phases)


def _patterns(draft: Draft) -> list[_Pattern]:
    patterns: list[_Pattern] = [
        barrier_patterns.exchange,
        barrier_patterns.exchange,
        barrier_patterns.exchange,
        barrier_patterns.double_buffer,
        barrier_patterns.reduction,
        barrier_patterns.relay,
        atomic_patterns.tickets,
        atomic_patterns.tickets,
        atomic_patterns.tickets,
        atomic_patterns.last_block,
        atomic_patterns.last_block,
        atomic_patterns.histogram,
        barrier_patterns.copies,
        barrier_patterns.split_phase,
        atomic_patterns.message,
        barrier_patterns.uniform_branch,
    ]
    if draft.alive % 32 == 0 and draft.alive > 32:
        patterns += [barrier_patterns.named_exchange, barrier_patterns.producers]
    if draft.blocks > 1:
        patterns.append(atomic_patterns.chain)
    if not draft.right:
        patterns.append(_soup)
    return patterns


def _soup(draft: Draft) -> None:
    """Accesses of any place, with barriers here and there."""
    array, first = draft.space()
    for _ in range(draft.rng.randint(3, 6)):
        width = draft.rng.choice(WIDTHS)
        count = 16 * draft.threads // width
        index = draft.rng.choice(
            (
                draft.own(first, width),
                draft.own(first, width),
                f"({first}) * {16 // width} + {draft.rng.randrange(count)}",
                f"({first}) * {16 // width} + (t * {draft.rng.randrange(1, 9)} + {draft.rng.randrange(9)}) % {count}",
            )
        )
        access = Access(array, index, width, draft.rng.random() < 0.4, draft.style(width))
        guards = (f"t == {draft.rng.randrange(draft.alive)}", "t < 32", f"t % 4 == {draft.rng.randrange(4)}")
        draft.add(If(draft.rng.choice(guards), [access]) if draft.rng.random() < 0.4 else access)
        if draft.rng.random() < 0.5:
            draft.add(draft.block_barrier() if draft.rng.random() < 0.7 else Shuffle(mask(1)))


def _return_early(draft: Draft) -> None:
    """Let the threads from some number on return."""
    ends = [each for each in range(2, draft.alive) if each % 32 == 0 or each % 8 == 0 or draft.rng.random() < 0.1]
    if ends:
        draft.alive = draft.rng.choice(ends)
        draft.add(If(f"t >= {draft.alive}", [Return()]))
