"""Boards for programs: their parts, and where nothing is measured."""

from __future__ import annotations

from datetime import datetime

import pytest

from kernels.verdict import Verdict
from tests.server.course import later
from tests.server.standings.results import checked, modelled, ranked
from tests.server.standings.test_service import _fill

BOARD = "/api/v1/leaderboards/gpu/tiled/h200"


def test_a_board_comes_in_parts_each_with_the_address_of_the_next(portal):
    portal.token("ada")
    _fill(portal.course.sessions, portal.course, 25)
    address, ranks = f"{BOARD}?limit=10", []
    while address:
        board = portal.get("ada", address).get_json()
        ranks += [line["rank"] for line in board["lines"]]
        assert board["more"] == (board["next"] is not None)
        address = board["next"]
    assert ranks == list(range(1, 26))
    assert portal.get("ada", f"{BOARD}?limit=0").status_code == 422
    assert portal.get("ada", f"{BOARD}?after=1_2_3").status_code == 422
    for mark in ("f" * 48, "0" * 16 + "7" * 32):
        assert portal.get("ada", f"{BOARD}?after={mark}").get_json()["code"] == "no_such_place"


def test_lines_say_how_sure_they_are(portal):
    ranked(portal.course, "ada", 1_000.0, 0.001)
    ranked(portal.course, "ben", 999.5, 0.001)
    first, second = portal.get("ada", BOARD).get_json()["lines"]
    assert (second["rank"], second["shared_rank"], second["tied"]) == (2, 1, True)
    assert first["interval"] == pytest.approx([1_000.0 / 1.001, 1_000.0 / 0.999])
    assert first["modelled_bound"] is None


def test_where_nothing_is_measured_the_board_says_who_is_right_and_ranks_nobody(portal):
    portal.course.change(device_class="")
    checked(portal.course, portal.course.job("ben", now=later(60)), **modelled(2_000.0))
    checked(portal.course, portal.course.job("ada", now=later(120)), **modelled(8_000.0))
    checked(portal.course, portal.course.job("cem", now=later(30)), Verdict.DATA_RACE)
    board = portal.get("ada", "/api/v1/leaderboards/gpu/tiled/cpu").get_json()
    assert board["device_class"] == "cpu"
    assert [line["modelled_bound"] for line in board["lines"]] == [2_000.0, 8_000.0]
    assert [datetime.fromisoformat(line["reached_at"]) for line in board["lines"]] == [later(60), later(120)]
    assert board["own"] == board["lines"][1]
    for line in board["lines"]:
        for name in ("rank", "shared_rank", "value", "interval", "cublas_share"):
            assert line[name] is None
        assert line["tied"] is False
