"""What the course says of reductions: what they read, and in which iterations the warps split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernels.analysis.subject import WARP, Subject, line_of_most
from kernels.evidence import LineEvidence, TheoryRow, Verb


def sum_rows(subject: Subject) -> Iterator[TheoryRow]:
    """Rows for a kernel that adds up all elements of an array."""
    yield TheoryRow(
        "element_reads", "elements read", "each element once", subject.input_elements,
        subject.elements_read, "elements", line=subject.busiest_line("global", Verb.LOAD),
        note="elements are read more than once, or not at all",
    )  # fmt: skip
    line = _splitting_line(subject)
    if line is None or line.branches is None or subject.launch.threads < 2:
        return
    counted = _per_block([split for came, split in line.branches.intervals if came], subject.launch.blocks)
    shown = f"counted, iteration by iteration: {_listed(counted)}"
    for key, title, pattern in (
        ("divergent_interleaved", "warps that split: interleaved", interleaved(subject.launch.threads)),
        (
            "divergent_contiguous",
            "warps that split: contiguous",
            _contiguous_like(subject.launch.threads, counted),
        ),
    ):
        yield TheoryRow(
            key, title, f"{_listed(pattern)} in each block", sum(pattern) * subject.launch.blocks,
            line.branches.divergent, "warps", line=line.line, note=shown,
        )  # fmt: skip


def interleaved(threads: int) -> list[int]:
    """Warps of a block that split in each iteration where thread t works if `t % (2 * stride) == 0`."""
    warps = -(-threads // WARP)
    strides = [2**power for power in range((threads - 1).bit_length())]
    return [min(warps, -(-threads // (2 * stride))) for stride in strides]


def contiguous(threads: int, first: int | None = None) -> list[int]:
    """Warps of a block that split in each iteration where thread t works if `t < stride`.

    first: the first stride; by the course as many as there are threads, and the last one is 2 then
    """
    iterations = (threads - 1).bit_length()
    strides = [(first or threads) >> iteration for iteration in range(iterations)]
    return [1 if stride % WARP else 0 for stride in strides]


def _contiguous_like(threads: int, counted: Sequence[float]) -> list[int]:
    """Of the two usual ways to begin, the one that this kernel takes; by the course where it takes neither."""
    halved = contiguous(threads, threads // 2)
    return halved if list(counted) == halved else contiguous(threads)


def _splitting_line(subject: Subject) -> LineEvidence | None:
    """The line of the branch at which most warps split; of those where none does, the one that most come to."""
    branching = [line for line in subject.lines if line.branches is not None]
    number = line_of_most([(line.line, line.branches.divergent) for line in branching if line.branches])
    return next((line for line in branching if line.line == number), None)


def _per_block(totals: Sequence[int], blocks: int) -> list[float]:
    return [total / blocks for total in totals]


def _listed(numbers: Sequence[float]) -> str:
    return " ".join(f"{number:.3g}" for number in numbers)
