"""The processes of Tilelab in a campaign, by name: each is started, killed and kept alive by itself."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tests.faults.house import STAND_IN, House
from tests.services.redis_server import A_WORKER
from worker.contract.messages import gpu_queue

WORKERS = ("worker", "worker-gpu")


@dataclass(frozen=True, slots=True)
class Numbers:
    """How many there are of each part of the server."""

    web_processes: int = 2
    dispatchers: int = 1
    recorders: int = 1


def parts(
    house: House, numbers: Numbers = Numbers(), *, control: bool = False, canned: bool = False
) -> dict[str, list[str]]:
    """Server and workers.

    control: with a portal that publishes, and a dispatcher that publishes nothing anew
    canned: with workers that only say what the source says
    """
    python = sys.executable
    serve = [python, "-m", "tests.faults.control" if control else "worker.commands", "serve"]
    return {
        "portal": [*serve, "web", "--port", str(house.port), "--processes", str(numbers.web_processes)],
        **{_nth("dispatcher", n): [*serve, "dispatcher"] for n in range(numbers.dispatchers)},
        **{
            _nth("recorder", n): [python, "-m", "worker.commands", "serve", "recorder"]
            for n in range(numbers.recorders)
        },
        **(_canned(house) if canned else _workers(house)),
    }  # fmt: skip


def _nth(name: str, number: int) -> str:
    return f"{name}-{number + 1}" if number else name


def _workers(house: House) -> dict[str, list[str]]:
    python = sys.executable
    return {
        "worker": [
            python, "-m", "worker.commands", "worker", "start", "--cpu-slots", "2", "--gpus", "none",
            "--grace", "5",
        ],
        "worker-gpu": [
            python, "-m", "worker.slots.slot", "--name", "gpu-0", "--queue", gpu_queue(STAND_IN), "--arch", "sm_90",
            "--worker", f"{A_WORKER.name}.stand-in", "--cache", str(house.folder / "cache"), "--grace-seconds", "5",
        ],
    }  # fmt: skip


def _canned(house: House) -> dict[str, list[str]]:
    words = ["--slots", "2", "--workplace", "tests.server.grading.workplaces:Checks"]
    return {"worker": [sys.executable, "-m", "bench.queue.worker", *words, "--cache", str(house.folder / "cache")]}
