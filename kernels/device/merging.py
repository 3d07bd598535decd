"""Which neighbouring accesses the assembler may make one of.

The assembler does so where it can prove that the address is a multiple of the whole width. That proof is not repeated
here: these are all that come into question by their displacements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernels.device.access import Form, memory_form
from kernels.device.program import Block, Program, results
from kernels.device.ptx import Address, Instruction, Register, Symbol

_SPACES = {"shared", "global"}
_WIDTHS = (8, 16)
_CHANGES_MEMORY = ("atom", "red", "cp", "membar", "fence", "call")
_ORDERED = {"volatile", "relaxed", "acquire", "release", "mmio"}

Base = Register | Symbol | None


@dataclass(frozen=True, slots=True)
class Merge:
    """Accesses by one address register that together are `width` bytes from `displacement` on.

    pcs: the instructions in the order in which they run
    """

    pcs: tuple[int, ...]
    displacement: int
    width: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Accesses that may be made in one go: nothing between them speaks against it.

    places: displacement -> instruction
    """

    opcode: str
    form: Form
    base: Base
    places: dict[int, int]


def candidates(program: Program) -> tuple[Merge, ...]:
    """All groups of 8 and of 16 bytes that may become one access; one access may be in several."""
    found = [
        merge for block in program.blocks for group in _groups(program, block) for merge in _merges(group)
    ]
    return tuple(sorted(found, key=lambda merge: (merge.pcs, merge.width)))


def _groups(program: Program, block: Block) -> Iterator[_Group]:
    """The groups of one basic block, each when it is complete."""
    groups: list[_Group] = []
    for pc in range(block.start, block.end):
        item = program.instructions[pc]
        access = _access(item)
        ended = [group for group in groups if _ends(group, item, access)]
        yield from ended
        groups = [group for group in groups if not any(group is other for other in ended)]
        if access is not None:
            _add(groups, item.opcode, access, pc)
        written = set(results(item))
        if written:
            yield from (group for group in groups if _name(group.base) in written)
            groups = [group for group in groups if _name(group.base) not in written]
    yield from groups


def _access(item: Instruction) -> tuple[Form, Address] | None:
    """What of an instruction matters here, where it is a load or store."""
    form = memory_form(item.opcode)
    if form is None:
        return None
    address = item.operands[0 if form.store else 1]
    return (form, address) if isinstance(address, Address) else None


def _name(base: Base) -> str:
    return base.name if isinstance(base, Register) else ""


def _ends(group: _Group, item: Instruction, access: tuple[Form, Address] | None) -> bool:
    """Whether what follows an instruction cannot be joined with what comes before it."""
    if access is None:
        return item.opcode.startswith(_CHANGES_MEMORY)
    form, address = access
    if form.space not in {group.form.space, "generic"} or not (form.store or group.form.store):
        return False
    return not (form.store and group.form.store and address.base == group.base)


def _add(groups: list[_Group], opcode: str, access: tuple[Form, Address], pc: int) -> None:
    form, address = access
    parts = set(opcode.split("."))
    if (
        form.space not in _SPACES
        or "const" in parts
        or parts & _ORDERED
        or form.size * form.count not in {4, 8}
    ):
        return
    for group in groups:
        if group.opcode == opcode and group.base == address.base:
            group.places.setdefault(address.offset, pc)
            return
    groups.append(_Group(opcode, form, address.base, {address.offset: pc}))


def _merges(group: _Group) -> Iterator[Merge]:
    """Groups of neighbours, counted from the lowest one of a run and from displacement 0."""
    size = group.form.size * group.form.count
    for run in _runs(sorted(group.places), size):
        for width in _WIDTHS:
            if width <= size:
                continue
            for phase in sorted({run[0] % width, 0}):
                for at, start in enumerate(run):
                    members = run[at : at + width // size]
                    if start % width == phase and len(members) == width // size:
                        yield Merge(tuple(sorted(group.places[each] for each in members)), start, width)


def _runs(displacements: list[int], size: int) -> Iterator[list[int]]:
    run: list[int] = []
    for displacement in displacements:
        if run and displacement != run[-1] + size:
            yield run
            run = []
        run.append(displacement)
    if run:
        yield run
