"""The command and the environment of a child process."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from worker.supervision.children import search_path

_BOOTSTRAP = "import sys; a = sys.argv; sys.path[:0] = a[6:]; from {module} import main; main(a[1], *map(int, a[2:6]))"
# One thread. Large arrays stay in the heap, so that numpy's temporary arrays cause no page faults.
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8", "TZ": "UTC0",
    "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_TOP_PAD_": str(2**26), "MALLOC_ARENA_MAX": "1",
}  # fmt: skip


def command(module: str, options: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """The command that runs `main` of a module. options: of Python. arguments: the five arguments of `main`."""
    return [sys.executable, *options, "-c", _BOOTSTRAP.format(module=module), *arguments, *search_path()]
