from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from worker.commands.device import DEFAULT_ARCH, architecture, usable_gpus
from worker.commands.root import SystemFault, WrongUse, tell_option
from worker.commands.submission import cache_folder
from worker.commands.worker.broker import broker_url, redis_option

if TYPE_CHECKING:
    from worker.contract.credential import Credential
    from worker.gpu.nvml import GpuFacts
    from worker.slots.plan import Slot, Wish


@click.command(epilog="Exit code: 0 ended on request or idle, 2 wrong use, 3 not fit, or something is missing.")
@click.option("--queues", help="Queues to serve: cpu, gpu or cpu,gpu.  [default: what the machine can do]")
@click.option(
    "--cpu-slots", type=click.IntRange(0, 1024), help="Number of checks at once.  [default: cores not needed for GPUs]"
)
@click.option("--gpus", help="GPU numbers such as 0,1, or all or none.  [default: all usable ones]")
@click.option(
    "--grace", type=click.FloatRange(0, 3600), default=30.0, show_default=True, metavar="SECONDS",
    help="Time for running steps to finish on drain or exit; then they return to the queue.",
)  # fmt: skip
@click.option(
    "--idle-exit", type=click.FloatRange(0, min_open=True), default=math.inf, metavar="SECONDS",
    help="End after this time without a step, such as in a batch job.",
)  # fmt: skip
@click.option(
    "--faults", type=click.IntRange(1, 1000), default=5, show_default=True,
    help="Stop grading after this many system errors in a row.",
)  # fmt: skip
@click.option("--allow-missing-isolation", "allow_gaps", is_flag=True, help="Grade even if some isolation is missing.")
@click.option(
    "--heartbeat",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to touch every 2 s. An old file means that the worker hangs.",
)
@tell_option
@redis_option
def start(
    queues: str | None,
    cpu_slots: int | None,
    gpus: str | None,
    grace: float,
    idle_exit: float,
    faults: int,
    allow_gaps: bool,
    heartbeat: Path | None,
    tell: int | None,
    redis: str | None,
) -> None:
    """Run a worker until Ctrl-C. Running steps may finish first.

    Tests this machine first, like `selftest`. It needs only the address that `tilelab admin worker add` made for it.
    TILELAB_LOG=json writes the log as JSON.

    \b
    Examples:
      REDIS_URL_FILE=/etc/tilelab/redis-url tilelab worker start
      REDIS_URL_FILE=/etc/tilelab/redis-url tilelab worker start --gpus 0,1 --cpu-slots 8
    """
    from worker.contract.broker import connect_redis
    from worker.contract.redis_fleet import RedisFleet
    from worker.gpu.locks import GpuInUse, locked
    from worker.slots.fitness import DeviceTests
    from worker.slots.plan import PlanError, Wish, gpus_of, read_queues
    from worker.slots.supervisor import Options, WorkerParent, new_id
    from worker.supervision.heartbeat import Heartbeat
    from worker.supervision.output import PartOutput

    url, as_json = broker_url(redis), _log_as_json()
    credential = _credential(url)
    try:
        wish = Wish(None if queues is None else read_queues(queues), cpu_slots, gpus)
        slots = _slots(wish)
        _check_queues(credential, slots)
    except PlanError as error:
        raise WrongUse(str(error)) from error
    output = PartOutput(sys.stdout, "worker", as_json=as_json)
    beat = Heartbeat(heartbeat, tell=tell)
    options = Options(slots, _environment(url), cache_folder(), grace, faults, heartbeat=beat, idle_seconds=idle_exit)
    tests = DeviceTests(slots, DEFAULT_ARCH, cache_folder(), allow_gaps)
    try:
        with locked(gpus_of(slots)), connect_redis(url) as client:
            worker = new_id(credential.name)
            refusal = WorkerParent(options, RedisFleet(client), output, tests, worker).run()
    except GpuInUse as error:
        raise SystemFault(str(error)) from error
    if refusal:
        raise SystemFault(refusal)


def _credential(url: str) -> Credential:
    """The credential in the address. Raises SystemFault if it has none."""
    from worker.contract.broker import BrokerUrlError
    from worker.contract.credential import read_credential

    try:
        return read_credential(url)
    except BrokerUrlError as error:
        raise SystemFault(str(error)) from error


def _check_queues(credential: Credential, slots: Sequence[Slot]) -> None:
    """Raise WrongUse if the credential is not for these slots' queues."""
    refused = sorted({slot.queue for slot in slots if not credential.allows(slot.queue)})
    if refused:
        raise WrongUse(
            f"The address of {credential.name} is for {', '.join(credential.queues)}, not for {', '.join(refused)}. "
            "Limit this worker with --queues, or make another address with `tilelab admin worker add`."
        )


def _slots(wish: Wish) -> tuple[Slot, ...]:
    from worker.slots.plan import plan
    from worker.supervision.cores import cores

    found = _gpus(wish) if wish.looks_for_gpus else ()
    slots = plan(wish, found, cores())
    for slot in slots:
        architecture(None, slot.gpu)
    return slots


def _gpus(wish: Wish) -> Sequence[GpuFacts]:
    """The GPUs of this machine. Raises WrongUse if an option asks for GPUs and there are none."""
    from worker.gpu.nvml import NoGPU

    try:
        return usable_gpus()
    except NoGPU as reason:
        if wish.gpus is None and wish.queues != frozenset({"gpu"}):
            return ()
        asked = f"--gpus {wish.gpus}" if wish.gpus else "--queues gpu"
        raise WrongUse(f"{asked}: {reason}") from reason


def _log_as_json() -> bool:
    """Whether TILELAB_LOG asks for JSON. Raises SystemFault for other values."""
    from worker.contract.logging import LogSettingError, configure

    try:
        configure()
    except LogSettingError as error:
        raise SystemFault(str(error)) from error
    return os.environ.get("TILELAB_LOG", "").lower() == "json"


def _environment(url: str) -> Mapping[str, str]:
    """The slots' environment, with this worker's broker in REDIS_URL."""
    ours = {name: value for name, value in os.environ.items() if name != "REDIS_URL_FILE"}
    return {**ours, "REDIS_URL": url}
