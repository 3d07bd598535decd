"""The parent of a worker's slots. It tests the machine, keeps the slots running, and reports to Redis."""

from __future__ import annotations

import math
import os
import platform
import secrets
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

from worker.contract.fleet import Fleet, Wanted, WorkerRecord, WorkerState
from worker.contract.messages import VERSION
from worker.gpu.locks import slots_folder
from worker.slots.account import SlotAccount
from worker.slots.fitness import Fitness, Test, Testing
from worker.slots.fleet_reporter import FleetReporter
from worker.slots.plan import Slot, gpus_of
from worker.supervision.heartbeat import SILENT_SECONDS, Heartbeat
from worker.supervision.output import PartOutput, code_text
from worker.supervision.parts import Event, Part, What
from worker.supervision.process import TELL
from worker.supervision.pulse import Pulse
from worker.supervision.supervisor import Supervisor

MOST_FAULTS = 5
"""A worker takes itself out after this many failures in a row on one slot."""

CONTRADICTED = "another worker graded the same source differently"

# The exit code for invalid options. A restart would end in the same way.
_WRONGLY_CALLED = 2
_LEAVE_SECONDS, _KILL_SECONDS = 10.0, 5.0
_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class Options:
    """A worker's options.

    grace_seconds: time for running steps to finish on exit
    cache: folder for compiled files
    workplace: MODULE:FACTORY of another workplace, for tests and benches
    heartbeat: shows that the worker's main loop runs
    idle_seconds: the worker ends after so long without a step
    silent_seconds: a slot without a heartbeat for this long is killed and restarted
    """

    slots: tuple[Slot, ...]
    environment: Mapping[str, str]
    cache: Path
    grace_seconds: float = 30.0
    most_faults: int = MOST_FAULTS
    workplace: str = ""
    heartbeat: Heartbeat = field(default_factory=partial(Heartbeat, None))
    idle_seconds: float = math.inf
    silent_seconds: float = SILENT_SECONDS


def slot_command(slot: Slot, worker: str, options: Options) -> tuple[str, ...]:
    words = [
        # With -P, no file in the current folder replaces a module.
        sys.executable, "-P", "-m", "worker.slots.slot", "--name", slot.name, "--queue", slot.queue, "--worker", worker,
        "--device", slot.device, "--cache", str(options.cache), "--tell", TELL, "--parent", str(os.getpid()),
        "--grace-seconds", str(options.grace_seconds), "--leave-seconds", str(_LEAVE_SECONDS),
    ]  # fmt: skip
    if slot.gpu is not None:
        words += ["--gpu", str(slot.gpu.index), "--arch", slot.gpu.arch, "--shared", str(slots_folder(slot.gpu))]
    if options.workplace:
        words += ["--workplace", options.workplace]
    return tuple(words)


def new_id(name: str) -> str:
    """A worker's ID: its credential's name and a random part, so that it is new at each start."""
    return f"{name}.{secrets.token_hex(3)}"


@dataclass(slots=True)
class WorkerParent:
    """A worker, from its self-test to its end. Call `run` in the main thread.

    test: tests whether the machine is fit
    id: from new_id
    command: returns the command for a slot's process
    """

    options: Options
    fleet: Fleet
    output: PartOutput
    test: Test
    id: str
    command: Callable[[Slot, str, Options], tuple[str, ...]] = slot_command
    _accounts: dict[str, SlotAccount] = field(init=False)
    _started: dict[str, float] = field(default_factory=dict)
    _supervisor: Supervisor = field(init=False)
    _reporter: FleetReporter = field(init=False)
    _begun: float = field(default_factory=time.time)
    _fit: bool = False
    _gaps: str = ""
    _doubt: str = ""
    _testing: Testing | None = None
    _active: float = field(default_factory=time.monotonic)
    _wanted: Wanted = Wanted.WORK
    _out: str = ""
    _stopping: bool = False
    _refusal: str = ""

    def __post_init__(self) -> None:
        self._accounts = {slot.name: SlotAccount(slot) for slot in self.options.slots}
        self._supervisor = Supervisor(self.output.line, self._happened, self._ending)
        self._reporter = FleetReporter(self.fleet, self._round, self._answered, self.output.say)

    def run(self) -> str:
        """Run until asked to stop. Returns why the worker can't grade, or "" if it was asked to stop."""
        self.output.say(f"{self.id} with {', '.join(map(_named, self.options.slots))}")
        self.output.say("testing this machine")
        self._reporter.start()
        self._begin_test()
        try:
            failure = self._supervisor.run()
        finally:
            if self._testing is not None:
                self._testing.give_up()
            self._reporter.close()
        if failure is not None:
            self._refusal = f"{failure.part} can't run ({code_text(failure.code)}: {failure.last})"
        self.output.say("stopped")
        return self._refusal

    def _round(self) -> WorkerRecord:
        """The record for the reporting thread. The main thread sends the heartbeat, so both must be running."""
        self._supervisor.call(self._beat)
        return self.record()

    def record(self) -> WorkerRecord:
        """The worker's record. Any thread may call it."""
        gpus = gpus_of(self.options.slots)
        state = self._state()
        return WorkerRecord(
            id=self.id,
            host=socket.gethostname(),
            pid=os.getpid(),
            state=state,
            slots=tuple(
                account.as_seen(state, there=self._supervisor.has(name)) for name, account in self._accounts.items()
            ),
            started=self._begun,
            reason=self._out or self._gaps,
            device_classes={gpu.device_class: gpu.arch for gpu in gpus},
            versions=_versions(gpus[0].driver if gpus else ""),
        )

    def _state(self) -> WorkerState:
        if self._stopping:
            return WorkerState.STOPPING
        if self._out:
            return WorkerState.OUT
        if self._wanted is Wanted.DRAIN:
            some = any(self._supervisor.has(name) for name in self._accounts)
            return WorkerState.DRAINING if some else WorkerState.DRAINED
        states = {account.record.state for account in self._accounts.values()}
        if WorkerState.BUSY in states:
            return WorkerState.BUSY
        return WorkerState.IDLE if WorkerState.IDLE in states else WorkerState.STARTING

    # -- in the main thread --------------------------------------------------------------------------------------------

    def _beat(self) -> None:
        self.options.heartbeat.beat()
        slots = (account for name, account in self._accounts.items() if self._supervisor.has(name))
        if self._testing is not None or any(slot.record.state is not WorkerState.IDLE for slot in slots):
            self._active = time.monotonic()
        elif time.monotonic() - self._active >= self.options.idle_seconds and not self._stopping:
            self.output.say(f"no step for {self.options.idle_seconds:g} s")
            self._refusal = self._out
            self._supervisor.stop()

    def _begin_test(self) -> None:
        self._testing = Testing(self.test, lambda found: self._supervisor.call(partial(self._tested, found)))

    def _tested(self, fitness: Fitness) -> None:
        self._testing = None
        self._gaps = _accepted(fitness.gaps)
        for warning in fitness.warnings:
            self.output.say(f"warning: {warning}", "warning")
        # A worker in doubt was fit before. It stays up in the state `out`, which shows the reason.
        if self._doubt and fitness.problems:
            self._fit, doubt, self._doubt = True, self._doubt, ""
            self._take_out(f"{doubt}: {fitness.problems[0]}")
            return
        if fitness.problems:
            more = f" ({len(fitness.problems) - 1} more; `tilelab worker selftest` shows all)"
            self._refusal = fitness.problems[0] + (more if fitness.problems[1:] else "")
            self._supervisor.stop()
            return
        self.output.say("this machine is fit")
        self._forgive()
        self._fit, self._doubt = True, ""
        self._arrange()

    def _arrange(self) -> None:
        """Start the slots that should run, and end the others."""
        work = self._fit and self._wanted is Wanted.WORK and not self._out and not self._stopping
        for name in self._accounts:
            if work and not self._supervisor.has(name):
                self._supervisor.add(self._part(name))
            elif not work and self._supervisor.has(name):
                self._supervisor.let_go(name)
        idle = not any(self._supervisor.has(name) for name in self._accounts)
        if self._doubt and idle and self._testing is None and not self._stopping:
            self._begin_test()
        self._reporter.changed()

    def _part(self, name: str) -> Part:
        slot = self._accounts[name].slot
        return Part(
            name,
            self.command(slot, self.id, self.options),
            environment=self.options.environment,
            critical=frozenset({_WRONGLY_CALLED}),
            stop_seconds=self.options.grace_seconds + _LEAVE_SECONDS + _KILL_SECONDS,
            told=partial(self._told, name),
            pulse=Pulse(self.options.silent_seconds),
        )

    def _told(self, name: str, line: str) -> None:
        self._accounts[name].told(line)
        # A step may begin and end between two heartbeats of this worker.
        self._active = time.monotonic()
        self._judge(name, "")
        self._reporter.changed()

    def _happened(self, event: Event) -> None:
        self.output.event(event)
        account = self._accounts[event.part]
        if event.what is What.STARTED:
            self._started[event.part] = time.monotonic()
        elif event.what is What.DIED:
            account.died(time.monotonic() - self._started.get(event.part, time.monotonic()))
            self._judge(event.part, f": {code_text(event.code)}, {event.last}")
        else:
            account.gone()
            if self._wanted is Wanted.DRAIN and self._state() is WorkerState.DRAINED:
                self.output.say("drained; `tilelab worker resume` lets this worker continue")
            self._arrange()
        self._reporter.changed()

    def _judge(self, name: str, how: str) -> None:
        """Take the worker out if a slot only fails. If submissions may be the cause, a new self-test decides.

        Without it, one student's kernels that crash the grader could take out one worker after another.
        """
        account, most = self._accounts[name], self.options.most_faults
        failed = account.failed_in_row
        if failed < most or self._out or self._doubt:
            return
        reason = f"{name} failed {failed} times in a row"
        if failed - account.doubtful_in_row >= most:
            self._take_out(f"{reason}{how}")
            return
        self._fit, self._doubt = False, reason
        self.output.say(f"{reason}, perhaps because of submissions. Testing this machine again", "warning")
        self._arrange()

    def _take_out(self, reason: str) -> None:
        self._out = reason[:_LONGEST_REASON]
        self.output.say(
            f"out: {self._out}. Test this machine with `tilelab worker selftest`. "
            f"Then let this worker continue with `tilelab worker resume {self.id}`",
            "error",
        )
        self._arrange()

    def _forgive(self) -> None:
        for account in self._accounts.values():
            account.forgive()

    def _answered(self, state: WorkerState, wanted: Wanted) -> None:
        self._supervisor.call(partial(self._obey, state, wanted))

    def _obey(self, state: WorkerState, wanted: Wanted) -> None:
        """Obey an order. state: the reported state that it answers."""
        if wanted is Wanted.TEST:
            if self._fit and not self._out and not self._stopping:
                self._fit, self._doubt = False, CONTRADICTED
                self.output.say(f"{CONTRADICTED}. Testing this machine again", "warning")
                self._arrange()
        elif self._out:
            # an order counts only if it came after this worker reported that it is out
            if wanted is Wanted.WORK and state is WorkerState.OUT:
                self._out, self._wanted = "", wanted
                self._forgive()
                self.output.say("resumed")
                self._arrange()
        elif wanted is not self._wanted and not self._stopping:
            self._wanted = wanted
            self.output.say(f"draining: {self._last_steps()}" if wanted is Wanted.DRAIN else "resumed")
            self._arrange()

    def _ending(self) -> None:
        self._stopping = True
        if not self._refusal:
            self.output.say(f"stopping: {self._last_steps()}")
        self._reporter.changed()

    def _last_steps(self) -> str:
        return f"running steps have {self.options.grace_seconds:g} s to finish; then they return to the queue"


def _named(slot: Slot) -> str:
    if slot.gpu is None:
        return slot.name
    return f"{slot.name} ({slot.gpu.name}, {slot.gpu.device_class}, {slot.gpu.uuid})"


@cache
def _accepted(gaps: Sequence[str]) -> str:
    """What operators read about missing isolation that --allow-missing-isolation permits."""
    if not gaps:
        return ""
    return (
        f"Isolation is missing ({'; '.join(gaps)[:_LONGEST_REASON]}), so a hostile submission may harm this machine. "
        "Repair it, or let only people submit whom you trust."
    )


def _versions(driver: str) -> Mapping[str, str]:
    found = {"tilelab": version("tilelab"), "messages": str(VERSION), "python": platform.python_version()}
    return {**found, "driver": driver} if driver else found
