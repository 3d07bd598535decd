"""Compiled modules for a check, as sent to the sandbox and as loaded there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from kernels.compile.diagnostics import Resources

if TYPE_CHECKING:
    from kernels.device import Call, Program
    from kernels.judging.plan import CasePlan


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Module:
    """One compilation of the file.

    globals: mangled names of module variables, by their names in the source
    others: mangled names of the kernels that are launched after `entry`, by their names in the source
    """

    ptx: str
    entry: str
    globals: Mapping[str, str]
    resources: Resources
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Loaded:
    """One module on the CPU device. It stays loaded for all its cases, as on a GPU.

    state: contents of `__device__` variables, kept between launches to detect kernels that return an earlier result
    others: the kernels that are launched after the first, by their names in the source
    """

    module: Module
    program: Program
    state: dict[str, bytes] = field(default_factory=dict)
    others: Mapping[str, Program] = field(default_factory=dict)

    @classmethod
    def checked(cls, module: Module) -> Loaded:
        """Load and check all kernels of a module. Raises Unsupported and Malformed."""
        from kernels import device

        first, *rest = (device.load_program(module.ptx, name) for name in (module.entry, *module.others.values()))
        for program in (first, *rest):
            device.check(program)
        return cls(module, first, others=dict(zip(module.others, rest, strict=True)))

    def calls(self, case: CasePlan) -> list[Call]:
        from kernels.device import Call
        from kernels.judging.judge import arguments

        assert case.launch is not None, "only a case that can be launched is run"
        # the kernel of the first launch may be launched again
        further = [Call(self.others.get(each.kernel, self.program), each.launch, arguments(each)) for each in case.then]
        return [Call(self.program, case.launch, arguments(case)), *further]

    def named(self, values: Mapping[str, T]) -> dict[str, T]:
        """Values of module variables, by mangled names instead of names in the source."""
        return {self.module.globals[symbol]: value for symbol, value in values.items()}
