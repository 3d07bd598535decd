"""A worker's fitness to grade: the self-test of each of its devices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.selftest.local_grader import LocalGrader
from worker.selftest.selftest import Progress, SelfTest, run_selftest
from worker.slots.plan import Slot, gpus_of


class Stopped(Exception):
    """The test was aborted because the worker stops."""


@dataclass(frozen=True, slots=True)
class Fitness:
    """The tests' result.

    problems: reasons why the worker must not grade; empty if it is fit
    gaps: missing isolation, if its operator permits that
    """

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


Test = Callable[[Progress], Fitness]


@dataclass(frozen=True, slots=True)
class DeviceTests:
    """The self-tests of the slots' devices, one by one so that they don't disturb each other."""

    slots: Sequence[Slot]
    arch: str
    cache: Path
    allow_gaps: bool = False

    def __call__(self, progress: Progress) -> Fitness:
        found = [(device, self._run(here, device, progress)) for device, here in self._devices()]
        return Fitness(
            tuple(f"{device}: {problem}" for device, result in found for problem in _problems(result)),
            tuple(f"{device}: {warning}" for device, result in found for warning in result.warnings),
            tuple(
                f"{device}: {held.step}: {gap}"
                for device, result in found
                for held in result.isolation
                for gap in held.gaps
            ),
        )

    def _devices(self) -> Iterator[tuple[str, LocalGrader]]:
        """The GPUs, or without one the CPU, because a GPU's test includes the CPU's."""
        gpus = gpus_of(self.slots)
        for gpu in gpus:
            yield f"GPU {gpu.index}", LocalGrader(gpu.arch, self.cache, gpu.index, gpu.device_class)
        if not gpus:
            yield "cpu", LocalGrader(self.arch, self.cache)

    def _run(self, here: LocalGrader, device: str, progress: Progress) -> SelfTest:
        return run_selftest(
            here.grade, here.surroundings, gpu=here.gpu is not None, allow_gaps=self.allow_gaps,
            progress=lambda what: progress(f"{device}: {what}"),
        )  # fmt: skip


def _problems(result: SelfTest) -> tuple[str, ...]:
    if result.ok:
        return ()
    return result.problems or ("the self-test failed",)


class Testing:
    """A test in its own thread, which you can abort between two of its kernels."""

    def __init__(self, test: Test, done: Callable[[Fitness], None]) -> None:
        """done: called from the thread, unless the test is aborted."""
        self._test, self._done = test, done
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="self-test", daemon=True)
        self._thread.start()

    def give_up(self) -> None:
        """Abort the test. Waits for the running kernel, so that its processes end cleanly."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            found = self._test(self._progress)
        except Stopped:
            return
        except Exception as error:  # noqa: BLE001 - any error in the test makes the worker unfit
            found = Fitness((f"the self-test failed ({type(error).__name__}: {error})",))
        self._done(found)

    def _progress(self, _what: str) -> None:
        # Python can't end a thread from outside, so the test asks here between its kernels.
        if self._stop.is_set():
            raise Stopped
