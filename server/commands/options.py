"""Groups of options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from server.staff.losses import CONFIRMED


def together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Combine options into one decorator. The command's help lists them in this order."""

    def given(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return given


even_if_lower = click.option(
    "--yes", "confirmed", is_flag=True, flag_value=CONFIRMED, default="",
    help="Go on, even if students lose points, or get more than the maximum.",
)  # fmt: skip
"""Add this option to a command that may lower grades. It gets `confirmed`, as for `losses_confirmed`."""
