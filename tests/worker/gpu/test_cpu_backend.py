"""The CPU device does what a GPU is asked for, and ends a launch where a GPU would."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.compile.compilation import Compilation, compile_source
from kernels.exercise.product_types import ProductTypes
from kernels.exercise.values import ElementType
from kernels.judging.element_bits import DTYPES, bits
from kernels.launch import Launch
from tests.marks import linux
from worker.gpu.backend import GUARD_WORDS, Backend, Code, DeviceFault, FaultKind, Kernel, Memory, Product
from worker.gpu.cpu_backend import CpuBackend, by_threads

ONE = Launch((1, 1, 1), (32, 1, 1), 0)
POISON = 0x7FC0_1234


def loaded(backend: CpuBackend, text: str, symbols: tuple[str, ...] = ()) -> tuple[Kernel, dict[str, str]]:
    made = compile_source(text, "k", "sm_90", {}, fmad=True, symbols=symbols, kernels=("k",))
    assert isinstance(made, Compilation), made
    return backend.load(Code(made.ptx, made.cubin), made.entry), dict(made.globals)


def kind_of(backend: CpuBackend, text: str, launch: Launch = ONE, words: int = 32) -> FaultKind:
    kernel, _ = loaded(backend, text)
    memory = backend.take(words, guarded=True)
    with pytest.raises(DeviceFault) as raised:
        backend.timed(kernel, launch, (memory,), seconds=0.5)
    return raised.value.kind


class TestMemory:
    def test_what_is_written_is_read(self) -> None:
        backend: Backend = CpuBackend()
        memory = backend.take(6)
        backend.fill(memory, POISON)
        assert (backend.read(memory) == POISON).all()
        backend.write(memory, np.array([1.5, -0.0], np.float32))
        assert backend.read(memory).tolist() == [0x3FC0_0000, 0x8000_0000, *[POISON] * 4]
        backend.write(memory, np.array([2**40 + 3], np.uint64))
        assert backend.read(memory)[:2].tolist() == [3, 256]

    def test_a_part_is_memory_too(self) -> None:
        backend = CpuBackend()
        other, memory = backend.take(9), backend.take(9)
        backend.fill(memory, 7)
        backend.fill(Memory(memory.place + 8, 3), 9)
        assert backend.read(memory).tolist() == [7, 7, 9, 9, 9, 7, 7, 7, 7]
        assert backend.read(Memory(memory.place + 16, 2)).tolist() == [9, 7]
        assert not backend.read(other).any()

    def test_guard_zones_are_nobody_elses(self) -> None:
        backend = CpuBackend()
        first, second = (backend.take(5, guarded=True) for _ in range(2))
        zones = [*backend.guards(first), *backend.guards(second)]
        for number, zone in enumerate(zones):
            assert zone.words == GUARD_WORDS
            backend.fill(zone, number)
        assert [set(backend.read(zone).tolist()) for zone in zones] == [{0}, {1}, {2}, {3}]
        assert not backend.read(first).any()

    def test_what_was_released_or_never_taken_is_refused(self) -> None:
        backend = CpuBackend()
        memory = backend.take(4)
        for wrong in (Memory(memory.place, 5), Memory(memory.place + 12, 2), Memory(0, 1)):
            with pytest.raises(ValueError, match="never allocated"):
                backend.read(wrong)
        backend.release()
        with pytest.raises(ValueError, match="never allocated"):
            backend.read(memory)

    def test_memory_has_an_end(self) -> None:
        with pytest.raises(DeviceFault) as raised:
            CpuBackend().take(1 << 40)
        assert raised.value.kind is FaultKind.RESOURCES


@linux
class TestLaunches:
    def test_arguments_and_results(self) -> None:
        backend = CpuBackend()
        kernel, _ = loaded(
            backend,
            "__global__ void k(float *out, long long big, float x, int n)"
            "{ if (threadIdx.x < n) out[threadIdx.x] = x * threadIdx.x + (float)(big >> 40); }",
        )
        memory = backend.take(32)
        backend.launch(kernel, ONE, (memory, (3 << 40) - (1 << 63), 0.5, 4))
        high = np.float32(((3 << 40) - (1 << 63)) >> 40)
        expected = [high, high + np.float32(0.5), high + 1, high + np.float32(1.5), 0]
        assert backend.read(memory).view(np.float32)[:5].tolist() == expected

    def test_the_same_memory_twice(self) -> None:
        backend = CpuBackend()
        kernel, _ = loaded(
            backend, "__global__ void k(const float *a, float *b) { b[threadIdx.x] = a[threadIdx.x] + 1; }"
        )
        memory = backend.take(32)
        backend.launch(kernel, ONE, (memory, memory))
        assert (backend.read(memory).view(np.float32) == 1).all()

    def test_time_follows_the_rule(self) -> None:
        text = "__global__ void k(float *out) { out[threadIdx.x] = 1; }"
        for clock, expected in ((by_threads, by_threads(ONE)), (lambda launch: 2.5 * launch.blocks, 2.5)):
            backend = CpuBackend(clock=clock)
            kernel, _ = loaded(backend, text)
            memory = backend.take(32)
            timed = backend.timed(kernel, ONE, (memory,), 1.0)
            assert (timed.ms, timed.host_ms, backend.busy_ms()) == (expected, expected, expected)
        assert by_threads(Launch((9, 1, 1), (32, 1, 1), 0)) > by_threads(ONE)

    def test_module_variables_live_on_in_their_module_alone(self) -> None:
        text = "__device__ int calls; __global__ void k(float *out) { out[0] = (float)++calls; }"
        backend = CpuBackend()
        kernels = [loaded(backend, text)[0] for _ in range(2)]
        memory = backend.take(1)
        seen = []
        for kernel in (kernels[0], kernels[0], kernels[1], kernels[0]):
            backend.timed(kernel, Launch((1, 1, 1), (1, 1, 1), 0), (memory,), 1.0)
            seen.append(float(backend.read(memory).view(np.float32)[0]))
        assert seen == [1, 2, 1, 3]

    def test_a_variable_can_be_filled_and_read(self) -> None:
        text = (
            "__constant__ int shift = 4; __device__ float table[8] = {1, 2}; __device__ int calls;"
            "__global__ void k(float *out) { calls++; out[threadIdx.x] = table[threadIdx.x & 7] + shift;"
            " if (threadIdx.x == 0) table[7] = 99; }"
        )
        backend = CpuBackend()
        kernel, names = loaded(backend, text, ("shift", "table"))
        memory = backend.take(32)
        table = backend.variable(kernel, names["table"])
        assert table == backend.variable(kernel, names["table"])
        assert backend.read(table).view(np.float32).tolist() == [1, 2, 0, 0, 0, 0, 0, 0]
        backend.fill(backend.variable(kernel, names["shift"]), 10)
        backend.write(table, np.arange(8, dtype=np.float32))
        backend.timed(kernel, ONE, (memory,), 1.0)
        assert backend.read(memory).view(np.float32)[:8].tolist() == [10, 11, 12, 13, 14, 15, 16, 17]
        assert backend.read(table).view(np.float32)[7] == 99
        backend.release()
        assert backend.read(table).view(np.float32)[7] == 99

    def test_a_variable_asked_for_late_holds_what_a_kernel_left(self) -> None:
        backend = CpuBackend()
        kernel, names = loaded(
            backend, "__device__ int seen = 5; __global__ void k(float *out) { seen = 8; }", ("seen",)
        )
        backend.timed(kernel, ONE, (backend.take(32),), 1.0)
        assert backend.read(backend.variable(kernel, names["seen"])).tolist() == [8]

    def test_what_a_kernel_takes(self) -> None:
        backend = CpuBackend()
        kernel, _ = loaded(
            backend,
            "__global__ void k(float *out) { __shared__ float s[32]; s[threadIdx.x] = out[threadIdx.x];"
            " __syncthreads(); out[threadIdx.x] = s[31 - threadIdx.x]; }",
        )
        assert backend.used(kernel).shared_bytes == 128
        assert [backend.blocks_per_multiprocessor(kernel, threads, 0) for threads in (32, 100, 1024)] == [32, 16, 2]


@linux
class TestFaults:
    @pytest.mark.parametrize(
        "index", ["threadIdx.x + 1", "-1", "(int)threadIdx.x - 1", f"{GUARD_WORDS + 40}", "1 << 29"]
    )
    def test_addresses(self, index: str) -> None:
        text = f"__global__ void k(float *out) {{ out[{index}] = 1; }}"
        assert kind_of(CpuBackend(), text) is FaultKind.ADDRESS

    def test_a_trap(self) -> None:
        text = "__global__ void k(float *out) { if (threadIdx.x == 3) __trap(); }"
        assert kind_of(CpuBackend(), text) is FaultKind.TRAP

    def test_an_endless_loop(self) -> None:
        text = "__global__ void k(volatile float *out) { while (out[0] == 0) ; }"
        assert kind_of(CpuBackend(), text) is FaultKind.TIME

    @pytest.mark.parametrize(("block", "shared"), [((1024, 2, 1), 0), ((32, 1, 1), 227 * 1024), ((32, 1, 1), 1 << 30)])
    def test_a_launch_that_no_device_makes(self, block: tuple[int, int, int], shared: int) -> None:
        text = "__global__ void k(float *out) { __shared__ float s[2]; s[0] = 1; out[0] = s[threadIdx.x & 1]; }"
        backend = CpuBackend()
        assert kind_of(backend, text, Launch((1, 1, 1), block, shared)) is FaultKind.RESOURCES
        backend.wait()  # and the device goes on

    def test_clusters_that_do_not_fit_the_grid(self) -> None:
        text = "__global__ void k(float *out) { out[blockIdx.x] = 1; }"
        launch = Launch((3, 1, 1), (1, 1, 1), 0, (2, 1, 1))
        assert kind_of(CpuBackend(), text, launch) is FaultKind.RESOURCES

    def test_after_another_fault_nothing_works(self) -> None:
        backend = CpuBackend()
        good, _ = loaded(backend, "__global__ void k(float *out) { out[threadIdx.x] = 1; }")
        memory = backend.take(32)
        assert kind_of(backend, "__global__ void k(float *out) { out[99] = 1; }") is FaultKind.ADDRESS
        for use in (backend.wait, lambda: backend.read(memory), lambda: backend.timed(good, ONE, (memory,), 1.0)):
            with pytest.raises(DeviceFault) as raised:
                use()
            assert raised.value.kind is FaultKind.ADDRESS

    def test_a_launch_that_is_not_waited_for_tells_later(self) -> None:
        backend = CpuBackend()
        kernel, _ = loaded(backend, "__global__ void k(float *out) { out[99] = 1; }")
        backend.launch(kernel, ONE, (backend.take(32),))
        with pytest.raises(DeviceFault):
            backend.wait()

    def test_races_and_unwritten_memory_are_not_seen(self) -> None:
        backend = CpuBackend()
        kernel, _ = loaded(
            backend,
            "__global__ void k(float *out) { __shared__ float s[32]; s[threadIdx.x] = out[threadIdx.x];"
            " out[threadIdx.x] = s[31 - threadIdx.x] + s[0]; out[0] = threadIdx.x; }",
        )
        backend.timed(kernel, ONE, (backend.take(32),), 1.0)

    def test_a_module_that_is_not_understood(self) -> None:
        with pytest.raises(DeviceFault) as raised:
            CpuBackend().load(Code("nothing", b""), "k")
        assert raised.value.kind is FaultKind.RESOURCES


@pytest.mark.parametrize(
    ("factor", "result"),
    [
        (ElementType.FLOAT, ElementType.FLOAT),
        (ElementType.BFLOAT, ElementType.FLOAT),
        (ElementType.HALF, ElementType.HALF),
        (ElementType.CHAR, ElementType.INT),
    ],
)
def test_products_are_numpys(factor: ElementType, result: ElementType) -> None:
    backend = CpuBackend()
    a, b = np.arange(8, dtype=np.float32), np.arange(16, dtype=np.float32)
    memories = [backend.take(words) for words in (8, 16, 8)]
    for memory, values in zip(memories, (a, b), strict=False):
        backend.write(memory, bits(values, factor))
    assert backend.multiply(Product(ProductTypes(factor, factor, result), (2, 4, 4), *memories)).ms > 0
    found = backend.read(memories[2]).view(DTYPES[result])[:8]
    assert found.tolist() == (a.reshape(2, 4) @ b.reshape(4, 4)).ravel().tolist()


def test_it_says_what_it_is() -> None:
    environment = CpuBackend("13.5").environment
    assert (environment.device, environment.device_class) == ("CPU device", "cpu")
    assert (environment.compiler, environment.cc, environment.host_memory) == ("13.5", "9.0", False)
    assert CpuBackend().clocks().sm_mhz == 0
