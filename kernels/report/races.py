from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernels.facts import AccessKind, Mistake, Operation
from kernels.report.model import Step
from kernels.report.source_facts import (
    code_between,
    code_of,
    code_of_all,
    counters_of,
    is_shared,
    loop_at,
    names_in,
    one_name,
    parts_of,
    reached_names,
    statements_at,
)
from kernels.source.loops import Statement
from kernels.verdict import Finding, Verdict
from kernels.wording import at_line, lines_named


@dataclass(frozen=True, slots=True)
class Race:
    """A data race and the code around it.

    name: the array, or ""
    outside: whether the array is in global memory
    tiles: whether it is a shared array of a matrix product
    spread: the built-in indices that differ in the launch, such as `threadIdx.y`
    in_warps: whether `__syncwarp()` is enough for this race and all others
    """

    finding: Finding
    name: str
    lines: Sequence[str]
    outside: bool
    tiles: bool
    spread: Sequence[str]
    in_warps: bool

    def uses(self, pattern: str) -> bool:
        """Whether a line of the source matches the pattern. NAME in it means the array."""
        wanted = re.compile(pattern.replace("NAME", re.escape(self.name)))
        return any(map(wanted.search, code_of_all(self.lines).split("\n")))

    @property
    def one_line(self) -> bool:
        return self.finding.other_line in {None, self.finding.line}

    @property
    def one_store(self) -> bool:
        return self.one_line and self.finding.facts.both_write

    @property
    def one_update(self) -> bool:
        """Whether the line only adds to its element, such as `counts[value]++`."""
        return only_updates(self.finding, self.lines)

    @property
    def adds_up(self) -> bool:
        """Whether such a line counts, or adds a block's result or to an element that the data choose."""
        code = code_of(self.finding.line, self.lines)
        index, _, value = code.partition("]")
        chosen = index.count("[") > 1 or re.search(r"\+\+|--|[-+]=\s*1\b", code) is not None
        of_block = "*" not in value and any(is_shared(name, self.lines) for name in names_in(value))
        return self.one_update and (chosen or of_block)

    @property
    def in_block(self) -> bool:
        """Whether both threads are of one block."""
        return self.finding.facts.in_block

    @property
    def copies(self) -> bool:
        """Whether a thread copies asynchronously."""
        return any(access.kind is AccessKind.COPY for access in self.finding.facts.accesses)

    @property
    def refills(self) -> bool:
        """Whether the second access is an asynchronous copy, and the first isn't."""
        kinds = [access.kind for access in self.finding.facts.accesses]
        return kinds[1:] == [AccessKind.COPY] != kinds[:1]

    @property
    def operation(self) -> Operation | None:
        """The asynchronous operation that makes the first access."""
        accesses = self.finding.facts.accesses
        return accesses[0].operation if accesses else None

    @property
    def updates_together(self) -> bool:
        """Whether both accesses are atomic updates."""
        return {access.kind for access in self.finding.facts.accesses} == {AccessKind.UPDATE}

    @property
    def writes_only(self) -> bool:
        return {access.kind for access in self.finding.facts.accesses} == {AccessKind.WRITE}

    @property
    def initialises(self) -> bool:
        """Whether the second access initialises a barrier in shared memory."""
        return self.finding.facts.mistake is Mistake.INITIALISATION

    @property
    def same_in_blocks(self) -> bool:
        """Whether all blocks do the same, because the source never asks for the block."""
        code = code_of_all(self.lines)
        return "threadIdx" in code and "blockIdx" not in code

    @property
    def unused_index(self) -> str:
        """The built-in index that the stored element doesn't depend on, if it is one only; "" otherwise."""
        code = one_name(code_of_all(self.lines))
        stored = one_name(code_of(self.finding.line, self.lines).partition("=")[0])
        found = [
            each
            for each in self.spread
            if each.startswith("threadIdx" if self.in_block else "blockIdx")
            and not names_in(stored) & reached_names({one_name(each)}, code)
            # A block may share its elements with others on purpose, to add up parts of a sum.
            and (self.in_block or one_name(each) not in code)
        ]
        return found[0] if len(found) == 1 else ""

    @property
    def in_place(self) -> bool:
        """Whether the line stores to the array what it computes from the array."""
        store = rf"\b{re.escape(self.name)}\s*+\[[^=]{{0,200}}\]\s*+[-+*/]?=(?!=).{{0,200}}\b{re.escape(self.name)}\b"
        return self.one_line and re.search(store, code_of(self.finding.line, self.lines)) is not None

    @property
    def in_matrix(self) -> bool:
        return len(self.finding.indices) > 1


_ATOMIC_OF_IT = r"\batomic\w++\s*+\(\s*+&?\s*+NAME\b"
_FLAG_OR_LOCK = r"\batomic(CAS|Exch)\b|\bwhile\s*+\([^;]{0,200}[!=]=|\bvolatile\b"

_LOADED = r"\bNAME\s*+\[[^=]{0,200}\]\s*+=(?!=).{0,200}\["
"""A tile is loaded from another array. Shared memory that only holds partial results isn't a tile."""

_SET_ELSEWHERE = (
    "Set `{name}` in another launch, or let the block that owns the element set it before a barrier. Blocks run in any "
    "order, so the store may come after the atomic."
)
_FENCES = (
    "Read and write a flag or a lock with atomics (`atomicExch`, `atomicCAS`). Put `__threadfence()` after taking it "
    "and before releasing it."
)
_OWN_ELEMENT = "Let one thread own each element of `{name}`, or add to it with `atomicAdd`."
_OFFSET = (
    "The index of `{name}`{first} doesn't use `blockIdx`, so all blocks store to the same elements. Add the block's "
    "first element to it, as in `blockIdx.x * blockDim.x + threadIdx.x`."
)
_ONE_CELL = "Let each thread store{first} in its own cell of `{name}`, or let one thread store it."
_NEXT_ROW = (
    "Let one thread store each element of `{name}`{first}. Compare the column with the width of the matrix, too. A "
    "column past the end of a row is an element of the next row."
)
_OWN_CELL = f"{_ONE_CELL} Does the index{{first}} use both `threadIdx.x` and `threadIdx.y`?"
_UPDATE = "Add with `atomicAdd`{first}. Two threads read the same value of `{name}`, so one of their sums is lost."
_TILE = f"{Verdict.DATA_RACE.advice} A tile needs two barriers in each phase: one after loading it, one after using it."
_IN_PLACE = (
    "Read `{name}`{first} into a variable, and call `__syncthreads()` outside any `if`. Store only then. In a loop, "
    "call it after the store, too."
)

_PROXY_FENCE = (
    "Let each thread execute `fence.proxy.async` after its last write to `{name}`, then the barrier, then start the "
    "asynchronous operation. In C++ this is `cuda::ptx::fence_proxy_async(cuda::ptx::space_shared)`."
)
_REGISTER_FENCE = (
    "Let all four warps execute `wgmma.fence.sync.aligned` before `wgmma`{at}. It must follow the last write to the "
    "registers of the sums and of the left factor. Products of one shape on the same sums need no fence between them. "
    "If the fence is there, the compiler moved a write past it. Name each register before the fence: "
    '`asm volatile("" : "+f"(sum) :: "memory")`.'
)
_WAITS: Mapping[Operation | None, str] = {
    Operation.BULK_LOAD: (
        "Wait at the barrier to which the copy reports, in each thread that uses `{name}`: {between}. A block barrier "
        "doesn't wait for the copy."
    ),
    Operation.BULK_STORE: (
        "Let the thread that copies execute `cp.async.bulk.wait_group 0` {between}. Then call `__syncthreads()` before "
        "other threads use the memory. To change the source, `wait_group.read` is enough."
    ),
    Operation.REMOTE_STORE: "Wait at the barrier to which the store reports, {between}.",
    Operation.COPY: "Wait for the copy with `cp.async.wait_all`, or at the barrier to which it is handed: {between}.",
    Operation.PRODUCT: (
        "Execute `wgmma.wait_group.sync.aligned 0` {between}. Other warps and copies may use the memory only after a "
        "barrier that follows."
    ),
    None: "Wait for the asynchronous operation {between}, at its barrier or for its group.",
}
"""How to wait for each operation. Reports of older versions don't know it."""
_ONE_COPY = "Let one thread start the copy{first}, as in `if (threadIdx.x == 0)`. It copies for the whole block."
_SCOPE = (
    "Use atomics whose scope has both threads{first}. So write `atomicAdd` instead of `atomicAdd_block`, and "
    "`.cluster` instead of `.cta`."
)
_EARLY_TRANSFER = (
    "Put `__syncthreads()` {between}, or wait there for the barrier of the empty stage. Other threads may still use "
    "`{name}` when the asynchronous operation starts."
)
_WARP_ARRIVAL = (
    "Put `__syncwarp()` right before the arrival{arrival}. Let one thread of each warp arrive, and initialise the "
    "barrier with the number of these warps. Or let every thread arrive. A wait for `wgmma` orders no other reads."
)
_REFILL = (
    "Put `__syncthreads()` between the access{before} and the copy{after}. The copy may begin only after all threads "
    "have used the old values of `{name}`."
)
_COPY_BARRIER = (
    "Put `__syncthreads()` after the wait{waits}, and before the access{after}. A thread waits only for its own copies."
)
_COPY_OPEN = (
    "Wait for this copy and then call `__syncthreads()`, both before the access{after}. The wait{waits} leaves its "
    "group open, or comes too late. Each commit makes a group, also without copies. So commit once in each phase, and "
    "leave only the groups open that this access doesn't need."
)
_COPY = (
    "Wait for the copy with `__pipeline_wait_prior(0)` and then call `__syncthreads()`, both before the access{after}."
)
_INIT = (
    "Let one thread initialise `{name}`{first}, as in `if (threadIdx.x == 0)`. Then call `__syncthreads()` before any "
    "thread uses this barrier."
)
_INIT_AGAIN = (
    "Initialise `{name}`{first} only once, before any thread uses it. It begins each next phase itself: wait for its "
    "first with parity 0, for its next with parity 1."
)
_STORED_MATRIX = "Let each warp store its own tile of `{name}`{first}, or let one warp store it."
_UNFINISHED = (
    "Before the block ends, wait for the operation{at}. After a bulk store, execute `cp.async.bulk.wait_group.read 0`. "
    "For a load, wait at its barrier, and for `wgmma` with `wgmma.wait_group`."
)

_LIFETIME = (
    "Call `cluster.sync()` in all threads of the cluster before the first access to another block's shared memory. "
    "Call it once more after the last access, before any block returns."
)
_CLUSTER = (
    "Put `cluster.sync()` {between}. All threads of the cluster must reach it. `__syncthreads()` orders only the "
    "threads of one block."
)
_RELAXED = (
    "Arrive without `.relaxed`{relaxed}, or execute `fence.acq_rel.cluster` before. A relaxed arrival doesn't show "
    "what the thread did before it."
)
_STAGES = " In a pipeline, let the threads of all blocks arrive at the empty barrier of the block that copies."

_ADVICE: tuple[tuple[str, Callable[[Race], bool], str], ...] = (
    ("proxy_fence", lambda race: race.finding.facts.mistake is Mistake.PROXY_FENCE, _PROXY_FENCE),
    ("register_fence", lambda race: race.finding.facts.mistake is Mistake.REGISTER_FENCE, _REGISTER_FENCE),
    ("unfinished", lambda race: race.finding.facts.mistake is Mistake.UNFINISHED, _UNFINISHED),
    ("one_copy", lambda race: race.finding.facts.together and race.operation is Operation.BULK_LOAD, _ONE_COPY),
    ("transfer", lambda race: race.finding.facts.mistake is Mistake.TRANSFER, ""),
    ("warp_arrival", lambda race: bool(race.finding.facts.others_arrive), _WARP_ARRIVAL),
    ("early_transfer", lambda race: race.finding.facts.mistake is Mistake.EARLY_TRANSFER, _EARLY_TRANSFER),
    ("init", lambda race: race.initialises and race.writes_only, _INIT),
    ("init_again", lambda race: race.initialises, _INIT_AGAIN),
    ("stored_matrix", lambda race: race.finding.facts.mistake is Mistake.STORED_MATRIX, _STORED_MATRIX),
    ("relaxed", lambda race: bool(race.finding.facts.relaxed_arrivals), _RELAXED),
    ("lifetime", lambda race: race.finding.facts.mistake is Mistake.CLUSTER_LIFETIME, _LIFETIME),
    ("scope", lambda race: race.finding.facts.mistake is Mistake.CLUSTER_RACE and race.updates_together, _SCOPE),
    (
        "cluster_transfer",
        lambda race: race.finding.facts.mistake is Mistake.CLUSTER_RACE and race.copies,
        _CLUSTER + _STAGES,
    ),
    ("cluster", lambda race: race.finding.facts.mistake is Mistake.CLUSTER_RACE, _CLUSTER),
    ("update", lambda race: race.adds_up or (race.one_update and not race.outside), _UPDATE),
    ("set_elsewhere", lambda race: race.outside and race.uses(_ATOMIC_OF_IT), _SET_ELSEWHERE),
    ("fences", lambda race: race.outside and race.uses(_FLAG_OR_LOCK), _FENCES),
    ("next_row", lambda race: race.outside and race.one_store and race.in_block and race.in_matrix, _NEXT_ROW),
    ("one_cell", lambda race: race.outside and race.one_store and race.in_block, _ONE_CELL),
    ("offset", lambda race: race.outside and race.one_store and race.same_in_blocks, _OFFSET),
    ("own_element", lambda race: race.outside and (not race.in_block or race.one_update), _OWN_ELEMENT),
    ("refill", lambda race: race.refills, _REFILL),
    ("copy_barrier", lambda race: race.copies and race.finding.facts.waited, _COPY_BARRIER),
    ("copy_open", lambda race: race.copies and bool(race.finding.facts.copy_waits), _COPY_OPEN),
    ("copy", lambda race: race.copies, _COPY),
    ("own_cell", lambda race: race.one_store and "threadIdx.y" in race.spread, _OWN_CELL),
    ("one_cell", lambda race: race.one_store, _ONE_CELL),
    ("in_place", lambda race: race.in_place and not race.in_warps, _IN_PLACE),
    ("in_warps", lambda race: race.in_warps and not race.outside, "Put `__syncwarp()` {between}."),
    ("tile", lambda race: race.tiles and race.uses(_LOADED), _TILE),
    ("barrier", lambda race: True, Verdict.DATA_RACE.advice),
)
"""The first advice that fits is given, with its key."""


def race_step(race: Race) -> Step:
    """The step after a race. Most only need a barrier between the two accesses."""
    if race.outside and race.one_store and race.in_matrix and (unused := race.unused_index):
        kind, axis = unused.split(".")
        which = "blocks" if kind == "blockIdx" else "threads"
        place = "row" if axis == "y" else "column"
        text = f"The index of `{{name}}`{{first}} doesn't use `{unused}`, so several {which} store to one element. "
        return Step(
            "race.unused_index",
            f"{text}Compute the {place} as in `blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}`.",
        )
    if (step := _in_steps(race)) is not None:
        return step
    key, text = next((key, text) for key, fits, text in _ADVICE if fits(race))
    if key == "in_place":
        text += _braces(race)
    if key == "warp_arrival":
        text = text.replace("{arrival}", f" at {lines_named(race.finding.facts.others_arrive)}")
    if key in {"refill", "copy_barrier", "copy_open", "copy"}:
        text = _of_copy(race, text)
    if key == "transfer":
        text = _WAITS[race.operation]
    if key == "relaxed":
        text = text.replace("{relaxed}", f" at {lines_named(race.finding.facts.relaxed_arrivals)}")
    text = text if race.name else text.replace(" of `{name}`", "").replace(" `{name}`", "")
    return Step(f"race.{key}", text)


def _of_copy(race: Race, text: str) -> str:
    """The advice with the lines of both accesses and of the waits for copies."""
    waits = race.finding.facts.copy_waits
    places = {
        "{before}": at_line(race.finding.other_line),
        "{after}": at_line(race.finding.line),
        "{waits}": f" at {lines_named(waits)}" if waits else "",
    }
    for word, place in places.items():
        text = text.replace(word, place)
    return text


def only_updates(race: Finding, lines: Sequence[str]) -> bool:
    """Whether both accesses are one line that only adds to its element. A barrier can't repair that; an atomic does."""
    plain = race.array
    name = re.escape(plain)
    update = re.compile(rf"\b{name}\s*+(\[.{{0,200}}\])?\s*+(\+\+|--|[-+]=(?!.{{0,200}}\b{name}\b))")
    return bool(plain) and race.other_line == race.line and update.search(code_of(race.line, lines)) is not None


def _braces(race: Race) -> str:
    """A sentence if the loop around the line lacks braces; otherwise ""."""
    loop = loop_at(race.finding.line, race.lines) if race.finding.line is not None else None
    if loop is None or loop.word not in {"for", "while"} or parts_of(loop, race.lines).body.startswith("{"):
        return ""
    return f" Give the loop at line {loop.first} braces."


def _in_steps(race: Race) -> Step | None:
    """The step for a loop without a barrier that combines cells of one array at changing distances."""
    loop = _loop_of_steps(race)
    if loop is None:
        return None
    body = parts_of(loop, race.lines).body
    distance = "|".join(map(re.escape, counters_of(loop, race.lines)))
    # In a tree, no thread reads what another thread writes in the same step.
    doubled = rf"\b2\s*\*\s*(?:{distance})\b|\b(?:{distance})\s*\*\s*2\b"
    tree = rf"<=?\s*(?:{distance})\b|%[^;]{{0,200}}\b(?:{distance})\b|{doubled}"
    braces = "" if body.startswith("{") else ", and give it braces"
    if re.search(tree, body):
        text = f"Make `__syncthreads()` the first statement in the loop at line {loop.first}{braces}."
        text += " Every thread of the block must reach it."
        return Step("race.tree", text, {loop.first: "has no barrier"})
    text = f"Begin the loop at line {loop.first} with `__syncthreads()`{braces}. Read the other cell of `{{name}}`"
    text += " into a variable, and call `__syncthreads()` again. Only then change `{name}`."
    return Step("race.steps", text, {loop.first: "has no barrier"})


def _loop_of_steps(race: Race) -> Statement | None:
    """The loop around the later access, if all threads run it and it changes cells of the array."""
    places = sorted(line for line in (race.finding.line, race.finding.other_line) if line is not None)
    loop = loop_at(places[-1], race.lines) if places and race.name and not race.outside else None
    if loop is None or loop.last == loop.first:
        return None
    code = code_between(loop.first, loop.last, race.lines)
    name = re.escape(race.name)
    cells = re.findall(rf"\b{name}\s*+\[([^\]]{{0,200}})\]", code)
    counters = reached_names(counters_of(loop, race.lines), code)
    stores = re.search(rf"\b{name}\s*+\[[^\]]{{0,200}}\]\s*+[-+*/]?=(?!=)", code)
    moves = any(names_in(cell) & counters for cell in cells) and len(set(cells)) > 1
    if not stores or not moves or race.one_store or re.search(r"sync|wait|barrier|shfl", code):
        return None
    differing = reached_names({"threadIdx"}, code_of_all(race.lines))
    outer = [statement for statement in statements_at(loop.first, race.lines) if statement.start < loop.start]
    conditions = (names_in(parts_of(each, race.lines).condition) for each in outer)
    return None if any(names & differing for names in conditions) else loop
