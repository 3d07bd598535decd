"""`tilelab occupancy` as it is called: what it prints, its options, messages and exit codes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kernels.exercise import find_exercise
from kernels.occupancy import LIMITS
from worker.commands.root import Exit, tilelab

SOLUTION = str(find_exercise("tiled").solution)
LAB = str(find_exercise("lab6-occupancy").solution)
FIGURES = ("--threads", "256", "--registers", "32")


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(tilelab, ["occupancy", *arguments], input=stdin)


def found(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == Exit.ACCEPTED, result.output
    read: dict[str, Any] = json.loads(result.stdout)
    return read


@pytest.mark.parametrize("cc", LIMITS)
def test_s3b_any_compute_capability_can_be_asked_for(cc):
    answer = found(*FIGURES, "--shared", "2048", "--cc", cc)
    assert answer["cc"] == cc
    assert answer["occupancy"]["max_warps"] == LIMITS[cc].warps
    assert answer["occupancy"]["share"] == 1.0
    assert len(answer["curve"]) == 32


def test_s1b_the_labs_formula_stands_beside_the_full_calculation():
    text = re.sub(r" +=", " =", run(*FIGURES, "--shared", "16384", "--cc", "5.0").stdout)
    assert "32 * 256 / (2048 * multiProcessorCount) = 4 / multiProcessorCount" in text
    assert "min(32, floor(2048 / 256)) * 256 / 2048 = 100 %" in text
    assert "with registers, shared memory and barriers = 50 %" in text
    assert "50 % of 64 warps: 4 blocks with 32 warps on a multiprocessor. Limited by\n  shared" in text


def test_s1b_a_device_has_the_multiprocessors_that_the_formula_asks_for():
    answer = found(*FIGURES, "--device", "t4")
    assert (answer["cc"], answer["multiprocessors"], answer["device"]) == ("7.5", 40, "NVIDIA T4")
    assert answer["occupancy"]["formula_share"] == 16 * 256 / (1024 * 40)
    assert "16 * 256 / (1024 * 40)" in run(*FIGURES, "--device", "t4").stdout


def test_s1c_the_suggested_block_size_with_shared_memory_by_block_size():
    answer = found(*FIGURES, "--shared-per-block", "2*4*T", "--device", "rtx3090")
    assert answer["suggestion"] == {"threads": 768, "blocks_per_sm": 2, "square": 256, "side": 16}
    assert answer["occupancy"]["shared_bytes"] == 2048
    text = run(*FIGURES, "--shared-per-block", "2*4*T", "--device", "rtx3090").stdout
    assert "164 blocks to fill the device." in " ".join(text.split())
    assert "4^floor(ln(768) / ln(4)) = 256 threads" in text
    assert "2*4*T bytes of dynamic shared memory" in text


def test_s1c_the_side_of_a_square_block_can_be_used():
    by_side = found(*FIGURES, "--shared-per-block", "2*4*B*B", "--cc", "8.6")
    assert by_side["suggestion"]["side"] == 16
    assert [point["shared_bytes"] for point in by_side["curve"][:2]] == [200, 512]


def test_s3b_a_file_is_compiled_for_the_compute_capability():
    answer = found(SOLUTION, "--tile", "32", "--cc", "8.6")
    assert answer["figures"]["threads"] == 1024
    assert answer["figures"]["static"] == 8192
    assert (answer["occupancy"]["blocks_per_sm"], answer["occupancy"]["share"]) == (1, 2 / 3)
    assert answer["figures"]["registers"] > 0


def test_s1c_a_file_with_dynamic_shared_memory_has_that_of_its_launch():
    figures = found(LAB, "--exercise", "lab6-occupancy", "--cc", "8.6")["figures"]
    assert (figures["threads"], figures["static"], figures["dynamic"]) == (256, 0, 2048)


def test_a_file_comes_from_standard_input_with_its_launch_comment():
    text = find_exercise("naive").solution.read_text() + "\n//!tilelab block=(64, 2) grid=(1, 8)\n"
    result = run("-", "--exercise", "naive", "--cc", "8.6", stdin=text)
    assert result.exit_code == Exit.ACCEPTED
    assert "Occupancy of standard input" in result.stdout
    assert "128 threads per block" in result.stdout


def test_a_file_that_does_not_compile_says_where():
    text = find_exercise("naive").solution.read_text().replace("+=", "+= nothing *")
    result = run("-", "--exercise", "naive", stdin=text)
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert "tilelab: line " in result.stderr
    assert "nothing" in result.stderr
    assert result.stdout == ""


def test_what_cannot_be_launched_is_exit_code_1():
    result = run("--threads", "1024", "--registers", "80")
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert "This block can't be launched." in result.stdout
    assert "81,920 registers" in result.stdout
    assert "<- suggested" in result.stdout


def test_what_can_be_launched_at_no_size_has_no_suggestion():
    result = run(*FIGURES, "--shared-per-block", "200000+T", "--cc", "8.6")
    assert result.exit_code == Exit.NOT_ACCEPTED
    assert "None: no block size can be launched." in result.stdout


def test_more_than_48_kb_takes_an_opt_in():
    assert "cudaFuncSetAttribute" in run(*FIGURES, "--dynamic", "50000").stdout
    assert "cudaFuncSetAttribute" not in run(*FIGURES, "--dynamic", "49152").stdout


def test_no_line_is_longer_than_the_screen():
    for arguments in ([], ["--shared-per-block", "2*4*B*B"], ["--dynamic", "50000", "--device", "rtx5090"]):
        assert max(map(len, run(*FIGURES, *arguments).stdout.splitlines())) <= 80
