"""`python -m worker.slots.slot`: one Celery worker process that does one step at a time; a worker has several.

The environment says where Redis is (REDIS_URL). Ends with 0 when it was asked to end, 2 where it is wrongly called, 1
where something else went wrong.
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
from pathlib import Path

from worker.contract.broker import (
    BrokerUrlError,
    ResultSender,
    celery_app,
    connect_redis,
    queue_length,
    read_redis_url,
)
from worker.contract.consuming import consume
from worker.contract.fleet import WorkerState
from worker.contract.hints import ANSWER_SECONDS, Hints
from worker.contract.logging import LogSettingError, configure, name_process
from worker.contract.messages import CPU_QUEUE, RESULTS_QUEUE, gpu_queue
from worker.contract.redis_claims import RedisClaims
from worker.queue.outbox import Outbox
from worker.queue.record import Teller
from worker.queue.stopping import Stop
from worker.queue.tasks import StepTask
from worker.sandbox.folder import sweep
from worker.workplaces.workplace import Workplace

GRACE_SECONDS = 30.0
LEAVE_SECONDS = 10.0
BEAT_ANSWER_SECONDS = 2.0
"""For Redis to answer a beat: well within a lease."""

_LONGEST_NAME = 100
_HURRY_SECONDS = 2.0

logger = logging.getLogger("worker.slots.slot")


@dataclass(frozen=True, slots=True)
class Options:
    """How a slot is called.

    device: what its record calls the device that it works with
    gpu: the GPU's number by its place on the bus; None for the CPU device in its place
    tell: the descriptor that its record is written to
    parent: the process whose end is its own
    grace_seconds: for the step in work, when it is asked to end
    leave_seconds: for its last results to be recorded
    workplace: `module:factory` of another workplace, for tests and benches
    """

    name: str
    queue: str
    worker: str
    device: str
    gpu: int | None
    arch: str
    cache: Path
    tell: int | None
    parent: int | None
    grace_seconds: float
    leave_seconds: float
    workplace: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Work until told to stop; the exit code."""
    options = _options(arguments)
    try:
        url = read_redis_url(os.environ)
        configure()
    except (BrokerUrlError, LogSettingError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    signed = f"{options.worker}/{options.name}"
    name_process(worker=signed)
    return _work(options, url, signed)


def _work(options: Options, url: str, signed: str) -> int:
    sweep()
    app = celery_app(url)
    teller = Teller(options.name, options.queue, options.device, options.tell)
    workplace = _workplace(options)
    stop = Stop(options.grace_seconds, workplace.abort, options.parent)
    stop.listen()
    beats = connect_redis(url, answer_seconds=BEAT_ANSWER_SECONDS)
    sender, claims = ResultSender(app), RedisClaims(beats)
    outbox = Outbox(claims, signed, sender.send, lambda: queue_length(beats, RESULTS_QUEUE))
    hints = Hints(connect_redis(url, answer_seconds=ANSWER_SECONDS))
    task = StepTask(signed, workplace, claims, outbox, hints, teller, stop)
    task.register(app)
    try:
        with teller.busy():
            workplace.prepare()
        teller.at(WorkerState.IDLE)
        logger.info("takes steps from %s", options.queue)
        well = consume(app, options.queue, f"{options.name}@{options.worker}", teller.beat)
        teller.at(WorkerState.STOPPING)
        with teller.busy():
            _leave(outbox, stop, options.leave_seconds)
    finally:
        workplace.close()
        outbox.close()
        sender.close()
    logger.info("ended")
    return 0 if stop.asked and well else 1


def _leave(outbox: Outbox, stop: Stop, seconds: float) -> None:
    """Wait until the last results are recorded. In a hurry, until they are sent."""
    begun = time.monotonic()
    while outbox.open and time.monotonic() < begun + seconds:
        if stop.given_up and (not outbox.unsent or time.monotonic() > begun + _HURRY_SECONDS):
            break
        outbox.wait(lambda: not outbox.open, 0.25)
    if outbox.unsent:
        logger.warning("%d results could not be sent; their steps will be done once more", outbox.unsent)


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
    return GpuWorkplace(options.gpu, device_class, options.arch, options.cache)


def _options(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        prog="python -m worker.slots.slot",
        description="One slot of a worker. `tilelab worker start` starts them.",
    )
    parser.add_argument("--name", required=True, help="within the worker, such as cpu-0")
    parser.add_argument("--queue", required=True, help=f"{CPU_QUEUE}, or {gpu_queue('CLASS')}")
    parser.add_argument("--worker", required=True, help="id of the worker")
    parser.add_argument("--device", default="cpu", help="what the slot's record calls its device")
    parser.add_argument("--gpu", type=int, help="number of the GPU; without it the CPU device stands in")
    parser.add_argument("--arch", default="", help="that kernels are compiled for, such as sm_90")
    parser.add_argument("--cache", type=Path, required=True, help="folder for what is compiled once")
    parser.add_argument("--tell", type=int, help="descriptor to write the slot's record to, as JSON lines")
    parser.add_argument("--parent", type=int, help="process whose end is this one's too")
    parser.add_argument("--grace-seconds", type=float, default=GRACE_SECONDS, help="for the step in work")
    parser.add_argument("--leave-seconds", type=float, default=LEAVE_SECONDS, help="for the last results")
    parser.add_argument("--workplace", default="", help="MODULE:FACTORY, for tests and benches")
    options = Options(**vars(parser.parse_args(arguments)))
    if len(options.worker) + len(options.name) >= _LONGEST_NAME:
        parser.error(f"--worker and --name are too long together: {_LONGEST_NAME - 1} characters are allowed")
    known = options.queue == CPU_QUEUE or options.queue.startswith(gpu_queue("")) or options.workplace
    if not known:
        parser.error(f"no slot serves the queue {options.queue}")
    if options.queue != CPU_QUEUE and not options.workplace and not options.arch:
        parser.error("--arch is needed with the queue of a GPU")
    return options


if __name__ == "__main__":
    # a Ctrl-C in a terminal before the handlers are there is the parent's to answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main())
