"""Marks that many tests share."""

from __future__ import annotations

import sys

import pytest

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="Linux only: NVIDIA's compiler and tools, and what shuts a process in"
)
"""The only skip of a test that needs one of these: on Linux all are locked, so one that is missing is a failure."""
