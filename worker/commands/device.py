"""The device that a command uses: `--device auto`, `cpu` or `cuda:N`."""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING

from worker.commands.root import WrongUse
from worker.contract.architectures import ARCHES

if TYPE_CHECKING:
    from worker.gpu.nvml import GpuFacts

DEFAULT_ARCH = "sm_90"
_DEVICE = re.compile(r"auto|cpu|cuda:(\d{1,3})")


def choose(device: str) -> GpuFacts | None:
    """The requested GPU, or None for the CPU device. Raises WrongUse if this machine doesn't have it."""
    match = _DEVICE.fullmatch(device)
    if match is None:
        raise WrongUse(f"--device {device!r}: use auto, cpu or cuda:N.")
    if device == "cpu":
        return None
    from worker.gpu.nvml import NoGPU

    try:
        found = usable_gpus()
    except NoGPU as reason:
        if device == "auto":
            return None
        raise WrongUse(f"--device {device}: {reason}") from reason
    number = int(match[1] or 0)
    if number >= len(found):
        known = ", ".join(f"cuda:{gpu.index} ({gpu.name})" for gpu in found)
        raise WrongUse(f"--device {device}: this machine has {known}.")
    return found[number]


def usable_gpus() -> tuple[GpuFacts, ...]:
    """The GPUs of this machine. Raises NoGPU if there are none, or if CuPy is missing."""
    from worker.gpu.nvml import NoGPU, gpus

    found = gpus()
    if importlib.util.find_spec("cupy") is None:
        raise NoGPU(
            "the package cupy is not installed, which runs kernels on a GPU. On a machine with a GPU, `make run`"
            " installs it."
        )
    return found


def architecture(arch: str | None, gpu: GpuFacts | None) -> str:
    """The architecture to compile for: the GPU's own, or without a GPU the requested one."""
    if arch is not None and arch not in ARCHES:
        raise WrongUse(f"--arch {arch!r}: use one of {', '.join(ARCHES)}.")
    if gpu is None:
        return arch or DEFAULT_ARCH
    if arch is not None and arch != gpu.arch:
        raise WrongUse(
            f"--arch {arch}: the {gpu.name} runs only {gpu.arch}. Add --device cpu to use another architecture."
        )
    if gpu.arch not in ARCHES:
        raise WrongUse(f"the {gpu.name} needs {gpu.arch}, which the compiler does not support. Use --device cpu.")
    return gpu.arch
