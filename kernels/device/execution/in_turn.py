"""Run several launches one after the other on the same memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernels.device.execution.executor import Execution, Options, differ, run, unset_only
from kernels.device.memory.placement import Argument, Buffer
from kernels.device.ptx.module import Unsupported
from kernels.device.ptx.program import Program
from kernels.launch import Launch
from kernels.verdict import Example, Finding, Verdict


@dataclass(frozen=True, slots=True)
class Call:
    """One launch of a kernel, as in `run`."""

    program: Program
    launch: Launch
    arguments: Sequence[Argument]


def run_in_turn(calls: Sequence[Call], buffers: Sequence[Buffer], options: Options) -> Execution:
    """Run all launches, which are programs of one module. With a single one, this is `run`.

    A launch ends before the next one begins, so there are no races between them. After an error, the launches that
    follow don't run. Only a race doesn't stop anything, because all values exist.

    raise (Unsupported): threads reach a feature that isn't emulated
    """
    if len(calls) == 1:
        (only,) = calls
        return run(only.program, only.launch, only.arguments, buffers, options)
    return _Sequence(calls, options).run(0, buffers, options.state)


@dataclass(frozen=True, slots=True)
class _Sequence:
    calls: Sequence[Call]
    options: Options

    def run(self, at: int, buffers: Sequence[Buffer], state: Mapping[str, bytes]) -> Execution:
        """The launches from number `at` on, as one execution."""
        call, last = self.calls[at], at + 1 == len(self.calls)
        try:
            options = replace(self.options, state=state, carries=not last)
            ran = run(call.program, call.launch, call.arguments, buffers, options)
        except Unsupported as reason:
            reason.findings = _numbered(reason.findings, at)
            raise
        pair = ran.unordered
        ran = replace(
            ran, findings=_numbered(ran.findings, at), unordered=None if pair is None else _numbered((pair,), at)[0]
        )
        if last or any(finding.kind is not Verdict.DATA_RACE for finding in ran.errors):
            return ran
        after = self._after(ran, at, buffers, state)
        whole = _joined(ran, after)
        return whole if whole.errors else self._in_other_orders(whole, ran, at, buffers, state)

    def _after(self, ran: Execution, at: int, buffers: Sequence[Buffer], state: Mapping[str, bytes]) -> Execution:
        """The launches after number `at`, which left its memory as `ran` has it."""
        carried = [
            replace(buffer, values=ran.values[buffer.name], valid=ran.valid.get(buffer.name)) for buffer in buffers
        ]
        try:
            return self.run(at + 1, carried, {**state, **ran.state})
        except Unsupported as reason:
            reason.findings = (*ran.findings, *reason.findings)
            raise

    def _in_other_orders(
        self, whole: Execution, ran: Execution, at: int, buffers: Sequence[Buffer], state: Mapping[str, bytes]
    ) -> Execution:
        """The execution, with the results of other orders of the atomics in launch `at`.

        The launches after it then run in their usual order. So each launch is tried in all orders, but no two at once.
        """
        usual = _Sequence(self.calls, replace(self.options, races=False))
        others = list(whole.others)
        for other in ran.others:
            after = usual._after(other, at, buffers, state)
            if errors := after.errors:
                pair = ran.unordered if unset_only(errors) else None
                return replace(whole, findings=(*whole.findings, *errors), others=(), unordered=pair)
            if differ(after.values, whole.values):
                others.append(_joined(other, after))
        return replace(whole, others=tuple(others), unordered=ran.unordered or whole.unordered)


def _numbered(findings: Sequence[Finding], at: int) -> tuple[Finding, ...]:
    return tuple(replace(finding, example=replace(finding.example or Example(), launch=at + 1)) for finding in findings)


def _joined(ran: Execution, after: Execution) -> Execution:
    stored = {name: tuple(sorted({*ran.stored.get(name, ()), *after.stored.get(name, ())})) for name in after.stored}
    return replace(
        after,
        findings=(*ran.findings, *after.findings),
        printed=ran.printed + after.printed,
        instructions=ran.instructions + after.instructions,
        stored=stored,
        state={**ran.state, **after.state},
        others=() if ran.errors else after.others,
        unordered=None if ran.errors else after.unordered,
    )
