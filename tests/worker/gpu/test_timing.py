"""How repeats are made: inputs, order, warm-up, cuBLAS in between, and when it is enough."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import pairwise

import pytest

from kernels.exercise import InputKind, find_exercise
from kernels.judging.plan import plan_at
from kernels.verdict import Finding
from tests.marks import linux
from tests.worker.gpu.measuring import HostJudge, Scripted, asking, kernel, request_for
from worker.contract.measure_work import MeasureRequest, Numbers
from worker.gpu.operands import POISON_WORD, Modules, place
from worker.gpu.timing.timings import FEWEST, FEWEST_IN_BUDGET, Bench, Effort, Fresh, Timings, kind_of, timings

LEFT, RIGHT, FULL = InputKind.INTEGERS_LEFT, InputKind.INTEGERS_RIGHT, InputKind.PERMUTATION

pytestmark = linux

MOST = 60


class Clock:
    """A host's clock on which only what a test says takes time."""

    def __init__(self, step: float = 0.0) -> None:
        self.time = 0.0
        self.step = step

    def __call__(self) -> float:
        self.time += self.step
        return self.time


@pytest.fixture(scope="module")
def request_() -> MeasureRequest:
    return request_for(kernel(), ranking={"Width": 5})


class Rig:
    """One size on a made-up device."""

    def __init__(self, request: MeasureRequest, device: Scripted, clock: Clock) -> None:
        assert request.ranking is not None
        self.device = device
        self.clock = clock
        self.judge = HostJudge(device)
        self.asked: list[Numbers] = []
        self._ask = asking()
        self.operands = place(device, Modules(device, request.modules)[0], request.ranking)

    def ask(self) -> Callable[[], Numbers]:
        reply = self._ask()

        def read() -> Numbers:
            self.asked.append(reply())
            return self.asked[-1]

        return read

    def time(
        self, seconds: float = 1000.0, *, first: bool = False, effort: Effort | None = None, clock_mhz: int = 0
    ) -> Timings:
        judge = self.judge
        bench = Bench(self.device, judge, Fresh(self.ask), 5.0, clock_mhz=clock_mhz, now=self.clock)  # type: ignore[arg-type]
        found = timings(bench, self.operands, effort or Effort(seconds, MOST), first=first)
        assert not isinstance(found, Finding), found
        return found


def test_numbers_are_drawn_during_a_launch_and_read_after_it(request_):
    rig = Rig(request_, Scripted([1.0]), Clock())
    happened: list[str] = []
    rig.device.after = lambda _: happened.append("launched")
    ask = rig.ask

    def noted() -> Callable[[], Numbers]:
        happened.append("asked")
        reply = ask()
        return lambda: happened.append("read") or reply()  # type: ignore[func-returns-value]

    rig.ask = noted  # type: ignore[method-assign]
    found = rig.time()
    assert happened[:2] == ["asked", "read"]
    assert happened[2:] == ["asked", "launched", "read"] * (1 + len(found.runs))


def test_the_reply_to_a_failed_launch_is_read_before_the_next_work():
    read: list[Numbers] = []
    ask = asking()

    def noted() -> Callable[[], Numbers]:
        reply = ask()
        return lambda: read.append(reply()) or read[-1]  # type: ignore[func-returns-value]

    with closing(Fresh(noted)) as fresh:
        assert fresh.inputs() == read[0].inputs
        fresh.order()
        fresh.order()
    fresh.close()
    assert len(read) == 2


def test_repeats_end_once_the_median_is_sure(request_):
    found = Rig(request_, Scripted([1.0]), Clock()).time()
    assert len(found.runs) == FEWEST
    # the two that are far off leave the interval with the ninth repeat, apart from two permutations
    found = Rig(request_, Scripted([1.0, 0.5, 1.5, 1.0]), Clock()).time()
    assert len(found.runs) == 9 + 2


def test_a_number_of_repeats_is_made_even_if_they_agree(request_):
    found = Rig(request_, Scripted([1.0]), Clock()).time(effort=Effort(1000.0, 20, fewest=20))
    assert len(found.runs) == 20


def test_repeats_end_once_the_interval_is_as_narrow_as_asked(request_):
    script = [1.0, 1.004, 0.996, 1.0]
    usual = Rig(request_, Scripted(script), Clock()).time()
    narrow = Rig(request_, Scripted(script), Clock()).time(effort=Effort(1000.0, MOST, interval=0.001))
    assert len(usual.runs) == FEWEST < len(narrow.runs) < MOST


def test_the_kind_of_inputs_does_not_count(request_):
    by_kind = {LEFT: 1.0, RIGHT: 1.02, FULL: 3.0}
    assert request_.ranking is not None
    script = [by_kind[kind_of(request_.ranking, number)] for number in range(FEWEST)]
    found = Rig(request_, Scripted([1.0, *script]), Clock()).time()
    assert len(found.runs) == FEWEST
    assert found.counting_ms == pytest.approx([1.01] * (FEWEST - 1))


def test_short_launches_are_repeated_until_they_took_long_enough_together(request_):
    found = Rig(request_, Scripted([0.25]), Clock()).time(effort=Effort(1000.0, MOST, together_ms=7.0))
    assert len(found.runs) == 28


def test_repeats_that_never_agree_end_too(request_):
    found = Rig(request_, Scripted([1.0 + number % 5 for number in range(100)]), Clock()).time()
    assert len(found.runs) == MOST


def test_a_few_repeats_are_made_even_if_the_time_is_over(request_):
    found = Rig(request_, Scripted([1.0]), Clock(step=1.0)).time(seconds=0.5)
    assert len(found.runs) == FEWEST_IN_BUDGET


def test_the_time_for_repeats_is_kept(request_):
    found = Rig(request_, Scripted([1.0 + number % 5 for number in range(100)]), Clock(step=1.0)).time(20.0)
    # each look at the clock takes a second
    assert len(found.runs) == 20


def test_a_repeat_longer_than_all_the_time_is_made_once(request_):
    found = Rig(request_, Scripted([600.0]), Clock()).time(seconds=0.5)
    assert len(found.runs) == 1


def test_every_repeat_has_inputs_of_its_own(request_):
    rig = Rig(request_, Scripted([1.0]), Clock())
    rig.time()
    seeds = [recipe.seed for made in rig.judge.given for recipe in made.values()]
    assert len(set(seeds)) == len(seeds) == 2 * FEWEST
    # the first answer is for the warm-up, the second for the first repeat: one question for each launch since
    assert len(rig.asked) == FEWEST + 2


def test_both_roles_take_turns_and_every_fourth_repeat_has_full_mantissas(request_):
    assert request_.ranking is not None
    kinds = [kind_of(request_.ranking, number) for number in range(8)]
    assert kinds == [LEFT, RIGHT, LEFT, FULL, RIGHT, LEFT, RIGHT, FULL]
    many = [kind_of(request_.ranking, number) for number in range(60)]
    assert many.count(LEFT) - many.count(RIGHT) in {0, 1}
    assert all(one != other for one, other in pairwise(many))


@pytest.mark.parametrize(
    ("exercise", "sizes", "kinds"),
    [
        ("reduction", {"n": 2048}, [InputKind.INTEGERS] * 3),
        ("bank-conflicts", {"Height": 8, "Width": 8}, [InputKind.MANTISSAS] * 3),
        ("foo-kernel", {"n": 256}, [InputKind.INTEGERS, InputKind.MANTISSAS, InputKind.INTEGERS]),
    ],
)
def test_other_operations_have_their_own_kinds(exercise, sizes, kinds):
    case = plan_at(find_exercise(exercise), None, None, sizes).cases[0]
    assert [kind_of(case, number) for number in range(3)] == kinds


@pytest.mark.parametrize(("ms", "repeats", "products"), [([1.0], 7, 5), ([1.0, 0.5, 1.5, 1.0], 11, 6)])
def test_cublas_runs_in_between_and_leaves_nothing(request_, ms, repeats, products):
    device = Scripted(ms)
    rig = Rig(request_, device, Clock())
    found = rig.time()
    assert len(found.runs) == repeats
    assert found.cublas_ms == (0.25,) * products
    assert len(device.multiplied) == products
    (out,) = set(device.multiplied)
    assert (device.read(out) == POISON_WORD).all()
    assert out not in rig.operands.memories.values()


def test_many_repeats_have_cublas_at_every_other(request_):
    found = Rig(request_, Scripted([1.0 + number % 5 for number in range(100)]), Clock()).time()
    assert len(found.cublas_ms) == 30


def test_the_warm_up_ends_when_the_clock_stays(request_):
    device = Scripted([1.0])
    device.clock_mhz = [345, 1200, 1900, 1905, 0]
    Rig(request_, device, Clock(step=0.0015)).time(first=True)
    # one launch at first, one before each look, four looks
    assert device.launches == FEWEST + 1 + 4


@pytest.mark.parametrize(("clocks", "launches"), [([1900, 0], 2), ([345, 1200, 1210, 0], 4)])
def test_after_other_work_one_look_at_the_same_clock_is_enough(request_, clocks, launches):
    device = Scripted([1.0])
    device.clock_mhz = clocks
    Rig(request_, device, Clock(step=0.0015)).time(first=True, clock_mhz=1905)
    assert device.launches == FEWEST + launches


@pytest.mark.parametrize(("clocks", "most"), [([0], 0.02), ([300 + 100 * n for n in range(99)], 0.15)])
def test_the_warm_up_ends_at_any_rate(request_, clocks, most):
    device, clock = Scripted([1.0]), Clock(step=0.001)
    device.clock_mhz = clocks
    Rig(request_, device, clock).time(first=True)
    looks = most / 0.006
    assert looks * 0.5 * 4 < device.launches - FEWEST < looks * 2 * 4


def test_only_the_first_size_waits_for_the_clock(request_):
    device = Scripted([1.0])
    Rig(request_, device, Clock()).time(first=False)
    assert device.launches == FEWEST + 1
