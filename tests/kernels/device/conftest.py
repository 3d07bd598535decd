from __future__ import annotations

import pytest

from tests.kernels.device.kernels import Device


@pytest.fixture(params=["sm_90", pytest.param("sm_120", marks=pytest.mark.long("the short suite has sm_90"))])
def device(request: pytest.FixtureRequest) -> Device:
    """The CPU device, once for each of the compiler's two back ends."""
    return Device(request.param)
