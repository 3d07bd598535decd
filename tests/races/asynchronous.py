"""Random kernels with bulk copies, barriers in shared memory and products of a warpgroup, and what each thread does.

All threads pass the same list of steps, and only their numbers choose what they execute. A wait needs only arrivals of
earlier steps, so each kernel ends.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.races.proxy_rules import (
    Access,
    Arrive,
    Begin,
    BeginFence,
    Copy,
    Ended,
    Event,
    Fence,
    Meeting,
    Name,
    Phase,
    Product,
    ProxyFence,
    Seen,
)
from tests.races.trace import Thread

WORDS = 1024
"""The words of the tile in shared memory, and of each block's part of the array in global memory."""
_WARP = 32
_LOOKING = 0.15
"""The share of kernels with a look."""

HEAD = r"""
#define PUT(i) asm volatile("st.shared.f32 [%0], %1;" ::"r"(s + 4 * (i)), "f"(1.0f) : "memory")
#define GET(i) asm volatile("{.reg .f32 v; ld.shared.f32 v, [%1]; add.f32 %0, %0, v;}" \
  : "+f"(kept) : "r"(s + 4 * (i)) : "memory")
#define CLEAR(i) asm volatile("st.shared.v4.f32 [%0], {%1, %1, %1, %1};" ::"r"(s + 4 * (i)), "f"(0.0f) : "memory")
#define PUT_GLOBAL(i) asm volatile("st.global.f32 [%0], %1;" ::"l"(G + (i)), "f"(1.0f) : "memory")
#define GET_GLOBAL(i) asm volatile("{.reg .f32 v; ld.global.f32 v, [%1]; add.f32 %0, %0, v;}" \
  : "+f"(kept) : "l"(G + (i)) : "memory")
#define DO(text) asm volatile(text ";" ::: "memory")
#define INIT(k, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(m + 8 * (k)), "r"(count) : "memory")
#define INVAL(k) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(m + 8 * (k)) : "memory")
#define ARRIVE(k, order) asm volatile("mbarrier.arrive" order ".shared::cta.b64 _, [%0];" ::"r"(m + 8 * (k)) : "memory")
#define ARRIVE_EXPECT(k, bytes) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" \
  ::"r"(m + 8 * (k)), "r"(bytes) : "memory")
#define EXPECT(k, bytes) asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" \
  ::"r"(m + 8 * (k)), "r"(bytes) : "memory")
#define WAIT(k, parity, order) for (unsigned done = 0; !done;) asm volatile( \
  "{.reg .pred p; mbarrier.try_wait.parity" order ".shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" \
  : "=r"(done) : "r"(m + 8 * (k)), "r"(parity) : "memory")
#define LOOK(k, parity) asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%0], %1;}" \
  ::"r"(m + 8 * (k)), "r"(parity) : "memory")
#define LOAD(k, to, from, bytes) asm volatile( \
  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
  ::"r"(s + 4 * (to)), "l"(G + (from)), "r"(bytes), "r"(m + 8 * (k)) : "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" \
  ::"l"(G + (to)), "r"(s + 4 * (from)), "r"(bytes) : "memory")
#define MULTIPLY(b) asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0;\n" \
  "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}" \
  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(DESCRIBED(0)), "l"(DESCRIBED(b)))
#define DESCRIBED(word) ((unsigned long long)((s + 4 * (word)) >> 4 & 0x3fff) | 8ull << 16 | 16ull << 32)
"""

Who = Callable[[int, int], bool]
"""Chooses by the number of the thread and its block."""

_WHO: dict[str, Who] = {
    "true": lambda t, b: True,
    "t == 0": lambda t, b: t == 0,
    "t == 1": lambda t, b: t == 1,
    "t == 33": lambda t, b: t == 33,
    "t < 32": lambda t, b: t < 32,
    "t >= 32": lambda t, b: t >= 32,
    "t % 32 == 0": lambda t, b: t % 32 == 0,
    "b == 0 && t == 5": lambda t, b: b == 0 and t == 5,
    "b == 0": lambda t, b: b == 0,
}
_PLACES: dict[str, Callable[[int], int]] = {
    "t": lambda t: t,
    "t ^ 1": lambda t: t ^ 1,
    "t ^ 32": lambda t: t ^ 32,
    "4 * t": lambda t: 4 * t,
    "t + 256": lambda t: t + 256,
    "t + 512": lambda t: t + 512,
    "t / 32 * 128": lambda t: t // 32 * 128,
    "t * 2 % 64": lambda t: t * 2 % 64,
}
_LEADERS = (0, 0, 0, 1, 33)
_SPACES = {"": frozenset({"shared", "global"}), ".shared::cta": frozenset({"shared"}), ".global": frozenset({"global"})}
_TILE, _BARRIERS, _ARRAY = "shared tile", "shared barriers", "global array"


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel, the events of the threads of different blocks, and the lines of copies for which nothing waits.

    looks: whether threads look at a barrier once, whose phase may be over
    overtaken: whether others may go on by two phases before a thread waits, which then waits for ever
    """

    seed: int
    blocks: int
    threads: int
    lines: tuple[str, ...]
    events: dict[int, dict[Thread, list[Event]]]
    left: frozenset[int]
    looks: bool
    overtaken: bool


@dataclass(slots=True)
class _Barrier:
    """A barrier in shared memory. Its waiting threads include those that arrive.

    started: whether threads have arrived at its present phase; then the next step waits for it
    line: of the last copy that reports to it
    longest: the most phases of a former life
    """

    number: int
    count: int
    arrive: str
    wait: str
    life: int = 0
    longest: int = 0
    phase: int = 0
    started: bool = False
    line: int = 0

    @property
    def key(self) -> Phase:
        return (self.number, self.life), self.phase

    @property
    def overtaken(self) -> bool:
        return self.wait != self.arrive and max(self.longest, self.phase) > 1

    def restart(self) -> None:
        self.longest = max(self.longest, self.phase)
        self.life, self.phase = self.life + 1, 0


@dataclass(slots=True)
class _Groups:
    """The operations in the closed groups of a thread or a warpgroup that may not be over, and in the open one."""

    closed: list[list[Name]] = field(default_factory=list)
    open: list[Name] = field(default_factory=list)

    def commit(self) -> None:
        self.closed.append(self.open)
        self.open = []

    def over(self, allowed: int) -> tuple[Name, ...]:
        return tuple(name for group in self.closed[: max(0, len(self.closed) - allowed)] for name in group)


class _Draft:
    def __init__(self, seed: int, first_line: int) -> None:
        self.random = random.Random(seed)
        self.multiplies = self.random.random() < 0.3
        self.careful = self.random.random() < 0.75
        self.threads = 128 if self.multiplies else 64
        self.blocks = self.random.choice((1, 1, 2))
        self.first = first_line
        self.lines: list[str] = []
        self.events: dict[Thread, list[Event]] = {(b, t): [] for b in range(self.blocks) for t in range(self.threads)}
        self.copies: dict[Thread, _Groups] = defaultdict(_Groups)
        self.stores: dict[Thread, tuple[int, Name]] = {}
        self.read_over: dict[Thread, set[Name]] = defaultdict(set)
        self.products = _Groups()
        self.meetings = 0
        self.names = 0
        self.syncs: list[_Barrier] = []
        self.loads: list[_Barrier] = []

    # -- text and events ----------------------------------------------------------------------------------------------

    def add(self, text: str) -> int:
        self.lines.append("  " + text)
        return self.first + len(self.lines) - 1

    def chosen(self, who: str) -> Iterator[Thread]:
        return ((b, t) for b in range(self.blocks) for t in range(self.threads) if _WHO[who](t, b))

    def step(self, who: str, text: str, *events: Event) -> int:
        """Let some threads execute a line with these events."""
        line = self.add(text if who == "true" else f"if ({who}) {text}")
        for b, t in self.chosen(who):
            self.events[b, t] += events
        return line

    def use(self, barrier: _Barrier, who: str, text: str, *events: Event, writes: bool = True) -> int:
        """Let some threads use a barrier, whose memory they access atomically."""
        line = self.first + len(self.lines)
        return self.step(who, text, Access(line, (_BARRIERS, barrier.number, 1), writes, atomic=True), *events)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # -- steps --------------------------------------------------------------------------------------------------------

    def begin(self, name: str) -> None:
        self.lines.append(f'extern "C" __global__ void {name}(float* M, float* P, int n) {{')
        self.add(f"__shared__ __align__(128) float tile[{WORDS}]; __shared__ unsigned long long barriers[8];")
        self.add("const unsigned s = __cvta_generic_to_shared(tile), m = __cvta_generic_to_shared(barriers);")
        self.add(f"const int t = threadIdx.x, b = blockIdx.x; float* G = M + b * {WORDS}; float kept = 0, d[4] = {{}};")
        for number in range(self.random.randint(1, 2)):
            who = self.random.choice(("true", "true", "t < 32", "t == 0", "t % 32 == 0"))
            count = sum(1 for b, t in self.chosen(who) if b == 0)
            self.syncs.append(_Barrier(number, count, who, self.random.choice((who, "true"))))
        for number in range(2, self.random.randint(3, 4)):
            leader = f"t == {self.random.choice(_LEADERS)}"
            self.loads.append(_Barrier(number, 1, leader, self.random.choice((leader, "true", "true"))))
        consumers = self.random.choice(("t >= 32", "t < 32", "true"))
        self.empty = _Barrier(4, sum(1 for b, _ in self.chosen(consumers) if b == 0), consumers, "")
        for barrier in (*self.syncs, *self.loads, self.empty):
            self.initialise(barrier)
        self.step("t == 0", 'DO("fence.mbarrier_init.release.cluster");', BeginFence())
        for at in range(0, WORDS, 4 * self.threads):
            line = self.step("true", f"CLEAR(4 * t + {at});")
            for b, t in self.chosen("true"):
                self.events[b, t].append(Access(line, (_TILE, 4 * t + at, 4), writes=True))
        self.step("true", 'DO("fence.proxy.async");', ProxyFence(_SPACES[""]))
        self.meet()

    def initialise(self, barrier: _Barrier) -> None:
        line = self.first + len(self.lines)
        event = Begin(line, (_BARRIERS, barrier.number, 1))
        self.step("t == 0", f"INIT({barrier.number}, {barrier.count});", event)

    def meet(self) -> None:
        self.meetings += 1
        self.step("true", "__syncthreads();", Meeting(("block", self.meetings)))

    def meet_in_warps(self) -> None:
        self.meetings += 1
        self.step("true", "__syncwarp();")
        for b, t in self.chosen("true"):
            self.events[b, t].append(Meeting(("warp", t // _WARP, self.meetings)))

    def access(self) -> None:
        choose = self.random.choice
        who, place = choose(list(_WHO)), choose(list(_PLACES))
        space, writes = choose("ssg"), choose((True, False))
        line = self.step(who, f"{'PUT' if writes else 'GET'}{'_GLOBAL' * (space == 'g')}({place});")
        memory = _TILE if space == "s" else _ARRAY
        for b, t in self.chosen(who):
            self.events[b, t].append(Access(line, (memory, _PLACES[place](t), 1), writes))

    def sync(self) -> None:
        kind = self.random.random()
        if kind < 0.4:
            self.meet()
        elif kind < 0.5:
            self.meet_in_warps()
        elif able := [each for each in self.syncs if not each.started]:
            self.through(self.random.choice(able))

    def through(self, barrier: _Barrier, *, relaxed: bool = False) -> None:
        """Let threads arrive at a barrier, and others wait for them."""
        relaxed = relaxed or self.chance(0.25)
        if relaxed and self.chance(0.5):
            self.step("true", 'DO("fence.acq_rel.cta");', Fence())
        order = ".relaxed.cta" * relaxed
        self.use(barrier, barrier.arrive, f'ARRIVE({barrier.number}, "{order}");', Arrive(barrier.key, not relaxed))
        barrier.started = True
        if not relaxed and self.chance(0.3):
            self.anything()
        self.wait(barrier)

    def wait(self, barrier: _Barrier, *, relaxed: bool = False) -> None:
        relaxed = relaxed or self.chance(0.15)
        order = ".relaxed.cta" * relaxed
        text = f'WAIT({barrier.number}, {barrier.phase & 1}, "{order}");'
        self.use(barrier, barrier.wait, text, Seen(barrier.key, not relaxed), writes=False)
        barrier.phase += 1
        barrier.started = False
        if relaxed and self.chance(0.5):
            self.step("true", 'DO("fence.acq_rel.cta");', Fence())

    def fence(self) -> None:
        who, form = self.random.choice(list(_WHO)), self.random.choice(("", "", ".shared::cta", ".global"))
        if self.chance(0.5):
            who = "true"
        self.step(who, f'DO("fence.proxy.async{form}");', ProxyFence(_SPACES[form]))

    def part(self) -> tuple[int, int, int]:
        """Where a copy begins in the tile and in the array, and how many words it has."""
        words = self.random.choice((16, 64, 64, 128, 256))
        places = (0, 0, 0, 32, 64, 128, 256)
        return self.random.choice(places), self.random.choice(places), words

    def load(self) -> None:
        barrier = self.random.choice(self.loads)
        if barrier.started:
            self.wait(barrier)
            return
        barrier.started = True
        parts = [self.part() for _ in range(self.random.choice((1, 1, 2)))]
        size, number, leader = 4 * sum(words for _, _, words in parts), barrier.number, barrier.arrive
        order = self.random.choice(("expect", "expect", "late", "apart"))
        if order == "expect":
            self.use(barrier, leader, f"ARRIVE_EXPECT({number}, {size});", Arrive(barrier.key))
        elif order == "apart":
            self.use(barrier, leader, f"EXPECT({number}, {size});")
        for to, source, words in parts:
            self.load_part(barrier, to, source, words)
            if self.chance(0.1):
                self.access()
        if order == "late":
            self.use(barrier, leader, f"ARRIVE_EXPECT({number}, {size});", Arrive(barrier.key))
        elif order == "apart":
            self.use(barrier, leader, f'ARRIVE({number}, "");', Arrive(barrier.key))

    def load_part(self, barrier: _Barrier, to: int, source: int, words: int) -> None:
        self.names += 1
        text = f"LOAD({barrier.number}, {to}, {source}, {4 * words});"
        barrier.line = self.use(barrier, barrier.arrive, text)
        for place in self.chosen(barrier.arrive):
            places = (_ARRAY, source, words), (_TILE, to, words)
            self.events[place].append(Copy(barrier.line, ("copy", self.names), *places, barrier.key))

    def store(self, source: int | None = None) -> None:
        leader = self.random.choice(("t == 0", "t == 0", "t == 1", "t == 33"))
        first, to, words = self.part()
        source, words = (first, words) if source is None else (source, 64)
        self.names += 1
        line = self.step(leader, f"STORE({to}, {source}, {4 * words});")
        for b, t in self.chosen(leader):
            name = ("copy", self.names)
            self.events[b, t].append(Copy(line, name, (_TILE, source, words), (_ARRAY, to, words)))
            self.copies[b, t].open.append(name)
            self.stores[b, t] = line, name
        if self.chance(0.9):
            self.commit(leader)
        if self.chance(0.4):
            self.wait_for_stores(leader)

    def commit(self, who: str) -> None:
        self.step(who, 'DO("cp.async.bulk.commit_group");')
        for place in self.chosen(who):
            self.copies[place].commit()

    def wait_for_stores(self, who: str = "", allowed: int | None = None) -> None:
        who = who or self.random.choice(("true", "true", "t == 0", "t < 32"))
        reads = self.chance(0.4 if allowed is None else 0.05)
        allowed = self.random.choice((0, 0, 0, 1)) if allowed is None else allowed
        self.step(who, f'DO("cp.async.bulk.wait_group{".read" * reads} {allowed}");')
        for b, t in self.chosen(who):
            names = self.copies[b, t].over(allowed)
            self.events[b, t].append(Ended(names, writes=not reads))
            self.read_over[b, t].update(names)

    def fill_right_factor(self) -> None:
        """Let threads write a right factor, show it and meet, perhaps only with some of those that multiply."""
        writer = self.random.choice(("t < 32", "t < 32", "true", "t == 33"))
        line = self.step(writer, "PUT(t % 64 + 512);")
        for b, t in self.chosen(writer):
            self.events[b, t].append(Access(line, (_TILE, t % 64 + 512, 1), writes=True))
        if self.chance(0.9):
            self.step("true", 'DO("fence.proxy.async");', ProxyFence(_SPACES[""]))
        self.random.choice((self.sync, self.meet_in_warps))()
        self.multiply(512)

    def multiply(self, right: int | None = None) -> None:
        right = self.random.choice((0, 64, 256, 448, 512)) if right is None else right
        self.names += 1
        self.step("true", 'DO("wgmma.fence.sync.aligned");')
        line = self.step("true", f"MULTIPLY({right});")
        for b, t in self.chosen("true"):
            warp = t // _WARP
            words = (_TILE, warp * 128, 128), (_TILE, right, 64)
            self.events[b, t].append(Product(line, ("product", self.names, warp), words))
        self.products.open += [("product", self.names, warp) for warp in range(4)]
        if self.chance(0.9):
            self.commit_products()
        if self.chance(0.5):
            self.wait_for_products()

    def commit_products(self) -> None:
        self.step("true", 'DO("wgmma.commit_group.sync.aligned");')
        self.products.commit()

    def wait_for_products(self, allowed: int | None = None, who: str = "") -> None:
        who = who or self.random.choice(("true", "true", "t < 32"))
        allowed = self.random.choice((0, 0, 1)) if allowed is None else allowed
        self.step(who, f'DO("wgmma.wait_group.sync.aligned {allowed}");', Ended(self.products.over(allowed)))

    def settle(self) -> None:
        """Let all wait for what is under way, and show what they wrote; now and then without one of these steps."""
        for barrier in self.loads:
            if barrier.started and self.chance(0.95):
                self.wait(barrier)
        if self.copies and self.chance(0.95):
            self.wait_for_stores("true", 0)
        if self.multiplies and self.chance(0.95):
            self.wait_for_products(0, self.random.choice(("true", "true", "t < 32")))
        if self.chance(0.85):
            self.step("true", 'DO("fence.proxy.async");', ProxyFence(_SPACES[""]))
        else:
            self.fence()
        if self.chance(0.95):
            self.meet()

    def hand_on(self) -> None:
        """Let threads write a part of the tile and show it, and a thread that waits for them copy it."""
        able = [each for each in self.syncs if not each.started]
        if not able:
            return
        self.step_of_part("PUT", "true")
        if self.chance(0.85):
            who, form = self.random.choice(("true", "true", "t < 32")), self.random.choice(list(_SPACES))
            self.step(who, f'DO("fence.proxy.async{form}");', ProxyFence(_SPACES[form]))
        self.through(self.random.choice(able), relaxed=self.chance(0.4))
        self.store(0)

    def step_of_part(self, does: str, who: str) -> None:
        line = self.step(who, f"{does}(t);")
        for b, t in self.chosen(who):
            self.events[b, t].append(Access(line, (_TILE, t, 1), writes=does == "PUT"))

    def pipeline(self) -> None:
        """Let a thread fill the same part again and again, and others use it and then say that it is empty."""
        able = [each for each in self.loads if each.wait == "true" and not each.started]
        if not able:
            return
        full, empty = able[0], self.empty
        if empty.phase:
            self.meet()  # otherwise a thread may arrive twice in one phase
        for again in range(self.random.randint(2, 3)):
            if again:
                self.wait_empty(full.arrive)
            full.started = True
            self.use(full, full.arrive, f"ARRIVE_EXPECT({full.number}, 256);", Arrive(full.key))
            self.load_part(full, 0, self.random.choice((0, 64)), 64)
            self.wait(full)
            self.step_of_part("GET", empty.arrive)
            if self.chance(0.2):
                self.step_of_part("PUT", empty.arrive)
                if self.chance(0.7):
                    self.step("true", 'DO("fence.proxy.async");', ProxyFence(_SPACES[""]))
            relaxed = self.chance(0.1)
            text = f'ARRIVE({empty.number}, "{".relaxed.cta" * relaxed}");'
            self.use(empty, empty.arrive, text, Arrive(empty.key, not relaxed))
        self.wait_empty(full.arrive)

    def wait_empty(self, who: str) -> None:
        self.empty.wait = who
        self.wait(self.empty)

    def copy_of_a_former_life(self) -> None:
        """Copy twice to a part, in two lives of a barrier, and order only the end of the second copy."""
        able = [each for each in self.loads if each.wait == "true" and not each.started]
        for barrier in able[:1]:
            for place in (0, 256):
                barrier.started = True
                self.use(barrier, barrier.arrive, f"ARRIVE_EXPECT({barrier.number}, 256);", Arrive(barrier.key))
                self.load_part(barrier, place, 0, 64)
                if not place:
                    self.begin_again(barrier)
            self.wait(barrier)
            self.step_of_part(self.random.choice(("GET", "PUT")), "t < 32")

    def begin_again(self, barrier: _Barrier | None = None) -> None:
        """Initialise a barrier again, between two steps that let nobody use it, though they may order nothing."""
        barrier = barrier or self.random.choice(self.syncs + self.loads)
        if barrier.started:
            self.wait(barrier, relaxed=True)
        self.meet_somehow(barrier)
        if self.chance(0.3):
            line = self.first + len(self.lines)
            event = Begin(line, (_BARRIERS, barrier.number, 1))
            self.step("t == 0", f"INVAL({barrier.number});", event)
        self.initialise(barrier)
        barrier.restart()
        if self.chance(0.5):
            self.step("t == 0", 'DO("fence.mbarrier_init.release.cluster");', BeginFence())
        self.meet_somehow(barrier)

    def meet_somehow(self, other_than: _Barrier) -> None:
        """Let all threads meet, perhaps at a barrier that orders nothing."""
        able = [each for each in self.syncs if each is not other_than and each.arrive == each.wait == "true"]
        if able and self.chance(0.6):
            self.through(able[0], relaxed=True)
        else:
            self.meet()

    def anything(self) -> None:
        kinds = [self.access] * 4 + [self.fence] * 2 + [self.load] * 3 + [self.store] * 2 + [self.wait_for_stores]
        kinds += [self.hand_on, self.pipeline]
        if self.multiplies:
            kinds += [self.multiply] * 3 + [self.wait_for_products, self.fill_right_factor]
        self.random.choice(kinds)()

    def look(self) -> None:
        """Let threads look at a barrier once before they wait for it. That orders nothing, because it may fail."""
        if self.chance(0.5):
            barrier = self.random.choice(self.loads)
            if barrier.started:
                self.wait(barrier)
            self.load()
            barrier = next((each for each in self.loads if each.started), barrier)
        else:
            # In large blocks, the device lets warps take turns, but no lanes.
            far = [each for each in self.syncs if each.arrive in {"true", "t % 32 == 0"} or not self.multiplies]
            if not far:
                return
            barrier = self.random.choice(far)
            self.step_of_part("PUT", "true")
            self.use(barrier, barrier.arrive, f'ARRIVE({barrier.number}, "");', Arrive(barrier.key))
            barrier.started = True
        self.use(barrier, barrier.wait, f"LOOK({barrier.number}, {barrier.phase & 1});", writes=False)
        self.access()
        if barrier.started:
            self.wait(barrier)

    def end(self) -> frozenset[int]:
        """End what is under way, mostly, and return the lines of copies that nothing waits for."""
        left = set()
        for barrier in self.loads:
            if barrier.started and self.chance(0.8):
                self.wait(barrier)
            if barrier.started:
                left.add(barrier.line)
        if self.stores and self.chance(0.8):
            self.commit("true")
            self.step("true", 'DO("cp.async.bulk.wait_group.read 0");')
            for (b, t), groups in self.copies.items():
                self.events[b, t].append(Ended(groups.over(0), writes=False))
                self.read_over[b, t].update(groups.over(0))
        left |= {line for place, (line, name) in self.stores.items() if name not in self.read_over[place]}
        if self.multiplies:
            self.commit_products()
            self.wait_for_products(0, "true")
        self.add("P[b * blockDim.x + t] = kept + d[0] + d[1] + d[2] + d[3];")
        self.lines.append("}")
        return frozenset(left)


def generate(seed: int, first_line: int = 1) -> Program:
    """Make the kernel `K` and its seed. first_line: the line where its text begins."""
    draft = _Draft(seed, first_line)
    draft.begin(f"K{seed}")
    for _ in range(draft.random.randint(3, 9)):
        if draft.careful:
            draft.settle()
        elif draft.chance(0.5):
            draft.sync()
        if draft.chance(0.08):
            draft.begin_again()
        draft.anything()
    if draft.chance(0.1):
        draft.copy_of_a_former_life()
    looks = random.Random(f"look {seed}").random() < _LOOKING
    if looks:
        draft.random, others = random.Random(f"looks {seed}"), draft.random
        draft.settle()
        draft.look()
        draft.random = others
    left = draft.end()
    different = draft.blocks if any("b == 0" in line for line in draft.lines) else 1
    events = {b: {place: each for place, each in draft.events.items() if place[0] == b} for b in range(different)}
    overtaken = any(each.overtaken for each in (*draft.syncs, *draft.loads))
    return Program(seed, draft.blocks, draft.threads, tuple(draft.lines), events, left, looks, overtaken)
