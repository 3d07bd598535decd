"""The course's formulas with the counts: the expected number, the counted number, and the difference.

Counts are exact, so every difference has a reason. It may be a padded tile at the edge or a wider load. Each row names
the line that causes most of its difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernels.analysis.subject import FLOAT, WARP, Product, Subject, block_tile, line_of_most
from kernels.evidence import LineEvidence, TheoryRow, Verb

COURSE_BANDWIDTHS = (150.0, 1000.0)
"""GB/s of the two memories in the course's examples."""

# A smaller difference is only the rounding of a mean.
_ALIKE = 5e-4


def theory(subject: Subject, bandwidths: Sequence[float] = COURSE_BANDWIDTHS) -> tuple[TheoryRow, ...]:
    """The rows that fit the kernel and its exercise; none if the course has no formula."""
    match subject.operation:
        case "matmul" if subject.product is not None:
            rows = _product_rows(subject, subject.product, bandwidths)
        case "sum":
            rows = sum_rows(subject)
        case "transpose":
            rows = _copy_rows(subject)
        case _:
            return ()
    return tuple(_compared(row) for row in rows)


def _compared(row: TheoryRow) -> TheoryRow:
    """The row with its difference. A row that agrees names no line."""
    if row.counted is None:
        return replace(row, line=None)
    departs = (row.counted - row.expected) / row.expected if row.expected else 0.0
    return replace(row, line=None, note="") if abs(departs) < _ALIKE else replace(row, departs=departs)


def _product_rows(subject: Subject, product: Product, bandwidths: Sequence[float]) -> Iterator[TheoryRow]:
    tile, volume, uses = subject.tile, _volume(product), 2 * product.volume
    rows, columns = block_tile(subject) if subject.shares else (1, 1)
    reads, counted = _expected_reads(subject, product), subject.elements_read
    if subject.shares:
        yield TheoryRow("element_reads_naive", "elements read without tiles", f"2 x {volume}", uses, None, "elements")
        formula = f"2 x {volume} / {rows}" if rows == columns else f"{volume} x (1/{rows} + 1/{columns})"
    else:
        formula = f"2 x {volume}"
    yield _of_loads(subject, "element_reads", "elements read", formula, reads, counted, "elements")
    if subject.of_floats:
        requests, made = _requests(subject, volume, reads), subject.totals.global_load_requests
        yield _of_loads(subject, "load_requests", "load requests", *requests, made, "requests")
    if not subject.shares and tile <= min(product.rows, product.columns):
        yield TheoryRow(
            "element_reads_tiled", f"elements read with tiles of {tile}", f"2 x {volume} / {tile}",
            uses / tile, None, "elements", note=f"expected with shared {tile}x{tile} tiles",
        )  # fmt: skip
    again, often = uses / reads, uses / counted if counted else None
    formula = f"{rows}" if rows == columns else f"2 / (1/{rows} + 1/{columns})"
    yield _of_loads(subject, "reuse", "uses of each element read", formula, again, often, "uses")
    if subject.of_floats:
        yield _of_loads(
            subject, "compute_to_memory", "flops per global access", f"2 x {volume} / (reads + stores)",
            uses / (reads + product.rows * product.columns), subject.totals.compute_to_memory, "operations",
        )  # fmt: skip
    if subject.of_tensor_cores:
        yield TheoryRow(
            "tensor_flops", "operations of tensor cores", f"2 x {volume}", uses, subject.totals.tensor_flops,
            "operations", line=line_of_most([(line.line, line.tensor_flops) for line in subject.lines]),
            note="parts of a tile that reach past the matrix are multiplied, too",
        )  # fmt: skip
    size = subject.element_bytes
    for bandwidth in bandwidths:
        # The course's bound, without caches: every read element comes from memory.
        named = f"{bandwidth / 1000:g} TB/s" if bandwidth >= 1000 else f"{bandwidth:g} GB/s"
        yield _of_loads(
            subject, f"roofline_{bandwidth:.0f}", f"bound at {named}", f"{named} / {size:g} B x {again:.4g}",
            bandwidth / size * again, None if often is None else bandwidth / size * often, "GFLOPS",
        )  # fmt: skip
    if subject.shares and subject.of_floats:
        yield from _block_rows(subject, product)


def _of_loads(
    subject: Subject, key: str, title: str, formula: str, expected: float, counted: float | None, unit: str
) -> TheoryRow:
    """A row whose difference comes from the loads of a product."""
    line, note = subject.busiest_line("global", Verb.LOAD) or subject.reading_line, _why(subject)
    return TheoryRow(key, title, formula, expected, counted, unit, line=line, note=note)


def _volume(product: Product) -> str:
    """`N^3`, or the three extents of a rectangular product."""
    if product.square:
        return f"{product.rows}^3"
    return f"{product.rows} x {product.depth} x {product.columns}"


def _expected_reads(subject: Subject, product: Product) -> float:
    if not subject.shares:
        return 2 * product.volume
    rows, columns = block_tile(subject)
    return product.volume / rows + product.volume / columns


def _requests(subject: Subject, volume: str, reads: float) -> tuple[str, float]:
    """The course's N^3 / (16 W) if its assumptions hold, or a general form; and the expected number."""
    if not subject.shares:
        return f"2 x {volume} / 32", reads / WARP
    rows, columns = block_tile(subject)
    if rows == columns:
        formula = f"{volume} / (16 x {rows})"
    elif rows == subject.tile and columns % rows == 0:
        formula = f"{volume} / (32 x {rows}) x (1 + 1/{columns // rows})"
    else:
        formula = f"{volume} / 32 x (1/{rows} + 1/{columns})"
    threads = subject.launch.threads
    lanes = math.ceil(threads / WARP) * WARP
    if lanes == threads:
        return formula, reads / WARP
    # A warp with fewer than 32 threads loads fewer elements per request.
    return f"{formula} x {lanes}/{threads}", reads / WARP * (lanes / threads)


def _block_rows(subject: Subject, product: Product) -> Iterator[TheoryRow]:
    """Shared memory and barriers of the textbook's kernel, for blocks with one thread per tile element."""
    tile = subject.tile
    if subject.launch.threads != tile * tile:
        return
    rows, columns = block_tile(subject)
    yield TheoryRow(
        "shared_bytes", "shared memory of a block", f"2 x {tile} x {tile} x 4", 2 * tile * tile * FLOAT,
        subject.shared_bytes, "bytes", note="the kernel doesn't keep exactly two tiles of floats",
    )  # fmt: skip
    if subject.barriers is None:
        return
    phases, pieces = math.ceil(product.depth / tile), max(1, columns // tile) * max(1, rows // tile)
    coarse = f" x {pieces}" if pieces > 1 else ""
    if phases * pieces == 1:  # a tile that is used once needs no barrier after its use
        yield TheoryRow("barriers", "barriers of a block", "1 phase", 1, subject.barriers, "barriers")
        return
    yield TheoryRow(
        "barriers", "barriers of a block", f"2 x {phases} phases{coarse}", 2 * phases * pieces,
        subject.barriers, "barriers",
        note="each phase has one barrier after loading a tile and one after using it",
    )  # fmt: skip


def _why(subject: Subject) -> str:
    """The most likely reason for a difference in reads."""
    loads = [access for _, access in subject.accesses("global", Verb.LOAD)]
    if subject.of_floats and any(access.width > FLOAT for access in loads):
        widest = max(access.width for access in loads)
        return f"a thread loads up to {widest} bytes at once"
    product = subject.product
    if product is None:
        return ""
    if subject.of_tensor_cores and not subject.shares:
        return "a matrix instruction uses each element that it loads several times"
    if subject.totals.bulk_received_bytes > subject.totals.bulk_load_bytes:
        return "a copy to several blocks reads each element once for all of them"
    if subject.shares and any(extent % subject.tile for extent in (product.rows, product.depth, product.columns)):
        return f"the sizes aren't multiples of {subject.tile}, so the last tiles are partly empty"
    threads = subject.launch.threads
    reads = _expected_reads(subject, product)
    if threads % WARP and abs(subject.elements_read - reads) < _ALIKE * reads:
        return f"a block of {threads} threads doesn't fill its last warp"
    if subject.elements_read > 1.02 * reads:
        return "this kernel reads elements more often than the formula assumes"
    if subject.elements_read < 0.98 * reads:
        return "this kernel reads elements less often than the formula assumes"
    return "warps at the edge are partly empty"


def _copy_rows(subject: Subject) -> Iterator[TheoryRow]:
    read, written, totals = subject.input_elements, subject.output_elements, subject.totals
    load, store = (subject.busiest_line("global", verb) for verb in (Verb.LOAD, Verb.STORE))
    yield TheoryRow(
        "element_reads", "elements read", "each element once", read,
        subject.elements_read, "elements", line=load, note="elements are read more than once, or not at all",
    )  # fmt: skip
    yield TheoryRow(
        "element_stores", "elements written", "each element once", written,
        totals.written_bytes / FLOAT, "elements", line=store,
        note="elements are written more than once, or not at all",
    )  # fmt: skip
    yield TheoryRow(
        "load_sectors", "sectors read", f"{read:,} x 4 / 32", read * FLOAT / 32, totals.global_load_sectors,
        "sectors", line=load, note="the threads of a warp don't read neighbouring addresses",
    )  # fmt: skip
    yield TheoryRow(
        "store_sectors", "sectors written", f"{written:,} x 4 / 32", written * FLOAT / 32,
        totals.global_store_sectors, "sectors", line=store,
        note="the threads of a warp don't write neighbouring addresses",
    )  # fmt: skip


def sum_rows(subject: Subject) -> Iterator[TheoryRow]:
    """The rows for a kernel that adds up all elements of an array."""
    yield TheoryRow(
        "element_reads", "elements read", "each element once", subject.input_elements,
        subject.elements_read, "elements", line=subject.busiest_line("global", Verb.LOAD),
        note="elements are read more than once, or not at all",
    )  # fmt: skip
    line = _splitting_line(subject)
    if line is None or line.branches is None or subject.launch.threads < 2:
        return
    counted = [split / subject.launch.blocks for came, split in line.branches.intervals if came]
    shown = f"counted by iteration: {_listed(counted)}"
    for key, title, pattern in (
        ("divergent_interleaved", "warps that split: interleaved", interleaved(subject.launch.threads)),
        ("divergent_contiguous", "warps that split: contiguous", _contiguous_like(subject.launch.threads, counted)),
    ):
        yield TheoryRow(
            key, title, f"{_listed(pattern)} in each block", sum(pattern) * subject.launch.blocks,
            line.branches.divergent, "warps", line=line.line, note=shown,
        )  # fmt: skip


def interleaved(threads: int) -> list[int]:
    """Warps of a block that split in each iteration if thread t works for `t % (2 * stride) == 0`."""
    warps = -(-threads // WARP)
    strides = [2**power for power in range((threads - 1).bit_length())]
    return [min(warps, -(-threads // (2 * stride))) for stride in strides]


def contiguous(threads: int, first: int | None = None) -> list[int]:
    """Warps of a block that split in each iteration if thread t works for `t < stride`.

    first: the first stride. By default it is the number of threads, as in the course, and the last stride is 2
    """
    iterations = (threads - 1).bit_length()
    strides = [(first or threads) >> iteration for iteration in range(iterations)]
    return [1 if stride % WARP else 0 for stride in strides]


def _contiguous_like(threads: int, counted: Sequence[float]) -> list[int]:
    """The pattern for this kernel's first stride: half the threads, or the course's."""
    halved = contiguous(threads, threads // 2)
    return halved if list(counted) == halved else contiguous(threads)


def _splitting_line(subject: Subject) -> LineEvidence | None:
    """The line with the branch at which most warps split."""
    branching = [line for line in subject.lines if line.branches is not None]
    number = line_of_most([(line.line, line.branches.divergent) for line in branching if line.branches])
    return next((line for line in branching if line.line == number), None)


def _listed(numbers: Sequence[float]) -> str:
    return " ".join(f"{number:.3g}" for number in numbers)
