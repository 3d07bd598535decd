"""What a finding's message says, as data. The advice and the pages read these facts, never the message."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

_MOST_ROWS, _LONGEST_NAME = 2**31, 200


class Mistake(StrEnum):
    """The mistake behind a finding, if its verdict has several that need different advice."""

    OTHER = "other"
    MAIN = "main"
    HOST_CODE = "host_code"
    PARAMETERS = "parameters"
    SEMICOLON = "semicolon"
    NEVER_CLOSED = "never_closed"
    UNDEFINED = "undefined"
    LAUNCH_BOUNDS = "launch_bounds"
    LARGE_TILE = "large_tile"
    LARGE_GROUP = "large_group"
    PRINTF = "printf"
    MBARRIER = "mbarrier"
    NO_BARRIER = "no_barrier"
    STILL_BARRIER = "still_barrier"
    EARLY_ARRIVAL = "early_arrival"
    LATE_EXPECTATION = "late_expectation"
    INITIALISATION = "initialisation"
    NAMED_BARRIER = "named_barrier"
    MATRIX = "matrix"
    STORED_MATRIX = "stored_matrix"
    PROXY_FENCE = "proxy_fence"
    REGISTER_FENCE = "register_fence"
    TRANSFER = "transfer"
    EARLY_TRANSFER = "early_transfer"
    TENSOR_MAP = "tensor_map"
    UNFINISHED = "unfinished"
    SHUFFLE = "shuffle"
    MISALIGNED = "misaligned"
    COPY_SIZE = "copy_size"
    ASSERTION = "assertion"
    TRAP = "trap"
    IMPOSSIBLE_MAP = "impossible_map"
    CLUSTER_SIZE = "cluster_size"
    CLUSTER_ADDRESS = "cluster_address"
    CLUSTER_BARRIER = "cluster_barrier"
    CLUSTER_LIFETIME = "cluster_lifetime"
    CLUSTER_RACE = "cluster_race"


class AccessKind(StrEnum):
    """What a thread does to an element. verb: in a sentence; noun: at the line."""

    _value_: str
    verb: str
    noun: str

    def __new__(cls, name: str, verb: str = "", noun: str = "") -> Self:
        """A member that equals its name."""
        made = str.__new__(cls, name)
        made._value_, made.verb, made.noun = name, verb, noun
        return made

    READ = "read", "reads", "read"
    WRITE = "write", "writes", "write"
    SET = "set", "atomically writes", "write"
    UPDATE = "update", "atomically updates", "atomic update"
    COPY = "copy", "copies asynchronously to", "copy"


class Operation(StrEnum):
    """An operation that goes on while its thread does. noun: in a sentence."""

    _value_: str
    noun: str

    def __new__(cls, name: str, noun: str = "") -> Self:
        """A member that equals its name."""
        made = str.__new__(cls, name)
        made._value_, made.noun = name, noun
        return made

    BULK_LOAD = "bulk_load", "bulk copy"
    BULK_STORE = "bulk_store", "bulk copy"
    REMOTE_STORE = "remote_store", "asynchronous store"
    COPY = "copy", "`cp.async`"
    PRODUCT = "product", "`wgmma`"


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an array, or a variable without indices. text: names memory without a name in the source."""

    array: str
    indices: tuple[int, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        return self.text or self.array + "".join(f"[{index}]" for index in self.indices)


@dataclass(frozen=True, slots=True)
class Access:
    """One of two accesses that race.

    thread: its index, with as many coordinates as its name
    block: the block's index, if the other thread is of another block
    operation: the thread's operation that makes the access; None if the thread makes it itself
    """

    thread: tuple[int, ...]
    kind: AccessKind
    line: int | None
    block: tuple[int, ...] = ()
    operation: Operation | None = None


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """A mistake that explains an incorrect output, or the place of its incorrect elements.

    key: the same for each such mistake
    names: the matrices that it is about; for cells of tiles, each with its row and column
    text, more: a sentence, and another one or ""
    cases, failing: the failing cases that it explains, of so many
    """

    key: str
    text: str
    more: str = ""
    names: tuple[str, ...] = ()
    cases: int = 1
    failing: int = 1

    @property
    def in_all(self) -> bool:
        return self.cases == self.failing

    @property
    def sentences(self) -> str:
        """Both sentences, with the number of cases before them unless it explains all."""
        some = "" if self.in_all else f"In {self.cases} of {self.failing} failing cases: "
        return f"{some}{self.text} {self.more}".rstrip()

    @property
    def headline(self) -> str:
        """Both sentences, with the number of cases after the first unless it explains all."""
        some = "" if self.in_all else f" ({self.cases} of {self.failing} failing cases)"
        return f"{self.text.removesuffix('.')}{some}. {self.more}".rstrip()


@dataclass(frozen=True, slots=True)
class IncorrectMap:
    """Where the incorrect elements of an output are.

    case, name: of the output
    rows, columns: of the matrix
    cells: for each row of cells, a digit a cell: how many of its elements are incorrect, from 0 for none to 9 for all
    """

    case: str
    name: str
    rows: int
    columns: int
    cells: tuple[str, ...]

    @property
    def drawable(self) -> bool:
        """Whether it is a map at all. A process that ran hostile source may have made it."""
        cells = "".join(self.cells)
        if not (cells.isascii() and cells.isdigit() and cells.strip("0")) or len(self.name) > _LONGEST_NAME:
            return False
        high, wide = len(self.cells), len(self.cells[0])
        fits = 0 < high <= min(32, self.rows) and 0 < wide <= min(32, self.columns)
        return fits and all(len(row) == wide for row in self.cells) and max(self.rows, self.columns) < _MOST_ROWS

    @property
    def cell(self) -> tuple[int, int]:
        """The rows and columns of a cell, powers of two. The last cells may have fewer."""
        return _power(self.rows, len(self.cells)), _power(self.columns, len(self.cells[0]))


def _power(size: int, cells: int) -> int:
    """The smallest power of two of which so many cover the size."""
    return int(1 << (-(-size // cells) - 1).bit_length())


@dataclass(frozen=True, slots=True)
class Incomplete:
    """The phase of a barrier in shared memory that never completes.

    number: from 1; the first has parity 0
    expected_arrivals, arrivals: those that it needs, and those that came; the same for bytes of asynchronous copies
    arrival_lines, copy_lines: where threads arrive, and where copies begin that report to the barrier, in any phase
    """

    number: int
    expected_arrivals: int
    arrivals: int
    expected_bytes: int
    bytes: int
    arrival_lines: tuple[int, ...]
    copy_lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a finding's message says, as far as the advice or a page needs it.

    names: an undefined name, and the closest known one
    largest_tile: the largest tile that fits; 0 if the tile isn't the mistake
    elements: the size of the array that an access misses; 0 if unknown
    stores: whether an access outside its array, or a misaligned one, stores
    accesses: of a race, the first in this run and the second; or the only one to memory that may not exist then
    together: whether they are one execution of one instruction
    one_warp: whether `__syncwarp()` would order the accesses
    values: an incorrect element's value and the expected one, if both are numbers
    example: the message without the sentences of its diagnoses; "" without any
    incorrect: of the largest failing case in which some elements are correct
    relaxed_arrivals: the lines of relaxed arrivals in the kernel, if a race in a cluster may come from them
    others_arrive: if a thread uses a stage of a pipeline and never arrives, the lines where others do
    copy_waits: if the first access of a race is a copy by `cp.async`, the lines where threads wait for such copies
    waited: whether the thread of that copy waits for it before the second access
    incomplete: the barrier for which a thread waits without end
    failed_waits: the lines of other waits for barriers in shared memory, if the mistake shows only when they fail
    """

    mistake: Mistake = Mistake.OTHER
    names: tuple[str, ...] = ()
    largest_tile: int = 0
    elements: int = 0
    stores: bool = False
    accesses: tuple[Access, ...] = ()
    together: bool = False
    one_warp: bool = False
    values: tuple[float, ...] = ()
    example: str = ""
    diagnoses: tuple[Diagnosed, ...] = ()
    incorrect: IncorrectMap | None = None
    relaxed_arrivals: tuple[int, ...] = ()
    others_arrive: tuple[int, ...] = ()
    copy_waits: tuple[int, ...] = ()
    waited: bool = False
    incomplete: Incomplete | None = None
    failed_waits: tuple[int, ...] = ()

    def diagnosis(self, *keys: str, in_all: bool = False) -> Diagnosed | None:
        """The diagnosis with one of these keys. in_all: only if it explains each failing case."""
        found = (each for each in self.diagnoses if each.key in keys and (each.in_all or not in_all))
        return next(found, None)

    @property
    def in_block(self) -> bool:
        return bool(self.accesses) and not self.between_blocks

    @property
    def between_blocks(self) -> bool:
        return any(access.block for access in self.accesses)

    @property
    def both_write(self) -> bool:
        """Whether two threads write by executing one store."""
        return self.together and {access.kind for access in self.accesses} == {AccessKind.WRITE}
