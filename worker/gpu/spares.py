"""The parent's side of the process that drives a GPU: processes started ahead, each used for one job."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable
from typing import Self

from kernels.wire import WireError, from_plain, to_plain
from worker.contract.measure_work import MeasureRequest, MeasureResponse, Prepare, Prepared
from worker.gpu.timing.quiet import quiet_file
from worker.sandbox.limits import DeviceIsolation, Failure, Isolation, Limits, SandboxFailure
from worker.sandbox.process import START_SECONDS, Child
from worker.sandbox.starting import ENVIRONMENT

# What the driver is found by, where it is set.
_PASSED_ON = ("LD_LIBRARY_PATH", "CUDA_PATH")
# CPU time also goes to the start, and to the driver's own threads.
_START_CPU_SECONDS = 120
_THREADS = 4
_MEMORY_BYTES = 2**50
_RESPONSE_BYTES = 8 * 2**20


class DeviceChild(Child):
    """A process that drives one device, which nothing but the end of the process gives back."""

    module = "worker.gpu.device_process"
    # The libraries of a GPU are looked for among the site packages.
    options = ("-I",)
    report = DeviceIsolation

    def __init__(
        self, device: int | None, compiler: str, wall_seconds: float, quiet: int | None = None
    ) -> None:
        """Start it and return at once.

        device: its number by its place on the bus; None for the CPU device
        quiet: descriptor of the file that keeps starts away from what is timed
        """
        self.environment = environment_for(device)
        cpu_seconds = _START_CPU_SECONDS + int(_THREADS * wall_seconds)
        limits = Limits(wall_seconds, cpu_seconds, _MEMORY_BYTES, _RESPONSE_BYTES)
        self.inherited = () if quiet is None else (quiet,)
        kind = "cpu" if device is None else "gpu"
        super().__init__(f"{kind} {compiler} {'' if quiet is None else quiet}", limits)


def environment_for(device: int | None) -> dict[str, str]:
    """What the process sees: nothing of ours but where the driver is."""
    if device is None:
        return dict(ENVIRONMENT)
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **ENVIRONMENT,
        **passed_on,
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": str(device),
        # One queue of work is all that is used; the eight of the default make contexts twice as long to begin and to
        # end, and three times where several begin at once.
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",
        # nothing is compiled there, and nothing is to be kept in a home folder
        "CUDA_CACHE_DISABLE": "1",
        "CUPY_CACHE_IN_MEMORY": "1",
        # CuPy makes the folder for its cache at once unless it is there, as the working folder is
        "CUPY_CACHE_DIR": ".",
    }


WALL_SECONDS = 30.0
"""For one measure request. Every launch has a limit of its own; this one is for a process that hangs."""

_NUMBER_BITS = 63
_TRIES = 2
Progress = Callable[[int], None]


def _nothing(_asked: int) -> None: ...


class Runner:
    """One process with a device, started ahead and used for one job. Use as a context manager, or call `close`.

    The process dies with the thread that made it. All else may be called by any thread; `kill` and `close` at any time,
    which end a measurement that is under way.

    isolation: what holds the process in; None until it is ready
    """

    def __init__(
        self,
        device: int | None,
        prepare: Prepare,
        wall_seconds: float = WALL_SECONDS,
        quiet: int | None = None,
    ) -> None:
        """Start the process and return at once.

        device: None for the CPU device behind the same interface
        quiet: descriptor of a worker's `quiet_file`, where others start on the device while this one measures
        """
        self._child = DeviceChild(device, prepare.compiler, wall_seconds, quiet)
        self._prepare = prepare
        self._prepared: Prepared | None = None
        self._failure: SandboxFailure | None = None
        self._used = self._closed = False
        self._one_at_a_time = threading.Lock()

    @property
    def isolation(self) -> Isolation | None:
        return self._child.isolation

    @property
    def prepared(self) -> bool:
        return self._prepared is not None

    @property
    def usable(self) -> bool:
        return self.prepared and not self._used and self._child.alive()

    @property
    def ended(self) -> bool:
        return self._used and not self._child.alive()

    @property
    def closed(self) -> bool:
        return self._closed

    def ready(self) -> Prepared:
        """Wait until the device is warm, the judge's kernels are in it, and the process is held in.

        raise (SandboxFailure): START, with the reason
        """
        with self._one_at_a_time:
            if self._failure is not None or self._closed:
                raise self._failure or SandboxFailure(Failure.START, "the runner was closed")
            if self._prepared is None:
                try:
                    answer = self._child.request(to_plain(self._prepare), last=False, seconds=START_SECONDS)
                    self._prepared = from_plain(Prepared, answer)
                except (SandboxFailure, WireError) as error:
                    self._failure = _not_started(error)
                    raise self._failure from error
            return self._prepared

    def measure(self, request: MeasureRequest, progress: Progress = _nothing) -> MeasureResponse:
        """Judge and measure one kernel. The process is ended with that; to wait until it is gone, call `close`.

        progress: told how many launches were made with numbers of their own so far
        raise (SandboxFailure): TIME where it took longer than the limit, START where the process is none to be used
        """
        if self._used:
            raise RuntimeError("a runner is used once")
        self._used = True
        try:
            self.ready()
            with self._one_at_a_time:
                answer = self._child.converse(to_plain(request), _Replies(progress))
            return from_plain(MeasureResponse, answer)
        except WireError as error:
            raise SandboxFailure(Failure.ERROR, f"the runner answered nonsense: {error}") from error
        finally:
            # the driver takes a while to let go of a GPU, and the answer is there
            self._child.kill()

    def kill(self) -> None:
        """End the process, whatever it does, without waiting until it is gone."""
        self._child.kill()

    def close(self) -> None:
        """End the process, whatever it does. Safe to call twice."""
        self._child.kill()
        with self._one_at_a_time:
            self._child.close()
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Replies:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._asked = 0

    def __call__(self, question: str) -> dict[str, int]:
        if question != "numbers":
            raise SandboxFailure(Failure.ERROR, f"the runner asked for {question[:100]!r}")
        self._asked += 1
        self._progress(self._asked)
        # what `Numbers` looks like on the wire, without the time that finding it out takes
        return {"inputs": secrets.randbits(_NUMBER_BITS), "vector": secrets.randbits(_NUMBER_BITS)}


class Spares:
    """Keeps processes ahead, so that no job waits for a start. Use as a context manager, or call `close`.

    All of them are started by one thread that lives as long as this does, because a process dies with the thread that
    started it. Any thread may take.
    """

    def __init__(
        self, device: int | None, prepare: Prepare, ahead: int = 2, wall_seconds: float = WALL_SECONDS
    ) -> None:
        """Begin to start processes and return at once.

        ahead: how many are kept waiting
        """
        self._device, self._prepare, self._ahead, self._wall_seconds = device, prepare, ahead, wall_seconds
        self._quiet = quiet_file()
        self._changed = threading.Condition()
        self._waiting: deque[Runner | SandboxFailure] = deque()
        self._all: list[Runner] = []
        self._closed = False
        self._starter = threading.Thread(target=self._keep_ahead, name="spares", daemon=True)
        self._starter.start()

    def take(self) -> Runner:
        """One that is ready; another is started in its place. To be closed, or used, by the caller.

        raise (SandboxFailure): START, where none can be started, or this was closed
        """
        failure = SandboxFailure(Failure.START)
        tries = 0
        for _ in range(self._ahead + _TRIES):
            spare = self._next()
            if isinstance(spare, SandboxFailure):
                tries, failure = tries + 1, spare
            else:
                waited = spare.prepared
                try:
                    spare.ready()
                    if spare.usable:
                        return spare
                    failure = SandboxFailure(Failure.START, "the process ended while it waited")
                except SandboxFailure as reason:
                    failure = reason
                spare.close()
                # one that was well when it was started says nothing against starting another
                tries += not waited
            if tries == _TRIES:
                break
        raise failure

    def close(self) -> None:
        """End all processes, those that are in use included, and wait until they are gone. Safe to call twice."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._starter.join()
        for runner in self._all:
            runner.close()
        self._all.clear()
        self._waiting.clear()
        self._quiet.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> Runner | SandboxFailure:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting)
            if self._closed:
                raise SandboxFailure(Failure.START, "no more processes are started")
            spare = self._waiting.popleft()
            self._changed.notify_all()
            return spare

    def _keep_ahead(self) -> None:
        """The starter's life. Where a start fails, that waits in the process's place, and is told to who takes it."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or len(self._waiting) < self._ahead)
                if self._closed:
                    return
            self._clear_up()
            spare = self._started()
            with self._changed:
                self._waiting.append(spare)
                self._changed.notify_all()

    def _clear_up(self) -> None:
        """Forget what is closed; close what has ended after its job and was left."""
        for runner in self._all:
            if runner.ended:
                runner.close()
        self._all = [runner for runner in self._all if not runner.closed]

    def _started(self) -> Runner | SandboxFailure:
        """A process that begins to warm up, with a thread that sees it through."""
        try:
            runner = Runner(self._device, self._prepare, self._wall_seconds, self._quiet.fileno())
            self._all.append(runner)
            threading.Thread(target=_see_through, args=(runner,), name="spare", daemon=True).start()
        except SandboxFailure as failure:
            return failure
        except RuntimeError as error:  # the machine has no more threads
            return SandboxFailure(Failure.START, str(error))
        return runner


def _see_through(runner: Runner) -> None:
    """A failure is kept in the runner, for who takes it."""
    with contextlib.suppress(SandboxFailure):
        runner.ready()


def _not_started(error: SandboxFailure | WireError) -> SandboxFailure:
    if isinstance(error, SandboxFailure):
        return SandboxFailure(Failure.START, error.detail or str(error))
    return SandboxFailure(Failure.START, f"the runner answered nonsense: {error}")
