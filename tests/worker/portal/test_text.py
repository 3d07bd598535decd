"""A submission in a terminal."""

from __future__ import annotations

from dataclasses import replace

from kernels.rendering.text_style import Style
from worker.client.answers import Submission
from worker.commands.portal.text import submission_text

FOUND = Submission("5d2c", "gpu/tiled", "rank", "done", "data_race", "0/10, your best stays 10/10")


def test_points_follow_the_verdict():
    lines = submission_text(FOUND, Style(), "PAGE").split("\n")
    assert lines[1:3] == ["data race", FOUND.worth]
    assert "" not in submission_text(replace(FOUND, worth=""), Style(), "PAGE").split("\n")
    assert "\x1b" not in submission_text(replace(FOUND, worth="\x1b[31m"), Style(), "PAGE")
