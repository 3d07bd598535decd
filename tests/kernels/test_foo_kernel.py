"""The course's exercise on one kernel with nine accesses: which are coalesced, and which have bank conflicts."""

from __future__ import annotations

import pytest

from kernels.evidence import AccessEvidence, Verb
from tests.kernels.analysed import analysed, solution


def access(space: str, verb: Verb, name: str) -> AccessEvidence:
    analysis = analysed(solution("foo-kernel"), "foo-kernel")
    assert not analysis.message, analysis.findings
    (found,) = [
        each
        for line in analysis.evidence.lines
        for each in line.accesses
        if (each.space, each.verb, each.name) == (space, verb, name)
    ]
    return found


@pytest.mark.parametrize(
    ("verb", "name", "sectors"),
    [(Verb.LOAD, "a", 4), (Verb.LOAD, "b", 4), (Verb.LOAD, "c", 16), (Verb.STORE, "d", 4), (Verb.STORE, "e", 32)],
)
def test_s4e_foo_kernel_global_accesses_coalesce_but_for_c_and_e(verb, name, sectors):
    found = access("global", verb, name)
    assert found.sectors_per_request == sectors
    assert found.ideal_sectors == 4 * found.requests


@pytest.mark.parametrize(
    ("verb", "name", "passes"),
    [(Verb.STORE, "a_s", 1), (Verb.STORE, "bc_s", 1), (Verb.LOAD, "a_s", 1), (Verb.LOAD, "bc_s", 4)],
)
def test_s4e_foo_kernel_only_reading_every_fourth_cell_of_bc_s_conflicts_four_ways(verb, name, passes):
    assert access("shared", verb, name).ways == passes


def test_s4e_foo_kernel_is_told_of_exactly_the_three_faults():
    advice = analysed(solution("foo-kernel"), "foo-kernel").evidence.advice
    told = " ".join(each.text for each in advice)
    assert "writes e uncoalesced" in told
    assert "reads c uncoalesced" in told
    assert "reads bc_s with 4-way bank conflicts" in told
    assert len(advice) == 3
