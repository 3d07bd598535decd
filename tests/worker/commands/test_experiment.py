"""`tilelab experiment`: what its verbs print and write, and what they refuse."""

from __future__ import annotations

import contextlib
import json
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from arro3.core import DataType
from arro3.io import read_parquet
from click.testing import CliRunner, Result

from kernels.experiment.export import rows
from kernels.experiment.parquet import to_parquet
from tests.kernels.experiment.made import failed, result
from tests.worker.experiment import runs
from worker.commands.experiment.local_run import _about, _Told
from worker.commands.progress import Progress
from worker.commands.root import Exit, tilelab
from worker.experiment import run as running
from worker.experiment.folder import Folder

FILE = runs.FILE.replace("Width = [16, 32]\n", "").replace("Width % ", "64 % ")


def called(*words: object) -> Result:
    return CliRunner().invoke(tilelab, ["experiment", *map(str, words)])


@pytest.fixture
def folder(tmp_path) -> Path:
    """Three points of a run: measured, accepted without a speed, and with a race."""
    manifest, _ = runs.planned(tmp_path, "TILE_WIDTH=2,4,8")
    made = Folder(tmp_path / "out")
    made.begin_or_resume(manifest)
    with made.writing() as keep:
        for each in (result(0, 1000.0), result(1), failed(2)):
            keep(each)
    return made.path


@pytest.fixture
def quick(monkeypatch) -> list[int]:
    """Every point is accepted at once; the numbers of those that ran."""
    ran: list[int] = []

    def run_all(plan, numbers, passed, pool, keep) -> None:
        for number in numbers:
            ran.append(number)
            keep(replace(result(number), params=plan.points[number].params, kernel=plan.points[number].kernel))

    monkeypatch.setattr(running, "_run_all", run_all)
    monkeypatch.setattr(running, "Pool", lambda *_: contextlib.nullcontext())
    return ran


def test_run_writes_a_folder_and_goes_on_with_it(tmp_path, quick):
    file = runs.experiment(tmp_path, FILE)
    out = tmp_path / "results"
    done = called("run", file, "--device", "cpu", "--out", out)
    assert done.exit_code == Exit.ACCEPTED
    assert sorted(each.name for each in out.iterdir()) == ["manifest.json", "points.jsonl", "report.html"]
    assert quick == [0, 1]
    again = called("run", file, "--device", "cpu", "--out", out, "--json")
    assert quick == [0, 1]
    assert [point["number"] for point in json.loads(again.stdout)["points"]] == [0, 1]
    assert called("run", file, "--device", "cpu", "--out", out, "--replace").exit_code == Exit.ACCEPTED
    assert quick == [0, 1, 0, 1]


@pytest.fixture
def cache_file(tmp_path: Path) -> Path:
    """A cache of Kernel Tuner with the points of `folder`: one measured, two that failed."""
    entries: dict[str, dict[str, object]] = {
        "2": {"time": 1.1, "times": [1.1] * 7},
        "4": {"__error__": "InvalidConfig"},
    }
    whole = {
        "device_name": "NVIDIA H200",
        "kernel_name": "matmul",
        "tune_params_keys": ["T"],
        "cache": {key: {"T": int(key) // 2, **more} for key, more in entries.items()},
    }
    file = tmp_path / "kt.json"
    file.write_text(json.dumps(whole), "utf-8")
    return file


def test_parquet_has_the_rows_with_their_types(tmp_path, folder):
    file = tmp_path / "my.parquet"
    assert called("export", folder, "--format", "parquet", "-o", file).exit_code == Exit.ACCEPTED
    read = read_parquet(file).read_all()
    found = list(rows(Folder(folder).results())[1])
    assert read.column_names == list(found[0])
    for name in read.column_names:
        values, wanted = read[name].to_pylist(), [row[name] for row in found]
        assert values == ([datetime.fromisoformat(str(each)) for each in wanted] if name == "ended" else wanted)
    types = {name: read.schema.field(name).type for name in read.column_names}
    assert types["param_T"] == types["counted_global_load_requests"] == types["finding_line"] == DataType.int64()
    assert types["measured_gflops"] == types["measured_cublas_share"] == DataType.float64()
    assert types["verdict"] == DataType.utf8()
    assert types["counted_exact"] == DataType.bool()
    assert types["ended"] == DataType.timestamp("us", tz="UTC")


def test_parquet_has_the_same_types_without_a_value():
    with_values, without = (read_parquet(to_parquet(results)).schema for results in ([result(0, 1000.0)], [failed(0)]))
    assert with_values == without
    assert read_parquet(to_parquet([])).read_all().num_rows == 0


def test_a_moment_of_parquet_without_a_time_zone_is_in_utc():
    moments = ["2026-11-23T10:00:00", "2026-11-23T10:00:00+00:00", "2026-11-23T11:00:00+01:00", "today"]
    table = read_parquet(to_parquet([replace(result(n), ended=each) for n, each in enumerate(moments)])).read_all()
    assert table["ended"].to_pylist() == [datetime(2026, 11, 23, 10, tzinfo=UTC)] * 3 + [None]


def test_parquet_is_written_to_a_file(folder, tmp_path):
    assert called("export", folder, "--format", "parquet").exit_code == Exit.WRONG_USE
    no = tmp_path / "no" / "my.parquet"
    assert called("export", folder, "--format", "parquet", "-o", no).exit_code == Exit.WRONG_USE


def test_a_cache_of_kernel_tuner_becomes_a_folder(tmp_path, folder, cache_file):
    out = tmp_path / "kt"
    assert called("import", cache_file, "--out", out).exit_code == Exit.ACCEPTED
    assert sorted(each.name for each in out.iterdir()) == ["manifest.json", "points.jsonl", "report.html"]
    assert called("import", cache_file, "--out", out).exit_code == Exit.WRONG_USE
    assert called("repeat", out).exit_code == Exit.WRONG_USE
    of_folder = called("show", out, "--json")
    assert json.loads(of_folder.stdout)["points"] == json.loads(called("show", cache_file, "--json").stdout)["points"]
    for other in (out, cache_file):
        pairs = json.loads(called("compare", folder, other, "--y", "ms", "--json").stdout)["pairs"]
        assert [pair["second"] for pair in pairs] == [1.1, None]


@pytest.mark.parametrize("data", [b"{}", b"", b"\xff", b'{"kernel_name": "k"}'])
def test_a_bad_cache_is_refused(tmp_path, cache_file, data):
    cache_file.write_bytes(data)
    for words in (("import", cache_file, "--out", tmp_path / "new"), ("show", cache_file)):
        refused = called(*words)
        assert refused.exit_code == Exit.WRONG_USE
        assert str(cache_file) in refused.stderr
    assert not (tmp_path / "new").exists()


def test_an_interrupted_run_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupted(*_) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_run_all", interrupted)
    monkeypatch.setattr(running, "Pool", lambda *_: contextlib.nullcontext())
    done = called("run", runs.experiment(tmp_path, FILE), "--device", "cpu", "--out", tmp_path / "out")
    assert done.exit_code == 130
    assert "0 of 2 points" in done.stderr


def test_a_bar_shows_the_points_and_the_time_left(monkeypatch):
    moments = iter([0.0, 30.0, 60.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    progress = Progress.__new__(Progress)
    told = _Told(8, 2, progress)
    assert progress._what == "[#####...............] 2 of 8 points"
    told(4)
    assert progress._what == "[##########..........] 4 of 8 points, about 60 s left"
    told(8)
    assert progress._what == "[####################] 8 of 8 points"


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.1, "about 1 s"), (89, "about 89 s"), (120, "about 2 min"), (9000, "about 2.5 h")]
)
def test_a_duration_is_said_roughly(seconds, said):
    assert _about(seconds) == said


def test_another_run_in_the_folder_is_refused_and_stays(tmp_path, quick):
    file = runs.experiment(tmp_path, FILE)
    out = tmp_path / "results"
    called("run", file, "--device", "cpu", "--out", out)
    before = (out / "points.jsonl").read_bytes()
    for more in (("-a", "TILE_WIDTH=2"), ("--arch", "sm_80")):
        assert called("run", file, "--device", "cpu", "--out", out, *more).exit_code == Exit.WRONG_USE
    assert (out / "points.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (FILE.replace("[4, 8]", "[]"), "my.toml:7: "),
        (FILE.replace("[4, 8]", "[4, 7]"), "my.toml:7: "),
        (FILE.replace('"tiled"', '"tild"'), "my.toml:3: "),
        (FILE.replace("64 %", "T %"), "my.toml:10: "),
    ],
)
def test_a_mistake_in_the_file_starts_nothing(tmp_path, quick, text, place):
    done = called("run", runs.experiment(tmp_path, text), "--device", "cpu", "--out", tmp_path / "out")
    assert done.exit_code == Exit.WRONG_USE
    assert place in done.stderr
    assert done.stderr.count("\n") == 1
    assert quick == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words", [("-a", "T"), ("-a", "T="), ("-a", "TILE_WIDTH=2", "-a", "TILE_WIDTH=4"), (), ("-a", "Width=4:2")]
)
def test_wrong_axes_of_the_command_line_start_nothing(tmp_path, quick, words):
    (tmp_path / "my.cu").write_text(runs.KERNEL)
    done = called("run", tmp_path / "my.cu", "--device", "cpu", *words, "--out", tmp_path / "out")
    assert done.exit_code == Exit.WRONG_USE
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["x" * 5000, f"{'x' * 5000}.cu"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, quick, name):
    done = called("run", name, "-a", "TILE_WIDTH=4", "--device", "cpu", "--out", tmp_path / "out")
    assert done.exit_code == Exit.WRONG_USE


def test_show_has_a_line_for_each_point(folder):
    done = called("show", folder)
    assert done.exit_code == Exit.ACCEPTED
    for word in ("accepted", "data race", "line 12", "measured", "counted", "modelled"):
        assert word in done.stdout
    assert [point["verdict"] for point in json.loads(called("show", folder, "--json").stdout)["points"]] == [
        *("accepted", "accepted", "data_race")
    ]


@pytest.mark.parametrize("verb", ["show", "export", "repeat"])
def test_a_folder_without_an_experiment_is_refused(tmp_path, verb):
    assert called(verb, tmp_path).exit_code == Exit.WRONG_USE
    assert called(verb, tmp_path / "nothing").exit_code == Exit.WRONG_USE


def changed(file: Path, *keys: str | int, value: object) -> None:
    """Set one value in a manifest, or in the first line of the points."""
    first, _, rest = file.read_text().partition("\n") if file.suffix == ".jsonl" else (file.read_text(), "", "")
    whole = part = json.loads(first)
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    file.write_text(json.dumps(whole) + "\n" + rest)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("params", "T"), 10**30),
        (("params",), {"A\x1b": 1}),
        (("params",), {"U": 1}),
        (("params",), {}),
        (("kernel",), "\ud800"),
        (("measurement", "gflops"), float("nan")),
        (("measurement", "gflops"), float("inf")),
        (("counted", "totals", "global_load_requests"), 10**400),
    ],
)
def test_points_that_another_program_changed_are_refused(folder, keys, value):
    changed(folder / "points.jsonl", *keys, value=value)
    for words in (("show", folder), ("export", folder), ("plot", folder, "--kind", "scatter")):
        assert called(*words).exit_code == Exit.WRONG_USE


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("definition",), {}),
        (("definition", "experiment"), {}),
        (("definition", "plot"), {"kind": "pie"}),
        (("definition", "plot"), [1]),
    ],
)
def test_a_manifest_that_another_program_changed_is_refused(folder, keys, value):
    changed(folder / "manifest.json", *keys, value=value)
    for words in (("show", folder), ("plot", folder)):
        assert called(*words).exit_code == Exit.WRONG_USE


@pytest.mark.parametrize("name", ["manifest.json", "points.jsonl"])
def test_files_that_cannot_be_read_are_refused(folder, name):
    file = folder / name
    file.write_text("[" * 200_000 + "\n")
    assert called("show", folder).exit_code == Exit.WRONG_USE
    file.unlink()
    file.mkdir()
    assert called("show", folder).exit_code == Exit.WRONG_USE
    assert called("show", folder.with_name("x" * 5000)).exit_code == Exit.WRONG_USE


@pytest.mark.parametrize("kind", ["csv", "json", "t4"])
def test_export_prints_or_writes_the_same(folder, tmp_path, kind):
    printed = called("export", folder, "--format", kind).stdout
    assert called("export", folder, "--format", kind, "-o", tmp_path / "table").stdout == ""
    assert (tmp_path / "table").read_text() == printed
    assert len(printed.splitlines()) == 4 if kind == "csv" else json.loads(printed)


def test_compare_says_whether_a_difference_is_shown(folder):
    done = called("compare", folder, folder, "--json")
    found = json.loads(done.stdout)
    assert (found["quantity"], found["basis"], found["ratio"], found["differs"]) == ("gflops", "measured", 1.0, False)
    assert json.loads(called("compare", folder, folder, "--y", "loads", "--json").stdout)["basis"] == "counted"
    assert "T=1" in called("compare", folder, folder).stdout
    assert called("compare", folder, folder, "--y", "levitation").exit_code == Exit.WRONG_USE


def test_compare_draws_both(folder, tmp_path):
    picture = tmp_path / "both.svg"
    assert called("compare", folder, folder, "-o", picture).exit_code == Exit.ACCEPTED
    drawn = "".join(ET.fromstring(picture.read_text()).itertext())
    assert (f"A: {folder}" in drawn, f"B: {folder}" in drawn) == (True, True)
    assert called("compare", folder, folder, "-o", tmp_path / "both.html").exit_code == Exit.WRONG_USE


def test_plot_writes_a_picture(folder, tmp_path):
    picture = tmp_path / "plot.svg"
    assert called("plot", folder, "--x", "T", "--y", "loads", "-o", picture).exit_code == Exit.ACCEPTED
    assert ET.parse(picture).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    "words",
    [
        ("--x", "X", "-o", "p.svg"),
        ("--x", "T", "--y", "levitation", "-o", "p.svg"),
        ("--x", "T", "--by", "X", "-o", "p.svg"),
        ("--x", "T", "-o", "p.gif"),
        ("--x", "T", "-o", "/nonexistent/p.svg"),
    ],
)
def test_what_cannot_be_drawn_is_refused(folder, words):
    assert called("plot", folder, *words).exit_code == Exit.WRONG_USE


def test_repeat_says_whether_all_agrees(folder, quick, tmp_path):
    first = tmp_path / "first"
    file = runs.experiment(tmp_path, FILE)
    called("run", file, "--device", "cpu", "--out", first)
    done = called("repeat", first, "--device", "cpu", "--json")
    assert (done.exit_code, json.loads(done.stdout)["agree"]) == (Exit.ACCEPTED, True)
    assert (tmp_path / "first-repeat" / "points.jsonl").is_file()
    with Folder(first).writing() as keep:
        keep(replace(Folder(first).results()[0], counted=None))
    other = called("repeat", first, "--device", "cpu", "--out", tmp_path / "other")
    assert other.exit_code == Exit.NOT_ACCEPTED


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("html", b"<!doctype html>")])
def test_the_ending_decides_how_a_plot_is_written(folder, tmp_path, ending, start):
    file = tmp_path / f"plot.{ending}"
    assert called("plot", folder, "-o", file).exit_code == Exit.ACCEPTED
    assert file.read_bytes().lstrip().startswith(start)


def test_without_options_the_plot_of_the_file_is_drawn(folder):
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["definition"]["plot"] = {"kind": "line", "x": "T", "y": "loads"}
    file.write_text(json.dumps(manifest))
    own = called("plot", folder).stdout
    assert own == called("plot", folder, "--kind", "line", "--x", "T", "--y", "loads").stdout
    assert own != called("plot", folder, "--kind", "bars").stdout


@pytest.mark.parametrize("words", [(), ("--kind", "bars"), ("--x", "occupancy"), ("--kind", "pareto")])
def test_a_plot_without_a_file_is_for_the_terminal(folder, words):
    done = called("plot", folder, *words)
    assert done.exit_code == Exit.ACCEPTED
    assert "\033" not in done.stdout
    assert len(done.stdout.splitlines()) > 3
