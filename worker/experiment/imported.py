from __future__ import annotations

from kernels.experiment.definition import plain_definition
from kernels.experiment.kernel_tuner import Cache
from kernels.experiment.model import Axis, Experiment, Measure
from worker.contract.messages import ExerciseText
from worker.experiment.manifest import DeviceUsed, KernelText, Manifest, now

ORIGIN = "Kernel Tuner"


def imported(name: str, cache: Cache) -> Manifest:
    """The manifest of a cache. Its exercise, kernel text and versions aren't known. name: for the report."""
    experiment = Experiment(
        name=name,
        exercise="unknown",
        kernels=(cache.kernel,),
        axes=tuple(Axis(*item) for item in cache.values.items()),
        measure=Measure(counts=False),
    )
    return Manifest(
        definition=plain_definition(experiment),
        exercise=ExerciseText("unknown", "", ""),
        kernels=(KernelText.of(cache.kernel, ""),),
        points=len(cache.results),
        device=DeviceUsed(cache.device),
        arch="",
        fmad=True,
        seed="",
        started=now(),
        origin=ORIGIN,
    )
