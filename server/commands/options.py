"""Groups of options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Combine options into one decorator. The command's help lists them in this order."""

    def given(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return given


even_if_lower = click.option(
    "--yes", "even_if_lower", is_flag=True, help="Go on, even if students lose points, or get more than the maximum."
)
"""Add this option to a command that may lower grades."""
