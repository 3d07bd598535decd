"""Find neighbouring accesses that the assembler may merge into one.

The assembler does so if it can prove that the address is a multiple of the whole width. This module doesn't repeat the
proof. It returns all candidates by their displacements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernels.device.memory.access import Form, memory_form
from kernels.device.ptx.module import Address, Instruction, Register, Symbol
from kernels.device.ptx.program import Block, Program

_SPACES = {"shared", "global"}
_WIDTHS = (8, 16)
_CHANGES_MEMORY = ("atom", "red", "cp", "membar", "fence", "call")
_ORDERED = {"volatile", "relaxed", "acquire", "release", "mmio"}

Base = Register | Symbol | None


@dataclass(frozen=True, slots=True)
class Merge:
    """Accesses through one address register that together are `width` bytes from `displacement` on.

    pcs: the instructions in the order in which they run
    """

    pcs: tuple[int, ...]
    displacement: int
    width: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Accesses that may be merged: no instruction between them prevents it. places: displacement -> instruction."""

    opcode: str
    form: Form
    places: dict[int, int]


def candidates(program: Program) -> tuple[Merge, ...]:
    """Return all groups of 8 and of 16 bytes that may become one access. An access may be in several groups."""
    found = [merge for block in program.blocks for group in _groups(program, block) for merge in _merges(group)]
    return tuple(sorted(found, key=lambda merge: (merge.pcs, merge.width)))


def _groups(program: Program, block: Block) -> Iterator[_Group]:
    """Yield the groups of one basic block, each when it is complete."""
    groups = _Open()
    for pc in range(block.start, block.end):
        item = program.instructions[pc]
        access = _access(item)
        if access is not None:
            yield from groups.ended_by(*access)
            groups.add(item.opcode, *access, pc)
        elif item.opcode.startswith(_CHANGES_MEMORY):
            yield from groups.ended()
        for name in item.results:
            yield from groups.ended_with(Register(name))
    yield from groups.ended()


class _Open:
    """The groups that may still grow, stored so that only affected groups are looked up."""

    def __init__(self) -> None:
        self._sorts: dict[tuple[str, bool], dict[Base, list[_Group]]] = {
            (space, store): {} for space in _SPACES for store in (False, True)
        }

    def add(self, opcode: str, form: Form, address: Address, pc: int) -> None:
        parts = set(opcode.split("."))
        joinable = form.space in _SPACES and form.size * form.count in {4, 8}
        if not joinable or "const" in parts or parts & _ORDERED:
            return
        groups = self._sorts[form.space, form.store].setdefault(address.base, [])
        group = next((group for group in groups if group.opcode == opcode), None)
        if group is None:
            group = _Group(opcode, form, {})
            groups.append(group)
        group.places.setdefault(address.offset, pc)

    def ended(self) -> Iterator[_Group]:
        for bases in self._sorts.values():
            yield from _taken(bases)

    def ended_with(self, base: Base) -> Iterator[_Group]:
        """Yield the groups whose address register gets another value."""
        for bases in self._sorts.values():
            yield from bases.pop(base, ())

    def ended_by(self, form: Form, address: Address) -> Iterator[_Group]:
        """Yield the groups that an access ends: a store ends any group, and a load ends groups of stores."""
        for (space, store), bases in self._sorts.items():
            if form.space not in {space, "generic"} or not (form.store or store):
                continue
            kept = bases.pop(address.base, None) if form.store and store else None
            yield from _taken(bases)
            if kept is not None:
                bases[address.base] = kept


def _taken(bases: dict[Base, list[_Group]]) -> Iterator[_Group]:
    yield from (group for groups in bases.values() for group in groups)
    bases.clear()


def _access(item: Instruction) -> tuple[Form, Address] | None:
    form = memory_form(item.opcode)
    if form is None:
        return None
    address = item.operands[0 if form.store else 1]
    return (form, address) if isinstance(address, Address) else None


def _merges(group: _Group) -> Iterator[Merge]:
    """Yield groups of neighbours, counted from the lowest of a run and from displacement 0."""
    size = group.form.size * group.form.count
    for run in _runs(sorted(group.places), size):
        for width in _WIDTHS:
            if width <= size:
                continue
            for phase in sorted({run[0] % width, 0}):
                for at, start in enumerate(run):
                    members = run[at : at + width // size]
                    if start % width == phase and len(members) == width // size:
                        yield Merge(tuple(sorted(group.places[member] for member in members)), start, width)


def _runs(displacements: list[int], size: int) -> Iterator[list[int]]:
    run: list[int] = []
    for displacement in displacements:
        if run and displacement != run[-1] + size:
            yield run
            run = []
        run.append(displacement)
    if run:
        yield run
