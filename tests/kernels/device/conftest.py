from __future__ import annotations

import pytest

from tests.kernels.device.kernels import Device


@pytest.fixture(params=["sm_90", "sm_120"])
def device(request: pytest.FixtureRequest) -> Device:
    """The CPU device, once for each of the compiler's two back ends."""
    return Device(request.param)
