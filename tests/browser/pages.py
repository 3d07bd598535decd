"""Every page that has a picture: add one here.

An address may name what the demo course has. `who` is nobody (""), or the role of somebody in it: student, instructor.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shown:
    """name: of the picture's file."""

    name: str
    address: str
    who: str = ""


PAGES = (Shown("start", "/"),)
