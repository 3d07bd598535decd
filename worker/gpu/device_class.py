"""The class of a device. Measurements are comparable only within a class.

A class follows from the driver's name for the device and from its memory. Both differ between drivers and machines for
the same hardware: "GeForce" with and without "NVIDIA", or memory without the part for error correction. So the name is
reduced to its model, and the memory rounded up to a size that is sold. For devices in kernels/analysis/devices.toml,
the class is the key there.
"""

from __future__ import annotations

import hashlib
import re

_LONGEST = 48
_GIB = 2**30

# Memory sizes that are sold, in GB. Drivers report at most _SLACK less, because error correction on GDDR memory takes
# a sixteenth.
_SOLD = (1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 72, 80, 94, 96, 128, 141, 144, 180, 192, 288)
_SLACK = 0.2 * _GIB

# Words that say nothing about the hardware, or only what the model says.
_EMPTY_WORDS = frozenset(
    "nvidia geforce tesla r tm gpu with design generation edition sxm sxm2 sxm4 sxm5 hbm2 hbm2e hbm3 hbm3e".split()  # noqa: SIM905 - words, as one reads them
)

# The usual memory of names that are sold with several. The class doesn't mention it.
_USUAL_GB = {"a100": 80, "a800": 80, "h100": 80, "h800": 80, "h20": 96, "gh200": 96, "p100": 16, "v100": 16}
# Names that contain the processor's memory instead of the GPU's.
_NAMED_FOR_OTHER_MEMORY = frozenset({"gh200"})

# Sold with only one memory size, or named with it.
_ONE_MEMORY = re.compile(
    r"""
    (?:gh|gb|[abhklmptv])\d{1,3}[a-z]?(?:-pcie|-nvl)?   # data centre
    | rtx-a\d{4} | rtx\d{4}(?:-sff)?-ada | quadro-rtx\d{4}
    | titan-(?:v|xp|rtx)
    | rtx(?:2070|2080|2080-ti|3060-ti|3070|3070-ti|3080-ti|3090|3090-ti|4060|4070|4070-super|4070-ti|4070-ti-super
        |4080|4080-super|4090|4090-d|5060|5070|5070-ti|5080|5090|5090-d)
    """,
    re.VERBOSE,
)
_MEMORY_WORD = re.compile(r"(\d{1,4})gb?")


def device_class(name: str, memory_bytes: int) -> str:
    """The class of a device, such as "h200" or "rtx4060-ti-16gb": letters, digits and dashes, at most 48.

    name: from the driver
    memory_bytes: its whole memory, from the driver; 0 if unknown
    """
    whole, _, part = name.partition(" MIG ")
    words = _words(whole)
    named = next((int(match[1]) for word in words if (match := _MEMORY_WORD.fullmatch(word))), None)
    model = _model([word for word in words if not _MEMORY_WORD.fullmatch(word)])
    if part:
        # a slice's name contains its memory
        return _bounded("-".join([model, *_memory(model, named, 0), "mig", *_words(part)]), name)
    return _bounded("-".join([model, *_memory(model, named, memory_bytes)]), name)


def _words(name: str) -> list[str]:
    return [word for word in re.findall(r"[a-z0-9]+", name.lower()) if word not in _EMPTY_WORDS]


def _model(words: list[str]) -> str:
    return re.sub(r"\b(rtx|gtx)-(?=\d{3,4}\b)", r"\1", "-".join(words)) or "gpu"


def _memory(model: str, named: int | None, memory_bytes: int) -> list[str]:
    """The word for the memory; empty if the model implies it."""
    base, _, form = model.partition("-")
    usual = _USUAL_GB.get(base) if form in {"", "pcie"} else None
    told = sold_gb(memory_bytes)
    size = named if named and base not in _NAMED_FOR_OTHER_MEMORY else told
    if not size or size == usual:
        return []
    if _ONE_MEMORY.fullmatch(model) and not usual and not named:
        return []
    return [f"{size}gb"]


def sold_gb(memory_bytes: int) -> int:
    """The sold memory size in GB for a reported one; 0 for none."""
    if memory_bytes <= 0:
        return 0
    fitting = (size for size in _SOLD if size * _GIB >= memory_bytes - _SLACK)
    return next(fitting, min(-(-memory_bytes // _GIB), 99_999))


def _bounded(text: str, name: str) -> str:
    """Shorten a long name to its beginning and a digest."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 9].rstrip('-')}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}"
