"""What a wrong output says about the mistake behind it."""

from __future__ import annotations

from kernels.judging.diagnosis.choice import Diagnosis, diagnose

__all__ = [
    "Diagnosis",
    "diagnose",
]
