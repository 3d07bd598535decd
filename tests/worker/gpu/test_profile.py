"""The profile stage: what a profiler prints becomes four figures or one sentence, and whatever it does is bounded.

A script stands for Nsight Compute; the launch that it would watch is made on the CPU device.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.judging.inputs import from_memory, output_of
from tests.marks import linux
from tests.worker.gpu.measuring import judge_wire, kernel, request_for
from worker.gpu.backend import Memory
from worker.gpu.cpu_backend import CpuBackend
from worker.gpu.judge.recipes import recipes, values
from worker.gpu.profile import nsight as stage
from worker.gpu.profile.nsight import ProfileFailed, ProfileSummary, failure_text, find_ncu, profile, summary_of
from worker.gpu.profile.profiled_launch import launch_once
from worker.gpu.timing.timings import kind_of

SEED = 11

HEAD = '"ID","Process ID","Kernel Name","gpu__time_duration.sum"'
TABLE = (
    '"ID","Process ID","Kernel Name","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",'
    '"gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed",'
    '"sm__warps_active.avg.pct_of_peak_sustained_active"\n'
    '"","","","%","ns","%","%"\n'
    '"0","4711","_Z15MatrixMulKernelPfS_S_i","91.25","1,847,296","74.5","99.87"\n'
)
REFUSED = """==PROF== Connected to process 4711
==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target
==ERROR== Failed to profile "MatrixMulKernel" in process 4711
"""
BUSY = "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool is running.\n"


@pytest.fixture(scope="module")
def request_():
    return stage.request_of(request_for(kernel()), judge_wire(), SEED)


@pytest.fixture
def ncu(tmp_path):
    """Makes a script that stands for Nsight Compute; "$report" is what it is to write."""

    def make(body, raw=TABLE):
        table = tmp_path / "table.csv"
        table.write_text(raw)
        script = tmp_path / "ncu"
        script.write_text(
            "#!/bin/sh\n"
            f'if [ "$1" = --import ]; then cat {table}; exit; fi\n'
            f'printf "%s\\n" "$@" >{tmp_path}/words\n'
            f"env >{tmp_path}/environment\n"
            'while [ "$1" != --export ]; do shift; done\nreport=$2\n' + body
        )
        script.chmod(0o755)
        return script

    return make


def test_the_first_launch_is_summed_up():
    assert summary_of("==PROF== Connected\n" + TABLE) == ProfileSummary(1.847296, 99.87, 74.5, 91.25)


@pytest.mark.parametrize(
    ("unit", "ms"), [("nsecond", 2e-6), ("us", 2e-3), ("msecond", 2), ("s", 2000), ("fortnight", None)]
)
def test_time_is_read_in_the_unit_that_it_has(unit, ms):
    assert summary_of(f'{HEAD}\n"","","","{unit}"\n"0","1","k","2"\n').ms == pytest.approx(ms)


@pytest.mark.parametrize("table", ["", "nothing\n", HEAD, f'{HEAD}\n"","","","ns"\n', f'{HEAD}\n"","","","ns"\n"0"\n'])
def test_a_table_without_a_launch_has_no_figures(table):
    assert summary_of(table) == ProfileSummary()


@given(st.text())
def test_no_text_breaks_the_reader(text):
    summary_of(f'"ID"{text}')
    assert failure_text(text)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (REFUSED, "NVreg_RestrictProfilingToAdminUsers=0.*/etc/modprobe.d.*SYS_ADMIN"),
        (BUSY, "dcgmi profile --pause"),
        ("==WARNING== No kernels were profiled.\n", "saw no launch"),
        ("==PROF== Connected\n==ERROR== No GPU of this kind.\nmore\n", "no report: No GPU of this kind.$"),
        ("first\nthe launch failed (time)\n", r"no report: the launch failed \(time\)$"),
        ("", "no output"),
    ],
)
def test_a_failure_is_told_with_what_to_do(said, told):
    with pytest.raises(ProfileFailed, match=told):
        raise ProfileFailed(failure_text(said))


@linux
def test_a_profile_is_a_report_and_its_summary(request_, ncu, tmp_path):
    target = tmp_path / "mine.ncu-rep"
    script = ncu('echo some bytes >"$report"\n')
    found = profile(request_, 1, target, allowed=True, program=script)
    assert found.report == target
    assert target.read_text() == "some bytes\n"
    assert found.summary.ms == pytest.approx(1.847296)
    words = (tmp_path / "words").read_text().splitlines()
    assert words[words.index("--clock-control") + 1] == "none"
    assert words[words.index("--kernel-name") + 1] == request_.module.entry
    assert words[words.index("--launch-count") + 1] == "1"
    seen = (tmp_path / "environment").read_text().splitlines()
    assert {"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=1"} <= set(seen)


@linux
def test_the_profiler_sees_nothing_of_ours_and_leaves_nothing(request_, ncu, tmp_path, monkeypatch):
    monkeypatch.setenv("BROKER_PASSWORD", "secret")
    profile(request_, 0, tmp_path / "r.ncu-rep", allowed=True, program=ncu('echo x >"$report"\n'))
    seen = (tmp_path / "environment").read_text()
    assert "secret" not in seen
    home = next(line for line in seen.splitlines() if line.startswith("HOME=")).removeprefix("HOME=")
    assert not Path(home).exists()


@linux
def test_a_profiler_that_does_not_end_is_killed_with_all_it_started(request_, ncu, tmp_path):
    script = ncu(f"sleep 300 & echo $! >{tmp_path}/pid\nwait\n")
    began = time.monotonic()
    with pytest.raises(ProfileFailed, match=r"longer than 0\.5 s"):
        profile(request_, 0, tmp_path / "r.ncu-rep", allowed=True, program=script, seconds=0.5)
    assert time.monotonic() - began < 20
    assert gone(int((tmp_path / "pid").read_text()))


def gone(pid: int) -> bool:
    """Whether a process has ended; its new parent may take a moment to notice."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


@linux
def test_a_report_that_grows_too_large_is_not_kept(request_, ncu, tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "REPORT_BYTES", 10_000)
    script = ncu('dd if=/dev/zero of="$report" bs=1000 count=2000 2>/dev/null\nls -l "$report"\n')
    with pytest.raises(ProfileFailed, match="exceeds"):
        profile(request_, 0, tmp_path / "r.ncu-rep", allowed=True, program=script)
    assert not (tmp_path / "r.ncu-rep").exists()


@linux
def test_a_refusal_by_the_driver_reaches_the_caller(request_, ncu, tmp_path):
    script = ncu(f"cat <<'END'\n{REFUSED}END\nexit 1\n")
    with pytest.raises(ProfileFailed, match="NVreg_RestrictProfilingToAdminUsers"):
        profile(request_, 0, tmp_path / "r.ncu-rep", allowed=True, program=script)


@linux
def test_a_file_that_cannot_be_written_is_told(request_, ncu, tmp_path):
    with pytest.raises(ProfileFailed, match=r"cannot write the report to .*No such file"):
        profile(request_, 0, tmp_path / "no" / "r.ncu-rep", allowed=True, program=ncu('echo x >"$report"\n'))


@linux
def test_nothing_is_started_without_permission(request_, ncu, tmp_path):
    with pytest.raises(ProfileFailed, match="has not allowed profiling"):
        profile(request_, 0, tmp_path / "r", allowed=False, program=ncu('echo x >"$report"\n'))
    assert not (tmp_path / "words").exists()


@linux
def test_a_missing_profiler_is_told(request_, tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "find_ncu", lambda: None)
    with pytest.raises(ProfileFailed, match=r"\(ncu\) is not installed"):
        profile(request_, 0, tmp_path / "r", allowed=True)
    with pytest.raises(ProfileFailed, match="did not start"):
        profile(request_, 0, tmp_path / "r", allowed=True, program=tmp_path / "nowhere")


def test_the_newest_profiler_is_taken(tmp_path, monkeypatch):
    for version in ("2024.3.1", "2025.10.0", "2025.2.0"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "ncu").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(stage, "_PLACES", (f"{tmp_path}/*/ncu",))
    found = find_ncu()
    assert found is not None
    assert found.parent.name == "2025.10.0"


@linux
def test_a_kernel_without_a_launch_at_the_ranking_size_is_not_profiled():
    asked = request_for(kernel())
    assert asked.ranking is not None
    for case in (None, replace(asked.ranking, launch=None)):
        with pytest.raises(ProfileFailed, match="does not run at the ranking size"):
            stage.request_of(replace(asked, ranking=case), judge_wire(), SEED)


@linux
def test_the_launch_that_is_watched_is_a_real_one(request_):
    backend = Watched()
    launch_once(backend, request_)
    case = request_.case
    made = recipes(case, kind_of(case, 0), SEED)
    left, right = (values(made[name]).astype(np.float64) for name in ("M", "N"))
    out = output_of(case)
    assert np.array_equal(from_memory(backend.output.view(np.float32), out), left @ right)
    assert backend.launches == 1


class Watched(CpuBackend):
    """Keeps what the last matrix taken held after the launch."""

    launches = 0

    def take(self, words, *, guarded=False):
        memory = super().take(words, guarded=guarded)
        if guarded:
            self.last = memory
        return memory

    def timed(self, kernel, launch, arguments, seconds, then=()):
        done = super().timed(kernel, launch, arguments, seconds, then)
        self.launches += 1
        assert isinstance(self.last, Memory)
        self.output = self.read(self.last)
        return done


@pytest.mark.gpu
def test_a_kernel_is_profiled_on_this_machines_gpu(tmp_path):
    from worker.gpu.judge.code import judge_code
    from worker.gpu.nvml import gpu

    if find_ncu() is None:
        pytest.skip("no Nsight Compute (ncu) here")
    asked = stage.request_of(request_for(kernel()), judge_code(gpu(0).arch, tmp_path), SEED)
    found = profile(asked, 0, tmp_path / "mine.ncu-rep", allowed=True)
    assert found.report.stat().st_size > 1000
    assert found.summary.ms is not None
    assert 0 < found.summary.ms < 100
