"""What the sections make of figures: texts, tables, and the page; and that one that hangs or fails loses no other."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from bench.gpu import agreement, cheats, events, hostile, reference, repeatability, throughput
from bench.gpu.__main__ import SECTIONS, write_page
from bench.gpu.machine import Machine, NotRun
from bench.gpu.section import Run, Section, table
from bench.gpu.subjects import Subject
from kernels.exercise import read_exercise
from tests.marks import linux
from worker.bench.backlog import Backlog, Graded, Step, encoded
from worker.bench.throughput import Lane, Throughput
from worker.contract.messages import StepKind, StepResult, Ticket

MACHINE = Machine((0,), "NVIDIA H200", "h200", "580.1", "sm_90", Path("/nowhere"))


def run_in(folder: Path, name: str = "cheats") -> Run:
    return Run(name, MACHINE, folder / f"{name}.json", "2026-01-02")


def test_a_section_keeps_what_it_found_so_far_and_the_page_says_that_it_was_stopped(tmp_path):
    run_in(tmp_path).keep(["found this"], {"x": 1}, done=False)
    page = write_page(tmp_path, tmp_path, SECTIONS).read_text()
    assert "## Cheats" in page
    assert "found this" in page
    assert "before its end" in page
    assert "2026-01-02 with one NVIDIA H200, driver 580.1" in page
    run_in(tmp_path).keep(["found all"], {"x": 2})
    page = write_page(tmp_path, tmp_path, SECTIONS).read_text()
    assert "found all" in page
    assert "before its end" not in page
    assert json.loads((tmp_path / "cheats.json").read_text())["data"] == {"x": 2}


def test_sections_stand_on_the_page_in_their_order_with_two_gpus_apart(tmp_path):
    two = Machine((0, 1), "NVIDIA H200", "h200", "580.1", "sm_90", Path("/nowhere"))
    Run("backlog", two, tmp_path / "backlog-2-gpus.json", "2026-01-02").keep(["two"], {})
    for name in ("cheats", "backlog", "reference"):
        run_in(tmp_path, name).keep([name], {})
    page = write_page(tmp_path, tmp_path, SECTIONS).read_text()
    titles = [line for line in page.splitlines() if line.startswith("## ")]
    assert titles == [
        "## Known kernels, compared with a reference",
        "## A backlog, with 2 GPUs",
        "## A backlog",
        "## Cheats",
    ]


def test_nsight_computes_report_is_read_in_its_own_unit():
    text = (
        '==PROF== Connected\n"ID","Kernel Name","gpu__time_duration.sum"\n"","","usecond"\n'
        '"0","k","1,234.5"\n"1","k","1,000.0"\n'
    )
    assert events.read_times(text) == pytest.approx([1.2345, 1.0])


def test_a_profiler_that_says_something_else_is_told_of():
    with pytest.raises(NotRun, match="no permission"):
        events.read_times("no permission")


def test_a_difference_from_the_reference_has_its_sign():
    row = {
        "name": "tiled",
        "verdict": "accepted",
        "same kernel": True,
        "expected": {2048: 100.0, 4096: 200.0},
        "measured": {2048: 99.0, 4096: 210.0},
        "share": {4096: 0.913},
    }
    text = "\n".join(reference._text([row], {2048: [50.0], 4096: []}))
    assert "-1.00%" in text
    assert "+5.00%" in text
    assert "1 of 2 figures of the same kernels are within 2 %" in text
    assert "largest difference is 5.00%" in text
    assert "91.3 % of cuBLAS" in text


def test_an_order_that_changes_names_the_pair():
    times = {"a": {2048: [1.0, 1.0, 2.2]}, "b": {2048: [2.0, 2.0, 2.0]}, "c": {2048: [9.0, 9.0, 9.0]}}
    text = "\n".join(repeatability._text({"rounds": 3, "quiet": times, "busy": {}}))
    assert "changes between a and b" in text
    assert "b and c" not in text
    assert repeatability._orders(times, 2048) == 2


def test_kernels_that_always_come_in_the_same_order():
    times = {"a": {2048: [1.0, 1.001]}, "b": {2048: [2.0, 2.0]}}
    text = "\n".join(repeatability._text({"rounds": 2, "quiet": times, "busy": {}}))
    assert "the same in every round" in text
    assert "Largest cv 0.07 %" in text


def test_cheats_that_were_accepted_are_named():
    def row(grade: str, gpu: str, honesty: str = "cheat") -> dict[str, object]:
        return {
            "kind": "replay",
            "honesty": honesty,
            "grade": {"expected": ["wrong_answer"], "found": grade},
            "gpu": {"expected": ["wrong_answer", "accepted"], "found": gpu},
        }

    rows = {"good": row("wrong_answer", "accepted"), "bad": row("accepted", "wrong_answer")}
    (sums,) = cheats._sums(rows)
    assert "Of 2 cheats, the whole grade accepts 1 (`bad`)" in sums
    assert "the GPU alone would accept 1 (`good`)" in sums
    assert "whole grade 1 of 2, GPU alone 2 of 2, used process 0 of 0" in sums
    assert "**accepted**, not wrong_answer" in "\n".join(cheats._text(rows))


def test_what_only_the_gpu_would_accept_is_listed():
    def row(name: str, cpu: str, gpu: str, reached: bool = True) -> dict[str, object]:
        return {"name": name, "cpu": cpu, "gpu": gpu, "reached": reached, "message": ""}

    rows = [
        row("racy", "data_race", "accepted"),
        row("wrong", "wrong_answer", "wrong_answer"),
        row("typo", "compile_error", "compile_error", reached=False),
        row("right", "accepted", "accepted"),
    ]
    text = "\n".join(agreement._text({"rows": rows}))
    assert "1 incorrect kernel** (1 data_race)" in text
    assert "| `racy` | data_race |" in text
    assert "1 kernel can't reach" in text
    assert "| **all** | 3 | 2 | 0 | 2 |" in text


def test_a_change_after_hostile_kernels_is_shown():
    data = {
        "verdicts": {"wrong_answer": 3},
        "before": [1.0, 1.0, 1.0],
        "after": [1.01, 1.01, 1.0],
        "left before": {"processes started here": 0},
        "left after": {"processes started here": 2},
    }
    text = "\n".join(hostile._text(data))
    assert "+1.00%" in text
    assert "| processes started here | 0 | 2 |" in text


def test_what_is_left_counts_processes_of_processes():
    import os
    import subprocess

    before = len(hostile._descendants(os.getpid()))
    child = subprocess.Popen(["sh", "-c", "sleep 60 & wait"])
    try:
        for _ in range(100):
            if len(hostile._descendants(os.getpid())) == before + 2:
                break
        assert child.pid in hostile._descendants(os.getpid())
    finally:
        for pid in hostile._descendants(child.pid):
            os.kill(pid, 9)
        child.kill()
        child.wait()


def test_a_backlog_says_what_was_not_as_expected():
    lane = Lane(2, 0.6, 0.2, 0.1, 0.1)
    found = Throughput(3, 60.0, 3.0, {"accepted": 3}, (lane,), 16, {"run": 9.0, "other": 1.0}, 0.5, 1.5)
    figures = {
        "lanes": [{"kernels": 2, "busy": 0.6, "handling": 0.2, "waiting": 0.1, "idle": 0.1}],
        "cpu_seconds": found.cpu_seconds,
        "submissions": 3,
        "per_minute": 3.0,
        "seconds": 60.0,
        "latency": 1.5,
        "verdicts": found.verdicts,
        "cores": 16,
        "cores_busy": 0.5,
        "binds": "Nothing binds.",
        "spread": [{"cv": 0.001}, {"cv": 0.0042}],
        "unexpected": ["tiled: wrong_answer, not accepted"],
    }
    text = "\n".join(throughput._one(figures))
    assert "**3 verdicts a minute**" in text
    assert "| GPU 0 | 2 | 60.0 % | 20.0 % | 10.0 % | 10.0 % |" in text
    assert "0.42 %. 1 are at most 0.3 %" in text
    assert "Not as expected: tiled: wrong_answer, not accepted." in text


def test_what_is_kept_of_a_backlog_has_the_steps_without_their_code():
    code: Any = b"of no use in a file of figures"
    ticket = Ticket(0, StepKind.MEASURE, "")
    result = StepResult(ticket, "", None, measure=code, fault="the GPU is gone", busy_ms=7.0)
    done = Backlog((Graded(0, (Step(result, 0, 1.0, 1.5, 2.0),)),), 3.0, 1, 2, 4.0, {"run": 1.0})
    figures = throughput._figures([Subject("tiled", b"")], done)
    assert json.loads(json.dumps(figures))["steps"] == [[0, 0, 1.0, 1.5, 2.0, 7.0]]
    assert figures["unexpected"] == ["tiled: the GPU is gone, not accepted"]


def test_the_cpu_device_ranks_at_a_size_that_it_can_do():
    machine = Machine((None,), "CPU device", "cpu", "none", "sm_90", Path("/nowhere"), ranking=8)
    work = machine.work(Subject("tiled", b"text"))
    exercise = read_exercise(work.exercise.name, work.exercise.definition, work.exercise.digest)
    assert exercise.ranking == machine.exercise("tiled").ranking
    assert work.source == encoded(b"text")


def test_small_things():
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([1.0, 2.0]) == 1.5
    assert table(["a", "b"], [["x", 1]]) == ["| a | b |", "| --- | ---: |", "| x | 1 |"]
    assert all(isinstance(section, Section) and section.seconds <= 600 for section in SECTIONS.values())


@linux
def test_a_section_that_hangs_is_ended_and_one_that_fails_is_told_of(tmp_path, monkeypatch, capfd):
    import argparse

    from bench.gpu import __main__ as script

    def ended(text: str, seconds: float) -> tuple[bool, str]:
        """With a program in Python's place."""
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))
        asked = argparse.Namespace(gpus="0", results=tmp_path, ranking=8, set=[], seconds=seconds)
        return script._run_apart("cheats", asked), capfd.readouterr().out

    assert ended("exit 0", 60.0)[0]
    well, said = ended("exit 7", 60.0)
    assert not well
    assert "cheats: failed (7)" in said
    well, said = ended("sleep 60", 0.3)
    assert not well
    assert "cheats: stopped at its limit after 0 s" in said
