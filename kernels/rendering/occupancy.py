"""Occupancy as text: the kernel's block, the lab's formula, the curve, and the suggested block size."""

from __future__ import annotations

import textwrap

from kernels.occupancy.block_sizes import Suggestion
from kernels.occupancy.calculation import STATIC_SHARED, Occupancy, limits_of, taken
from kernels.occupancy.survey import Survey
from kernels.rendering.table import percent, table
from kernels.rendering.text_safety import safe
from kernels.rendering.text_style import Style
from kernels.wording import plural

_BOLD, _DIM, _RED = "1", "2", "31;1"
_BAR = 32
_NAMES = {
    "warps": "warps",
    "blocks": "blocks",
    "registers": "registers",
    "shared": "bytes of shared memory",
    "barriers": "barriers",
}


def render_occupancy(found: Survey, style: Style, name: str = "") -> str:
    """The whole text; `name` is the kernel's, as the caller knows it."""
    parts = [
        _head(found, style, name),
        _use(found, style),
        _formulas(found, style),
        _curve(found, style),
        _suggestion(found, style),
    ]
    text = "\n\n".join("\n".join(part) for part in parts if part)
    return text if style.unicode else text.encode("ascii", "backslashreplace").decode()


def _head(found: Survey, style: Style, name: str) -> list[str]:
    held, figures = found.occupancy, found.figures
    where = f"compute capability {found.cc}" + (f" ({found.device})" if found.device else "")
    asked = (
        f"{plural(figures.threads, 'thread')} per block, {plural(figures.registers, 'register')} per thread, "
        f"{figures.static:,} + {figures.dynamic:,} bytes of shared memory per block (static + dynamic)"
    )
    if held.refused:
        verdict = style.paint("This block can't be launched.", _RED)
        return [verdict, *_wrap(held.refused, style), *_wrap(f"On {where}, {asked}.", style)]
    limiting = " and ".join(held.limiting).replace("shared", "shared memory")
    what = (
        f"{percent(held.share)} of {held.max_warps} warps: {plural(held.blocks_per_sm, 'block')} with "
        f"{plural(held.warps_per_sm, 'warp')} on a multiprocessor. Limited by {limiting}."
    )
    title = style.paint("Occupancy" + (f" of {safe(name)}" if name else ""), _BOLD)
    return [title, *_wrap(what, style), *_wrap(f"On {where}, {asked}.", style)]


def _use(found: Survey, style: Style) -> list[str]:
    """How much of each resource a block takes, and how many blocks fit."""
    held, figures = found.occupancy, found.figures
    if held.refused:
        return []
    shares = taken(limits_of(found.cc), held.threads, held.registers, held.shared_bytes, barriers=figures.barriers)
    rows = [("per block", "available", "", "blocks", "")]
    rows += [
        (f"{takes:,}", f"{has:,}", _NAMES[resource], f"{held.limits[resource]:,}", _mark(held, resource))
        for resource, (takes, has) in shares.items()
    ]
    body = table(rows, ">><><")
    limits = limits_of(found.cc)
    if limits.reserved:
        body += _wrap(f"The system reserves {limits.reserved:,} bytes of shared memory for each block.", style)
    if held.shared_bytes > STATIC_SHARED:
        text = (
            f"More than {STATIC_SHARED:,} bytes per block need an opt-in in the host code: cudaFuncSetAttribute with "
            f"cudaFuncAttributeMaxDynamicSharedMemorySize."
        )
        body += _wrap(text, style)
    return [style.paint("Limits", _BOLD), *body]


def _mark(held: Occupancy, resource: str) -> str:
    return "<- limit" if resource in held.limiting else ""


def _formulas(found: Survey, style: Style) -> list[str]:
    """The lab's formula as written, corrected for one multiprocessor, and the full calculation."""
    held, limits = found.occupancy, limits_of(found.cc)
    if held.refused:
        return []
    number = found.multiprocessors
    above, below = f"{limits.blocks} * {held.threads}", f"{limits.threads} * "
    literal = f"{limits.blocks * held.threads / limits.threads:.3g} / multiProcessorCount"
    rows = [
        (
            "as written",
            f"{above} / ({below}{number or 'multiProcessorCount'})",
            f"= {literal if held.formula_share is None else percent(held.formula_share)}",
        ),
        (
            "corrected",
            f"min({limits.blocks}, floor({limits.threads} / {held.threads})) * {held.threads} / {limits.threads}",
            f"= {percent(held.simple_share)}",
        ),
        ("in full", "with registers, shared memory and barriers", f"= {percent(held.share)}"),
    ]
    why = (
        "As written, it divides one multiprocessor's threads by the whole device's threads. It also assumes that the "
        "largest number of blocks always fits. It ignores registers, shared memory and the threads of a block. "
        "Corrected, it uses the blocks and threads of one multiprocessor."
    )
    return [style.paint("The lab's formula", _BOLD), *table(rows, "<<<"), *_wrap(why, style)]


def _curve(found: Survey, style: Style) -> list[str]:
    title = style.paint("By block size", _BOLD)
    shared = f"{found.rule} bytes of dynamic shared memory" if found.rule else "the same shared memory"
    note = _wrap(f"With the same registers, and {shared}.", style)
    mark = "█" if style.unicode else "#"
    rows = [
        (f"{point.threads}", percent(point.share), mark * round(_BAR * point.share), _remarks(found, point))
        for point in found.curve
    ]
    return [title, *note, *table(rows, ">><<")]


def _remarks(found: Survey, point: Occupancy) -> str:
    words = []
    if point.threads == found.figures.threads:
        words.append("this block")
    if point.threads == found.suggestion.threads:
        words.append("suggested")
    return f"<- {', '.join(words)}" if words else ""


def _suggestion(found: Survey, style: Style) -> list[str]:
    suggestion, at_square = found.suggestion, found.at_square
    title = style.paint("Suggested block size", _BOLD)
    if at_square is None:
        return [title, *_wrap("None: no block size can be launched.", style)]
    text = (
        f"{suggestion.threads} threads, {plural(suggestion.blocks_per_sm, 'block')} on a multiprocessor. "
        f"cudaOccupancyMaxPotentialBlockSizeVariableSMem returns the same. "
        f"{_grid(suggestion, found.multiprocessors)}"
    )
    lab = (
        f"The lab rounds down to a square: 4^floor(ln({suggestion.threads}) / ln(4)) = {suggestion.square} threads, "
        f"BLOCK_SIZE {suggestion.side}, occupancy {percent(at_square.share)}."
    )
    return [title, *_wrap(text.rstrip(), style), *_wrap(lab, style)]


def _grid(suggestion: Suggestion, multiprocessors: int | None) -> str:
    if multiprocessors is None:
        return ""
    return f"It takes {suggestion.blocks_per_sm * multiprocessors:,} blocks to fill the device."


def _wrap(text: str, style: Style) -> list[str]:
    return textwrap.wrap(text, style.width, initial_indent="  ", subsequent_indent="  ")
