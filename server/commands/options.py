"""Options that several verbs take alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One decorator that gives a command all of them; its help lists them in this order."""

    def given(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return given
