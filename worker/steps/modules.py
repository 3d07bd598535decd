"""The compilations that a check runs, as they are sent and as they are loaded."""

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

    globals: the mangled names of module globals, by their names in the source
    """

    ptx: str
    entry: str
    globals: Mapping[str, str]
    resources: Resources


@dataclass(frozen=True, slots=True)
class Loaded:
    """One module on the CPU device. It stays loaded over all its cases, as on a GPU.

    state: what one launch leaves in `__device__` variables the next one finds, so that a kernel which hands out an
        earlier result again is found out
    """

    module: Module
    program: Program
    state: dict[str, bytes] = field(default_factory=dict)

    def named(self, values: Mapping[str, T]) -> dict[str, T]:
        """What belongs to module variables, by their mangled names."""
        return {self.module.globals[symbol]: value for symbol, value in values.items()}
