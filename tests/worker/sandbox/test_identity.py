"""Who a child is once it is locked in, and that it still ends with its parent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.marks import linux
from tests.worker.fleet.watched import gone, wait_until
from worker.sandbox.process import Child

pytestmark = linux

ROOT = Path(__file__).resolve().parents[3]


def status(pid: int) -> dict[str, list[str]]:
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}


def test_a_child_has_no_capability_is_never_root_and_goes_first_when_memory_ends():
    own = status(os.getpid())
    with Child("check") as one, Child("check") as two:
        for child in (one, two):
            child.wait_ready()
        seen = [status(child._process.pid) for child in (one, two)]
        for child, found in zip((one, two), seen, strict=True):
            assert {found[name][0].strip("0") for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {""}
            assert "0" not in found["Uid"] + found["Gid"]
            assert found["NoNewPrivs"] == ["1"]
            score = Path(f"/proc/{child._process.pid}/oom_score_adj").read_text("ascii")
            assert int(score) == 1000
        if own["Uid"][1] == "0":
            assert seen[0]["Uid"] != seen[1]["Uid"]
        else:
            assert seen[0]["Uid"] == own["Uid"]


def test_a_child_that_is_somebody_else_still_dies_with_its_parent():
    code = (
        "import time; from worker.sandbox.process import Child; from worker.sandbox.limits import Limits\n"
        "child = Child('check', Limits()); child.wait_ready(); print(child._process.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert Path(f"/proc/{child}").exists()
        parent.kill()
        parent.wait()
        wait_until(lambda: gone(child), seconds=10)
