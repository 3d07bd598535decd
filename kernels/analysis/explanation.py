"""Adds theory, checklist and advice to a kernel's counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernels.analysis.checklist import checklist
from kernels.analysis.first_look import first_look
from kernels.analysis.remedies import Bound
from kernels.analysis.subject import Subject
from kernels.analysis.theory import theory
from kernels.evidence import Evidence, GoalResult, Light


def explained(
    evidence: Evidence,
    subject: Subject,
    *,
    bound: Bound | None = None,
    light: Sequence[Light] = (),
    goals: Sequence[GoalResult] = (),
    broken: bool = False,
) -> Evidence:
    """The evidence with theory, checklist, advice and goals.

    bound: the model of the device for the checklist's gains
    broken: whether the counted run showed errors
    """
    rows = theory(subject)
    return replace(
        evidence,
        theory=rows,
        light=tuple(light),
        checklist=checklist(subject, bound),
        advice=first_look(subject, rows, goals, broken=broken),
        goals=tuple(goals),
    )
