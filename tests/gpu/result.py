"""What one comparison with a GPU showed."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


class NotRun(RuntimeError):
    """A comparison cannot be made on this machine; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a comparison ran with."""

    gpu: str
    driver: str
    architecture: str
    compiler: str

    def made_on(self, day: dt.date) -> str:
        """A sentence for the head of a page."""
        return (
            f"Made on {day.isoformat()} with one {self.gpu}, driver {self.driver}, kernels compiled for"
            f" {self.architecture} by NVRTC {self.compiler}."
        )


@dataclass(frozen=True, slots=True)
class Result:
    """One comparison, done.

    page: for docs/, in Markdown
    lines: for the terminal, the sum of it last
    """

    page: str
    lines: tuple[str, ...]
    failed: bool
