from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from kernels.verdict import Finding, rejected

LARGEST_SOURCE = 64 * 1024
_MARKS = {BOM_UTF16_LE: "utf-16-le", BOM_UTF16_BE: "utf-16-be"}


def as_utf8(data: bytes) -> bytes:
    """UTF-16 text with a byte order mark as UTF-8; other bytes unchanged."""
    encoding = _MARKS.get(data[:2])
    if encoding is None:
        return data
    try:
        return data[2:].decode(encoding).encode()
    except UnicodeDecodeError:
        return data


def decode(data: bytes) -> str | Finding:
    """The text with plain newlines, or a finding if the file isn't readable text."""
    if len(data) > LARGEST_SOURCE:
        return rejected(f"The file is too long. The limit is {LARGEST_SOURCE:,} bytes (64 KiB).")
    data = as_utf8(data).removeprefix(BOM_UTF8)
    if not data.strip():
        return rejected("The file is empty. Submit the .cu file with your kernel.")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        return rejected(
            "The file isn't text, because it contains zero bytes. Submit the .cu source in UTF-8, not a compiled "
            "program.",
            line,
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return rejected(
            f"The file isn't UTF-8: byte 0x{data[error.start]:02x} at offset {error.start} in line {line} is invalid. "
            "Save the file as UTF-8 in your editor.",
            line,
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
