"""Instructions on barriers in shared memory: what each does, to which barrier, with which input."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from kernels.device.memory.async_stores import AsyncForm, AsyncStore, async_form
from kernels.device.memory.bulk import BulkForm, Copy, bulk_copy, bulk_form
from kernels.device.memory.locate import Site
from kernels.device.memory.tensor_copies import TensorForm, tensor_copy, tensor_form
from kernels.device.ptx.module import Immediate, Instruction, Malformed, Operand, Unsupported, Vector
from kernels.device.state.accesses import BEGIN, Kind, Strength
from kernels.device.state.operands import Operands, Place
from kernels.device.state.space import CLUSTER, kind_of

BARRIER_BYTES = 8
_OPCODE = re.compile(
    r"mbarrier\.(?P<verb>init|inval|(?P<arrive>arrive|arrive_drop)(?P<expects>\.expect_tx)?|expect_tx|complete_tx"
    r"|(?P<wait>test_wait|try_wait)(?P<parity>\.parity)?)(?P<opens>\.noComplete)?"
    r"(?:\.(?P<order>acquire|release|relaxed))?(?:\.cta|\.cluster)?(?:\.(?P<shared>shared(?:::cta|::cluster)?))?\.b64"
)
_COPIES = re.compile(r"cp\.async\.mbarrier\.arrive(?P<counts>\.noinc)?(?P<shared>\.shared(?:::cta)?)?\.b64")


class Verb(Enum):
    """What an instruction does with a barrier. COPIES: lets a phase wait for copies, without an arrival."""

    INIT = "init"
    INVAL = "inval"
    ARRIVE = "arrive"
    ARRIVE_DROP = "arrive_drop"
    EXPECT = "expect_tx"
    COMPLETE = "complete_tx"
    WAIT = "wait"
    COPY = "copy"
    COPIES = "copies"
    COPIES_ARRIVE = "copies_arrive"

    @property
    def access(self) -> tuple[Kind, Strength]:
        if self in {Verb.INIT, Verb.INVAL}:
            return Kind.WRITE, Strength.PLAIN
        return Kind.READ if self is Verb.WAIT else Kind.UPDATE, Strength.CLUSTER


@dataclass(frozen=True, slots=True)
class MbarrierUse:
    """One instruction on a barrier in shared memory.

    parity: whether a wait names a parity instead of a token
    expects: whether an arrival first adds to the bytes that the phase needs; its input is then this number
    opens: whether its arrivals may complete the phase
    orders: whether it orders other accesses of its threads; not with `.relaxed`
    target: the register for its result, or None
    source: the register with its input: a count, a token or a parity
    """

    instruction: Instruction
    site: Site
    verb: Verb
    place: Place
    source: int
    target: int | None = None
    parity: bool = False
    opens: bool = True
    expects: bool = False
    orders: bool = True
    copy: Copy | None = None

    @property
    def unseen(self) -> bool:
        """Whether the search for races leaves it out: `cuda::pipeline` ends its barriers beside its last waits."""
        return self.verb is Verb.INVAL and self.instruction.library


def mbarrier_use(operands: Operands, pc: int, item: Instruction) -> MbarrierUse:
    if (form := bulk_form(item.opcode) or tensor_form(item.opcode)) is not None:
        return _copy_use(operands, pc, item, form)
    if (stored := async_form(item.opcode)) is not None:
        return _store_use(operands, pc, item, stored)
    if (match := _COPIES.fullmatch(item.opcode)) is not None:
        place, one = operands.place(item.operands[0]), operands.source(Immediate(1), 32)
        site = Site(pc, item.line, "shared" if match["shared"] else "generic", BARRIER_BYTES, *Verb.COPIES.access)
        return MbarrierUse(item, site, Verb.COPIES_ARRIVE if match["counts"] else Verb.COPIES, place, one)
    match = _OPCODE.fullmatch(item.opcode)
    if match is None:
        raise Unsupported(item.opcode, item.line)
    waits, parity, expects = (bool(match[name]) for name in ("wait", "parity", "expects"))
    verb = Verb.WAIT if waits else Verb(match["arrive"] or match["verb"])
    if bool(match["opens"]) > (bool(match["arrive"]) and not expects):
        raise Malformed("a barrier in shared memory of unexpected form")
    left = list(item.operands)
    target = operands.target(left.pop(0), 1 if waits else 64) if waits or match["arrive"] else None
    place = operands.place(left.pop(0))
    space = kind_of(match["shared"]) if match["shared"] else "generic"
    # A thread may end a barrier's life and begin the next. What shows the beginning then shows the end, too.
    change = BEGIN if verb in {Verb.INIT, Verb.INVAL} else ""
    site = Site(pc, item.line, space, BARRIER_BYTES, *verb.access, change=change)
    source: Operand = left[0] if left else Immediate(1)
    needed = waits or expects or verb in {Verb.INIT, Verb.EXPECT, Verb.COMPLETE}
    if len(left) > 1 + (match["wait"] == "try_wait") or (not left and needed):
        raise Malformed("a barrier in shared memory with the wrong number of operands")
    register = operands.source(source, 64 if waits and not parity else 32)
    return MbarrierUse(
        item,
        site,
        verb,
        place,
        register,
        target,
        parity,
        opens=not match["opens"],
        expects=expects,
        orders=match["order"] != "relaxed",
    )


def _copy_use(operands: Operands, pc: int, item: Instruction, form: BulkForm | TensorForm) -> MbarrierUse:
    """A bulk copy, perhaps with a tensor map, that reports its bytes to a barrier."""
    if len(item.operands) != 4 + form.several:
        raise Malformed("a bulk copy with the wrong number of operands")
    if isinstance(form, BulkForm):
        return _use_of_copy(operands, item, bulk_copy(operands, pc, item, form), 3)
    return _use_of_copy(operands, item, tensor_copy(operands, pc, item, form), 3)


def _store_use(operands: Operands, pc: int, item: Instruction, form: AsyncForm) -> MbarrierUse:
    """A store or an update in another block's memory that reports its bytes to a barrier there."""
    if len(item.operands) != 3:
        raise Malformed("an asynchronous store with the wrong number of operands")
    given = item.operands[1]
    elements = given.items if isinstance(given, Vector) else (given,)
    if len(elements) != form.count:
        raise Malformed("a vector of the wrong length")
    sources = tuple(operands.source(element, form.size * 8) for element in elements)
    copy = AsyncStore(pc, item.line, form, operands.place(item.operands[0]), sources)
    return _use_of_copy(operands, item, copy, 2)


def _use_of_copy(operands: Operands, item: Instruction, copy: Copy, at: int) -> MbarrierUse:
    """The use of a barrier, perhaps another block's, by a copy. at: the barrier's place among the operands."""
    site = Site(copy.pc, item.line, CLUSTER, BARRIER_BYTES, *Verb.COPY.access)
    place, nothing = operands.place(item.operands[at]), operands.source(Immediate(0), 32)
    return MbarrierUse(item, site, Verb.COPY, place, nothing, copy=copy)
