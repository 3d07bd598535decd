"""The resources that a block may use, and whether a compiled kernel can be launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernels.compile.diagnostics import Resources
from kernels.facts import Facts, Mistake
from kernels.judging.plan import CasePlan
from kernels.launch import Launch, cluster_problem, launch_text, triple
from kernels.verdict import Example, Finding, Verdict
from kernels.wording import byte_size

REGISTERS = 64 * 1024
"""Registers of one block, the same from compute capability 7.0 to 12.1."""

_WARP = 32
_REGISTER_UNIT = 8


def launch_finding(case: CasePlan, resources: Resources) -> Finding | None:
    """Why a block of the case's launch doesn't fit; None if it fits, or without a launch.

    The finding points at the launch comment if the comment sets the excess.
    """
    found = _too_much(case, case.launch, resources) if case.launch is not None else None
    if found is None:
        return None
    key, message = found
    facts = Facts(Mistake.CLUSTER_SIZE if key == "cluster" else Mistake.OTHER)
    line = case.launch_lines.get(key)
    return Finding(Verdict.RESOURCE_LIMIT, message, line, example=Example(case=case.name), facts=facts)


def further_finding(case: CasePlan, resources: Mapping[str, Resources]) -> Finding | None:
    """Why a launch after the case's first one doesn't fit. resources: by kernel."""
    for number, further in enumerate(case.then, 2):
        found = _too_much(case, further.launch, resources[further.kernel])
        if found is not None:
            message = with_launch(found[1], case, number)
            return Finding(Verdict.RESOURCE_LIMIT, message, example=Example(case=case.name, launch=number))
    return None


def with_clusters(case: CasePlan, resources: Mapping[str, Resources]) -> CasePlan:
    """The case with the clusters that its kernels demand, where they fit. resources: by kernel."""
    if not any(each.cluster for each in resources.values()):
        return case
    then = tuple(replace(each, launch=_clustered(each.launch, resources[each.kernel])) for each in case.then)
    launch = case.launch
    return replace(case, launch=launch and _clustered(launch, resources[case.kernel]), then=then)


def _clustered(launch: Launch, resources: Resources) -> Launch:
    declared = resources.cluster
    fits = declared and not cluster_problem(launch, declared)
    return replace(launch, cluster=triple(declared)) if fits else launch


def with_launch(message: str, case: CasePlan, number: int) -> str:
    """A finding's message with the number of its launch, from 1; 0 for a case with a single one."""
    if not number:
        return message
    return f"{message} {launch_text(number, [case.kernel, *(each.kernel for each in case.then)])}"


def _too_much(case: CasePlan, launch: Launch, resources: Resources) -> tuple[str, str] | None:
    """The launch key that exceeds a limit, and a sentence."""
    shared = resources.shared_bytes + launch.shared
    if shared > case.largest_shared:
        asked = f"{byte_size(resources.shared_bytes)} declared, {byte_size(launch.shared)} at launch"
        detail = f" ({asked})" if launch.shared else ""
        limit = byte_size(case.largest_shared)
        return "shared", f"A block needs {byte_size(shared)} of shared memory{detail}. The limit is {limit}."
    if problem := cluster_problem(launch, resources.cluster):
        return "cluster", problem
    # A multiprocessor gives out registers in units, and to whole warps.
    per_thread = -(-resources.registers // _REGISTER_UNIT) * _REGISTER_UNIT
    threads = -(-launch.threads // _WARP) * _WARP
    if per_thread * threads > REGISTERS:
        message = (
            f"A block of {launch.threads} threads with {resources.registers} registers each needs"
            f" {per_thread * threads:,} registers. A multiprocessor has {REGISTERS:,}."
        )
        return "block", message
    return None
