from __future__ import annotations

import math
import os
from collections.abc import Mapping

import numpy as np
import pytest

from kernels.occupancy import (
    LIMITS,
    STATIC_SHARED,
    Limits,
    UnknownCapability,
    blocks_per_multiprocessor,
    limits_of,
    occupancy,
)
from kernels.occupancy.block_sizes import SharedRule, curve, power_of_four, suggest
from kernels.wire import from_plain, to_plain
from tests.kernels import occupancy_oracle as oracle
from tests.marks import linux

FULL = os.environ.get("TILELAB_OCCUPANCY") == "full"
_FACTORS = {"warps": 1, "registers": 2, "shared": 4, "blocks": 8, "barriers": 16}
_COLUMNS = {"warps": 3, "blocks": 4, "registers": 5, "shared": 6, "barriers": 7}
_UNLIMITED = 2**31 - 1


def _configurations(limits: Limits, count: int, seed: int) -> oracle.Configurations:
    """Half of every figure from the values that matter most, half from anywhere, also beyond what can be launched.

    What the compiler never makes (more than 255 registers, 16 barriers, 48 KB of static shared memory) is refused by
    us alone: the header takes it for granted.
    """
    random = np.random.default_rng(seed)

    def some(usual: list[int], low: int, high: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return np.where(
            random.random(count) < 0.5, random.choice(np.array(usual), count), random.integers(low, high + 1, count)
        ).astype(np.int32)

    edges = [limits.block_shared + step for step in (-256, -1, 0, 1)]
    shared = [0, 1, 127, 128, 129, 1024, 2048, 4096, 8192, 16384, *edges]
    return oracle.Configurations(
        most_threads=some([1024, 512, 256], 1, 1100),
        registers=some([0, 16, 32, 33, 40, 64, 128, 255], 0, 255),
        static=some([0, 2048, 8192, STATIC_SHARED], 0, STATIC_SHARED),
        barriers=some([1, 1, 1, 0, 2], 0, 16),
        threads=some([1, 32, 64, 128, 256, 512, 1024], 1, 1056),
        dynamic=some(shared, 0, limits.block_shared),
        slope=some([0, 4, 8, 32], 0, 200),
        base=some([0, 0, 1024], 0, 50_000),
    )


@pytest.mark.one_in(5, "a fifth of the devices")
@linux
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("cc", LIMITS)
def test_s1b_occupancy_agrees_with_nvidias_own_calculation(cc):
    limits = LIMITS[cc]
    count, searches = (100_000, 10_000) if FULL else (1_000, 100)
    asked = _configurations(limits, count, seed=int(cc.replace(".", "")))
    answers = oracle.answers(limits, asked, searches)
    rows = zip(
        asked.threads.tolist(),
        asked.registers.tolist(),
        asked.static.tolist(),
        asked.dynamic.tolist(),
        asked.barriers.tolist(),
        answers.tolist(),
        strict=True,
    )
    launched = 0
    for threads, registers, static, dynamic, barriers, answer in rows:
        found = occupancy(limits, threads, registers, static, dynamic, barriers=barriers)
        asked_for = (threads, registers, static, dynamic, barriers)
        assert found.blocks_per_sm == answer[1], asked_for
        assert found.blocks_per_sm == blocks_per_multiprocessor(
            limits, threads, registers, static, dynamic, barriers=barriers
        )
        if found.refused:
            continue
        launched += 1
        by_oracle = {name: answer[column] for name, column in _COLUMNS.items() if answer[column] != _UNLIMITED}
        assert found.limits == by_oracle, asked_for
        assert _factors(found.limits) == answer[2], asked_for
    assert launched > count // 5


def _factors(limits: Mapping[str, int]) -> int:
    """The header's bits: it compares barriers last, and then adds their bit to those it has."""
    others = {name: blocks for name, blocks in limits.items() if name != "barriers"}
    least = min(others.values())
    bits = sum(_FACTORS[name] for name, blocks in others.items() if blocks == least)
    return bits | (_FACTORS["barriers"] if limits.get("barriers", _UNLIMITED) <= least else 0)


@pytest.mark.one_in(5, "a fifth of the devices")
@linux
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("cc", LIMITS)
def test_s1c_the_search_for_a_block_size_agrees_with_nvidias_own(cc):
    limits = LIMITS[cc]
    count = 10_000 if FULL else 200
    asked = _configurations(limits, count, seed=1000 + int(cc.replace(".", "")))
    answers = oracle.answers(limits, asked, count)
    found_any = 0
    for at in range(count):
        found = suggest(
            limits,
            int(asked.registers[at]),
            int(asked.static[at]),
            _line(int(asked.slope[at]), int(asked.base[at])),
            barriers=int(asked.barriers[at]),
            most_threads=int(asked.most_threads[at]),
        )
        assert [found.blocks_per_sm, found.threads] == answers[at, 8:10].tolist(), at
        found_any += found.threads > 0
    assert found_any > count // 4


def _line(slope: int, base: int) -> SharedRule:
    return lambda threads: slope * threads + base


def test_s1b_the_labs_formula_beside_the_full_calculation():
    # Lab 6's example: 16 x 16 threads, two tiles of floats, on a device with 5 multiprocessors.
    found = occupancy(limits_of("5.0"), 256, 32, 2 * 16 * 16 * 4, multiprocessors=5)
    assert found.formula_share == 32 * 256 / (2048 * 5) == 0.8
    assert found.simple_share == 1.0
    assert (found.blocks_per_sm, found.share, found.limit) == (8, 1.0, "warps")
    assert found.limits == {"warps": 8, "blocks": 32, "registers": 8, "shared": 32}
    assert found.limiting == ("warps", "registers")


def test_s1b_the_full_calculation_sees_what_the_formula_leaves_out():
    by_shared = occupancy(limits_of("5.0"), 256, 32, 16 * 1024)
    assert (by_shared.blocks_per_sm, by_shared.limit, by_shared.share) == (4, "shared", 0.5)
    by_registers = occupancy(limits_of("5.0"), 256, 128, 0)
    assert (by_registers.blocks_per_sm, by_registers.limit, by_registers.share) == (2, "registers", 0.25)
    by_blocks = occupancy(limits_of("8.6"), 64, 32, 0)
    assert (by_blocks.blocks_per_sm, by_blocks.limit) == (16, "blocks")
    assert by_blocks.simple_share == by_blocks.share == 2 / 3
    by_barriers = occupancy(limits_of("12.0"), 64, 16, 0, barriers=4)
    assert (by_barriers.blocks_per_sm, by_barriers.limit) == (6, "barriers")


def test_s3b_tiles_of_16_take_2_kb_and_6_of_8_blocks_fill_1536_threads():
    found = occupancy(limits_of("8.6"), 256, 32, 2 * 16 * 16 * 4)
    assert found.shared_bytes == 2048
    assert (found.blocks_per_sm, found.share) == (6, 1.0)


def test_s3b_tiles_of_32_leave_a_third_of_1536_threads_unused():
    found = occupancy(limits_of("8.6"), 1024, 32, 2 * 32 * 32 * 4)
    assert (found.blocks_per_sm, found.warps_per_sm, found.max_warps) == (1, 32, 48)
    assert found.share == 2 / 3
    assert found.limit == "warps"


def test_a_register_blocked_kernel_on_an_h200_as_measured():
    found = occupancy(limits_of("9.0"), 256, 128, 16 * 1024)
    assert (found.blocks_per_sm, found.share, found.limit) == (2, 0.25, "registers")


@pytest.mark.parametrize(
    ("figures", "limit", "words"),
    [
        ((1025, 32, 0, 0, 1), "warps", "1 to 1024 threads, not 1025"),
        ((0, 32, 0, 0, 1), "warps", "1 to 1024 threads, not 0"),
        ((256, 256, 0, 0, 1), "registers", "at most 255 registers"),
        ((1024, 65, 0, 0, 1), "registers", "73,728"),
        ((256, 32, 49_153, 0, 1), "shared", "49,152"),
        ((256, 32, 0, 99 * 1024 + 1, 1), "shared", "101,376"),
        ((256, 32, 0, 0, 17), "barriers", "at most 16 barriers"),
    ],
)
def test_what_cannot_be_launched_says_why(figures, limit, words):
    threads, registers, static, dynamic, barriers = figures
    found = occupancy(limits_of("8.6"), threads, registers, static, dynamic, barriers=barriers)
    assert (found.blocks_per_sm, found.share, found.limit) == (0, 0.0, limit)
    assert words in found.refused


def test_an_unknown_capability_lists_the_known_ones():
    with pytest.raises(UnknownCapability, match=r"'9\.9' is not known; known are 5\.0, 5\.2, .*, 12\.1"):
        limits_of("9.9")


def test_occupancy_survives_its_plain_form():
    found = occupancy(limits_of("8.6"), 256, 32, 2048, multiprocessors=46)
    assert from_plain(type(found), to_plain(found)) == found


def test_the_curve_has_every_whole_number_of_warps():
    found = curve(limits_of("8.6"), 32, 0, lambda threads: 8 * threads)
    assert [point.threads for point in found] == list(range(32, 1025, 32))
    assert {point.threads for point in found if point.share == 1.0} == {96, 128, 192, 256, 384, 512, 768}


def test_s1c_the_labs_block_size_from_the_search():
    # 2 tiles of floats, an element of each for every thread
    found = suggest(limits_of("5.0"), 32, 0, lambda threads: 2 * 4 * threads)
    assert (found.threads, found.blocks_per_sm) == (1024, 2)
    assert (found.square, found.side) == (1024, 32)
    found = suggest(limits_of("8.6"), 32, 0, lambda threads: 2 * 4 * threads)
    assert (found.threads, found.blocks_per_sm) == (768, 2)
    assert (found.square, found.side) == (256, 16)


def test_s1c_a_kernel_that_fits_at_no_size_has_no_block_size():
    found = suggest(limits_of("5.0"), 32, 0, lambda _: 48 * 1024 + 1)
    assert (found.threads, found.blocks_per_sm, found.square, found.side) == (0, 0, 0, 0)


def test_s1c_the_power_of_four_is_exact():
    for threads in range(1, 1025):
        square = power_of_four(threads)
        assert square <= threads < 4 * square
        assert math.log2(square) % 2 == 0
