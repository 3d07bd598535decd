"""Tables for other programs: tidy, typed and valid."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from kernels.experiment.export import json_parts, rows, t4_parts, to_csv
from kernels.experiment.result import from_json, to_json
from kernels.verdict import Finding, Verdict
from kernels.wire import WireError
from tests.kernels.experiment.made import failed, result

SCHEMA = json.loads((Path(__file__).parent / "t4-results-schema.json").read_text("utf-8"))
RESULTS = [result(0, 1000.0), result(1), failed(2)]


def test_each_point_is_a_row_with_the_same_columns():
    found = list(rows(RESULTS)[1])
    assert len({tuple(row) for row in found}) == 1
    assert [row["point"] for row in found] == [0, 1, 2]
    assert [row["param_T"] for row in found] == [1, 2, 4]
    assert found[0]["measured_gflops"] == 1000.0
    assert found[1]["measured_gflops"] is None
    assert found[1]["modelled_bound"] == 5000.0
    assert found[0]["counted_global_load_requests"] == 100
    assert found[2]["verdict"] == "data_race"
    assert found[2]["finding_line"] == 12


def test_a_column_of_numbers_says_what_they_are():
    kinds = ("measured_", "modelled_", "counted_", "param_", "size_")
    plain = {name for name in next(rows(RESULTS)[1]) if not name.startswith(kinds)}
    assert plain == {
        *("point", "kernel", "tile", "verdict", "finding", "finding_line"),
        *("device", "seconds", "ended", "digest", "ptx_digest"),
    }


def test_the_interval_of_a_speed_is_around_it():
    row = next(rows(RESULTS)[1])
    low, middle, high = (row[f"measured_gflops{end}"] for end in ("_low", "", "_high"))
    assert isinstance(low, float)
    assert isinstance(middle, float)
    assert isinstance(high, float)
    assert low < middle < high
    assert low == pytest.approx(middle / 1.01, rel=0.001)


def test_csv_reads_back():
    text = to_csv(RESULTS)
    read = list(csv.DictReader(io.StringIO(text)))
    assert [row["param_T"] for row in read] == ["1", "2", "4"]
    assert read[0]["measured_settled"] == "TRUE"
    assert read[1]["measured_settled"] == ""
    assert to_csv([]).count("\n") == 1


@pytest.mark.parametrize("results", [RESULTS, []], ids=len)
def test_json_has_a_line_for_each_row(results):
    text = "".join(json_parts(results))
    assert json.loads(text) == list(rows(results)[1])
    assert text.count("\n") == len(results) + 1 + bool(results)


@pytest.mark.parametrize(
    "changes",
    [
        {"finding": Finding(Verdict.WRONG_ANSWER, "x\ud800")},
        {"finding": Finding(Verdict.WRONG_ANSWER, "x", 2**70)},
        {"finding": Finding(Verdict.WRONG_ANSWER, "x", 2**63)},
        {"tile": 2**70},
    ],
)
def test_a_point_that_no_table_can_hold_is_not_read(changes):
    with pytest.raises(WireError):
        from_json(json.loads(json.dumps(to_json(result(0, **changes)))))


def test_t4_keeps_the_name_of_the_kernel_next_to_an_axis_of_that_name():
    (found,) = t4([replace(result(0), params={"kernel": 3, "kernel_name": 4})])["results"]
    assert found["configuration"] == {"kernel_name_name": "a.cu", "kernel": 3, "kernel_name": 4}


def t4(results):
    return json.loads("".join(t4_parts(results, {"tilelab": "1"})))


def test_t4_is_valid_and_says_which_points_are_wrong():
    found = t4([*RESULTS, *(failed(3 + n, verdict) for n, verdict in enumerate(Verdict))])
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    measured, counted, racy = found["results"][:3]
    assert (measured["correctness"], measured["invalidity"]) == (1, "correct")
    assert (racy["correctness"], racy["invalidity"]) == (0, "correctness")
    assert measured["objectives"] == ["gflops"]
    assert {each["name"] for each in counted["measurements"]} == {
        "modelled_bound",
        "modelled_occupancy",
        "counted_loads",
    }
