"""What is called wrongly ends with exit code 2 and one line that says what would be right."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernels.exercise import find_exercise
from worker.commands.root import Exit, tilelab

SOLUTION = str(find_exercise("tiled").solution)
SQUARE = (str(find_exercise("tiled-square").solution), "-e", "tiled-square")
FIGURES = ("--threads", "256", "--registers", "32")
OF_A_FILE = [
    (["nope.cu"], "file not found"),
    ([str(Path(__file__).parent)], "a folder"),
    ([os.devnull], "not a regular file"),
    ([SOLUTION, "--exercise", "nope"], "tiled-square"),
    ([SOLUTION, "--exercises", "/nonexistent/exercises"], "no such folder"),
    ([SOLUTION, "--tile", "5"], "2, 4, 8, 16, 32"),
]
OWN = {
    "grade": [
        ([SOLUTION, "--arch", "sm_10"], "sm_90"),
        ([SOLUTION, "--device", "cuda:0"], "--device cuda:0"),
        ([SOLUTION, "--device", "gpu"], "auto, cpu or cuda:N"),
        ([SOLUTION, "--seed", "xyz"], "hex digits"),
        ([SOLUTION, "--seed", "0" * 33], "hex digits"),
        ([SOLUTION, "--case", "Width=4711"], "Width=17 integers_left"),
    ],
    "analyze": [
        ([SOLUTION, "--arch", "sm_10"], "sm_90"),
        ([SOLUTION, "--size", "0"], "use 1 to"),
        ([SOLUTION, "--size", "-5"], "use 1 to"),
        ([SOLUTION, "--size", "10000000"], "1 to 1,000,000"),
        ([SOLUTION, "--size", "100000"], "too large for an analysis"),
        ([*SQUARE, "--size", "100", "--tile", "16"], "try 96 or 112"),
        ([*SQUARE, "--size", "7", "--tile", "16"], "try 16"),
        ([SOLUTION, "--arch", "sm_80", "--cc", "8.6"], "only one of them"),
        ([SOLUTION, "--cc", "nine"], "compute capability"),
        ([SOLUTION, "--device", "abacus"], "h200"),
        ([SOLUTION, "--html", "/nonexistent/folder/page.html"], "cannot write a file"),
    ],
    "occupancy": [
        ([], "give FILE, or --threads and --registers"),
        (["--threads", "256"], "--registers is missing"),
        ([*FIGURES, "--cc", "4.2"], "known are 5.0, 5.2, 5.3"),
        ([*FIGURES, "--device", "abacus"], "h200"),
        ([*FIGURES, "--device", "t4", "--cc", "8.6"], "only one of --cc and --device"),
        ([*FIGURES, "--shared", "-1"], "use 0 to"),
        ([*FIGURES, "--threads", "99999999"], "0 to 1,048,576"),
        ([*FIGURES, "--tile", "16"], "--tile needs a FILE"),
        ([*FIGURES, "--exercise", "naive"], "--exercise needs a FILE"),
        ([*FIGURES, "--dynamic", "4", "--shared-per-block", "T"], "only one of --dynamic"),
        ([*FIGURES, "--shared-per-block", "2*4*X"], "`X`"),
        ([*FIGURES, "--shared-per-block", "T/(T-1)"], "T/(T-1)"),
        ([*FIGURES, "--shared-per-block", "100-T"], "for 101 threads it is -1 bytes"),
        ([SOLUTION, "--threads", "256"], "--threads can't be used with FILE"),
        ([SOLUTION, "--barriers", "1"], "--barriers can't be used with FILE"),
        ([SOLUTION, "--cc", "5.0"], "the compiler supports 7.5 and newer"),
    ],
}


@pytest.mark.parametrize(
    ("verb", "arguments", "words"), [(verb, *each) for verb, own in OWN.items() for each in OF_A_FILE + own]
)
def test_wrong_use_is_one_line_and_exit_code_2(verb, arguments, words):
    result = CliRunner().invoke(tilelab, [verb, *arguments])
    assert result.exit_code == Exit.WRONG_USE, result.output
    (line,) = result.stderr.strip().splitlines()
    assert words in line
    assert result.stdout == ""
