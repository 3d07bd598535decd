"""The corpus' correct kernels with clusters, on a GPU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernels.verdict import Verdict
from tests.corpus.expected import exercise_of
from tests.corpus.test_corpus import FOLDER, RIGHT, Expected
from tests.gpu.solutions import graded_here

_CLUSTER = re.compile(r"__cluster_dims__|\bcluster\s*=|barrier\.cluster")


def _text(kernel: Expected) -> str:
    return (FOLDER / "right" / f"{kernel.name}.cu").read_text("utf-8")


@pytest.mark.gpu
@pytest.mark.parametrize(
    "kernel", [each for each in RIGHT if _CLUSTER.search(_text(each))], ids=lambda kernel: kernel.name
)
def test_a_gpu_accepts_and_measures_what_the_cpu_device_accepts(tmp_path: Path, kernel: Expected) -> None:
    report = graded_here(exercise_of(kernel.exercise), _text(kernel), tmp_path)

    assert report.verdict is Verdict.ACCEPTED, report.message
    assert report.measurement is not None
