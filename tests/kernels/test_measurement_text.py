"""What a student reads of a measurement."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kernels.measurement import Clocks, Speed
from kernels.occupancy.driver_answer import by_driver
from kernels.rendering.measured_numbers import conditions, interval_of, ms_text, share_text, speed_text
from kernels.rendering.measurement import measured_with_text, measurement_text
from kernels.rendering.report import render
from kernels.rendering.text_style import Style
from kernels.report import from_json, to_json
from kernels.verdict import CPU_DEVICE, CaseCheck, CaseStatus, Verdict
from tests.kernels.measured import CURVE, H200, evidence, figures, light, measured_report, measurement

WIDE = Style(width=400)
WIDTHS = (60, 80, 120)


def text(style: Style = WIDE, **changes: object) -> str:
    return "\n".join(measurement_text(measured_report(**changes), style))


def of_measurement(style: Style = WIDE, **changes: object) -> str:
    return text(style, measurement=measurement(**changes))


def made_with(**changes: object) -> str:
    return "\n".join(measured_with_text(measured_report(measurement=measurement(**changes)), WIDE))


def line_with(words: str, told: str) -> str:
    (line,) = [line for line in told.splitlines() if words in line]
    return line


def test_the_speed_comes_first_with_its_interval_and_what_it_rests_on():
    assert text().splitlines()[:2] == [
        "Measured on NVIDIA H200: 8,134 GFLOPS at Width=2048, 16.2 % of cuBLAS.",
        "  Median of 12 repeats: 2.112 ms; 95 % interval 8,126 to 8,142 GFLOPS.",
    ]


def test_the_head_names_the_device_that_judged():
    assert "sm_90, NVIDIA H200\n" in render(measured_report(), "", "my.cu", WIDE)
    failed = measured_report(verdict=Verdict.WRONG_ANSWER, measurement=None)
    assert "sm_90, device class h200\n" in render(failed, "", "my.cu", WIDE)
    checked = measured_report(device=CPU_DEVICE, measurement=None, measured_occupancy=None)
    assert "sm_90, CPU device\n" in render(checked, "", "my.cu", WIDE)


def test_without_a_measurement_nothing_is_said():
    assert text(device=CPU_DEVICE, measurement=None, measured_occupancy=None) == ""


def test_what_binds_a_kernel_that_is_wrong_is_not_told():
    assert text(verdict=Verdict.WRONG_ANSWER, measurement=None) == ""
    assert text(measurement=None).startswith("Limits\n")


@pytest.mark.parametrize(
    ("metric", "first"),
    [
        (
            "gbps",
            [
                "Measured on NVIDIA H200: 3,912 GB/s at Width=2048, 16.2 % of cuBLAS.",
                "  Median of 12 repeats: 2.112 ms; 95 % interval 3,908 to 3,916 GB/s.",
            ],
        ),
        (
            "elements",
            [
                "Measured on NVIDIA H200: 41,300 M elements/s at Width=2048, 16.2 % of cuBLAS.",
                "  Median of 12 repeats: 2.112 ms; 95 % interval 41,259 to 41,341 M elements/s.",
            ],
        ),
        (
            "time",
            [
                "Measured on NVIDIA H200: 2.112 ms at Width=2048, 16.2 % of cuBLAS.",
                "  Median of 12 repeats; 95 % interval 2.110 to 2.114 ms.",
            ],
        ),
    ],
)
def test_each_metric_has_its_own_unit(metric, first):
    told = of_measurement(metric=metric, gbps=3912.4, melements=41_300.0)
    assert told.splitlines()[:2] == first
    assert "GFLOPS" not in told.partition("Limits\n")[0]


def test_a_speed_without_a_comparison_is_not_compared():
    alone = of_measurement(cublas_share=None, curve=())
    assert "cuBLAS" not in alone
    assert "GFLOPS at Width=2048.\n" in alone


def test_a_metric_without_its_value_falls_back_to_the_time():
    assert of_measurement(gflops=None, curve=()).startswith("Measured on NVIDIA H200: 2.112 ms at Width=2048")


def test_the_curve_has_a_row_for_each_size_with_every_column():
    lines = text().splitlines()
    start = lines.index(line_with("of cuBLAS  repeats", text()))
    assert lines[start].split() == ["Width", "ms", "GFLOPS", "of", "cuBLAS", "repeats"]
    rows = lines[start + 1 : start + 1 + len(CURVE)]
    assert [row.split()[0] for row in rows] == ["256", "512", "1024", "2048", "4096"]
    assert rows[3].split()[:5] == ["2048", "2.112", "8,134", "16.2", "%"]
    bars = [row.count("#") for row in rows]
    assert bars[0] < bars[1] < bars[2] < bars[3] == max(bars)
    assert not lines[start].count("#")


def test_bars_are_left_out_before_any_number_is():
    narrow = text(Style(width=44))
    assert "#" not in narrow
    assert line_with(" 2048 ", narrow).split()[:4] == ["2048", "2.112", "8,134", "16.2"]


def test_one_size_makes_no_curve():
    assert "repeats\n" not in of_measurement(curve=CURVE[3:4])


def test_sizes_of_several_names_have_a_column_each():
    sizes = {"Rows": 2048, "Columns": 64}
    curve = tuple(Speed(**figures(8, 1.0, sizes={"Rows": n, "Columns": 64})) for n in (1024, 2048))
    told = of_measurement(sizes=sizes, curve=curve)
    assert "at Rows=2048, Columns=64, 16.2 %" in told
    assert line_with("of cuBLAS  repeats", told).split()[:2] == ["Rows", "Columns"]


def test_what_was_left_out_is_said_with_its_reason():
    assert "  Left out: Width=8192: no memory" in of_measurement(left_out=("Width=8192: no memory",))


def test_what_holds_the_device_down_is_said_beside_the_speed():
    assert "held down" not in text()
    held = Clocks(1500, 1980, 81, 699.6, ("power cap", "heat"))
    told = of_measurement(clocks=held).splitlines()
    assert told[2] == "  The device was slowed down at 1,500 MHz of 1,980 by: power cap, heat."
    unknown = of_measurement(clocks=Clocks(held_down=("heat",)))
    assert "The device was slowed down by: heat." in unknown


def test_what_it_was_measured_with_stands_at_the_end():
    told = made_with()
    assert told == (
        "Device class: h200; Clock: 1,980 MHz; Temperature: 34 C; Power: 310 W; Driver: 580.95.05; "
        "Compiler: NVRTC 13.5.0; CuPy: 14.0.1; Fastest and slowest repeat: 2.091 and 2.154 ms."
    )
    assert "; Clock: 1,500 of 1,980 MHz;" in made_with(clocks=Clocks(1500, 1980))
    whole = render(measured_report(seconds={"read": 0.01}), "", "my.cu", WIDE)
    assert f"Seconds: read 0.01.\n{told}\n" in whole
    assert measured_with_text(measured_report(verdict=Verdict.WRONG_ANSWER), WIDE) == []
    assert measured_with_text(measured_report(measurement=None), WIDE) == []


def test_a_number_that_did_not_settle_says_so():
    assert "wider than" not in text()
    assert "8,126 to 8,142 GFLOPS. The interval is wider than 0.5 % of the median, " in of_measurement(settled=False)


def test_too_few_repeats_have_no_interval():
    few = of_measurement(repeats=5, settled=False)
    assert "  Median of 5 repeats: 2.112 ms; range 8,126 to 8,142 GFLOPS. " in few
    one = of_measurement(repeats=1, settled=False)
    assert "  A single repeat: 2.112 ms. It took all the time for repeats.\n" in one
    assert "8,126" not in one


def test_what_keeps_it_from_a_ranking_is_said_in_words():
    told = of_measurement(ranked=False, remarks=("Too fast", "The clock moved."))
    assert "Not ranked. Too fast. The clock moved." in told
    assert "Note: the clock moved." in of_measurement(remarks=("the clock moved",))
    assert "anked" not in text()


def binding(told: str) -> dict[str, list[str]]:
    """What is told of what binds, by where it comes from."""
    found: dict[str, list[str]] = {}
    for line in told.partition("Limits\n")[2].partition("\n\n")[0].splitlines():
        kind, _, words = line.strip().partition(": ")
        found.setdefault(kind, []).append(words)
    return found


def test_measured_counted_and_modelled_are_told_apart():
    by_kind = binding(text())
    assert list(by_kind) == ["modelled", "measured against modelled", "counted"]
    assert by_kind["counted"] == [
        "missing in the checklist below: Coalesced global accesses (partly), Thread coarsening."
    ]
    bound, held = by_kind["modelled"]
    assert held == (
        "the driver computes that 8 blocks of 256 threads fit on an SM at once. That makes 64 warps, 100.0 % of its "
        "limit."
    )
    assert bound.startswith(
        "likely bottleneck at Width=2048: Load/store units. NVIDIA H200 SXM needs at least 1.050 ms "
    )
    assert bound.endswith("there, so 16,361 GFLOPS at most.")
    assert by_kind["measured against modelled"] == [
        "at Width=2048 this kernel took 2.112 ms, 49.7 % of the speed of light."
    ]


def test_what_keeps_one_more_block_out_is_told_where_there_is_room_for_one():
    held = by_driver("9.0", 256, 2, registers=128, shared_static=2048)
    assert "  modelled: occupancy is limited by registers.\n" in text(measured_occupancy=held)
    assert "occupancy is limited" not in text()


@pytest.mark.parametrize("other", [light(device="NVIDIA T4"), light(width=300)], ids=["device", "size"])
def test_of_a_bound_for_something_else_only_the_limit_is_told(other):
    told = text(evidence=evidence(other))
    assert list(binding(told)) == ["modelled", "counted"]
    assert "16,361" not in told
    size, device = other.sizes["Width"], other.device
    assert f"  modelled: likely bottleneck at Width={size} on {device}: Load/store units.\n" in told


def test_where_nothing_takes_time_no_bound_is_told():
    found = binding(text(evidence=evidence(light(milliseconds=0.0))))
    assert list(found) == ["modelled", "counted"]
    assert len(found["modelled"]) == len(binding(text())["modelled"]) - 1


def test_a_bound_at_another_size_than_the_ranking_is_set_against_the_time_there():
    told = text(evidence=evidence(light(milliseconds=0.00352, width=256)))
    assert ("measured against modelled: at Width=256 this kernel took 0.0123 ms, 28.6 % of ") in told
    assert "light differs.\n" in told


def test_a_run_that_beats_its_bound_is_said_to_do_so():
    assert "the model doesn't fit this kernel" in text(evidence=evidence(light(milliseconds=3.0)))


def test_a_driver_that_holds_another_number_of_blocks_is_told():
    odd = by_driver("9.0", 256, 7, registers=32, shared_static=2048)
    assert "  modelled: The driver fits 7 blocks of 256 threads" in text(measured_occupancy=odd)


def test_what_a_device_does_not_tell_is_left_out():
    known = conditions(measurement(environment=replace(H200, driver="", cupy=""), clocks=Clocks()))
    assert not {"Driver", "CuPy", "Clock", "Temperature", "Power"} & known.keys()
    assert made_with(busy_ms=139.2).endswith("; Device busy for: 139 ms.")
    unknown = by_driver("1.0", 256, 8, registers=0, shared_static=0)
    assert "That makes 64 warps.\n" in text(measured_occupancy=unknown)


def test_what_nobody_checked_is_said():
    told = render(measured_report(unmade_checks=("races between threads", "x" * 90)), "", "my.cu", Style())
    assert "so only the GPU judged it. Not checked:" in told.replace("\n", " ")
    assert "  - races between threads\n" in told
    assert "Not checked" not in render(measured_report(), "", "my.cu", Style())


def test_where_it_stands_among_known_kernels_follows_the_speed():
    lines = measurement_text(measured_report(), WIDE, ["Faster than 4 of 12 kernels of the ladder."])
    assert lines[1] == "  Faster than 4 of 12 kernels of the ladder."
    told = render(measured_report(), "", "my.cu", WIDE, (), ["Above all of the ladder."])
    assert "\n  Above all of the ladder.\n" in told


def test_what_a_profiler_saw_stands_under_what_binds():
    told = render(measured_report(), "", "my.cu", WIDE, profile=["Profiled: 2.1 ms.", "Open it."])
    assert "Thread coarsening.\n\nProfiled: 2.1 ms.\nOpen it.\n\n" in told


def test_the_speed_comes_before_everything_that_only_explains_it():
    checks = (CaseCheck("Width=17", CaseStatus.PASSED), CaseCheck("Width=8192", CaseStatus.NOT_RUN, "too large"))
    report = measured_report(seconds={"read": 0.01}, checks=checks)
    told = render(report, "", "my.cu", WIDE, (), ["Between two rungs."])
    parts = [
        "my.cu: accepted", "Correct in 2 of 2", "Measured on NVIDIA H200", "Between two rungs", "Limits\n",
        "  Width ", "not run  Width=8192", "What it does", "Seconds:", "Device class", "tilelab analyze my.cu",
    ]  # fmt: skip
    places = [told.index(part) for part in parts]
    assert places == sorted(places)


def test_cases_that_all_passed_are_told_once():
    assert "Cases" not in render(measured_report(), "", "my.cu", WIDE)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("unicode", [False, True])
def test_no_line_is_wider_than_the_terminal(width, colour, unicode):
    report = measured_report(
        measurement=measurement(
            remarks=("r" * 200, "word " * 60), left_out=("Width=8192: " + "word " * 40,), ranked=False
        ),
        unmade_checks=("word " * 40,),
    )
    told = render(report, "", "my.cu", Style(colour, width, unicode))
    for code in ("31;1", "32;1", "33;1", "1", "2", "0"):
        told = told.replace(f"\033[{code}m", "")
    assert max(map(len, told.splitlines())) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_plain_style_is_ascii_without_colour(width):
    told = render(measured_report(), "", "my.cu", Style(width=width))
    assert told.isascii()
    assert "\033" not in told
    assert "#" in told


@pytest.mark.parametrize("evil", ["\033[2J", "a\nb", "\u202e", "\x07"])
def test_what_the_runner_answers_reaches_no_terminal_unread(evil):
    environment = replace(H200, device=evil, device_class=evil, driver=evil, cupy=evil, compiler=evil)
    found = measurement(environment=environment, left_out=(evil,), remarks=(evil,), clocks=Clocks(held_down=(evil,)))
    told = render(measured_report(measurement=found, unmade_checks=(evil,)), "", "my.cu", Style(unicode=True))
    assert evil not in told
    assert all(char == "\n" or char.isprintable() for char in told)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 0.0, -1.0])
def test_numbers_that_make_no_sense_break_nothing(number):
    assert of_measurement(
        ms_median=number, ci=(number, number), gflops=number, spread=(number, number), cublas_share=number
    )


def test_numbers_are_written_with_the_same_precision_everywhere():
    assert [ms_text(x) for x in (0.00512, 0.0123, 0.1, 2.11213, 1234.5)] == [
        "0.00512",
        "0.0123",
        "0.100",
        "2.112",
        "1,234.500",
    ]
    assert [speed_text(x) for x in (0.256, 9.5, 12.4, 8134.4)] == ["0.26", "9.50", "12", "8,134"]
    assert share_text(0.16249) == "16.2 %"


def test_the_interval_of_a_speed_is_that_of_its_time_turned_around():
    low, high = interval_of(measurement(ci=(2.0, 4.0), ms_median=3.0, gflops=100.0), "gflops") or (0, 0)
    assert (low, high) == (75.0, 150.0)
    assert interval_of(measurement(gbps=None), "gbps") is None
    assert interval_of(measurement(ci=(2.0, 4.0)), "time") == (2.0, 4.0)


def test_a_measured_report_comes_back_from_its_json():
    value = measured_report(unmade_checks=("races",))
    assert from_json(json.loads(json.dumps(to_json(value)))) == value
