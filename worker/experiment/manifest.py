"""What an experiment's folder says about its run: all that it takes to run each point again."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kernels.experiment.plan import digest
from worker.contract.messages import ExerciseText

SCHEMA = 1
_PACKAGES = ("tilelab", "numpy", "nvidia-cuda-nvrtc", "cupy-cuda13x", "nvidia-cublas")


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel of the experiment. digest: SHA-256 of its text."""

    name: str
    text: str
    digest: str

    @classmethod
    def of(cls, name: str, text: str) -> KernelText:
        return cls(name, text, digest(text))


@dataclass(frozen=True, slots=True)
class DeviceUsed:
    """What measures. name: as its driver says it. device_class: "" for the CPU device, which measures nothing."""

    name: str = "CPU device"
    device_class: str = ""
    driver: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One run of an experiment.

    definition: the experiment as its file would have it
    arch, fmad: the compiler's options
    seed: 128 bits in hex, from which the inputs on the CPU device are made
    started: moment in UTC, as ISO 8601 writes it
    origin: the tuner that measured imported results; "" for Tilelab
    """

    definition: Mapping[str, Any]
    exercise: ExerciseText
    kernels: tuple[KernelText, ...]
    points: int
    device: DeviceUsed
    arch: str
    fmad: bool
    seed: str
    versions: Mapping[str, str] = field(default_factory=dict)
    started: str = ""
    origin: str = ""
    schema: int = SCHEMA


def versions() -> dict[str, str]:
    """The versions of Python and of the installed packages that results depend on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def differences(old: Manifest, new: Manifest) -> Iterable[str]:
    """What keeps a run from going on with the results of another, in words."""
    for table in dict.fromkeys((*old.definition, *new.definition)):
        if old.definition.get(table) != new.definition.get(table):
            yield f"[{table}]"
    if old.exercise != new.exercise:
        yield "the exercise"
    if old.kernels != new.kernels:
        yield "a kernel's text"
    if old.device != new.device or (old.arch, old.fmad) != (new.arch, new.fmad):
        yield "the device"
    if old.versions != new.versions:
        yield "Tilelab or a package it uses"
