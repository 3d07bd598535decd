"""The answer of `tilelab occupancy`: the kernel's own block, all other block sizes, the suggested size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from typing import Any

from kernels.expression import Expression, ExpressionError
from kernels.occupancy.block_sizes import LARGEST, SharedRule, Suggestion, curve, suggest
from kernels.occupancy.calculation import Limits, Occupancy, occupancy
from kernels.wire import to_plain

_MOST_BYTES = 2**40


@dataclass(frozen=True, slots=True)
class Figures:
    """A kernel's figures that decide its occupancy.

    threads: per block; registers: per thread; static, dynamic: bytes of shared memory per block
    """

    threads: int
    registers: int
    static: int = 0
    dynamic: int = 0
    barriers: int = 1


@dataclass(frozen=True, slots=True)
class Survey:
    """The answer.

    multiprocessors: of the device; None if only its compute capability is known
    rule: the dynamic shared memory by block size, as typed; "" if it is the same for all
    at_square: occupancy at the lab's block size; None if the search found none
    """

    cc: str
    device: str
    multiprocessors: int | None
    figures: Figures
    rule: str
    occupancy: Occupancy
    curve: tuple[Occupancy, ...]
    suggestion: Suggestion
    at_square: Occupancy | None


def command(figures: Figures, cc: str) -> str:
    words = [f"tilelab occupancy --threads {figures.threads} --registers {figures.registers}"]
    words += [f"--shared {figures.static}"] if figures.static else []
    words += [f"--dynamic {figures.dynamic}"] if figures.dynamic else []
    words += [f"--barriers {figures.barriers}"] if figures.barriers != 1 else []
    return " ".join([*words, f"--cc {cc}"])


def shared_rule(text: str) -> SharedRule:
    """Return a rule for bytes by block size, from an expression of T and B.

    T is the number of threads, and B is the side of a square block, rounded down.

    raise (ExpressionError): the expression is invalid, or has no sensible value for some block size
    """
    expression = Expression.parse(text)

    def rule(threads: int) -> int:
        value = expression.evaluate({"T": threads, "B": isqrt(threads)})
        if not 0 <= value <= _MOST_BYTES:
            raise ExpressionError(f"for {threads} threads it is {value:,} bytes")
        return value

    for threads in range(1, LARGEST + 1):
        rule(threads)
    return rule


def survey(
    limits: Limits,
    figures: Figures,
    rule: SharedRule | None = None,
    *,
    rule_text: str = "",
    device: str = "",
    multiprocessors: int | None = None,
) -> Survey:
    """Survey a kernel. Without a rule, blocks of every size need the same shared memory."""
    by_size = rule or (lambda _: figures.dynamic)
    suggestion = suggest(limits, figures.registers, figures.static, by_size, barriers=figures.barriers)

    def at(threads: int, dynamic: int) -> Occupancy:
        return occupancy(
            limits,
            threads,
            figures.registers,
            figures.static,
            dynamic,
            barriers=figures.barriers,
            multiprocessors=multiprocessors,
        )

    return Survey(
        cc=limits.cc,
        device=device,
        multiprocessors=multiprocessors,
        figures=figures,
        rule=rule_text,
        occupancy=at(figures.threads, figures.dynamic),
        curve=curve(limits, figures.registers, figures.static, by_size, barriers=figures.barriers),
        suggestion=suggestion,
        at_square=at(suggestion.square, by_size(suggestion.square)) if suggestion.threads else None,
    )


def to_json(found: Survey) -> Mapping[str, Any]:
    """Return the survey as one JSON object. Points of the curve only hold what differs between them."""
    plain: dict[str, Any] = to_plain(found)
    kept = ("threads", "shared_bytes", "blocks_per_sm", "warps_per_sm", "share", "limiting")
    return plain | {"curve": [{key: point[key] for key in kept} for point in plain["curve"]]}
