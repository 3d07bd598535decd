"""Kernels after the patterns of a public suite of races: each mistake is found, and no correct kernel accused."""

from __future__ import annotations

import pytest

from tests.marks import some_of
from tests.races.indigo import Variant, races, variants

_ALL = list(variants())


@pytest.mark.one_in(3, "four of the kernels")
@pytest.mark.parametrize(
    "variant", some_of(_ALL, 40, lambda variant: variant.name, "twelve of the kernels are enough for each change")
)
def test_a_race_is_found_if_there_is_one(variant: Variant) -> None:
    assert races(variant) is bool(variant.mistake), variant.text
