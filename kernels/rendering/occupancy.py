"""Occupancy as text: the kernel's block, the lab's formula, the curve, and the suggested block size."""

from __future__ import annotations

from kernels.occupancy.calculation import STATIC_SHARED, Occupancy, Resource, limits_of, resource_title, taken
from kernels.occupancy.survey import Survey
from kernels.rendering.table import table
from kernels.rendering.text_safety import safe
from kernels.rendering.text_style import BOLD, RED, Style
from kernels.wording import percent, plural

_BAR = 32


def render_occupancy(survey: Survey, style: Style, name: str = "") -> str:
    """The whole text; `name` is the kernel's, as the caller knows it."""
    parts = [
        _head(survey, style, name),
        _use(survey, style),
        _formulas(survey, style),
        _curve(survey, style),
        _suggestion(survey, style),
    ]
    return style.joined(parts)


def _head(survey: Survey, style: Style, name: str) -> list[str]:
    held, figures = survey.occupancy, survey.figures
    where = f"compute capability {survey.cc}" + (f" ({survey.device})" if survey.device else "")
    asked = (
        f"{plural(figures.threads, 'thread')} per block, {plural(figures.registers, 'register')} per thread, "
        f"{figures.static:,} + {figures.dynamic:,} bytes of shared memory per block (static + dynamic)"
    )
    if held.refused:
        verdict = style.paint("This block can't be launched.", RED)
        return [verdict, *style.wrap(held.refused, "  "), *style.wrap(f"On {where}, {asked}.", "  ")]
    limiting = " and ".join(map(resource_title, held.limiting))
    what = (
        f"{percent(held.share)} of {held.max_warps} warps: {plural(held.blocks_per_sm, 'block')} with "
        f"{plural(held.warps_per_sm, 'warp')} on a multiprocessor. Limited by {limiting}."
    )
    title = style.paint("Occupancy" + (f" of {safe(name)}" if name else ""), BOLD)
    return [title, *style.wrap(what, "  "), *style.wrap(f"On {where}, {asked}.", "  ")]


def _use(survey: Survey, style: Style) -> list[str]:
    """How much of each resource a block takes, and how many blocks fit."""
    held, figures = survey.occupancy, survey.figures
    if held.refused:
        return []
    shares = taken(limits_of(survey.cc), held.threads, held.registers, held.shared_bytes, barriers=figures.barriers)
    rows = [("per block", "available", "", "blocks", "")]
    for resource, (takes, has) in shares.items():
        what = f"{'bytes of ' if resource == Resource.SHARED else ''}{resource_title(resource)}"
        mark = "<- limit" if resource in held.limiting else ""
        rows.append((f"{takes:,}", f"{has:,}", what, f"{held.limits[resource]:,}", mark))
    body = table(rows, ">><><")
    limits = limits_of(survey.cc)
    if limits.reserved:
        body += style.wrap(f"The system reserves {limits.reserved:,} bytes of shared memory for each block.", "  ")
    if held.shared_bytes > STATIC_SHARED:
        text = (
            f"More than {STATIC_SHARED:,} bytes per block need an opt-in in the host code: cudaFuncSetAttribute with "
            f"cudaFuncAttributeMaxDynamicSharedMemorySize."
        )
        body += style.wrap(text, "  ")
    return [style.paint("Limits", BOLD), *body]


def _formulas(survey: Survey, style: Style) -> list[str]:
    """The lab's formula as written, corrected for one multiprocessor, and the full calculation."""
    held, limits = survey.occupancy, limits_of(survey.cc)
    if held.refused:
        return []
    number = survey.multiprocessors
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
    return [style.paint("The lab's formula", BOLD), *table(rows, "<<<"), *style.wrap(why, "  ")]


def _curve(survey: Survey, style: Style) -> list[str]:
    title = style.paint("By block size", BOLD)
    shared = f"{survey.rule} bytes of dynamic shared memory" if survey.rule else "the same shared memory"
    note = style.wrap(f"With the same registers, and {shared}.", "  ")
    mark = "█" if style.unicode else "#"
    rows = [
        (f"{point.threads}", percent(point.share), mark * round(_BAR * point.share), _remarks(survey, point))
        for point in survey.curve
    ]
    return [title, *note, *table(rows, ">><<")]


def _remarks(survey: Survey, point: Occupancy) -> str:
    words = []
    if point.threads == survey.figures.threads:
        words.append("this block")
    if point.threads == survey.suggestion.threads:
        words.append("suggested")
    return f"<- {', '.join(words)}" if words else ""


def _suggestion(survey: Survey, style: Style) -> list[str]:
    suggestion, at_square = survey.suggestion, survey.at_square
    title = style.paint("Suggested block size", BOLD)
    if at_square is None:
        return [title, *style.wrap("None: no block size can be launched.", "  ")]
    text = (
        f"{suggestion.threads} threads, {plural(suggestion.blocks_per_sm, 'block')} on a multiprocessor. "
        "cudaOccupancyMaxPotentialBlockSizeVariableSMem returns the same."
    )
    if survey.multiprocessors is not None:
        text += f" It takes {suggestion.blocks_per_sm * survey.multiprocessors:,} blocks to fill the device."
    lab = (
        f"The lab rounds down to a square: 4^floor(ln({suggestion.threads}) / ln(4)) = {suggestion.square} threads, "
        f"BLOCK_SIZE {suggestion.side}, occupancy {percent(at_square.share)}."
    )
    return [title, *style.wrap(text, "  "), *style.wrap(lab, "  ")]
