from __future__ import annotations

from kernels.rendering.table import table
from kernels.rendering.text_safety import cut, safe
from kernels.rendering.text_style import BOLD, DIM, GREEN, RED, YELLOW, Style
from kernels.wording import plural
from worker.sandbox.limits import Isolation
from worker.selftest.selftest import SelfTest

_ROOM_FOR_SECONDS = 72


def selftest_text(result: SelfTest, style: Style) -> str:
    """The checks, the isolation, and what to do about problems."""
    device = "the CPU device" if result.environment is None else safe(result.device)
    parts = [
        [style.paint(cut(f"Self-test of this worker, with {device}", style.width), BOLD)],
        _checks(result, style),
        _isolation(result, style),
        [line for text in result.warnings for line in _item("Warning: ", text, style, YELLOW)],
        [line for text in result.problems for line in _item("", text, style, RED)],
        _end(result, style),
    ]
    text = "\n\n".join("\n".join(part) for part in parts if part)
    return text if style.unicode else text.encode("ascii", "backslashreplace").decode()


def _checks(result: SelfTest, style: Style) -> list[str]:
    timed = style.width >= _ROOM_FOR_SECONDS
    rows = [("", "check", "expected", "found", "seconds" if timed else "")]
    rows += [
        (
            "ok" if check.ok else "FAILED",
            check.name.replace("_", " "),
            check.expected.replace("_", " "),
            cut(safe(check.found.replace("_", " ")), max(13, style.width - 56)),
            f"{check.seconds:.1f}" if check.seconds and timed else "",
        )
        for check in result.checks
    ]
    lines = [cut(line, style.width) for line in table(rows, "<<<<>")]
    painted = [
        line if check.ok else style.paint(line, RED) for line, check in zip(lines[1:], result.checks, strict=True)
    ]
    return [style.paint(lines[0], DIM), *painted]


def _isolation(result: SelfTest, style: Style) -> list[str]:
    """A table of the isolation by kind of process."""
    if not result.isolation:
        return []
    rows = [("step", "system calls", "Landlock", "own network", "limits")]
    rows += [(held.step, *_row(held.isolation)) for held in result.isolation]
    lines = [cut(line, style.width) for line in table(rows, "<<<<<")]
    return [style.paint("Isolation of each step's process", BOLD), style.paint(lines[0], DIM), *lines[1:]]


def _row(isolation: Isolation) -> tuple[str, str, str, str]:
    return (
        "filtered" if isolation.calls else "not filtered",
        f"version {isolation.landlock}" if isolation.landlock else "no",
        "yes" if isolation.network else "no",
        "set" if isolation.limits else "not set",
    )


def _item(title: str, text: str, style: Style, colour: str) -> list[str]:
    lines = style.wrap(f"{title}{safe(text)}", "", "  ")
    return [style.paint(lines[0], colour), *lines[1:]]


def _end(result: SelfTest, style: Style) -> list[str]:
    if result.ok:
        return [style.paint("This machine is fit to grade.", GREEN)]
    wrong = sum(not check.ok for check in result.checks)
    text = f"This machine is not fit to grade: {plural(wrong, 'check')} of {len(result.checks)} failed."
    return [style.paint(text, RED)]
