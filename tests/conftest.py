"""What holds for every test: one that needs a GPU runs only where it is asked for, and the longest come first."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

# The threads of numpy's library wait by spinning, here on cores that other processes need.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# PostgreSQL and Redis; the option --seconds
pytest_plugins = ["tests.services.fixtures", "tests.seconds"]

if TYPE_CHECKING:
    from xdist.remote import Producer

    from tests.worker.kept_processes import KeptProcesses

TOGETHER = "tests/browser/"
"""The folder whose files all run in one process, because they share a browser and a portal."""

APART = "tests/corpus/test_corpus.py::test_a_right_kernel"
"""The tests that run apart from others of their file: they share nothing, and both halves take minutes."""


# Of Python's own 700, a tenth of the time of many tests went into looking for garbage.
_GARBAGE = 20_000


_EXAMPLES = 40
"""Of what Hypothesis makes up for a test of the short suite that names no number; its own default is 100."""

_MEMORY = Path("/dev/shm")
_ROOM = 4 * 2**30


def pytest_configure(config: pytest.Config) -> None:
    """A shell lets what it starts in the background ignore Ctrl-C, and children inherit that: tests send it to them."""
    if config.option.markexpr == "not long":
        settings.register_profile("ci", settings.get_profile("ci"), max_examples=_EXAMPLES)
    if _holds_files():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(_GARBAGE)


def _holds_files() -> bool:
    """Whether memory can take the tests' files. On a disk, databases spend a tenth of their time on waiting for it."""
    try:
        found = os.statvfs(_MEMORY)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize >= _ROOM and not found.f_flag & os.ST_NOEXEC


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is there then stays: thousands of tests, and the modules that they are of."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: many a test waits for a lease, or for a program that comes back."""
    return (os.cpu_count() or 1) + 2


class _ByFile(LoadFileScheduling):  # type: ignore[misc]
    """One process for a file, one for the folder whose files share more, and two for the file that takes longest."""

    def _split_scope(self, nodeid: str) -> str:
        return next((each for each in (TOGETHER, APART) if nodeid.startswith(each)), nodeid.partition("::")[0])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _ByFile | None:
    return _ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked `gpu` run with `-m gpu` only: a GPU that is there may be at work for someone else."""
    if unsaid := reasons_missing(items):
        raise pytest.UsageError(f"marked `long` without a reason: {', '.join(unsaid)}")
    for item, reason in left_to_the_long_suite(items):
        item.add_marker(pytest.mark.long(reason))
    usual = float(config.getini("timeout"))
    items.sort(key=lambda item: _turn(item, usual))
    if "gpu" in config.option.markexpr:
        return
    skip = pytest.mark.skip(reason="needs an NVIDIA GPU; `make test-gpu` runs it")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)


def reasons_missing(items: list[pytest.Item]) -> list[str]:
    """Tests with a mark `long` that does not say in one text why."""
    return [
        item.nodeid
        for item in items
        if any(not (len(mark.args) == 1 and mark.args[0]) for mark in item.iter_markers("long"))
    ]


def left_to_the_long_suite(items: list[pytest.Item]) -> list[tuple[pytest.Item, str]]:
    """Cases of tests with a mark `one_in` that aren't in the short suite, with the reason: all but each so-manyth."""
    seen: Counter[str] = Counter()
    found = []
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is None or item.get_closest_marker("long"):
            continue
        number, reason = mark.args
        test = item.nodeid.partition("[")[0]
        if seen[test] % number:
            found.append((item, reason))
        seen[test] += 1
    return found


def _turn(item: pytest.Item, usual: float) -> tuple[bool, bool, bool, int]:
    """When a test comes: those with a time limit of minutes first, then the browser's and the corpus.

    Those of tests/kernels come last: their files are short, so no process works alone for long at the end. The others
    are mixed by their files' names: those that wait are in the same folders, and the processor would wait with them.
    """
    file = item.nodeid.partition("::")[0]
    first = file.startswith((TOGETHER, "tests/corpus/"))
    file = TOGETHER if file.startswith(TOGETHER) else file
    return not _takes_minutes(item, usual), not first, file.startswith("tests/kernels/"), crc32(file.encode())


def _takes_minutes(item: pytest.Item, usual: float) -> bool:
    limit = item.get_closest_marker("timeout")
    return limit is not None and float(limit.args[0]) > usual


@pytest.fixture(scope="session")
def kept() -> Iterator[KeptProcesses]:
    """Sandboxed processes for jobs that need none of their own."""
    from tests.worker.kept_processes import KeptProcesses

    processes = KeptProcesses()
    yield processes
    processes.close()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the compiler's own headers are unpacked."""
    return tmp_path_factory.mktemp("cache")
