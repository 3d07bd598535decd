"""The sums of the launch in three groups, each with what it means, and what the PTX says where it differs."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.evidence import Totals
from kernels.rendering.page import numbers


@dataclass(frozen=True, slots=True)
class Row:
    """One number.

    ptx: the same by the PTX, "" where both agree or there is none
    """

    title: str
    value: str
    unit: str
    meaning: str
    ptx: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Some of the numbers, under one heading."""

    title: str
    rows: tuple[Row, ...]

    @property
    def differs(self) -> bool:
        """Whether the assembler changed any of them."""
        return any(row.ptx for row in self.rows)


def groups(totals: Totals) -> tuple[Group, ...]:
    """Global memory, shared memory, work; a group without anything to count is left out."""
    found = (
        Group("Global memory", _global(totals)),
        Group("Shared memory", _shared(totals)),
        Group("Work", _work(totals)),
    )
    return tuple(group for group in found if group.rows)


def _global(t: Totals) -> tuple[Row, ...]:
    rows: list[Row] = []
    if t.global_load_requests or t.ptx_global_load_requests:
        rows += [
            _row(
                "load requests",
                t.global_load_requests,
                "requests",
                "loads of whole warps; each asks for up to 32 elements at once",
                t.ptx_global_load_requests,
            ),
            _row(
                "sectors loaded",
                t.global_load_sectors,
                "sectors",
                "pieces of 32 bytes that the loads touched",
                t.ptx_global_load_sectors,
            ),
            Row(
                "sectors per load",
                _each(t.global_load_sectors, t.global_load_requests),
                "sectors each",
                "4 for a warp that reads 32 floats side by side, 32 at worst",
            ),
            Row(
                "bytes used of those loaded",
                numbers.percent(t.global_load_efficiency),
                "",
                "100 % where every byte of a sector was asked for",
            ),
        ]
    if t.global_store_requests or t.ptx_global_store_requests:
        rows += [
            _row(
                "store requests",
                t.global_store_requests,
                "requests",
                "stores of whole warps",
                t.ptx_global_store_requests,
            ),
            _row(
                "sectors stored",
                t.global_store_sectors,
                "sectors",
                "pieces of 32 bytes that the stores touched",
                t.ptx_global_store_sectors,
            ),
            Row(
                "bytes used of those stored",
                numbers.percent(t.global_store_efficiency),
                "",
                "100 % where whole sectors were written",
            ),
        ]
    if t.global_atomic_requests:
        rows.append(
            _row("atomic requests", t.global_atomic_requests, "requests", "atomic updates of whole warps")
        )
    if rows:
        rows.append(
            _row(
                "bytes asked for",
                t.global_bytes,
                "bytes",
                "what all threads read and wrote, before any cache",
            )
        )
    return tuple(rows)


def _shared(t: Totals) -> tuple[Row, ...]:
    rows: list[Row] = []
    if t.shared_load_requests or t.ptx_shared_load_requests:
        rows += [
            _row(
                "load requests",
                t.shared_load_requests,
                "requests",
                "loads of whole warps",
                t.ptx_shared_load_requests,
            ),
            _row(
                "load passes",
                t.shared_load_wavefronts,
                "passes",
                "turns that the 32 banks took to answer them",
                t.ptx_shared_load_wavefronts,
            ),
            _row(
                "of them by conflicts",
                t.shared_load_conflicts,
                "passes",
                "turns that were needed only because threads met in a bank",
                t.ptx_shared_load_conflicts,
            ),
        ]
    if t.shared_store_requests or t.ptx_shared_store_requests:
        rows += [
            _row(
                "store requests",
                t.shared_store_requests,
                "requests",
                "stores of whole warps",
                t.ptx_shared_store_requests,
            ),
            _row(
                "store passes",
                t.shared_store_wavefronts,
                "passes",
                "turns that the 32 banks took to take them",
                t.ptx_shared_store_wavefronts,
            ),
            _row(
                "of them by conflicts",
                t.shared_store_conflicts,
                "passes",
                "turns that were needed only because threads met in a bank",
                t.ptx_shared_store_conflicts,
            ),
        ]
    return tuple(rows)


def _work(t: Totals) -> tuple[Row, ...]:
    return (
        _row(
            "instructions of warps",
            t.warp_instructions,
            "instructions",
            "what the schedulers issue, by the PTX",
        ),
        _row(
            "instructions of threads",
            t.thread_instructions,
            "instructions",
            "what the threads of those warps executed",
        ),
        Row(
            "threads at work",
            numbers.ratio(32 * t.warp_efficiency),
            "of 32",
            "the mean over all instructions of warps",
        ),
        _row("branches", t.branches, "of warps", "conditional branches that a warp came to"),
        _row(
            "of them divergent",
            t.divergent_branches,
            "of warps",
            "threads of the warp went both ways, one after the other",
        ),
        _row("floating-point operations", t.flops, "operations", "a fused multiply-add counts as two"),
        Row(
            "compute to memory",
            numbers.ratio(t.compute_to_memory),
            "per access",
            "operations for each 4 bytes that a thread asks of global memory",
        ),
    )


def _row(title: str, value: int, unit: str, meaning: str, ptx: int | None = None) -> Row:
    differs = ptx is not None and ptx != value
    return Row(
        title, numbers.count(value), unit, meaning, numbers.count(ptx) if differs and ptx is not None else ""
    )


def _each(amount: int, requests: int) -> str:
    return numbers.ratio(amount / requests) if requests else "–"
