"""A worker for benches: the usual parent and slots, without the self-test. REDIS_URL is a worker's address."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from worker.contract.broker import connect_redis
from worker.contract.credential import read_credential
from worker.contract.messages import CPU_QUEUE, gpu_queue
from worker.contract.redis_fleet import RedisFleet
from worker.selftest.selftest import Progress
from worker.slots.fitness import Fitness
from worker.slots.plan import Slot, slots_on
from worker.slots.supervisor import Options, WorkerParent, new_id, slot_command
from worker.supervision.output import PartOutput

STAND_IN = "cpu"
"""The device class of measurements by the CPU device instead of a GPU."""


def main() -> int:
    """Work until stopped."""
    parser = argparse.ArgumentParser(prog="python -m bench.queue.worker", description=__doc__)
    parser.add_argument("--slots", type=int, default=1, help="number of slots that check")
    parser.add_argument("--workplace", default="", help="MODULE:FACTORY of a workplace that does the checks instead")
    parser.add_argument("--gpu", type=int, help="number of a GPU; adds the slots that measure on it")
    parser.add_argument("--stand-in", action="store_true", help="add a slot that measures with the CPU device")
    parser.add_argument("--cache", type=Path, required=True)
    asked = parser.parse_args()
    slots = [Slot(f"cpu-{number}", CPU_QUEUE) for number in range(asked.slots)]
    if asked.stand_in:
        slots.append(Slot("gpu-0", gpu_queue(STAND_IN)))
    if asked.gpu is not None:
        from worker.gpu.nvml import gpus

        slots += slots_on(gpus()[asked.gpu])
    options = Options(tuple(slots), os.environ, asked.cache, workplace=asked.workplace)
    url = os.environ["REDIS_URL"]
    with connect_redis(url) as client:
        output, worker = PartOutput(sys.stdout, "worker"), new_id(read_credential(url).name)
        refusal = WorkerParent(options, RedisFleet(client), output, _fit, worker, _command).run()
    print(refusal, flush=True)
    return 3 if refusal else 0


def _fit(progress: Progress) -> Fitness:
    progress("not tested")
    return Fitness()


def _command(slot: Slot, worker: str, options: Options) -> tuple[str, ...]:
    """Return the usual command. The stand-in also gets an architecture for the compiler, because it has no device."""
    words = slot_command(slot, worker, options)
    return (*words, "--arch", "sm_90") if slot.queue == gpu_queue(STAND_IN) else words


if __name__ == "__main__":
    sys.exit(main())
