"""The course's formulas with the counts: the expected number, the counted number, and the difference.

Counts are exact, so every difference has a reason. It may be a padded tile at the edge or a wider load. Each row names
the line that causes most of its difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kernels.analysis.subject import FLOAT, WARP, Subject, block_tile, line_of_most
from kernels.evidence import LineEvidence, TheoryRow, Verb

COURSE_BANDWIDTHS = (150.0, 1000.0)
"""GB/s of the two memories in the course's examples."""

# A smaller difference is only the rounding of a mean.
_ALIKE = 5e-4


def theory(subject: Subject, bandwidths: Sequence[float] = COURSE_BANDWIDTHS) -> tuple[TheoryRow, ...]:
    """The rows that fit the kernel and its exercise; none if the course has no formula."""
    match subject.operation:
        case "matmul" if subject.product is not None:
            rows = _product_rows(subject, bandwidths)
        case "sum":
            rows = sum_rows(subject)
        case "transpose":
            rows = _copy_rows(subject)
        case _:
            return ()
    return tuple(_compared(row) for row in rows)


def _compared(row: TheoryRow) -> TheoryRow:
    """The row with its difference. A row that agrees names no line."""
    departs = 0.0
    if row.counted is not None and row.expected:
        departs = (row.counted - row.expected) / row.expected
    agrees = abs(departs) < _ALIKE
    return TheoryRow(
        key=row.key,
        title=row.title,
        formula=row.formula,
        expected=row.expected,
        counted=row.counted,
        unit=row.unit,
        departs=0.0 if agrees else departs,
        line=None if agrees else row.line,
        note=row.note if row.counted is None or not agrees else "",
    )


def _product_rows(subject: Subject, bandwidths: Sequence[float]) -> Iterator[TheoryRow]:
    yield from _tiled_rows(subject) if subject.shares else _naive_rows(subject)
    yield _compute_to_memory(subject)
    yield from _rooflines(subject, bandwidths)
    if subject.shares:
        yield from _block_rows(subject)


def _naive_rows(subject: Subject) -> Iterator[TheoryRow]:
    product, tile = subject.product, subject.tile
    assert product is not None, "only a product has these rows"
    line = subject.busiest_line("global", Verb.LOAD)
    volume = _volume(subject)
    yield TheoryRow(
        "element_reads", "elements read", f"2 x {volume}",
        2 * product.volume, subject.elements_read, "elements", line=line, note=_why(subject),
    )  # fmt: skip
    yield TheoryRow(
        "load_requests", "load requests", f"2 x {volume} / 32",
        2 * product.volume / WARP, subject.totals.global_load_requests, "requests", line=line,
        note=_why(subject),
    )  # fmt: skip
    if tile <= min(product.rows, product.columns):
        yield TheoryRow(
            "element_reads_tiled", f"elements read with tiles of {tile}", f"2 x {volume} / {tile}",
            2 * product.volume / tile, None, "elements",
            note=f"expected with shared {tile}x{tile} tiles",
        )  # fmt: skip
    yield _reuse(subject, 1.0, "1")


def _tiled_rows(subject: Subject) -> Iterator[TheoryRow]:
    product = subject.product
    assert product is not None, "only a product has these rows"
    rows, columns = block_tile(subject)
    line = subject.busiest_line("global", Verb.LOAD)
    volume = _volume(subject)
    reads = product.volume / rows + product.volume / columns
    yield TheoryRow(
        "element_reads_naive", "elements read without tiles", f"2 x {volume}", 2 * product.volume, None,
        "elements",
    )  # fmt: skip
    yield TheoryRow(
        "element_reads", "elements read", _reads_formula(volume, rows, columns),
        reads, subject.elements_read, "elements", line=line, note=_why(subject),
    )  # fmt: skip
    fill, filled = _fill(subject)
    yield TheoryRow(
        "load_requests", "load requests", _requests_formula(subject, volume, rows, columns) + filled,
        reads / WARP * fill, subject.totals.global_load_requests, "requests", line=line, note=_why(subject),
    )  # fmt: skip
    yield _reuse(subject, 2 * product.volume / reads, _reuse_formula(rows, columns))


def _volume(subject: Subject) -> str:
    """`N^3`, or the three extents of a rectangular product."""
    product = subject.product
    assert product is not None, "only a product has a volume"
    if product.square:
        return f"{product.rows}^3"
    return f"{product.rows} x {product.depth} x {product.columns}"


def _reads_formula(volume: str, rows: int, columns: int) -> str:
    if rows == columns:
        return f"2 x {volume} / {rows}"
    return f"{volume} x (1/{rows} + 1/{columns})"


def _requests_formula(subject: Subject, volume: str, rows: int, columns: int) -> str:
    """The course's N^3 / (16 W) if its assumptions hold, or a general form."""
    if rows == columns:
        return f"{volume} / (16 x {rows})"
    if rows == subject.tile and columns % rows == 0:
        return f"{volume} / (32 x {rows}) x (1 + 1/{columns // rows})"
    return f"{volume} / 32 x (1/{rows} + 1/{columns})"


def _reuse_formula(rows: int, columns: int) -> str:
    return f"{rows}" if rows == columns else f"2 / (1/{rows} + 1/{columns})"


def _fill(subject: Subject) -> tuple[float, str]:
    """The factor for small blocks. A warp with fewer than 32 threads loads fewer elements per request."""
    threads = subject.launch.threads
    lanes = math.ceil(threads / WARP) * WARP
    return (1.0, "") if lanes == threads else (lanes / threads, f" x {lanes}/{threads}")


def _reuse(subject: Subject, expected: float, formula: str) -> TheoryRow:
    product = subject.product
    assert product is not None, "only a product has this row"
    uses = 2 * product.volume / subject.elements_read if subject.elements_read else None
    return TheoryRow(
        "reuse", "uses of each element read", formula, expected, uses, "uses",
        line=subject.busiest_line("global", Verb.LOAD), note=_why(subject),
    )  # fmt: skip


def _expected_reads(subject: Subject) -> float:
    product = subject.product
    assert product is not None, "only a product has these reads"
    if not subject.shares:
        return 2.0 * product.volume
    rows, columns = block_tile(subject)
    return product.volume / rows + product.volume / columns


def _compute_to_memory(subject: Subject) -> TheoryRow:
    product = subject.product
    assert product is not None, "only a product has this row"
    reads, stores = _expected_reads(subject), product.rows * product.columns
    return TheoryRow(
        "compute_to_memory", "flops per global access",
        f"2 x {_volume(subject)} / (reads + stores)",
        2 * product.volume / (reads + stores), subject.totals.compute_to_memory, "operations",
        line=subject.busiest_line("global", Verb.LOAD), note=_why(subject),
    )  # fmt: skip


def _rooflines(subject: Subject, bandwidths: Sequence[float]) -> Iterator[TheoryRow]:
    """The course's bound, without caches: every read element comes from memory."""
    product = subject.product
    assert product is not None, "only a product has these rows"
    expected = 2 * product.volume / _expected_reads(subject)
    counted = 2 * product.volume / subject.elements_read if subject.elements_read else None
    for bandwidth in bandwidths:
        named = f"{bandwidth / 1000:g} TB/s" if bandwidth >= 1000 else f"{bandwidth:g} GB/s"
        yield TheoryRow(
            f"roofline_{bandwidth:.0f}", f"bound at {named}",
            f"{named} / 4 B x {expected:.4g}",
            bandwidth / FLOAT * expected, None if counted is None else bandwidth / FLOAT * counted, "GFLOPS",
            line=subject.busiest_line("global", Verb.LOAD), note=_why(subject),
        )  # fmt: skip


def _block_rows(subject: Subject) -> Iterator[TheoryRow]:
    """Shared memory and barriers of the textbook's kernel, for blocks with one thread per tile element."""
    product, tile = subject.product, subject.tile
    assert product is not None, "only a product has these rows"
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
    if any(access.width > FLOAT for access in loads):
        widest = max(access.width for access in loads)
        return f"a thread loads up to {widest} bytes at once"
    product = subject.product
    if product is None:
        return ""
    if subject.shares and any(extent % subject.tile for extent in (product.rows, product.depth, product.columns)):
        return f"the sizes aren't multiples of {subject.tile}, so the last tiles are partly empty"
    threads = subject.launch.threads
    reads = _expected_reads(subject)
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
        totals.global_store_bytes / FLOAT, "elements", line=store,
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
