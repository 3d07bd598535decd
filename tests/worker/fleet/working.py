"""A worker to be watched from outside: python -m tests.worker.fleet.working JSON, with REDIS_URL.

JSON: slots (how many), faults, grace, silent, idle (seconds), test ("fit", "unfit", "endless", or "worn": fit the first
time alone), command (of a slot, if not the real one).
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

from tests.services.redis_server import A_WORKER
from worker.contract.broker import connect_redis
from worker.contract.redis_fleet import RedisFleet
from worker.selftest.selftest import Progress
from worker.slots.fitness import Fitness
from worker.slots.plan import Slot
from worker.slots.supervisor import Options, WorkerParent, new_id, slot_command
from worker.supervision.output import PartOutput


def main() -> int:
    asked = json.loads(sys.argv[1])
    options = Options(
        tuple(Slot(f"cpu-{number}", "cpu") for number in range(asked.get("slots", 1))),
        os.environ,
        Path("/dev/null/cache"),
        asked.get("grace", 30.0),
        asked.get("faults", 5),
        "tests.worker.queue.workplaces:Scripted",
        idle_seconds=asked.get("idle", math.inf),
        silent_seconds=asked.get("silent", 30.0),
    )

    tests = iter([True])

    def test(progress: Progress) -> Fitness:
        how = asked.get("test", "fit")
        if how == "worn":
            how = "fit" if next(tests, False) else "unfit"
        return tested(how, progress)

    def command(slot: Slot, worker: str, options: Options) -> tuple[str, ...]:
        return tuple(asked["command"]) if "command" in asked else slot_command(slot, worker, options)

    with connect_redis(os.environ["REDIS_URL"]) as client:
        output = PartOutput(sys.stdout, "worker")
        worker = WorkerParent(options, RedisFleet(client), output, test, new_id(A_WORKER.name), command)
        refusal = worker.run()
    print(f"refusal: {refusal}", flush=True)
    return 3 if refusal else 0


def tested(how: Any, progress: Progress) -> Fitness:
    while how == "endless":
        progress("going on")
        time.sleep(0.02)
    return (
        Fitness(("no isolation", "nor anything else"), ())
        if how == "unfit"
        else Fitness((), ("a warning",), ("a gap",) if how == "gap" else ())
    )


if __name__ == "__main__":
    sys.exit(main())
