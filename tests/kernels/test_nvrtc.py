from __future__ import annotations

import importlib.util

import pytest

from kernels.compile import nvrtc
from kernels.compile.compilation import NVRTCUnavailable


def test_the_architectures_of_the_course_are_supported():
    assert {"sm_75", "sm_90", "sm_120"} <= set(nvrtc.supported_architectures())


def test_the_version_is_known_without_loading_the_library():
    assert nvrtc.installed_version().split(".")[0] == "13"


def test_where_there_is_no_compiler_one_line_says_what_to_do(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(NVRTCUnavailable) as raised:
        nvrtc.library_folder()

    text = str(raised.value)
    assert "\n" not in text
    assert "nvidia-cuda-nvrtc" in text
    assert "portal" in text
