"""`python -m worker.slots.slot`: a slot, one Celery process that runs one step at a time. A worker has several.

REDIS_URL is the worker's own address of the broker. Exit code: 0 ended on request, 2 wrong use, 1 other errors.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from worker.contract.broker import BrokerUrlError, ResultSender, celery_app, connect_redis, queue_length, read_redis_url
from worker.contract.celery_consumer import consume
from worker.contract.credential import read_credential, seal
from worker.contract.fleet import WorkerState
from worker.contract.hints import ANSWER_SECONDS, Hints
from worker.contract.logging import LogSettingError, configure, name_process
from worker.contract.messages import CPU_QUEUE, RESULTS_QUEUE, gpu_queue, is_gpu_queue
from worker.contract.redis_claims import RedisClaims
from worker.queue.outbox import Outbox
from worker.queue.slot_reporter import SlotReporter
from worker.queue.stop_request import Stop
from worker.queue.tasks import StepTask
from worker.sandbox.folder import sweep
from worker.workplaces.workplace import Workplace

GRACE_SECONDS = 30.0
LEAVE_SECONDS = 10.0
BEAT_ANSWER_SECONDS = 2.0
"""Redis's timeout for a heartbeat: well below a lease."""

# The database keeps 100 characters of a name.
_LONGEST_NAME = 100
_HURRY_SECONDS = 2.0

logger = logging.getLogger("worker.slots.slot")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a slot.

    device: the device's name in the slot's record
    gpu: the GPU's number in bus order; None to use the CPU device instead
    shared: folder of all slots on the GPU
    tell: file descriptor for the slot's record
    parent: the slot ends when this process does
    grace_seconds: time for the running step to finish on exit
    leave_seconds: time for the last results to be recorded
    workplace: `module:factory` of another workplace, for tests and benches
    """

    name: str
    queue: str
    worker: str
    device: str
    gpu: int | None
    arch: str
    shared: Path | None
    cache: Path
    tell: int | None
    parent: int | None
    grace_seconds: float
    leave_seconds: float
    workplace: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run steps until asked to stop, and return the exit code."""
    options = _options(arguments)
    try:
        url = read_redis_url(os.environ)
        credential = read_credential(url)
        configure()
    except (BrokerUrlError, LogSettingError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    signed = f"{options.worker}/{options.name}"
    name_process(worker=signed)
    return _work(options, url, signed, partial(seal, credential))


def _work(options: Options, url: str, signed: str, sealed: Callable[[str], str]) -> int:
    # Slots that were killed leave their working folders.
    sweep()
    app = celery_app(url)
    reporter = SlotReporter(options.name, options.queue, options.device, options.tell)
    workplace = _workplace(options)
    stop = Stop(options.grace_seconds, workplace.abort, options.parent)
    stop.listen()
    # A hint may take less time than a heartbeat, so each has its own connection.
    beats = connect_redis(url, answer_seconds=BEAT_ANSWER_SECONDS)
    sender, claims = ResultSender(app), RedisClaims(beats)
    outbox = Outbox(claims, signed, sender.send, lambda: queue_length(beats, RESULTS_QUEUE))
    hints = Hints(connect_redis(url, answer_seconds=ANSWER_SECONDS))
    task = StepTask(signed, sealed, workplace, claims, outbox, hints, reporter, stop)
    task.register(app)
    try:
        with reporter.busy():
            workplace.prepare()
        reporter.at(WorkerState.IDLE)
        logger.info("serving the queue %s", options.queue)
        well = consume(app, options.queue, f"{options.name}@{options.worker}", reporter.beat)
        reporter.at(WorkerState.STOPPING)
        with reporter.busy():
            _leave(outbox, stop, options.leave_seconds)
    finally:
        workplace.close()
        outbox.close()
        sender.close()
    logger.info("ended")
    return 0 if stop.asked and well else 1


def _leave(outbox: Outbox, stop: Stop, seconds: float) -> None:
    """Wait until the last results are recorded. After a second signal, only until they are sent."""
    begun = time.monotonic()
    while outbox.open and time.monotonic() < begun + seconds:
        if stop.given_up and (not outbox.unsent or time.monotonic() > begun + _HURRY_SECONDS):
            break
        outbox.wait(lambda: not outbox.open, 0.25)
    if outbox.unsent:
        logger.warning("could not send %d results; their steps will run again", outbox.unsent)


def _workplace(options: Options) -> Workplace:
    if options.workplace:
        module, _, name = options.workplace.partition(":")
        factory: Callable[[], Workplace] = getattr(importlib.import_module(module), name)
        return factory()
    if options.queue == CPU_QUEUE:
        from worker.supervision.cores import step_back
        from worker.workplaces.cpu import CpuWorkplace

        step_back()
        return CpuWorkplace(options.cache)
    from worker.workplaces.gpu import GpuWorkplace

    device_class = options.queue.removeprefix(gpu_queue(""))
    return GpuWorkplace(options.gpu, device_class, options.arch, options.cache, shared=options.shared)


def _options(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        prog="python -m worker.slots.slot", description="One slot of a worker. `tilelab worker start` starts them."
    )
    parser.add_argument("--name", required=True, help="name within the worker, such as cpu-0")
    parser.add_argument("--queue", required=True, help=f"{CPU_QUEUE}, or {gpu_queue('CLASS')}")
    parser.add_argument("--worker", required=True, help="id of the worker")
    parser.add_argument("--device", default="cpu", help="name of the device in the slot's record")
    parser.add_argument("--gpu", type=int, help="number of the GPU; by default, use the CPU device instead")
    parser.add_argument("--arch", default="", help="architecture to compile for, such as sm_90")
    parser.add_argument("--shared", type=Path, help="folder of all slots on this GPU")
    parser.add_argument("--cache", type=Path, required=True, help="folder for compiled files")
    parser.add_argument("--tell", type=int, help="file descriptor for the slot's record, as JSON lines")
    parser.add_argument("--parent", type=int, help="end when this process ends")
    parser.add_argument("--grace-seconds", type=float, default=GRACE_SECONDS, help="for the running step")
    parser.add_argument("--leave-seconds", type=float, default=LEAVE_SECONDS, help="for the last results")
    parser.add_argument("--workplace", default="", help="MODULE:FACTORY, for tests and benches")
    options = Options(**vars(parser.parse_args(arguments)))
    if len(options.worker) + len(options.name) >= _LONGEST_NAME:
        parser.error(f"--worker and --name together exceed {_LONGEST_NAME - 1} characters")
    known = options.queue == CPU_QUEUE or is_gpu_queue(options.queue) or options.workplace
    if not known:
        parser.error(f"--queue {options.queue}: unknown queue")
    if options.queue != CPU_QUEUE and not options.workplace and not options.arch:
        parser.error("a GPU's queue needs --arch")
    return options


if __name__ == "__main__":
    # until this process has its own handlers, only the parent reacts to Ctrl-C
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main())
