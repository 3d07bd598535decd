"""Data classes survive the way through JSON, and nothing else gets in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import pytest

from kernels.exercise import find_exercise
from kernels.judging.plan import Plan, make_plan
from kernels.wire import WireError, from_plain, to_plain


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    number: int
    share: float


@dataclass(frozen=True)
class Outer:
    inner: Inner | None
    pairs: tuple[tuple[int, int], ...]
    names: Mapping[str, Colour]
    flag: bool


GOOD = Outer(Inner(1, 0.5), ((1, 2), (3, 4)), {"a": Colour.RED}, flag=True)


def test_a_value_comes_back_equal():
    for value in (GOOD, Outer(None, (), {}, flag=False)):
        assert from_plain(Outer, json.loads(json.dumps(to_plain(value)))) == value


def test_a_whole_plan_comes_back_equal():
    plan = make_plan(find_exercise("tiled"), None, 16, "00")
    assert from_plain(Plan, json.loads(json.dumps(to_plain(plan)))) == plan


@pytest.mark.parametrize(
    ("change", "path", "needed"),
    [
        ({"inner": {"number": "1", "share": 0.5}}, ".inner.number", "int"),
        ({"inner": {"number": True, "share": 0.5}}, ".inner.number", "int"),
        ({"inner": {"number": 1}}, ".inner", ""),
        ({"inner": []}, ".inner", "an object"),
        ({"pairs": [[1, 2, 3]]}, ".pairs[0]", ""),
        ({"pairs": {}}, ".pairs", "a list"),
        ({"names": {"a": "blue"}}, ".names.a", "one of: red"),
        ({"names": []}, ".names", "an object"),
        ({"flag": 1}, ".flag", "bool"),
        ({"flag": None}, ".flag", "bool"),
        ({"more": 1}, "", ""),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(change, path, needed):
    with pytest.raises(WireError) as refused:
        from_plain(Outer, to_plain(GOOD) | change)
    assert (refused.value.path, refused.value.needed) == (f"Outer{path}", needed)
    assert str(refused.value).startswith(f"Outer{path}: ")


def test_an_object_without_a_plain_form_is_refused():
    with pytest.raises(TypeError, match="object"):
        to_plain({"a": object()})


@dataclass(frozen=True)
class Kept:
    """As another version wrote it."""

    name: str
    inners: tuple[Inner, ...] = ()
    names: Mapping[str, Colour] = field(default_factory=dict)
    inner: Inner | None = None
    share: float = 0.5


def test_what_is_read_leniently_may_have_fields_more_or_less():
    plain = {"name": "a", "more": 1, "inners": [{"number": 1, "share": 1, "more": {}}]}
    assert from_plain(Kept, plain, lenient=True) == Kept("a", (Inner(1, 1.0),))


@pytest.mark.parametrize("change", [{"name": 1}, {"inners": [{"number": 1}]}, {"share": "x"}], ids=str)
def test_what_is_read_leniently_has_to_fit_all_the_same(change):
    with pytest.raises(WireError):
        from_plain(Kept, {"name": "a"} | change, lenient=True)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"inners": [{"number": "x", "share": 1}, {"number": 2, "share": 1}, 3]}, Kept("a", (Inner(2, 1.0),))),
        ({"names": {"a": "red", "b": "blue"}}, Kept("a", names={"a": Colour.RED})),
        ({"inner": {"number": 1}}, Kept("a")),
        ({"share": "x", "inners": {}, "more": 1}, Kept("a")),
    ],
    ids=str,
)
def test_of_what_is_salvaged_only_the_unreadable_is_lost(change, found):
    assert from_plain(Kept, {"name": "a"} | change, salvage=True) == found


def test_what_has_no_default_cannot_be_lost():
    with pytest.raises(WireError, match="name"):
        from_plain(Kept, {"name": 1}, salvage=True)
