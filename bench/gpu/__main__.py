"""`make bench-gpu`: the quality of a GPU's measurements, section by section. The tables go to docs/gpu-measurements.md.

Each section runs in its own process, which is ended at its time limit. Its results so far are kept, and the other
sections continue. Without a GPU, it prints one line and runs nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path

from bench.gpu import agreement, cheats, events, hostile, reference, repeatability, seconds, throughput
from bench.gpu.machine import NotRun, find_machine
from bench.gpu.section import Data, Run, Section
from kernels.compile.nvrtc import NVRTCUnavailable
from worker.gpu.nvml import NoGPU

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "build" / "bench-gpu"

SECTIONS = {
    "reference": Section("Known kernels, compared with a reference", 240, reference.run),
    "events": Section("Events, compared with Nsight Compute", 540, events.run),
    "repeatability": Section("Repeatability", 540, repeatability.run),
    "seconds": Section("How long one grade takes", 240, seconds.run),
    "backlog": Section("A backlog", 540, throughput.run),
    "cheats": Section("Cheats", 540, cheats.run),
    "hostile": Section("After hostile kernels", 560, hostile.run),
    "agreement": Section("What a GPU alone would accept", 540, agreement.run),
}
NAME = "gpu-measurements.md"

_HEAD = """\
# How well Tilelab measures on a GPU

This page shows how far to trust a GPU's speeds and verdicts, and how long a grade takes.

`make bench-gpu` measures all figures and writes this page. `python -m bench.gpu SECTION` repeats one section. The
folder `build/bench-gpu` has the data of each table, as JSON.
"""


def main() -> int:
    """Run the sections. Return 0 if all ran, or if there is nothing to run on; 1 if a section failed."""
    asked = _arguments()
    asked.results.mkdir(parents=True, exist_ok=True)
    if asked.section == "page":
        print(write_page(asked.results, asked.pages, SECTIONS))
        return 0
    try:
        find_machine(asked.gpus, asked.results, asked.ranking)
    except NoGPU as reason:
        print(f"not run: {reason}")
        return 0
    if asked.here:
        return _run_here(asked)
    names = list(SECTIONS) if asked.section == "all" else [asked.section]
    failed = [name for name in names if not _run_apart(name, asked)]
    if asked.pages.is_dir():
        print(write_page(asked.results, asked.pages, SECTIONS))
    if failed:
        print(f"did not end well: {', '.join(failed)}")
    return int(bool(failed))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("section", nargs="?", default="all", choices=["all", *SECTIONS, "page"])
    parser.add_argument("--gpus", default="0", help="their numbers, such as 0,1; cpu only tries the script out")
    parser.add_argument("--pages", type=Path, default=ROOT / "docs", help="folder of the page")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the figures")
    parser.add_argument("--seconds", type=float, help="the limit of each section, in place of its own")
    parser.add_argument("--ranking", type=int, default=48, help="the size to rank at with the CPU device")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=NUMBER", help="such as rounds=3, submissions=60"
    )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _run_apart(name: str, asked: argparse.Namespace) -> bool:
    """Run one section in its own process. Its children end with it."""
    limit = asked.seconds or SECTIONS[name].seconds
    command = [sys.executable, "-m", "bench.gpu", name, "--here", "--gpus", asked.gpus]
    command += ["--results", str(asked.results), "--ranking", str(asked.ranking)]
    command += [f"--set={setting}" for setting in asked.set]
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    ended = "stopped at its limit" if code is None else "done" if code == 0 else f"failed ({code})"
    print(f"{name}: {ended} after {time.monotonic() - began:.0f} s", flush=True)
    return code == 0


def _run_here(asked: argparse.Namespace) -> int:
    """Run a section in this process."""
    settings = dict(setting.split("=", 1) for setting in asked.set)
    cache = asked.results / "cache"
    cache.mkdir(exist_ok=True)
    machine = find_machine(asked.gpus, cache, asked.ranking)
    apart = "" if len(machine.gpus) == 1 else f"-{len(machine.gpus)}-gpus"
    run = Run(
        asked.section,
        machine,
        asked.results / f"{asked.section}{apart}.json",
        dt.datetime.now(tz=dt.UTC).date().isoformat(),
        {name: int(value) for name, value in settings.items()},
    )
    try:
        SECTIONS[asked.section].run(run)
    except (NotRun, NVRTCUnavailable) as reason:
        run.keep([f"Not run: {reason}."], {})
        run.say(f"not run: {reason}")
    except Exception:  # noqa: BLE001 - whatever it is, the other sections go on
        traceback.print_exc()
        return 1
    return 0


def write_page(results: Path, pages: Path, sections: Mapping[str, Section]) -> Path:
    """Write the page from the existing results. Sections that never ran are left out."""
    parts = [_HEAD]
    for name, section in sections.items():
        kept = (json.loads(file.read_text(encoding="utf-8")) for file in sorted(results.glob(f"{name}*.json")))
        parts += [_part(section, each) for each in kept]
    page = pages / NAME
    page.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    return page


def _part(section: Section, kept: Data) -> str:
    gpus = kept["gpus"]
    title = section.title if gpus == 1 else f"{section.title}, with {gpus} GPUs"
    made_on = kept["made_on"] if gpus == 1 else kept["made_on"].replace("one ", f"{gpus} ", 1)
    lines = [f"## {title}", "", *kept["text"], ""]
    if not kept["done"]:
        lines += [f"**Stopped after {kept['seconds']:.0f} s, before its end.**", ""]
    lines += [f"{made_on} {kept['seconds']:.0f} s in all.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
