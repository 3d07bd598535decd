"""Counts of one warp in plain loops, to hold the fast ones against."""

from __future__ import annotations

from collections.abc import Sequence


def warps_of_words(addresses: Sequence[int], active: Sequence[bool], width: int) -> tuple[int, int]:
    """Passes through the banks, and those that there would be without conflicts."""
    lanes = [lane for lane in range(32) if active[lane]]
    size = {8: 16, 16: 8}.get(width, 32)
    if size < 32 and any(
        all(not active[lane ^ by] or addresses[lane] == addresses[lane ^ by] for lane in lanes) for by in (1, 2)
    ):
        size *= 2
    passes = ideal = 0
    for first in range(0, 32, size):
        banks: dict[int, set[int]] = {}
        for lane in lanes:
            if first <= lane < first + size:
                for word in range(addresses[lane] // 4, (addresses[lane] + width + 3) // 4):
                    banks.setdefault(word % 32, set()).add(word)
        passes += max(map(len, banks.values()), default=0)
        ideal += bool(banks)
    return passes, ideal


def warps_of_sectors(addresses: Sequence[int], active: Sequence[bool], width: int) -> list[int]:
    """Requests, threads, sectors, segments, distinct bytes, and sectors that could hold those."""
    wanted = [address for address, takes in zip(addresses, active, strict=True) if takes]
    touched = {address + byte for address in wanted for byte in range(width)}
    sectors, segments = ({byte // size for byte in touched} for size in (32, 128))
    return [
        int(bool(wanted)), len(wanted), len(sectors), len(segments), len(touched), (len(touched) + 31) // 32
    ]  # fmt: skip
