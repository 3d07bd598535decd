"""printf and assert of a kernel. A limit keeps endless printing from filling the disk."""

from __future__ import annotations

import numpy as np

from kernels.device.execution.formats import conversions, formatted
from kernels.device.memory.access import Step
from kernels.device.memory.locate import Site
from kernels.device.memory.thread_view import ThreadView
from kernels.device.state.accesses import Kind
from kernels.device.state.findings import Described
from kernels.device.state.machine import Machine, stop
from kernels.device.state.mask import Mask
from kernels.device.state.space import WRITTEN
from kernels.facts import Facts, Mistake
from kernels.verdict import Example, Verdict
from kernels.wording import plural


class _MissingError(Exception):
    """printf has no such argument."""


def print_step(pc: int, line: int | None, passed: tuple[str, ...], returned: tuple[str, ...]) -> Step:
    """Return the step of printf. `passed` are the variables with the format and the arguments' address."""
    site = Site(pc, line, "generic", 1, Kind.READ)

    def run(machine: Machine, mask: Mask | None) -> None:
        lanes = machine.active(mask)
        blocks = machine.shape.blocks
        ordered = lanes[np.lexsort((lanes // blocks, lanes % blocks))]
        for number, lane in enumerate(ordered):
            if machine.output.full:
                machine.output.dropped += len(ordered) - number
                break
            machine.output.write(_printed(machine, site, passed, int(lane)))
        for name in returned:
            allocation = machine.memory.by_name[name]
            allocation.words[...] = 1
            if allocation.valid is not None:
                allocation.valid[...] = WRITTEN

    return run


def _printed(machine: Machine, site: Site, passed: tuple[str, ...], lane: int) -> str:
    view = ThreadView(machine, site, lane)
    template, arguments = (_pointer(machine, name, lane) for name in passed)
    text = view.text(template)
    given = 0

    def read(offset: int, size: int) -> bytes:
        nonlocal given
        known = not arguments or view.holds(arguments, 1)
        if known and not (arguments and view.holds(arguments + offset, size)):
            raise _MissingError
        given += 1
        return view.read(arguments + offset, size)

    try:
        return formatted(text, read, view.text)
    except _MissingError:
        _report_missing(machine, site.line, lane, conversions(text), given)
        return ""


def _report_missing(machine: Machine, line: int | None, lane: int, wanted: int, given: int) -> None:
    def describe() -> Described:
        block, thread = machine.geometry.who(lane)
        message = f"The format asks for {plural(wanted, 'argument')}, but `printf` gets {given}."
        return Example(block, (thread,), None), message, Facts(Mistake.PRINTF)

    machine.findings.add(Verdict.OUT_OF_BOUNDS, line, 1, describe)


def assert_step(pc: int, line: int | None, passed: tuple[str, ...]) -> Step:
    def run(machine: Machine, mask: Mask | None) -> None:
        lane = int(machine.active(mask)[0])
        site = Site(pc, line, "generic", 1, Kind.READ)
        text = ThreadView(machine, site, lane).text(_pointer(machine, passed[0], lane)) if passed else ""
        count = machine.shape.lanes if mask is None else mask.count
        stop(machine, line, lane, count, f"the assertion `{text}` does not hold", Mistake.ASSERTION)

    return run


def _pointer(machine: Machine, variable: str, lane: int) -> int:
    """Return the address that a parameter variable of a call holds for one thread."""
    words = machine.memory.by_name[variable].words
    own = words.reshape(len(words), -1)
    return int.from_bytes(own[:, lane if own.shape[1] > 1 else 0].tobytes()[:8], "little")
