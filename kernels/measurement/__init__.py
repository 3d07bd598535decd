"""Measurements on a GPU."""

from __future__ import annotations

from kernels.measurement.model import Clocks, Environment, Measurement, Speed

__all__ = ["Clocks", "Environment", "Measurement", "Speed"]
