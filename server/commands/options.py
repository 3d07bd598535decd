"""Groups of options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Combine options into one decorator. The command's help lists them in this order."""

    def given(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return given
