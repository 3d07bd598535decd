"""C's printf, for the conversions of device code."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator

_MAX_CONVERSIONS = 32
_MOST_WIDTH = 200
_MOST_PRECISION = 100
_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?(?P<length>hh|h|ll|l|z|j|t|L)?(?P<kind>.)",
    re.DOTALL,
)
_NARROW = {"hh": 1, "h": 2}
_INTEGERS = "diuoxX"
_FLOATS = "feEgGaAF"
_LENGTHS = {
    **dict.fromkeys(_INTEGERS, ("", "hh", "h", "l", "ll", "z", "j", "t")),
    **dict.fromkeys(_FLOATS, ("", "l", "L")),
    **dict.fromkeys("cps%", ("",)),
}

Read = Callable[[int, int], bytes]
"""Reads an argument's bytes, from its offset and its size."""


def formatted(template: str, read: Read, string: Callable[[int], str]) -> str:
    """Format a template with its arguments. `string` reads the text at an address.

    From the first unknown conversion on, the template is printed unchanged: the next argument's position is unknown.
    """
    arguments = _Arguments(read, string)
    pieces, end = [], 0
    for match in _known(template):
        pieces += [template[end : match.start()], arguments.convert(match)]
        end = match.end()
    return "".join((*pieces, template[end:]))


def conversions(template: str) -> int:
    found = (match for match in _known(template) if match["kind"] != "%")
    return sum(1 + (match["width"] == "*") + (match["precision"] == "*") for match in found)


def _known(template: str) -> Iterator[re.Match[str]]:
    """Yield the conversions up to the first unknown one."""
    for match in _CONVERSION.finditer(template):
        if (match["length"] or "") not in _LENGTHS.get(match["kind"], ()):
            return
        yield match


class _Arguments:
    """The arguments of one call, taken from the front. Each is at a multiple of its own size."""

    def __init__(self, read: Read, string: Callable[[int], str]) -> None:
        self._read = read
        self._string = string
        self._offset = 0
        self._left = _MAX_CONVERSIONS

    def _next(self, size: int) -> bytes:
        self._offset += -self._offset % size
        data = self._read(self._offset, size)
        self._offset += size
        return data

    def _number(self, size: int, *, signed: bool) -> int:
        return int.from_bytes(self._next(size), "little", signed=signed)

    def convert(self, match: re.Match[str]) -> str:
        kind = match["kind"]
        if kind == "%":
            return "%"
        self._left -= 1
        if self._left < 0:
            return ""
        flags = match["flags"]
        width = self._extent(match["width"])
        if width is not None and width < 0:
            flags, width = flags + "-", -width
        precision = self._extent(match["precision"])
        if precision is not None and precision < 0:
            precision = None
        if kind in _INTEGERS:
            text = self._integer(kind, match["length"] or "", flags, precision)
            if precision is not None:
                flags = flags.replace("0", "")
        elif kind in _FLOATS:
            text = _float(kind, struct.unpack("<d", self._next(8))[0], flags, precision)
            if "n" in text.lower():  # nan and infinity
                flags = flags.replace("0", "")
        else:
            text = self._text(kind, precision)
            flags = flags.replace("0", "")
        return _padded(text, flags, min(width or 0, _MOST_WIDTH))

    def _extent(self, text: str | None) -> int | None:
        """Return a width or a precision, which may be an argument; None without one."""
        if text == "*":
            return self._number(4, signed=True)
        if text is None:
            return None
        return int(text[:9] or 0)

    def _integer(self, kind: str, length: str, flags: str, precision: int | None) -> str:
        signed = kind in "di"
        wide = length in {"l", "ll", "z", "j", "t"}
        number = self._number(8 if wide else 4, signed=signed)
        if length in _NARROW:
            size = _NARROW[length]
            data = (number & (1 << 8 * size) - 1).to_bytes(size, "little")
            number = int.from_bytes(data, "little", signed=signed)
        digits = format(abs(number), {"o": "o", "x": "x", "X": "X"}.get(kind, "d"))
        if precision is not None:
            digits = "" if precision == number == 0 else digits.zfill(min(precision, _MOST_PRECISION))
        if "#" in flags and number:
            digits = {"x": "0x", "X": "0X"}.get(kind, "") + digits
        if "#" in flags and kind == "o" and not digits.startswith("0"):
            digits = "0" + digits
        return _sign(number < 0, flags if signed else "") + digits

    def _text(self, kind: str, precision: int | None) -> str:
        if kind == "c":
            return chr(self._next(4)[0])
        if kind == "p":
            address = self._number(8, signed=False)
            return f"0x{address:x}" if address else "(nil)"
        address = self._number(8, signed=False)
        return self._string(address)[:precision] if address else "(null)"


def _sign(negative: bool, flags: str) -> str:
    if negative:
        return "-"
    return "+" if "+" in flags else " " if " " in flags else ""


def _float(kind: str, number: float, flags: str, precision: int | None) -> str:
    exact = None if precision is None else min(precision, _MOST_PRECISION)
    sign = _sign(math.copysign(1, number) < 0, flags)
    if not math.isfinite(number):
        text = "nan" if math.isnan(number) else "inf"
    elif kind in "aA":
        text = _hexadecimal(abs(number), exact)
    else:
        point = "#" if "#" in flags else ""
        text = f"%{point}.{6 if exact is None else exact}{kind}" % abs(number)
    return sign + (text.upper() if kind in "EGAF" else text)


def _hexadecimal(number: float, precision: int | None) -> str:
    """Return `0x1.8p+1`, with as many digits as needed or requested."""
    whole, _, rest = number.hex().removeprefix("0x").partition(".")
    digits, _, exponent = rest.partition("p") if rest else ("", "", whole.partition("p")[2])
    whole = whole.partition("p")[0]
    digits = digits.rstrip("0")
    if precision is not None and precision < len(digits):
        scaled = int(whole + digits, 16)
        cut = 4 * (len(digits) - precision)
        half = 1 << cut - 1
        low = scaled & (1 << cut) - 1
        scaled >>= cut
        scaled += low > half or (low == half and scaled & 1)
        text = f"{scaled:x}"
        whole, digits = text[: len(text) - precision], text[len(text) - precision :]
    elif precision is not None:
        digits = digits.ljust(precision, "0")
    return f"0x{whole}{'.' if digits else ''}{digits}p{exponent}"


def _padded(text: str, flags: str, width: int) -> str:
    if "-" in flags:
        return text.ljust(width)
    if "0" not in flags:
        return text.rjust(width)
    start = re.match(r"[-+ ]?(?:0[xX])?", text)
    head = start.group() if start else ""
    return head + text[len(head) :].rjust(width - len(head), "0")
