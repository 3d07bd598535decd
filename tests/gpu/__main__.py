"""`make test-gpu`: compares the CPU device with this machine's GPU, then runs the tests marked `gpu` and grades all
kernels with a known verdict (`tests.gpu.verdicts`).

Where there is no GPU, or no compiler, one line says that nothing was run, and nothing is claimed. For a GPU machine
without the compiler: `prepare FOLDER` on one with it, take FOLDER along, `run FOLDER` there (numpy is all it needs).
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from kernels.compile.compilation import DEFAULT_ARCH, NVRTCUnavailable
from tests.gpu import counters, occupancy, page, races, unseen, verdicts
from tests.gpu.driver import GPU, NoGPU, driver_version
from tests.gpu.prepare import prepare, read
from tests.gpu.result import Machine, NotRun, Result

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "gpu"

PREPARE: Mapping[str, Callable[[Path, str], object]] = {
    "agreement": prepare,
    "counters": counters.prepare,
    "tensor-counters": counters.prepare_tensor,
    "races": races.prepare,
    "unseen": unseen.prepare,
}
"""What is compiled beforehand, each into a folder of its own."""

COMPARE: Mapping[str, tuple[str, Callable[[Path, Machine, dt.date], Result]]] = {
    "gpu-agreement": ("agreement", page.compare),
    "gpu-counters": ("counters", counters.compare),
    "gpu-tensor-counters": ("tensor-counters", counters.compare_tensor),
    "gpu-races": ("races", races.compare),
    "gpu-unseen": ("unseen", unseen.compare),
    "gpu-occupancy": ("agreement", occupancy.compare),
}
"""Page -> the folder that it needs, and what makes it."""


def main() -> int:
    """Exit code 0: all agrees, or not run; 1: something differs."""
    asked = _arguments()
    pages = tuple(asked.only or COMPARE)
    try:
        if asked.do == "prepare":
            _prepare(asked.folder, asked.arch, pages)
            return 0
        with GPU() as gpu:
            name, architecture = gpu.name, gpu.architecture
        if asked.do == "all":
            _prepare(asked.folder, architecture, pages)
        compiler = read(asked.folder / COMPARE[pages[0]][0]).compiler
        failed = _compare(asked.folder, Machine(name, driver_version(), architecture, compiler), asked.pages, pages)
    except (NoGPU, NVRTCUnavailable) as reason:
        print(f"not run: {reason}")
        return 0
    if asked.do != "all" or asked.only:
        return failed
    codes = (failed, _marked_tests(), verdicts.main([]))
    return int(any(codes))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__)
    parser.add_argument("do", nargs="?", choices=["all", "prepare", "run"], default="all")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="where the compiled kernels are kept")
    parser.add_argument("--arch", default=DEFAULT_ARCH, help="for `prepare`; otherwise that of the GPU here")
    parser.add_argument("--pages", type=Path, default=ROOT / "docs", help="where the pages are written")
    parser.add_argument("--only", action="append", choices=COMPARE, help="one page, and nothing else; may be repeated")
    return parser.parse_args()


def _prepare(folder: Path, architecture: str, pages: Sequence[str]) -> None:
    for name in dict.fromkeys(COMPARE[each][0] for each in pages):
        PREPARE[name](folder / name, architecture)
        print(f"{name}: {len(read(folder / name).kernels)} compilations for {architecture}")


def _compare(folder: Path, machine: Machine, pages: Path, chosen: Sequence[str]) -> int:
    failed = False
    for name in chosen:
        part, compare = COMPARE[name]
        try:
            with _silent_kernels():
                result = compare(folder / part, machine, dt.datetime.now(tz=dt.UTC).date())
        except NotRun as reason:
            print(f"{name}: not run: {reason}")
            continue
        (pages / f"{name}.md").write_text(result.page, encoding="utf-8")
        print("\n".join(result.lines))
        failed = failed or result.failed
    return int(failed)


def _marked_tests() -> int:
    """The tests of single instructions."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests/gpu", "tests/kernels", "tests/worker"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


@contextlib.contextmanager
def _silent_kernels() -> Iterator[None]:
    """What kernels print on the GPU goes to this process's output by the driver; some of the corpus print."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
