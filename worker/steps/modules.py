"""Compiled modules for a check, as sent to the sandbox and as loaded there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from kernels.compile.diagnostics import Resources

if TYPE_CHECKING:
    from kernels.device import Program


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Module:
    """One compilation of the file.

    globals: mangled names of module variables, by their names in the source
    """

    ptx: str
    entry: str
    globals: Mapping[str, str]
    resources: Resources


@dataclass(frozen=True, slots=True)
class Loaded:
    """One module on the CPU device. It stays loaded for all its cases, as on a GPU.

    state: contents of `__device__` variables, kept between launches to detect kernels that return an earlier result
    """

    module: Module
    program: Program
    state: dict[str, bytes] = field(default_factory=dict)

    def named(self, values: Mapping[str, T]) -> dict[str, T]:
        """Values of module variables, by mangled names instead of names in the source."""
        return {self.module.globals[symbol]: value for symbol, value in values.items()}
