from __future__ import annotations

from pathlib import Path

import pytest

from worker.gpu.locks import locked
from worker.gpu.nvml import GpuFacts
from worker.sandbox.limits import Isolation
from worker.selftest.selftest import Held, SelfTest
from worker.slots.fitness import DeviceTests
from worker.slots.plan import PlanError, Wish, gpus_of, plan, read_queues
from worker.slots.slot import _options
from worker.slots.supervisor import Options, slot_command
from worker.supervision.process import TELL

H200 = "NVIDIA H200"


def gpu(index: int, name: str = H200) -> GpuFacts:
    return GpuFacts(index, name, 150_754_820_096, "9.0", f"GPU-{index}", "580.1", 1980)


@pytest.mark.parametrize("gaps", [(), ("a gap",)])
def test_only_missing_isolation_is_a_gap(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gaps: tuple[str, ...]
) -> None:
    """A GPU that reads its process's memory, as many do, is worth a warning at the start and no more."""
    tested = SelfTest("cpu", (), (Held("run", Isolation(True, 6, True, True), gaps),), (), ("memory", *gaps), ok=True)
    monkeypatch.setattr(DeviceTests, "_run", lambda *_: tested)
    found = DeviceTests((), "sm_90", tmp_path)(lambda _: None)
    assert found.gaps == tuple(f"cpu: run: {gap}" for gap in gaps)
    assert len(found.warnings) == 1 + len(gaps)


def names(wish: Wish, gpus: int = 2, cores: int = 8) -> list[str]:
    return [slot.name for slot in plan(wish, [gpu(index) for index in range(gpus)], cores)]


def test_a_machine_gives_all_that_it_has():
    slots = plan(Wish(), [gpu(0), gpu(1)], 4)
    assert [(slot.name, slot.queue, slot.device) for slot in slots] == [
        ("cpu-0", "cpu", "cpu"), ("cpu-1", "cpu", "cpu"),
        *((f"gpu-{name}", "gpu.h200", H200) for name in ("0a", "0b", "0c", "1a", "1b", "1c")),
    ]  # fmt: skip


def test_a_worker_can_lock_its_gpus(tmp_path):
    """All slots of a GPU belong to one lock, and one self-test."""
    slots = plan(Wish(), [gpu(0), gpu(1)], 4)
    assert gpus_of(slots) == [gpu(0), gpu(1)]
    assert [name for name, _ in DeviceTests(slots, "sm_90", tmp_path)._devices()] == ["GPU 0", "GPU 1"]
    with locked(gpus_of(slots), tmp_path / "run"):
        pass


def test_there_is_a_cpu_slot_however_few_cores_there_are():
    assert names(Wish(), gpus=2, cores=1) == ["cpu-0", "gpu-0a", "gpu-0b", "gpu-0c", "gpu-1a", "gpu-1b", "gpu-1c"]
    assert names(Wish(gpus="none"), gpus=0, cores=1) == ["cpu-0"]


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (Wish(gpus="1"), ["cpu-0", "gpu-1a", "gpu-1b", "gpu-1c"]),
        (Wish(gpus="1,0,1", cpu_slots=1), ["cpu-0", "gpu-0a", "gpu-0b", "gpu-0c", "gpu-1a", "gpu-1b", "gpu-1c"]),
        (Wish(gpus="all", cpu_slots=0), ["gpu-0a", "gpu-0b", "gpu-0c", "gpu-1a", "gpu-1b", "gpu-1c"]),
        (Wish(queues=frozenset({"gpu"})), ["gpu-0a", "gpu-0b", "gpu-0c", "gpu-1a", "gpu-1b", "gpu-1c"]),
        (Wish(queues=frozenset({"cpu"})), ["cpu-0", "cpu-1"]),
        (Wish(queues=frozenset({"cpu", "gpu"}), gpus="0", cpu_slots=1), ["cpu-0", "gpu-0a", "gpu-0b", "gpu-0c"]),
        (Wish(queues=frozenset({"cpu"}), gpus="none", cpu_slots=1), ["cpu-0"]),
    ],
)
def test_what_is_asked_for_by_name(wish, expected):
    assert names(wish, cores=2) == expected


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        (Wish(gpus="2"), "no GPU 2 on this machine. It has 0 (NVIDIA H200), 1 (NVIDIA H200)"),
        (Wish(queues=frozenset({"cpu"}), gpus="0"), "--queues has no gpu"),
        (Wish(queues=frozenset({"gpu"}), cpu_slots=2), "--queues has no cpu"),
        (Wish(queues=frozenset({"gpu"}), gpus="none"), "this worker would have no slots"),
        (Wish(cpu_slots=0, gpus="none"), "this worker would have no slots"),
    ],
)
def test_what_cannot_be_had_is_said(wish, why):
    with pytest.raises(PlanError) as refused:
        names(wish)
    assert why in str(refused.value)


@pytest.mark.parametrize("text", ["first", "0,", "", "-1"])
def test_gpus_are_numbers_or_a_word(text):
    with pytest.raises(PlanError, match="use all, none, or numbers such as 0,1"):
        Wish(gpus=text)


def test_queues_are_read():
    assert read_queues("cpu, gpu") == {"cpu", "gpu"}
    for text in ("", "cpu,", "results"):
        with pytest.raises(PlanError, match="use cpu, gpu, or cpu,gpu"):
            read_queues(text)


@pytest.mark.parametrize("slot", plan(Wish(), [gpu(3)], 1), ids=lambda slot: str(slot.name))
def test_the_command_of_a_slot_is_one_that_slots_understand(slot, tmp_path):
    command = slot_command(slot, "host-1-ab", Options((slot,), {}, tmp_path, grace_seconds=7.5))
    words = [word.replace(TELL, "9") for word in command[command.index("worker.slots.slot") + 1 :]]
    read = _options(words)
    assert (read.name, read.queue, read.device, read.worker) == (slot.name, slot.queue, slot.device, "host-1-ab")
    assert (read.gpu, read.arch) == ((3, "sm_90") if slot.gpu else (None, ""))
    assert (read.tell, read.grace_seconds, read.cache) == (9, 7.5, tmp_path)
