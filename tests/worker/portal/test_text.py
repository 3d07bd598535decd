"""A submission in a terminal."""

from __future__ import annotations

from dataclasses import replace

from kernels.rendering.text_style import Style
from worker.client.answers import Assignment, Submission
from worker.commands.portal.connection import chosen
from worker.commands.portal.text import lines_text, submission_text
from worker.contract.answers import Measured

FOUND = Submission("5d2c", "gpu/tiled", "rank", "done", "data_race", "0/10, your best stays 10/10")


def test_points_follow_the_verdict():
    lines = submission_text(FOUND, Style(), "PAGE").split("\n")
    assert lines[1:3] == ["data race", FOUND.worth]
    assert "" not in submission_text(replace(FOUND, worth=""), Style(), "PAGE").split("\n")
    assert "\x1b" not in submission_text(replace(FOUND, worth="\x1b[31m"), Style(), "PAGE")


def test_a_list_shows_elements_a_second_if_the_exercise_ranks_by_them():
    speed = Measured(gbps=300.0, melements=41_300.0, ms_median=2.0, metric="elements")
    assert "41,300 M elements/s" in lines_text([replace(FOUND, measured=speed)], Style())
    assert "300 GB/s" in lines_text([replace(FOUND, measured=replace(speed, metric="gbps"))], Style())


def test_a_list_has_points_if_an_assignment_has_some():
    graded, held = replace(FOUND, points=7.25, most_points=10.0), replace(FOUND, most_points=10.0)
    assert lines_text([graded, held, FOUND], Style()).count("7.25/10") == 1
    assert "points" in lines_text([held], Style())
    assert "points" not in lines_text([FOUND], Style())


def test_practice_is_chosen_by_its_name_or_without_another():
    lab = Assignment("gpu/tiled", "Tiled", "", open=True, page="")
    practice = replace(lab, id="gpu/naive", practice=True)
    assert chosen([practice, lab], None) == lab
    assert chosen([practice, lab], "naive") == chosen([practice], None) == practice
