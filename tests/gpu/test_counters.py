"""What counts as equal between our counts and the profiler's."""

from __future__ import annotations

from tests.gpu.counters import ORDINARY, TENSOR, Row, profiled, summary, table

COUNTS = dict.fromkeys(TENSOR.metrics, 1000)


def row(**theirs):
    return Row("some_kernel", 16, "Width=256", COUNTS, COUNTS | theirs)


def test_equal_counts_agree():
    assert not row().differing()
    assert "1 of 1 launches" in summary([row()])


def test_one_request_more_is_a_difference_and_is_shown_beside_ours():
    different = row(global_load_requests=1001)
    assert different.differing() == ("global_load_requests",)
    assert "**1,000 / 1,001**" in table([different], ORDINARY)[-1]


def test_conflicts_of_loads_may_vary_by_little_and_those_of_stores_are_not_judged():
    assert not row(shared_load_conflicts=1005).differing()
    assert row(shared_load_conflicts=1006).differing()
    assert not row(shared_store_conflicts=5000).differing()


def test_a_report_is_read_launch_by_launch(tmp_path):
    names = ["ID", *(name for several in ORDINARY.metrics.values() for name in several)]
    lines = ["==PROF== Connected", ",".join(f'"{name}"' for name in names)]
    lines += [",".join(["", *("inst" for _ in names[1:])])]
    lines += [",".join([f'"{number}"', *('"4,218"' for _ in names[1:])]) for number in range(2)]
    report = tmp_path / "ncu.csv"
    report.write_text("\n".join(lines), encoding="utf-8")
    read = list(profiled(report, TENSOR.metrics))
    assert read == [dict.fromkeys(ORDINARY.metrics, 4218) | {"shared_load_requests": 2 * 4218}] * 2
    without = Row("some_kernel", 16, "Width=256", COUNTS, read[0], ("bulk_load_sectors",))
    assert not without.differing()
    assert "1,000 (not counted)" in table([without], TENSOR)[-1]
