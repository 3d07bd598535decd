from __future__ import annotations

from collections.abc import Sequence

from kernels.rendering.text_safety import width


def table(rows: Sequence[Sequence[str]], align: str, gap: int = 2, indent: int = 2) -> list[str]:
    """The rows as lines, each column as wide as its widest cell. align: a character for each column, `<` or `>`."""
    widths = [max((width(row[i]) for row in rows), default=0) for i in range(len(align))]
    used = [i for i, columns in enumerate(widths) if columns]
    return [
        (" " * indent + (" " * gap).join(_padded(row[i], widths[i], align[i]) for i in used)).rstrip() for row in rows
    ]


def _padded(cell: str, columns: int, side: str) -> str:
    blanks = " " * (columns - width(cell))
    return cell + blanks if side == "<" else blanks + cell


def short(number: float) -> str:
    """A count in at most nine columns: `65,536`, `268.4 M`, `17.18 G`."""
    if number < 1e7:
        return f"{number:,.0f}"
    for unit, size in (("M", 1e6), ("G", 1e9), ("T", 1e12)):
        if number < 999.95 * size or unit == "T":
            return f"{number / size:.4g} {unit}"
    raise AssertionError("the last unit takes every number")
