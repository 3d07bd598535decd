"""A field of characters for a terminal, with lines of braille dots below its marks."""

from __future__ import annotations

from kernels.rendering.text_style import Style

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE = 0x2800
_ACROSS, _DOWN = 2, 4

COLOURS = ("36", "33", "32", "35", "34", "31")
"""Of the series, as a terminal's codes."""

MARKS = ("●", "■", "▲", "◆", "○", "□", "△", "◇", "✚", "✖", "▼", "★", "◉", "▣", "▽", "✦")
PLAIN_MARKS = tuple("ox#*+@%&vsdzmnwk")


class Canvas:
    """Characters in rows, the first at the top. Positions are shares of width and height, from the lower left."""

    def __init__(self, width: int, height: int, style: Style) -> None:
        self._width, self._height, self._style = width, height, style
        self._dots: dict[tuple[int, int], int] = {}
        self._marks: dict[tuple[int, int], str] = {}
        self._colours: dict[tuple[int, int], str] = {}

    def mark(self, number: int, x: float, y: float) -> None:
        """The mark of a series. The first at a place stays."""
        marks = MARKS if self._style.unicode else PLAIN_MARKS
        place = round(y * (self._height - 1)), round(x * (self._width - 1))
        if place not in self._marks:
            self._marks[place] = marks[number % len(marks)]
            self._colours[place] = COLOURS[number % len(COLOURS)]

    def line(self, code: str, first: tuple[float, float], second: tuple[float, float]) -> None:
        """A line of dots. code: its colour, "" for none."""
        across = _ACROSS * (self._width - 1) * abs(second[0] - first[0])
        up = _DOWN * (self._height - 1) * abs(second[1] - first[1])
        count = max(1, round(max(across, up)))
        for number in range(count + 1):
            share = number / count
            self._dot(code, first[0] + share * (second[0] - first[0]), first[1] + share * (second[1] - first[1]))

    def rows(self) -> list[str]:
        return [self._row(row) for row in reversed(range(self._height))]

    def _dot(self, code: str, x: float, y: float) -> None:
        # A cell has 2 x 4 dots, and a mark is in its middle. So dots are shifted by half a cell.
        across = round(x * (self._width - 1) * _ACROSS)
        up = round(y * (self._height - 1) * _DOWN) + 1
        row, column = min(up // _DOWN, self._height - 1), min(across // _ACROSS, self._width - 1)
        self._dots[row, column] = self._dots.get((row, column), 0) | _DOTS[_DOWN - 1 - up % _DOWN][across % _ACROSS]
        self._colours.setdefault((row, column), code)

    def _row(self, row: int) -> str:
        said, code, run = "", "", ""
        for column in range(self._width):
            place = row, column
            char = self._marks.get(place) or self._dotted(self._dots.get(place, 0))
            colour = self._colours.get(place, "") if char != " " else code
            if colour != code:
                said, run, code = said + self._style.paint(run, code), "", colour
            run += char
        return (said + self._style.paint(run.rstrip(), code)).rstrip()

    def _dotted(self, dots: int) -> str:
        if not dots:
            return " "
        return chr(_BRAILLE + dots) if self._style.unicode else "."
