"""The slots of a worker, chosen from its options and this machine's devices."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from worker.contract.fleet import SLOTS_OF_A_GPU
from worker.contract.messages import CPU_QUEUE, gpu_queue
from worker.gpu.nvml import GpuFacts

CPU, GPU = "cpu", "gpu"
QUEUES = (CPU, GPU)
_NUMBERS = re.compile(r"\d{1,3}(,\d{1,3})*")


class PlanError(ValueError):
    """This machine can't provide the requested slots. The text is one line."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot: a process that runs one step at a time. gpu: None to check on the CPU."""

    name: str
    queue: str
    gpu: GpuFacts | None = None

    @property
    def device(self) -> str:
        return CPU if self.gpu is None else self.gpu.name


@dataclass(frozen=True, slots=True)
class Wish:
    """The operator's options. Raises PlanError for invalid GPU numbers.

    queues: of QUEUES; None for all that the machine can serve
    cpu_slots: None for one per core that no GPU needs
    gpus: "all", "none", or numbers such as "0,1"; None for all
    """

    queues: Collection[str] | None = None
    cpu_slots: int | None = None
    gpus: str | None = None

    def __post_init__(self) -> None:
        if self.gpus not in {None, "all", "none"} and not _NUMBERS.fullmatch(self.gpus or ""):
            raise PlanError(f"--gpus {self.gpus}: use all, none, or numbers such as 0,1.")

    @property
    def looks_for_gpus(self) -> bool:
        return self.gpus != "none" and (self.queues is None or GPU in self.queues)


def read_queues(text: str) -> frozenset[str]:
    """The value of --queues. Raises PlanError."""
    queues = frozenset(word.strip() for word in text.split(","))
    if not queues <= frozenset(QUEUES):
        raise PlanError(f"--queues {text}: use cpu, gpu, or cpu,gpu.")
    return queues


def plan(wish: Wish, found: Sequence[GpuFacts], cores: int) -> tuple[Slot, ...]:
    """The slots of a worker, at least one. Raises PlanError.

    found: the usable GPUs of this machine, if the options ask for GPUs
    """
    gpus = _chosen(wish, found)
    slots = [Slot(f"{CPU}-{number}", CPU_QUEUE) for number in range(_cpu_slots(wish, len(gpus), cores))]
    slots += [slot for gpu in gpus for slot in slots_on(gpu)]
    if not slots:
        raise PlanError("this worker would have no slots. Use --cpu-slots or --gpus.")
    return tuple(slots)


def slots_on(gpu: GpuFacts) -> list[Slot]:
    return [Slot(f"{GPU}-{gpu.index}{one}", gpu_queue(gpu.device_class), gpu) for one in SLOTS_OF_A_GPU]


def gpus_of(slots: Iterable[Slot]) -> list[GpuFacts]:
    """The GPUs of these slots, each once."""
    return list(dict.fromkeys(slot.gpu for slot in slots if slot.gpu is not None))


def _cpu_slots(wish: Wish, gpus: int, cores: int) -> int:
    if wish.queues is not None and CPU not in wish.queues:
        if wish.cpu_slots:
            raise PlanError(f"--cpu-slots {wish.cpu_slots}: --queues has no cpu.")
        return 0
    return max(1, cores - gpus) if wish.cpu_slots is None else wish.cpu_slots


def _chosen(wish: Wish, found: Sequence[GpuFacts]) -> Sequence[GpuFacts]:
    if not wish.looks_for_gpus:
        if wish.gpus not in {None, "none"}:
            raise PlanError(f"--gpus {wish.gpus}: --queues has no gpu.")
        if wish.gpus == "none" and wish.queues == frozenset({GPU}):
            raise PlanError("--queues gpu --gpus none: this worker would have no slots.")
        return ()
    if wish.gpus in {None, "all"}:
        return found
    by_number = {gpu.index: gpu for gpu in found}
    numbers = sorted({int(number) for number in (wish.gpus or "").split(",")})
    if missing := [number for number in numbers if number not in by_number]:
        known = ", ".join(f"{gpu.index} ({gpu.name})" for gpu in found)
        raise PlanError(f"--gpus {wish.gpus}: no GPU {missing[0]} on this machine. It has {known}.")
    return [by_number[number] for number in numbers]
