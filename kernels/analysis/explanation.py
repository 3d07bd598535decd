"""What the counts of a kernel mean: theory, checklist and advice put beside them."""

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
    """The evidence with all that follows from its counts.

    bound: the model of the device that the checklist's gains are for
    broken: the counted run showed errors
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
