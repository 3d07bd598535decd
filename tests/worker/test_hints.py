from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.worker.queue.workplaces import message
from worker.contract.hints import Hint, Hints, channel, kept_hint, read_hint
from worker.contract.messages import StepKind

TOLD = {"step": "check", "attempt": 2, "at": 1000.5, "what": "checking 3 of 14: Width=17 real"}


class Listened:
    """A Redis that keeps what is published."""

    def __init__(self):
        self.published = []
        self.kept = {}

    def set(self, name, data, ex):
        assert ex > 0
        self.kept[name] = data

    def get(self, name):
        return self.kept.get(name)

    def publish(self, name, data):
        self.published.append((name, data))


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def listened():
    return Listened()


@pytest.fixture
def tell(listened, clock):
    return Hints(listened, lambda: clock[0]).of(replace(message("ok", 7), attempt=2))


def heard(listened):
    return [read_hint(*each) for each in listened.published]


def test_what_is_published_is_read_back(listened, tell):
    tell("checking 3 of 14: Width=17 real")
    (hint,) = heard(listened)
    assert hint is not None
    assert replace(hint, at=0.0) == Hint(7, StepKind.CHECK, 2, 0.0, "checking", "3 of 14: Width=17 real")


def test_of_details_that_follow_each_other_closely_some_are_left_out(listened, tell, clock):
    for number in range(100):
        clock[0] += 0.01
        tell(f"checking {number} of 100: Width=1")
    assert 4 <= len(listened.published) <= 7


def test_the_output_of_a_case_comes_along_at_once_and_has_an_end(listened, tell):
    tell("checking 1 of 2: Width=1")
    tell("checking 1 of 2: Width=1\nWidth=1\n" + "<b>\n\U0001f600" * 210)
    hint = heard(listened)[-1]
    assert (hint.detail, hint.printed_case, len(hint.printed)) == ("1 of 2: Width=1", "Width=1", 1000)
    assert hint.printed.startswith("<b>\n\U0001f600")
    tell("counting")
    assert kept_hint(listened, 7) == hint
    assert kept_hint(listened, 8) is None


def test_a_phase_is_always_told(listened, tell):
    for phase in ("compiling", "checking", "checking 1 of 1: Width=1", "counting"):
        tell(phase)
    assert [hint.phase for hint in heard(listened) if hint is not None] == ["compiling", "checking", "counting"]


@pytest.mark.parametrize(
    "data",
    [
        b"bytes", "", "null", "[]", "{}", "9" * 90_000, "[" * 900, json.dumps(TOLD | {"at": None}),
        json.dumps(TOLD | {"at": "nan"}), json.dumps(TOLD | {"step": "x"}), json.dumps(TOLD | {"attempt": "2"}),
        json.dumps(TOLD | {"what": "<b> x"}), json.dumps(TOLD | {"what": ""}),
    ],
)  # fmt: skip
def test_what_is_no_hint_is_none(data):
    assert read_hint(channel(7), data) is None


@pytest.mark.parametrize("name", ["tilelab:progress:", "tilelab:progress:x", "tilelab:progress:-1", 7, None])
def test_nor_is_what_came_from_elsewhere(name):
    assert read_hint(name, json.dumps(TOLD)) is None


def test_a_detail_has_an_end():
    hint = read_hint(channel(7), json.dumps(TOLD | {"what": "checking " + "x" * 1000}))
    assert hint is not None
    assert len(hint.detail) < 130
