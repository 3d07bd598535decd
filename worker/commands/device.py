"""Which device a command works with: `--device auto`, `cpu` or `cuda:N`."""

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
    """The GPU that is asked for; None for the CPU device alone. Raises WrongUse where it is not there."""
    asked = _DEVICE.fullmatch(device)
    if asked is None:
        raise WrongUse(f"--device {device!r}: it is auto, cpu or cuda:N.")
    if device == "cpu":
        return None
    from worker.gpu.nvml import NoGPU

    try:
        found = usable_gpus()
    except NoGPU as reason:
        if device == "auto":
            return None
        raise WrongUse(f"--device {device}: {reason}") from reason
    number = int(asked[1] or 0)
    if number >= len(found):
        known = ", ".join(f"cuda:{gpu.index} ({gpu.name})" for gpu in found)
        raise WrongUse(f"--device {device}: this machine has {known}.")
    return found[number]


def usable_gpus() -> tuple[GpuFacts, ...]:
    """The GPUs of this machine, where there is also what drives them; raises NoGPU."""
    from worker.gpu.nvml import NoGPU, gpus

    found = gpus()
    if importlib.util.find_spec("cupy") is None:
        raise NoGPU(
            "the package cupy is not installed, by which a GPU is driven; `make run` installs it where one is."
        )
    return found


def architecture(arch: str | None, gpu: GpuFacts | None) -> str:
    """What to compile for: the device's own architecture, or the one that is asked for where there is no GPU."""
    if arch is not None and arch not in ARCHES:
        raise WrongUse(f"--arch {arch!r}: it is one of {', '.join(ARCHES)}.")
    if gpu is None:
        return arch or DEFAULT_ARCH
    if arch is not None and arch != gpu.arch:
        raise WrongUse(
            f"--arch {arch}: the {gpu.name} runs {gpu.arch} only; add --device cpu for another architecture."
        )
    if gpu.arch not in ARCHES:
        raise WrongUse(
            f"the {gpu.name} needs {gpu.arch}, which the compiler does not know; use --device cpu."
        )
    return gpu.arch
