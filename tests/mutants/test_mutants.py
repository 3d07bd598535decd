"""The mutants fit the tree; `make mutants` tries them."""

from __future__ import annotations

import pytest

from tests.mutants.kept import AREAS, ROOT, mutants

MUTANTS = mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.area}: {mutant.name}")
def test_a_mutant_changes_one_place_of_its_file(mutant):
    assert mutant.applied() != (ROOT / mutant.path).read_text()


def test_a_mutant_names_an_existing_test_or_says_why_none_notices():
    assert [each.name for each in MUTANTS if bool(each.test) == bool(each.why)] == []
    assert [each.test for each in MUTANTS if each.test and not exists(each.test)] == []


def exists(test: str) -> bool:
    path, _, function = test.partition("::")
    return (ROOT / path).is_file() and (not function or f"def {function}(" in (ROOT / path).read_text())


def test_every_area_has_its_share_of_at_least_60():
    assert len(MUTANTS) >= 60
    assert all(sum(each.area == area for each in MUTANTS) >= 12 for area in AREAS)
