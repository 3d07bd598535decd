"""`make test-gpu`: compares the CPU device with this machine's GPU, then runs the tests marked `gpu`.

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
from collections.abc import Iterator
from pathlib import Path

from kernels.compile import DEFAULT_ARCH, NVRTCUnavailable
from tests.gpu.agreement import agree
from tests.gpu.driver import GPU, NoGPU, driver_version
from tests.gpu.page import Machine, page, problems, summary, table
from tests.gpu.prepare import prepare, read

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "gpu"


def main() -> int:
    """Exit code 0: all agrees, or not run; 1: something differs."""
    asked = _arguments()
    try:
        if asked.do == "prepare":
            made = prepare(asked.folder, asked.arch)
            print(f"{len(made.kernels)} compilations for {made.architecture} in {asked.folder}")
            return 0
        with GPU() as gpu:
            if asked.do == "all":
                prepare(asked.folder, gpu.architecture)
            failed = _compare(gpu, asked.folder, asked.page)
    except (NoGPU, NVRTCUnavailable) as reason:
        print(f"not run: {reason}")
        return 0
    return _marked_tests() or failed if asked.do == "all" else failed


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__)
    parser.add_argument("do", nargs="?", choices=["all", "prepare", "run"], default="all")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=FOLDER, help="where the compiled kernels are kept"
    )
    parser.add_argument("--arch", default=DEFAULT_ARCH, help="for `prepare`; otherwise that of the GPU here")
    parser.add_argument("--page", type=Path, help="also write the result to this file")
    return parser.parse_args()


def _compare(gpu: GPU, folder: Path, target: Path | None) -> int:
    prepared = read(folder)
    with _silent_kernels():
        rows = agree(folder, prepared, gpu)
    if target is not None:
        machine = Machine(gpu.name, driver_version(), prepared.architecture, prepared.compiler)
        target.write_text(page(rows, machine, dt.datetime.now(tz=dt.UTC).date()), encoding="utf-8")
    print("\n".join([*table(rows), "", *problems(rows), summary(rows)]))
    return int(not all(row.agrees for row in rows))


def _marked_tests() -> int:
    """The tests of single instructions."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests/kernels"]
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
