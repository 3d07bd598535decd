"""Copies with tensor maps: the CPU device does the same as a GPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gpu.boxes import differs, story_holds, wrong_reductions
from tests.gpu.driver import GPU
from tests.kernels.device.boxes import copies
from tests.kernels.device.test_tensor_copies import RIGHT

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def gpu() -> Iterator[GPU]:
    with GPU() as found:
        yield found


def test_random_boxes_are_alike(gpu):
    assert [copy for copy in copies(100, seed=7) if differs(gpu, copy)] == []


def test_reductions_are_alike(gpu):
    assert list(wrong_reductions(gpu)) == []


@pytest.mark.parametrize("story", RIGHT, ids=str)
def test_a_right_copy_is_right_on_a_gpu(gpu, story):
    assert story_holds(gpu, story)
