"""Runs one step of a job in a fresh process that can reach nothing: no file, no network, no other process."""

from __future__ import annotations

from worker.sandbox.limits import Failure, Isolation, Limits, SandboxFailure
from worker.sandbox.process import Child

__all__ = ["Child", "Failure", "Isolation", "Limits", "SandboxFailure"]
