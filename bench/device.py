"""The thread-instructions per second of the CPU device, compared with numpy's own float32 multiply-add."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels import device
from kernels.compile.compilation import DEFAULT_ARCH, Compilation, compile_source
from kernels.exercise import find_exercise
from kernels.launch import Launch

TILE = 16
LANES = 16_384
_ENOUGH_SECONDS = 0.05
_BUDGET = device.Budget(10_000_000)

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Subject:
    """One kernel at one size, with all checks (`observe`) or without, counted or not."""

    kernel: str
    width: int
    observe: bool
    count: bool = False


@dataclass(frozen=True, slots=True)
class Rate:
    """The speed of one subject.

    instructions: executed by all threads together
    seconds, waited: the medians of processor time and of elapsed time
    numpy_rate: multiply-adds per second of numpy in the same rounds
    """

    subject: Subject
    instructions: int
    seconds: float
    waited: float
    numpy_rate: float

    @property
    def per_second(self) -> float:
        """Thread-instructions per second."""
        return self.instructions / self.seconds

    @property
    def share(self) -> float:
        """The rate as a share of numpy's."""
        return self.per_second / self.numpy_rate


class MultiplyAdd:
    """numpy's float32 `a * b + c`, in the cache, on as many elements as the device has threads side by side."""

    def __init__(self) -> None:
        generator = np.random.default_rng(1)
        self._a, self._b, self._sum = generator.random((3, LANES), np.float32)
        self._product = np.empty(LANES, np.float32)
        self._samples: list[float] = []

    def sample(self) -> None:
        """Measure once more."""
        calls = 2_000
        self._sum[:] = 0
        begin = time.process_time()
        for _ in range(calls):
            np.multiply(self._a, self._b, out=self._product)
            np.add(self._product, self._sum, out=self._sum)
        self._samples.append(calls * LANES / (time.process_time() - begin))

    @property
    def rate(self) -> float:
        """Multiply-adds per second, the median of all samples."""
        return statistics.median(self._samples)


class Bench:
    """Runs subjects on inputs with an exact product, and checks the product."""

    def __init__(self) -> None:
        self._compiled: dict[str, Compilation] = {}

    def time_once(self, subject: Subject) -> tuple[float, float, int]:
        """Return processor seconds, elapsed seconds and instructions of one launch.

        The program is parsed again for each launch, so that checks can't profit from earlier launches.
        """
        made = self._compilation(subject.kernel)
        program = device.load_program(made.ptx, made.entry)
        device.check(program, count=subject.count)
        width = subject.width
        blocks = -(-width // TILE)
        left, right = _inputs(width)
        buffers = (
            device.Buffer("M", left.ravel(), initialised=True, columns=width),
            device.Buffer("N", right.ravel(), initialised=True, columns=width),
            device.Buffer("P", np.full(width * width, np.nan, np.float32), initialised=False, columns=width),
        )
        launch = Launch((blocks, blocks, 1), (TILE, TILE, 1), 0)
        gc.collect()  # this launch needn't clean up after earlier ones
        begin, since = time.process_time(), time.perf_counter()
        execution = device.run(
            program,
            launch,
            ("M", "N", "P", width),
            buffers,
            device.Options(budget=_BUDGET, observe=subject.observe, count=subject.count),
        )
        seconds, waited = time.process_time() - begin, time.perf_counter() - since
        if execution.findings or not np.array_equal(execution.values["P"].reshape(width, width), left @ right):
            raise SystemExit(f"the device's result of {subject} is incorrect: {execution.findings}")
        return seconds, waited, execution.instructions

    def _compilation(self, kernel: str) -> Compilation:
        if kernel not in self._compiled:
            text = find_exercise(kernel).solution.read_text()
            made = compile_source(text, "MatrixMulKernel", DEFAULT_ARCH, {"TILE_WIDTH": str(TILE)}, True)
            if not isinstance(made, Compilation):
                raise SystemExit(f"the solution of {kernel} does not compile: {made}")
            self._compiled[kernel] = made
        return self._compiled[kernel]


def _inputs(width: int) -> tuple[Matrix, Matrix]:
    """Return integers so small that every order of summing gives the same float32."""
    generator = np.random.default_rng(width)
    left, right = generator.integers(-3, 4, (2, width, width)).astype(np.float32)
    return left, right


def rates(subjects: list[Subject], rounds: int, progress: Callable[[str], None]) -> Iterator[Rate]:
    """Yield the rates of all subjects, round by round, with numpy before each: a slow machine slows down all."""
    bench, numpy = Bench(), MultiplyAdd()
    samples: dict[Subject, list[tuple[float, float]]] = {subject: [] for subject in subjects}
    counts: dict[Subject, int] = {}
    for number in range(rounds + 1):
        progress(f"device: round {number} of {rounds}")
        for subject in subjects:
            numpy.sample()
            left = _ENOUGH_SECONDS
            while left > 0:
                seconds, waited, counts[subject] = bench.time_once(subject)
                left -= seconds
                if number:  # the first round is a warm-up
                    samples[subject].append((seconds, waited))
    for subject in subjects:
        seconds, waited = map(statistics.median, zip(*samples[subject], strict=True))
        yield Rate(subject, counts[subject], seconds, waited, numpy.rate)
