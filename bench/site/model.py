"""A model of one site at a deadline: students, the portal, the queue and the workers, as a simulation of events.

Nothing of Tilelab runs. Each act of a student waits for a server of some station, and keeps it for a measured time.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count

PERIOD = 600.0
"""The seconds over which the model adds up how busy a station is."""

_HOUR = 3600.0
PORTAL, DISPATCHER, RECORDER, SLOTS, GPUS = "portal", "dispatcher", "recorder", "check slots", "GPUs"


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured seconds. The parts keep a server busy, and the path only takes time.

    submission, page: of the portal's processor
    dispatch, record: for one step of a job
    path: from a submission to its verdict in an idle queue, if the step takes no time
    check: of a slot, from the source to the verdict of the CPU device
    count: of the same slot, for the counts of a correct kernel
    measure: of a GPU, for a correct kernel
    """

    submission: float
    page: float
    dispatch: float
    record: float
    path: float
    check: float
    count: float
    measure: float


@dataclass(frozen=True, slots=True)
class Site:
    """How many servers each station has."""

    web_cores: int
    dispatchers: int
    recorders: int
    slots: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Night:
    """What students do before a deadline.

    hours: before the deadline, in which the first of them begins
    ramp: the mean time before the deadline at which students begin, in hours
    attempts: the mean number for a student, who stops at the deadline
    thinking: the median time from a verdict to the next attempt, in seconds
    passing: the share of attempts that reach the GPU
    pages: that a student reads for one attempt
    last: whether each student submits once more in the last period
    """

    students: int
    hours: float = 12.0
    ramp: float = 3.0
    attempts: float = 8.0
    thinking: float = 600.0
    passing: float = 0.5
    pages: int = 4
    last: bool = True


@dataclass(frozen=True, slots=True)
class Attempt:
    """Seconds from the beginning to its submission, and from there to its verdict."""

    person: int
    submitted_at: float
    waited: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """All attempts; by station and period, the share of its servers' time that was used."""

    attempts: tuple[Attempt, ...]
    busy: Mapping[str, Mapping[int, float]]


class Clock:
    """Future events, in their order."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        heappush(self._events, (self.now + seconds, next(self._number), then))

    def run(self) -> None:
        while self._events:
            self.now, _, then = heappop(self._events)
            then()


@dataclass(slots=True)
class Station:
    """Servers that take waiting steps by turns of persons, each of whom has a sequence of their own.

    ahead: steps for each server that have left the fair queue, and can't be overtaken
    """

    clock: Clock
    servers: int
    ahead: int = 0
    busy: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _fair: list[tuple[float, int, float, Callable[[], None]]] = field(default_factory=list)
    _sent: deque[tuple[float, Callable[[], None]]] = field(default_factory=deque)
    _turns: dict[int, float] = field(default_factory=dict)
    _turn: float = 0.0
    _working: int = 0
    _number: count[int] = field(default_factory=count)

    def ask(self, person: int, seconds: float, then: Callable[[], None]) -> None:
        """Call `then` after a server has worked for so many seconds."""
        turn = self._turns[person] = max(self._turn, self._turns.get(person, 0.0)) + 1
        heappush(self._fair, (turn, next(self._number), seconds, then))
        self._go_on()

    def _go_on(self) -> None:
        while self._fair and len(self._sent) + self._working < self.servers * (1 + self.ahead):
            self._turn, _, seconds, then = heappop(self._fair)
            self._sent.append((seconds, then))
        while self._sent and self._working < self.servers:
            seconds, then = self._sent.popleft()
            self._working += 1
            self.busy[int(self.clock.now // PERIOD)] += seconds
            self.clock.after(seconds, partial(self._done, then))

    def _done(self, then: Callable[[], None]) -> None:
        self._working -= 1
        then()
        self._go_on()


class Run:
    """One simulated site. `submit` may be called at any time of its clock."""

    def __init__(self, site: Site, costs: Costs, passing: float, pages: int, dice: random.Random) -> None:
        self.clock = Clock()
        self.attempts: list[Attempt] = []
        self._costs, self._passing, self._pages, self._dice = costs, passing, pages, dice
        self._stations = {
            PORTAL: Station(self.clock, site.web_cores),
            DISPATCHER: Station(self.clock, site.dispatchers),
            RECORDER: Station(self.clock, site.recorders),
            SLOTS: Station(self.clock, site.slots, ahead=2),
            GPUS: Station(self.clock, site.gpus, ahead=2),
        }

    def submit(self, person: int, then: Callable[[], None] = lambda: None) -> None:
        """Submit a kernel, read its pages, and call `then` at its verdict."""
        costs, began, passes = self._costs, self.clock.now, self._dice.random() < self._passing

        def over() -> None:
            self.attempts.append(Attempt(person, began, self.clock.now - began))
            for _ in range(self._pages):
                self._ask(PORTAL, person, costs.page, lambda: None)
            then()

        def measured() -> None:
            self._step(person, GPUS, costs.measure, over)

        def accepted() -> None:
            own = costs.check + (costs.count if passes else 0.0)
            self._step(person, SLOTS, own, measured if passes else over)

        self._ask(PORTAL, person, costs.submission, accepted)

    def outcome(self) -> Outcome:
        self.clock.run()
        busy = {
            name: {at: seconds / PERIOD / station.servers for at, seconds in sorted(station.busy.items())}
            for name, station in self._stations.items()
        }
        return Outcome(tuple(self.attempts), busy)

    def _ask(self, station: str, person: int, seconds: float, then: Callable[[], None]) -> None:
        self._stations[station].ask(person, seconds, then)

    def _step(self, person: int, station: str, seconds: float, then: Callable[[], None]) -> None:
        """One step of a job: sent, done and recorded, with the time on the way between them."""
        costs = self._costs

        def done() -> None:
            self._ask(RECORDER, person, costs.record, then)

        def sent() -> None:
            self.clock.after(costs.path, lambda: self._ask(station, person, seconds, done))

        self._ask(DISPATCHER, person, costs.dispatch, sent)


def simulated(night: Night, site: Site, costs: Costs, seed: int = 1) -> Outcome:
    """Return one night."""
    dice = random.Random(seed)
    run = Run(site, costs, night.passing, night.pages, dice)
    deadline = night.hours * _HOUR

    def begin(person: int) -> None:
        more = 1 / night.attempts

        def again() -> None:
            thought = night.thinking * dice.lognormvariate(0.0, 0.7)
            if dice.random() >= more and run.clock.now + thought < deadline:
                run.clock.after(thought, lambda: run.submit(person, again))

        run.submit(person, again)

    for person in range(night.students):
        before = dice.expovariate(1 / night.ramp) % night.hours * _HOUR
        run.clock.after(deadline - before, partial(begin, person))
        if night.last:
            run.clock.after(deadline - dice.uniform(0, PERIOD), partial(run.submit, person))
    return run.outcome()
