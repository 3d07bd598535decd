"""The devices with a speed of light, from devices.toml: the throughput of each part."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from kernels.occupancy import LIMITS, Limits, limits_of

FILE = Path(__file__).with_name("devices.toml")


class DeviceError(ValueError):
    """A device that isn't in the table, or an unusable entry; the text names it and the reason."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device; devices.toml explains the figures. `name` is its key there, such as "h200"."""

    name: str
    title: str
    cc: str
    multiprocessors: int
    clock_mhz: float
    fp32_lanes: int
    tensor_macs: int
    memory_gbs: float
    l2_mb: float
    l2_gbs: float
    copy_gbs: float | None = None
    l1_bytes: int = 128
    l2_bytes: int = 64
    tags: int = 1
    lsu_lanes: int = 32
    schedulers: int = 4

    @property
    def limits(self) -> Limits:
        return limits_of(self.cc)

    @property
    def peak_gflops(self) -> float:
        """Single precision; a multiply-add counts as two operations."""
        return 2 * self.fp32_lanes * self.multiprocessors * self.clock_mhz / 1000

    @property
    def tensor_gflops(self) -> float:
        """The same of tensor cores, with factors of 16 bits."""
        return 2 * self.tensor_macs * self.multiprocessors * self.clock_mhz / 1000

    @property
    def l1_gbs(self) -> float:
        """What the L1 caches of all multiprocessors deliver together."""
        return self.l1_bytes * self.multiprocessors * self.clock_mhz / 1000


def device_named(name: str) -> Device:
    """The device of that name, ignoring case; raise DeviceError with the known names."""
    known = devices()
    if name.lower() not in known:
        raise DeviceError(f"unknown device {name!r}; known devices are {', '.join(known)}")
    return known[name.lower()]


@cache
def devices() -> Mapping[str, Device]:
    """Every device of the table, in its order."""
    return read_devices(FILE.read_text("utf-8"))


def read_devices(text: str) -> Mapping[str, Device]:
    """The devices of a table; raise DeviceError for the first unusable entry."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DeviceError(f"the table of devices is not TOML: {error}") from error
    return {name: _device(name, entry) for name, entry in table.items()}


def _device(name: str, entry: object) -> Device:
    if not isinstance(entry, dict):
        raise DeviceError(f"{name}: an entry must be a table, such as [{name}]")
    known = {field.name: field for field in fields(Device) if field.name != "name"}
    if unknown := sorted(entry.keys() - known.keys()):
        raise DeviceError(f"{name}: unknown key {unknown[0]!r}; known keys are {', '.join(known)}")
    if missing := [key for key, field in known.items() if field.default is MISSING and key not in entry]:
        raise DeviceError(f"{name}: {missing[0]!r} is missing")
    for key, value in entry.items():
        _check(name, key, value, str(known[key].type))
    return Device(name=name, **entry)


def _check(name: str, key: str, value: Any, annotation: str) -> None:
    if annotation == "str":
        if not isinstance(value, str):
            raise DeviceError(f"{name}: {key} must be text in quotes, not {value!r}")
        if key == "cc" and value not in LIMITS:
            raise DeviceError(f"{name}: cc {value!r} is not one of {', '.join(LIMITS)}")
        return
    whole = annotation == "int"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise DeviceError(f"{name}: {key} must be a {'whole ' if whole else ''}number, not {value!r}")
    if value <= 0:
        raise DeviceError(f"{name}: {key} must be greater than 0, not {value!r}")
