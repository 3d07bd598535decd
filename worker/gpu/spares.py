"""The parent's side of GPU processes, which are started ahead."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Self

from kernels.wire import WireError, from_plain, to_plain
from worker.contract.measure_work import MeasureRequest, MeasureResponse, Prepare, Prepared
from worker.gpu.locks import SlotLock
from worker.gpu.timing.quiet import quiet_file
from worker.sandbox.child_command import ENVIRONMENT
from worker.sandbox.limits import DeviceIsolation, Failure, Isolation, Limits, SandboxFailure
from worker.sandbox.process import START_SECONDS, Child

# Variables for the driver's path, passed on if they are set.
_PASSED_ON = ("LD_LIBRARY_PATH", "CUDA_PATH")
# CPU time includes the start and the driver's own threads.
_START_CPU_SECONDS = 120
_THREADS = 4
# Practically no limit: a driver reserves far more addresses than there is memory.
_MEMORY_BYTES = 2**50
_RESPONSE_BYTES = 8 * 2**20


class DeviceChild(Child):
    """A process with one device. Only its end releases the device."""

    module = "worker.gpu.device_process"
    # the GPU's libraries are site packages, so no -S
    options = ("-I",)
    report = DeviceIsolation

    def __init__(self, device: int | None, compiler: str, wall_seconds: float, quiet: int | None = None) -> None:
        """Start the process and return at once.

        device: the GPU's number in bus order; None for the CPU device
        quiet: descriptor of the quiet file, which keeps starts and measurements apart
        """
        self.environment = environment_for(device)
        cpu_seconds = _START_CPU_SECONDS + int(_THREADS * wall_seconds)
        limits = Limits(wall_seconds, cpu_seconds, _MEMORY_BYTES, _RESPONSE_BYTES)
        self.inherited = () if quiet is None else (quiet,)
        kind = "cpu" if device is None else "gpu"
        super().__init__(f"{kind} {compiler} {'' if quiet is None else quiet}", limits)


def environment_for(device: int | None) -> dict[str, str]:
    """The environment of a GPU process, which inherits only the driver's path."""
    if device is None:
        return dict(ENVIRONMENT)
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **ENVIRONMENT,
        **passed_on,
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": str(device),
        # One queue is enough. The default of eight doubles the time to create and end a context. If several start at
        # once, it triples the time.
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",
        # the process compiles nothing, and must write nothing to a home folder
        "CUDA_CACHE_DISABLE": "1",
        "CUPY_CACHE_IN_MEMORY": "1",
        # CuPy creates the folder for its cache at once; the working folder already exists
        "CUPY_CACHE_DIR": ".",
    }


WALL_SECONDS = 30.0
"""Limit for one measure request, for a process that hangs. Every launch has its own limit."""

_NUMBER_BITS = 63
_TRIES = 2
NO_OTHER_SLOT = SlotLock(None)
Progress = Callable[[int], None]


def _nothing(_asked: int) -> None: ...


class Runner:
    """One process with a device, started ahead. Use it as a context manager, or call `close`.

    The process dies with the thread that created it. Any thread may call its methods. `kill` and `close` also end a
    running measurement.

    isolation: of the process; None until it is ready
    """

    def __init__(
        self, device: int | None, prepare: Prepare, wall_seconds: float = WALL_SECONDS, quiet: int | None = None
    ) -> None:
        """Start the process and return at once.

        device: None for the CPU device
        quiet: descriptor of the slot's `quiet_file`, if others start on the device while this one measures
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
    def reaches_host(self) -> bool:
        """Whether a kernel can reach the process's memory, by what the process said before it ran any."""
        return self._prepared is not None and self._prepared.environment.host_memory

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
        """Wait until the device is warm, the judge's kernels are loaded, and the process is isolated.

        raise (SandboxFailure): START with the reason
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

    def measure(
        self,
        request: MeasureRequest,
        progress: Progress = _nothing,
        lock: SlotLock = NO_OTHER_SLOT,
        *,
        last: bool = True,
    ) -> MeasureResponse:
        """Judge and measure one kernel. After the last one or a failure, kill the process; `close` waits for its end.

        progress: called with the number of launches with new inputs so far
        lock: taken before the kernel runs, and released as soon as nothing runs any more; the caller releases it, too
        raise (SandboxFailure): TIME after the time limit, START if the process isn't usable
        """
        if self._used:
            raise RuntimeError("this runner has measured its last kernel")
        self._used = True
        try:
            self.ready()
            replies = _Replies(progress, lambda: lock.take(self._child.alive), lock.release)
            with self._one_at_a_time:
                answer = self._child.converse(to_plain(request), replies)
            response = from_plain(MeasureResponse, answer)
        except WireError as error:
            raise SandboxFailure(Failure.ERROR, f"invalid answer from the runner: {error}") from error
        else:
            self._used = last
            return response
        finally:
            if self._used:
                # don't wait here: the driver takes a while to release a GPU
                self._child.kill()

    def kill(self) -> None:
        """Kill the process without waiting for its end."""
        self._child.kill()

    def close(self) -> None:
        """Kill the process, and wait for its end. Safe to call twice."""
        self._child.kill()
        with self._one_at_a_time:
            self._child.close()
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Replies:
    """The parent's answers during one request.

    take: waits for the device, and returns whether it is taken
    free: lets another slot use it
    """

    def __init__(self, progress: Progress, take: Callable[[], bool], free: Callable[[], None]) -> None:
        self._progress, self._take, self._free = progress, take, free
        self._may_run, self._asked = False, 0

    def __call__(self, question: str) -> dict[str, int]:
        if question == "device":
            self._may_run = self._take()
            if not self._may_run:
                raise SandboxFailure(Failure.ERROR, "the process ended before the GPU's other slots had finished")
            return {}
        if question == "free":
            self._may_run = False
            self._free()
            return {}
        if question != "numbers" or not self._may_run:
            raise SandboxFailure(Failure.ERROR, f"the runner asked for {question[:100]!r}")
        self._asked += 1
        self._progress(self._asked)
        # the plain form of `Numbers`, written out because to_plain takes longer
        return {"inputs": secrets.randbits(_NUMBER_BITS), "vector": secrets.randbits(_NUMBER_BITS)}


class Spares:
    """Keeps started processes ready, so that no job waits for a start. Use it as a context manager, or call `close`.

    One long-lived thread starts all processes, because a process dies with the thread that started it. Any thread may
    call `take`.
    """

    def __init__(
        self,
        device: int | None,
        prepare: Prepare,
        ahead: int = 2,
        wall_seconds: float = WALL_SECONDS,
        shared: Path | None = None,
    ) -> None:
        """Begin to start processes, and return at once.

        ahead: number of processes to keep ready
        shared: folder that the device's slots share; None for the only slot
        """
        self._device, self._prepare, self._ahead, self._wall_seconds = device, prepare, ahead, wall_seconds
        self._most: int | None = None
        self._taken = self._asking = 0
        self._quiet = quiet_file(shared)
        self._changed = threading.Condition()
        self._waiting: deque[Runner | SandboxFailure] = deque()
        # Also used ones: `close` waits until they have released the device.
        self._all: list[Runner] = []
        self._closed = False
        self._starter = threading.Thread(target=self._keep_ahead, name="spares", daemon=True)
        self._starter.start()

    def limit(self, most: int | None) -> None:
        """Start no process ahead that isn't needed.

        most: how many all calls of `take` probably get together; None for any number
        """
        with self._changed:
            self._most = most
            self._changed.notify_all()

    def take(self) -> Runner:
        """A ready process, which the caller uses or closes. Another one is started instead.

        raise (SandboxFailure): START if none starts, or after `close`
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
                self.give_back()
                spare.close()
                # a process that had started well doesn't count as a failed start
                tries += not waited
            if tries == _TRIES:
                break
        raise failure

    def close(self) -> None:
        """Kill all processes, even used ones, and wait for their end. Safe to call twice."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._starter.join()
        for runner in self._all:
            runner.kill()  # all at once, because the driver takes a while to release each
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
            self._asking += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed or self._waiting)
            self._asking -= 1
            if self._closed:
                raise SandboxFailure(Failure.START, "no more processes are started")
            spare = self._waiting.popleft()
            self._taken += isinstance(spare, Runner)
            self._changed.notify_all()
            return spare

    def give_back(self) -> None:
        """Start another process for one that was taken and can't be used."""
        with self._changed:
            self._taken -= 1
            self._changed.notify_all()

    def _wanted(self) -> int:
        ahead = self._ahead if self._most is None else min(self._ahead, self._most - self._taken)
        return max(ahead, self._asking)

    def _keep_ahead(self) -> None:
        """The starter's thread. A failed start waits in the queue like a process, and `take` reports it."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or len(self._waiting) < self._wanted())
                if self._closed:
                    return
            self._clear_up()
            spare = self._started()
            with self._changed:
                self._waiting.append(spare)
                self._changed.notify_all()

    def _clear_up(self) -> None:
        """Close processes that have ended after their job, and forget closed ones."""
        for runner in self._all:
            if runner.ended:
                runner.close()
        self._all = [runner for runner in self._all if not runner.closed]

    def _started(self) -> Runner | SandboxFailure:
        """A new process, with a thread that waits until it is ready."""
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
    """Wait until a process is ready. The runner keeps a failure for `take`."""
    with contextlib.suppress(SandboxFailure):
        runner.ready()


def _not_started(error: SandboxFailure | WireError) -> SandboxFailure:
    if isinstance(error, SandboxFailure):
        return SandboxFailure(Failure.START, error.detail or str(error))
    return SandboxFailure(Failure.START, f"invalid answer from the runner: {error}")
